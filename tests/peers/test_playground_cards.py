"""The playground's cards and texts: Markdown, tool calls in each state, approvals, figures, tables and sources."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import make_server, send_message, wait_for_expression
from tests.peers.prerequisites import require, require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
HERE = Path(__file__).parent
ANSWER = ".message.assistant"
CONFIG = """
[assistants.cards]
title = "Cards"
model = "cards"
tools = ["card_tools:TOOLS"]
tool_timeout = 600

[models.cards]
spec = "scripted:cards.json"

[assistants.desk]
title = "Desk"
model = "desk"
agents = ["cards"]

[models.desk]
spec = "scripted:desk.json"
"""
RICH = r"""# Orders

Three orders are **late**, see <https://shop.example/late> and main.py. Mass is $E = mc^2$, not $5 or $10; \(a_1\) too.

$$
\int_0^1 x^2\,dx = \frac{1}{3}
$$

\[ \boxed{x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}} \]

| Order | Goods | Days late | State |
|---|:-:|---:|---|
| A7 | Desk lamp | 156 | late |
| B02 | Monitor arm | 147 | customs |

```python
from shop import orders

for order in orders(state="late", month=6):
    notify(order.customer)  # asks you first
```

```
plain <b>code</b>
```

- [x] Find the orders
- [ ] Write to the customers: `3 letters`

1. one
   - nested
2. two ~~gone~~

> A quote.
> Its second line.

See [the handbook][book]. ![dot](data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACwAAAAAAQABAAACAkQBADs=)

[book]: https://shop.example/handbook
"""
HOSTILE = r"""<script>window.hacked=1</script> <img src=x onerror="window.hacked=2">

<div style="position:fixed;inset:0" onclick="window.hacked=3"><form action="https://evil.example"><input></form></div>

[a](javascript:window.hacked=4) [b](data:text/html;base64,PHNjcmlwdD4=) ![c](https://evil.example/p.png?secret=1)
![d](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+) [e](vbscript:x) <https://evil.example/q>

$\href{javascript:window.hacked=5}{x}$ $\htmlStyle{position:fixed}{y}$ $\includegraphics{https://evil.example/i.png}$

| a | b |
|:-:|--:|
| <svg onload="window.hacked=6"> | `<img src=x onerror=window.hacked=7>` |

```"><img/src=x/onerror=window.hacked=8>
</code></pre><script>window.hacked=9</script>
```

$$ <img src=x onerror="window.hacked=10"> $$

[x]: javascript:window.hacked=11
[x] [1] 【2】
"""
CALLS: dict[str, dict[str, Any]] = {
    "find_order": {"number": "A7"},
    "cancel_order": {"number": "A7", "reason": "Customer asked on 14 June"},
    "broken": {},
    "search_orders": {"state": "late"},
    "show_sales": {},
    "read_handbook": {},
}
CITED = "Two wait for the depot[1], one for customs【2】. The third[3] is not known: x[0]."


def build_script() -> dict[str, Any]:
    turns: list[dict[str, Any]] = [
        {"when": {"user": "read_handbook", "tool": "read_handbook"}, "say": CITED},
        {
            "when": {"user": "both"},
            "calls": [
                {"name": "cancel_order", "arguments": {"number": "A7", "reason": "first"}},
                {"name": "cancel_order", "arguments": {"number": "B2", "reason": "second"}},
            ],
        },
        {"when": {"user": "both", "tool": "cancel_order"}, "say": "Both done."},
    ]
    turns = [turns[0], turns[2], turns[1]]
    for name, arguments in CALLS.items():
        turns.append({"when": {"user": name, "tool": name}, "say": "Done: {result}"})
        turns.append({"when": {"user": name}, "calls": [{"name": name, "arguments": arguments}]})
    return {
        "turns": [
            *turns,
            {"when": {"user": "slowly", "tool": "cancel_order"}, "say": "Done: {result}"},
            {
                "when": {"user": "slowly"},
                "say": "word " * 100,
                "pace_ms": 30,
                "calls": [{"name": "cancel_order", "arguments": CALLS["cancel_order"]}],
            },
            {"when": {"user": "rich"}, "say": RICH},
            {"when": {"user": "hostile"}, "say": HOSTILE},
            {"when": {"user": "growing"}, "say": RICH * 3, "pace_ms": 10},
            {"when": {"user": "think"}, "reason": "Let me see.", "say": "Thought."},
            {"when": {"user": "fail"}, "finish": "raise:upstream_busy"},
            {"when": {}, "say": "You said: {user}"},
        ]
    }


def make_cards_server() -> RightseatProcess:
    server = make_server(CONFIG)
    shutil.copy(HERE / "card_tools.py", server.folder)
    (server.folder / "cards.json").write_text(json.dumps(build_script()), encoding="utf-8")
    handoff = [
        {"when": {"tool": "ask_cards"}, "say": "They say: {result}"},
        {"when": {}, "calls": [{"name": "ask_cards", "arguments": {"request": "{user}"}}]},
    ]
    (server.folder / "desk.json").write_text(json.dumps({"turns": handoff}), encoding="utf-8")
    return server


@asynccontextmanager
async def open_cards(
    chromium: Chromium, url: str, language: str = "en", width: int = 1440, height: int = 900, assistant: str = "cards"
) -> AsyncIterator[BrowserTab]:
    async with chromium.open_tab() as tab:
        await tab.page.set_viewport_size({"width": width, "height": height})
        await tab.page.add_init_script(f"localStorage.setItem('rightseat.language', '{language}')")
        await tab.open_url(f"{url}/#/chat/{assistant}")
        await tab.wait_visible("#say")
        yield tab


LOOKS = [("en", 1440), ("zh", 390)]
WORDS = {
    "en": {"allow": "Allow once", "decline": "Decline", "allowed": "Allowed once.", "declined": "Declined.",
           "ignored": "Not answered.", "copy": "Copy", "edit": "Edit", "copied": "Copied", "failed": "Failed",
           "details": "Details", "table": "Table", "csv": "Download CSV", "filter": "Filter rows", "none": "No rows",
           "stopped": "Stopped.",
           "of": "of", "run": "Run “Cancel order”?", "source": "Source 1: Depot Bremen: closure in March"},
    "zh": {"allow": "允许一次", "decline": "拒绝", "allowed": "已允许一次。", "declined": "已拒绝。",
           "ignored": "未回答。", "copy": "复制", "edit": "编辑", "copied": "已复制", "failed": "失败",
           "details": "详情", "table": "表格", "csv": "下载 CSV", "filter": "筛选行", "none": "没有数据",
           "stopped": "已停止。",
           "of": "/", "run": "是否执行“Cancel order”？", "source": "来源 1: Depot Bremen: closure in March"},
}  # fmt: skip
ASKING = ".call[data-state=asking]"
FOCUSED_CARD = f"document.activeElement === document.querySelector('{ASKING}')"
FOCUSED_COMPOSER = "document.activeElement.id === 'say'"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RightseatProcess]:
    require_assets("markdown-it")
    async with make_cards_server() as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module", params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
async def look(request: pytest.FixtureRequest) -> tuple[str, int]:
    found: tuple[str, int] = request.param
    return found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess, look: tuple[str, int]) -> AsyncIterator[BrowserTab]:
    async with open_cards(chromium, server.url, *look) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def words(look: tuple[str, int]) -> dict[str, str]:
    return WORDS[look[0]]


async def read_download(download: Any) -> str:
    path = await download.path()
    return await asyncio.to_thread(Path(path).read_text)


async def assert_fits(tab: BrowserTab) -> None:
    """Nothing is wider than the window: what is wide scrolls in a box of its own."""
    assert await tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await tab.page.evaluate("(b => b.scrollWidth <= b.clientWidth)(document.querySelector('.scroller'))")


async def press_answer(tab: BrowserTab, key: str) -> None:
    """A card that took the focus by itself takes no key at once: a person who was about to write did not mean it."""
    asking = f"document.querySelectorAll('{ASKING}').length"
    before = await tab.page.evaluate(asking)
    while await tab.page.evaluate(f"{asking} === {before} && {FOCUSED_CARD}"):
        await tab.page.keyboard.press(key)
        await tab.page.wait_for_timeout(50)


@pytest.mark.demand("playground.markdown_by_libraries")
async def test_markdown_as_people_know_it(tab: BrowserTab, words: dict[str, str]) -> None:
    await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await send_message(tab, "rich")
    await tab.wait_visible(f"{ANSWER} a", "the handbook")
    await tab.wait_visible(f"{ANSWER} .hljs-keyword", "from")
    await tab.wait_visible(f"{ANSWER} math")
    prose = f"{ANSWER} .prose"
    # The page's own headings come before an answer's.
    assert await tab.read_texts(f"{prose} h3") == ["Orders"]
    assert await tab.read_texts(f"{prose} td.r") == ["156", "147"]
    assert await tab.read_texts(f"{prose} td.c") == ["Desk lamp", "Monitor arm"]
    assert [text.strip() for text in await tab.read_texts(f"{prose} .task")] == [
        "Find the orders",
        "Write to the customers: 3 letters",
    ]
    assert await tab.page.locator(f"{prose} .tick.on").count() == 1
    assert await tab.page.locator(f"{prose} .math.block math").count() == 2
    assert await tab.page.locator(f"{prose} p .math math").count() == 2
    assert "not $5 or $10;" in (await tab.read_texts(f"{prose} p"))[0]
    assert await tab.read_texts(f"{prose} .hljs-keyword") == ["from", "import", "for", "in"]
    assert await tab.page.locator(f"{prose} [style]").count() == 0
    assert await tab.page.locator(f"{prose} img").count() == 1
    links = await tab.page.locator(f"{prose} a").evaluate_all("all => all.map(a => [a.href, a.target, a.rel])")
    rel = "noopener noreferrer nofollow"
    assert links == [["https://shop.example/late", "_blank", rel], ["https://shop.example/handbook", "_blank", rel]]
    await assert_fits(tab)
    button = tab.page.locator(f"{prose} .code button").first
    await button.click()
    await wait_for_expression(tab, f"document.querySelector('.code button').innerText.trim() === '{words['copied']}'")
    assert (await tab.page.evaluate("navigator.clipboard.readText()")).startswith("from shop import orders\n")
    await wait_for_expression(tab, f"document.querySelector('.code button').innerText.trim() === '{words['copy']}'")


@pytest.mark.demand("playground.markdown_by_libraries")
async def test_a_growing_text_keeps_what_is_closed(tab: BrowserTab) -> None:
    # From the second time on: the first names an address that earlier blocks use, and these are drawn again.
    await send_message(tab, "growing")
    blocks = f"document.querySelector('{ANSWER} .prose').children"
    await wait_for_expression(tab, f"document.querySelector('{ANSWER} .math math') && {blocks}.length > 20")
    await wait_for_expression(tab, f"document.querySelector('{ANSWER} .hljs-keyword')")
    await tab.page.evaluate(f"{blocks}[3].kept = true")
    await wait_for_expression(tab, "document.querySelector('.talk').getAttribute('aria-busy') === 'false'")
    assert await tab.page.evaluate(f"{blocks}[3].kept") is True
    grown = await tab.page.evaluate(f"document.querySelector('{ANSWER} .prose').innerHTML")
    await tab.page.reload()
    await wait_for_expression(tab, f"document.querySelectorAll('{ANSWER} .hljs-keyword').length === 12")
    await wait_for_expression(tab, f"document.querySelectorAll('{ANSWER} math').length === 12")
    assert await tab.page.evaluate(f"document.querySelector('{ANSWER} .prose').innerHTML") == grown


@pytest.mark.demand("playground.hostile_answer_script_tags", "playground.injected_images_links_carry")
async def test_a_hostile_text_stays_text(tab: BrowserTab) -> None:
    """The tab itself fails the test on a request that leaves this machine and on a report of the page's policy."""
    await send_message(tab, "hostile")
    await tab.wait_visible(f"{ANSWER} td code", "<img")
    await tab.wait_visible(f"{ANSWER} .math")
    await wait_for_expression(tab, "document.querySelector('.talk').getAttribute('aria-busy') === 'false'")
    banned = "script, style, form, input, svg[onload], iframe, object, [style], [onerror], [onclick], img"
    inside = ", ".join(f"{ANSWER} .prose {one}" for one in banned.split(", "))
    assert await tab.page.locator(inside).count() == 0
    assert await tab.page.evaluate("window.hacked") is None
    links = await tab.page.locator(f"{ANSWER} .prose a").evaluate_all("all => all.map(a => a.href)")
    # Addresses in the text are links that a person may follow; nothing loads them.
    assert links == ["https://evil.example/", "https://evil.example/p.png?secret=1", "https://evil.example/q"]


@pytest.mark.demand("playground.markdown_by_libraries")
async def test_without_the_libraries_a_text_is_plain(chromium: Chromium, server: RightseatProcess) -> None:
    async with chromium.open_tab() as tab:
        tab.expect_problem("404")
        await tab.page.route("**/vendor/*", lambda route: route.fulfill(status=404))
        await tab.open_url(f"{server.url}/#/chat/cards")
        await tab.wait_visible("#say")
        await send_message(tab, "rich")
        await tab.wait_visible(f"{ANSWER} .plain", "- [x] Find the orders")
        [text] = await tab.read_texts(f"{ANSWER} .plain")
        assert text.strip() == RICH.strip()
        await send_message(tab, "show_sales")
        await tab.wait_visible(".artifact.chart td", "Jun")
        assert await tab.page.locator(".artifact.chart .seg").count() == 0


@pytest.mark.demand("playground.tool_calls_cards_name", "playground.approval_in_call_card")
async def test_a_call_that_is_done_is_folded(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "find_order")
    await tab.wait_visible(ANSWER, "Done:")
    await tab.wait_visible(".call[data-state=done] .name", "Find order")
    assert await tab.page.locator(".call .fn").text_content() == 'find_order(number: "A7")'
    assert not await tab.page.locator(".call .details").is_visible()
    button = tab.page.get_by_role("button", name=words["details"])
    await button.focus()
    await tab.page.keyboard.press("Enter")
    await tab.wait_visible(".call .args dd", "A7")
    await tab.wait_visible(".call .result", "Desk lamp")
    assert await button.get_attribute("aria-expanded") == "true"
    await assert_fits(tab)


@pytest.mark.demand("playground.tool_calls_cards_name")
async def test_a_call_that_failed_says_why(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "broken")
    await tab.wait_visible(".call[data-state=failed] .verdict", "no such shelf")
    await tab.wait_visible(".call .end", words["failed"])


@pytest.mark.demand("playground.tool_calls_cards_name")
async def test_a_running_call_counts_seconds_until_it_is_stopped(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "search_orders")
    await tab.wait_visible(".call[data-state=running] .beam")
    await tab.wait_visible(".call .args dd", "late")
    first = (await tab.read_texts(".call .end .num"))[0]
    await wait_for_expression(tab, f"document.querySelector('.call .end .num').innerText !== '{first}'")
    await tab.page.keyboard.press("Escape")
    await tab.wait_visible(".call[data-state=cut] .verdict", words["stopped"])
    await tab.page.reload()
    await tab.wait_visible(".call[data-state=cut] .verdict", words["stopped"])


@pytest.mark.demand("playground.approval_in_call_card", "playground.confirmations_missing_parameter_forms")
async def test_an_approval_is_a_state_of_its_call(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "cancel_order")
    await tab.wait_visible(f"{ASKING} [role=alert]", words["run"])
    assert await tab.read_texts(f"{ASKING} .question dd") == ["A7", "Customer asked on 14 June"]
    assert await tab.page.locator(".call").count() == 1
    assert await tab.page.locator(".question:visible").count() == 1
    # The card has the focus and not a button: a key that was meant for the text must not allow anything.
    assert await tab.page.evaluate(FOCUSED_CARD)
    await assert_fits(tab)
    await press_answer(tab, "y")
    await tab.wait_visible(".call[data-state=done] .verdict", words["allowed"])
    await tab.wait_visible(ANSWER, "A7 is cancelled")
    assert await tab.page.evaluate(FOCUSED_COMPOSER)
    await tab.page.reload()
    await tab.wait_visible(".call[data-state=done] .verdict", words["allowed"])


@pytest.mark.demand("playground.approval_in_call_card")
async def test_a_declined_approval_is_declined_after_a_reload_too(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "cancel_order")
    await tab.wait_visible(ASKING)
    # What waits is still there after a reload, and has the focus.
    await tab.page.reload()
    await tab.wait_visible(ASKING)
    await wait_for_expression(tab, FOCUSED_CARD)
    await tab.page.get_by_role("button", name=words["decline"]).click()
    await tab.wait_visible(".call[data-state=declined] .verdict", words["declined"])
    await tab.wait_visible(ANSWER, "Done:")
    assert await tab.page.evaluate(FOCUSED_COMPOSER)
    await tab.page.reload()
    await tab.wait_visible(".call[data-state=declined] .verdict", words["declined"])


@pytest.mark.demand("playground.approval_in_call_card")
async def test_another_message_is_no_answer(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "cancel_order")
    await tab.wait_visible(ASKING)
    await send_message(tab, "hmm")
    # The server asks once more, in the same card.
    await tab.wait_visible(f"{ASKING} [role=alert]", "yes or no")
    assert await tab.page.locator(".call").count() == 1
    await tab.page.reload()
    await tab.wait_visible(f"{ASKING} [role=alert]", "yes or no")
    # Whoever goes on elsewhere leaves it unanswered.
    await tab.page.hover(".message.user >> nth=1")
    await (
        tab.page.locator(".message.user")
        .nth(1)
        .get_by_text(words["edit"])
        .or_(tab.page.locator(".message.user").nth(1).get_by_label(words["edit"]))
        .first.click()
    )
    await tab.fill_text(".message.user textarea", "find_order")
    await tab.page.locator(".message.user form button").first.click()
    await tab.wait_visible(ANSWER, "Done:")
    await tab.wait_visible(".call[data-state=ignored] .verdict", words["ignored"])
    assert await tab.page.evaluate(FOCUSED_COMPOSER)
    await tab.page.reload()
    await tab.wait_visible(".call[data-state=ignored] .verdict", words["ignored"])


@pytest.mark.demand("playground.approval_in_call_card")
async def test_nobody_who_types_is_interrupted(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "slowly")
    await tab.wait_visible(ANSWER, "word word")
    await tab.page.keyboard.type("yyy nnn")
    await tab.wait_visible(ASKING)
    await tab.page.keyboard.type("y")
    assert await tab.page.input_value("#say") == "yyy nnny"
    assert await tab.page.evaluate(FOCUSED_COMPOSER)
    await tab.wait_visible(ASKING)


@pytest.mark.demand("playground.approval_in_call_card")
async def test_two_approvals_are_answered_one_after_the_other(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "both")
    await wait_for_expression(tab, f"document.querySelectorAll('{ASKING}').length === 2")
    assert await tab.page.evaluate(FOCUSED_CARD)
    await press_answer(tab, "y")
    await wait_for_expression(tab, f"document.querySelectorAll('{ASKING}').length === 1")
    await tab.wait_visible(".verdict", words["allowed"])
    assert await tab.page.evaluate(FOCUSED_CARD)
    await press_answer(tab, "n")
    await tab.wait_visible(ANSWER, "Both done.")
    await tab.wait_visible(".call[data-state=done] .verdict", words["allowed"])
    await tab.wait_visible(".call[data-state=declined] .verdict", words["declined"])
    assert await tab.page.evaluate(FOCUSED_COMPOSER)


@pytest.mark.demand("playground.figures_tables_sources")
async def test_a_chart_is_also_a_table(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "show_sales")
    figure = ".artifact.chart"
    await tab.wait_visible(f"{figure} canvas")
    name = await tab.page.locator(f"{figure} [role=img]").get_attribute("aria-label")
    assert name == "Sales, January to June: Jan 120, Feb 132, Mar 101, Apr 134, May 190, Jun 230"
    await tab.page.locator(figure).get_by_role("button", name=words["table"], exact=True).click()
    assert await tab.read_texts(f"{figure} td.r") == ["120", "132", "101", "134", "190", "230"]
    async with tab.page.expect_download() as pending:
        await tab.page.locator(figure).get_by_role("button", name=words["csv"]).click()
    assert (await read_download(await pending.value)).splitlines()[:2] == ["month,sales", "Jan,120"]
    await assert_fits(tab)


@pytest.mark.demand("playground.figures_tables_sources")
async def test_a_table_is_sorted_filtered_and_saved(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "show_sales")
    first = tab.page.locator(".artifact.table").first
    await tab.wait_visible(".artifact.table .head", "Late orders")
    await first.get_by_role("button", name="Days late").click()
    await first.get_by_role("button", name="Days late").click()
    assert await first.locator("td.r").first.inner_text() == "159"
    assert await first.locator("th[aria-sort=descending]").inner_text() == "Days late"
    await first.get_by_role("button", name=words["filter"]).click()
    await first.get_by_role("searchbox").fill("A21")
    # A21 and A210 to A214.
    assert await first.locator("[role=status]").first.inner_text() == f"6 {words['of']} 214"
    await first.get_by_role("searchbox").fill("nowhere")
    await tab.wait_visible(".artifact.table .none", "nowhere")
    async with tab.page.expect_download() as pending:
        await first.get_by_role("button", name=words["csv"]).click()
    assert len((await read_download(await pending.value)).splitlines()) == 215
    await tab.wait_visible(".artifact.table .none", words["none"])


@pytest.mark.demand("playground.figures_tables_sources")
async def test_a_number_in_the_text_leads_to_its_source_and_back(tab: BrowserTab, words: dict[str, str]) -> None:
    await send_message(tab, "read_handbook")
    await tab.wait_visible(".citations .src", "Customs form 302")
    await tab.wait_visible(f"{ANSWER} .cite", "2")
    # What has no source stays as it was written.
    assert "The third[3] is not known: x[0]." in (await tab.read_texts(f"{ANSWER} .prose"))[0]
    number = tab.page.get_by_role("button", name=words["source"])
    await number.focus()
    assert await tab.page.locator(".src.marked b").inner_text() == "Depot Bremen: closure in March"
    await number.press("Enter")
    assert await tab.page.evaluate("document.activeElement.matches('a.src')")
    assert await tab.read_texts(f"{ANSWER} .cite.marked") == ["1"]
    # A source without an address leads back to its number.
    await tab.click("button.src")
    assert await tab.page.evaluate("document.activeElement.matches('.prose .cite')")
    await tab.page.reload()
    await tab.wait_visible(f"{ANSWER} .cite", "2")


STATES = {
    "rich": f"{ANSWER} math",
    "find_order": ".call[data-state=done]",
    "broken": ".call[data-state=failed]",
    "show_sales": ".artifact canvas",
    "read_handbook": f"{ANSWER} .cite",
    "think": ".reasoning",
    "fail": ".failure",
    "search_orders": ".call[data-state=running]",
    "cancel_order": ASKING,
}


@pytest.mark.demand("playground.axe_accessibility_check_without", "playground.approval_in_call_card")
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_no_card_keeps_anyone_out(tab: BrowserTab, theme: str, record_driven: Callable[[str, str], None]) -> None:
    folder = require("axe") / "node_modules" / "axe-core"
    source = (folder / "axe.min.js").read_text(encoding="utf-8")
    record_driven("axe-core", json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"])
    await tab.page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    await tab.page.evaluate(source)
    # In the other light only the colours are others.
    rules = {"runOnly": ["color-contrast"]} if theme == "dark" else {}
    idle = "document.querySelector('.talk').getAttribute('aria-busy') === 'false'"
    for asked, shown in STATES.items():
        await send_message(tab, asked)
        await tab.wait_visible(shown)
        if asked == "search_orders":
            await assert_no_violation(tab, rules)
            await tab.page.keyboard.press("Escape")
            await tab.wait_visible(".call[data-state=cut]")
        await wait_for_expression(tab, idle)
    await assert_no_violation(tab, rules)


async def assert_no_violation(tab: BrowserTab, rules: dict[str, Any]) -> None:
    found = await tab.page.evaluate("rules => axe.run('.talk', rules)", rules)
    assert [(one["id"], one["nodes"][0]["html"][:300]) for one in found["violations"]] == []

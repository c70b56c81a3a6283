"""The inspector as a person uses it: the trace of a whole conversation, its events, state and bytes."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rightseat.models.scripted import load_script
from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import CONFIG, open_playground, send_message, wait_for_expression, write_files
from tests.peers.prerequisites import require, require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
SIZES = pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
ANSWER = ".message.assistant"
WORDS = {
    "en": {"allow": "Allow", "you": "You: allowed once", "round": "Round 1", "tabs": "Trace Events State Prompt Wire"},
    "zh": {"allow": "允许", "you": "你: 允许一次", "round": "第 1 轮", "tabs": "轨迹 事件 状态 提示词 协议输出"},
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RightseatProcess]:
    require_assets("echarts")
    price = "[models.default]\ninput_cost = 1000\noutput_cost = 2000\n"
    config = CONFIG.replace("{more}", "").replace("[models.default]\n", price, 1)
    found = RightseatProcess(config=config)
    write_files(found.folder)
    script = json.loads((found.folder / "stall.json").read_text(encoding="utf-8"))
    for turn in script["turns"]:
        if turn["when"].get("user") in ("orders", "cancel"):
            turn["usage"] = {"input": 100, "output": 7}
    (found.folder / "stall.json").write_text(json.dumps(script), encoding="utf-8")
    async with found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess) -> AsyncIterator[BrowserTab]:
    async with open_playground(chromium, server.url) as found:
        yield found


async def speak(tab: BrowserTab, language: str) -> None:
    await tab.page.evaluate(f"localStorage.setItem('rightseat.language', '{language}')")
    await tab.page.reload()
    await tab.wait_visible("#say")


async def open_inspector(tab: BrowserTab) -> None:
    await tab.page.locator(".topbar button[aria-pressed]").first.click()
    await tab.wait_visible(".insp")


async def choose_tab(tab: BrowserTab, name: str) -> None:
    await tab.click(f".insp [data-tab={name}]")


async def answer_cancel(tab: BrowserTab, word: str = "Allow") -> None:
    """Ask for something that needs an approval, and give it a second later."""
    await send_message(tab, "cancel")
    button = tab.page.locator(".talk button", has_text=word).first
    await button.wait_for(state="visible")
    await tab.page.wait_for_timeout(1000)
    await button.click()
    await tab.wait_visible(ANSWER, "a-1 is cancelled")


async def read_rows(tab: BrowserTab) -> list[list[str]]:
    """Kind, name, time, tokens and cost of each row."""
    rows: list[list[str]] = await tab.page.evaluate(
        """() => [...document.querySelectorAll(".trace .tr[data-row]")].map((row) => [
          row.dataset.kind,
          ...[".nm", ".took", ".tok", ".cost"].map((part) => row.querySelector(part).textContent),
        ])"""
    )
    return rows


async def wait_idle(tab: BrowserTab) -> None:
    """Until the conversation has ended and the trace shows the server's own times."""
    await wait_for_expression(tab, "!document.querySelector('.trace .spin')")
    await tab.page.wait_for_timeout(400)


def to_milliseconds(text: str) -> float:
    match = re.fullmatch(r"(?:< )?([\d.]+) (ms|s)", text)
    assert match, text
    return float(match[1]) * (1000 if match[2] == "s" else 1)


@pytest.mark.demand("playground.inspector_whole_thread", "playground.trace_kept_with_thread")
@SIZES
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_whole_conversation_is_one_trace_after_approval_and_reload(
    tab: BrowserTab, size: dict[str, int], language: str
) -> None:
    words = WORDS[language]
    await tab.page.set_viewport_size(size)
    await speak(tab, language)
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "Done:")
    await answer_cancel(tab, words["allow"])
    await open_inspector(tab)
    await wait_idle(tab)
    assert " ".join(await tab.read_texts(".insp [role=tab]")) == words["tabs"]
    rows = await read_rows(tab)
    kinds = "run round model tool round model run round model human tool round model"
    assert " ".join(row[0] for row in rows) == kinds
    names = [row[1] for row in rows]
    assert (names[0], names[1], names[3], names[6]) == ("orders", words["round"], "orders", "cancel")
    assert names[9] == words["you"]
    # Tokens and cost of each call, each round and each run; a person's time is in none of them.
    assert [(row[3], row[4]) for row in rows[:3]] == [("200 + 14", "0.23"), ("100 + 7", "0.11"), ("100 + 7", "0.11")]
    assert to_milliseconds(rows[9][2]) >= 1000 > to_milliseconds(rows[6][2])
    if size == DESK:
        facts = " ".join(await tab.read_texts(".facts"))
        assert "400 + 28" in facts
        assert "0.46" in facts
    await tab.page.reload()
    await tab.wait_visible(ANSWER, "a-1 is cancelled")
    await open_inspector(tab)
    await wait_for_expression(tab, f"document.querySelectorAll('.trace .tr[data-row]').length === {len(rows)}")
    assert await read_rows(tab) == rows


@pytest.mark.demand("playground.inspector_whole_thread")
async def test_the_tree_is_walked_and_folded_by_keys(tab: BrowserTab) -> None:
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "Done:")
    await open_inspector(tab)
    await wait_idle(tab)
    grid = tab.page.get_by_role("treegrid")
    assert await grid.get_by_role("row").count() == 7
    focused = "document.activeElement.dataset.kind"
    await tab.page.locator(".trace .tr[tabindex='0']").focus()
    for key, kind in (
        ("ArrowDown", "round"),
        ("j", "model"),
        ("ArrowDown", "tool"),
        ("k", "model"),
        ("ArrowLeft", "round"),
    ):
        await tab.page.keyboard.press(key)
        assert await tab.page.evaluate(focused) == kind
    await tab.page.keyboard.press("ArrowLeft")
    assert await tab.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
    assert len(await read_rows(tab)) == 4
    await tab.page.keyboard.press("ArrowRight")
    assert len(await read_rows(tab)) == 6
    await tab.page.keyboard.press("Home")
    assert await tab.page.evaluate("document.activeElement.getAttribute('aria-level')") == "1"
    await tab.page.keyboard.press("End")
    assert await tab.page.evaluate(focused) == "model"
    assert len(await tab.read_texts(".trace .tr[tabindex='0']")) == 1
    await tab.fill_text("[aria-label='Find a span']", "ORDERS")
    await wait_for_expression(tab, "document.querySelectorAll('.trace .tr[data-row]').length === 2")


@pytest.mark.demand("playground.inspector_message_and_span")
@SIZES
async def test_a_message_opens_its_span_and_a_span_its_message(tab: BrowserTab, size: dict[str, int]) -> None:
    await tab.page.set_viewport_size(size)
    for question in ("orders", "prose", "prose", "prose"):
        await send_message(tab, question)
        await wait_for_expression(tab, "document.querySelector('.talk').getAttribute('aria-busy') === 'false'")
        await tab.page.wait_for_timeout(150)
    await open_inspector(tab)
    await wait_idle(tab)
    await tab.page.locator(".tr[data-kind=tool]").first.click()
    await tab.wait_visible(".detail h2", "orders")
    assert await tab.page.locator(".talk .linked").count() == 1
    await tab.click(".detail >> text=Show in chat")
    seen = "(({top, bottom}) => top >= 0 && bottom <= innerHeight)($.getBoundingClientRect())"
    seen = seen.replace("$", "document.querySelector('.linked')")
    await wait_for_expression(tab, seen)
    assert await tab.page.evaluate("document.activeElement.classList.contains('linked')")
    if size == PHONE:
        assert not await tab.page.locator(".insp").is_visible(), "the sheet makes room"
        await open_inspector(tab)
        await tab.click("[aria-label='Close inspector']")
        assert not await tab.page.locator(".insp").is_visible()
        assert await tab.page.evaluate("document.activeElement !== document.body")
    else:
        assert await tab.page.locator(".tr.on[data-kind=tool]").count() == 1
        # The other way: a click on an answer.
        await tab.page.locator(ANSWER).last.click(position={"x": 5, "y": 5})
        await wait_for_expression(tab, "document.querySelector('.tr.on')?.dataset.kind === 'model'")
        assert await tab.page.locator(f"{ANSWER}.linked").count() == 1
        await tab.page.keyboard.press("Escape")
        assert not await tab.page.locator(".insp").is_visible()


@pytest.mark.demand("playground.inspector_event_stream_run", "playground.inspector_events_previewed")
@SIZES
async def test_events_have_numbers_times_and_previews(tab: BrowserTab, size: dict[str, int]) -> None:
    await tab.page.set_viewport_size(size)
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "Done:")
    await send_message(tab, "think")
    await tab.wait_visible(ANSWER, "Thought.")
    await open_inspector(tab)
    await choose_tab(tab, "raw")
    types = [text.strip() for text in await tab.read_texts(".ev .ty")]
    assert (types[0], types[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert any(re.fullmatch(r"REASONING_MESSAGE_CONTENT × \d+", text) for text in types)
    await tab.wait_visible(".ev .pv", "Let me see.")
    await tab.fill_text("[aria-label='Filter events']", "TOOL_CALL_RESULT")
    await wait_for_expression(tab, "document.querySelectorAll('.ev').length === 1")
    await tab.click(".ev")
    opened = json.loads(" ".join(await tab.read_texts(".evbody pre")))
    assert opened["type"] == "TOOL_CALL_RESULT"
    assert await tab.page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    await tab.fill_text("[aria-label='Filter events']", "")
    live = await tab.read_texts(".ev .at")
    await tab.page.reload()
    await tab.wait_visible(ANSWER, "Thought.")
    await open_inspector(tab)
    await choose_tab(tab, "raw")
    await tab.wait_visible(".ev")
    kept = await tab.read_texts(".ev .at")
    assert len(kept) == len(live)
    assert all(re.fullmatch(r"\d+\.\d\d", text) for text in kept), "times are kept"


@pytest.mark.demand("playground.agents_live_state_tree")
async def test_state_is_a_tree_with_the_changes_of_each_node(tab: BrowserTab) -> None:
    await open_inspector(tab)
    await send_message(tab, "walk")
    await tab.wait_visible(ANSWER, "Done: arrived")
    await choose_tab(tab, "state")
    await tab.wait_visible(".present .tree", '"home"')
    assert [text.split()[0] for text in await tab.read_texts(".vary > summary")] == ["shop", "street", "home"]
    await tab.click(".vary > summary >> text=street")
    assert (await tab.read_texts(".vary[open] pre"))[0].splitlines() == [
        '- at: "shop"',
        '+ at: "street"',
        "- steps: 1",
        "+ steps: 2",
    ]


@pytest.mark.demand("playground.inspector_wire_view_same")
@SIZES
async def test_the_wire_shows_two_endpoints(tab: BrowserTab, size: dict[str, int]) -> None:
    await tab.page.set_viewport_size(size)
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "Done:")
    await open_inspector(tab)
    await choose_tab(tab, "wire")
    await tab.wait_visible(".wire >> nth=0")
    panes = tab.page.locator(".wire:visible")
    assert await panes.count() == (2 if size == DESK else 1)
    left = panes.first
    assert await left.get_by_role("tab").all_inner_texts() == ["OpenAI", "AG-UI", "OpenBB", "CopilotKit", "MCP"]
    marks = {
        "openai": "chat.completion.chunk",
        "agui": "TEXT_MESSAGE_CONTENT",
        "openbb": "copilotMessageChunk",
        "copilotkit": "TextMessageOutput",
        "mcp": "jsonrpc",
    }
    for door, mark in marks.items():
        await left.locator(f"[data-door={door}]").click()
        assert mark in await left.locator(".lines").inner_text()
    await left.locator("[data-door=agui]").click()
    assert await left.locator(".tools code").inner_text() == "/agui/default"
    await left.locator("[data-raw=true]").click()
    assert (await left.locator(".bytes").inner_text()).startswith("id: run-1\ndata: {")
    await tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await left.locator("[aria-label='Copy as curl']").click()
    await left.locator("[aria-label='Copied']").wait_for()
    line = await tab.page.evaluate("navigator.clipboard.readText()")
    assert line.startswith("curl -N http")
    assert "orders" in line


@pytest.mark.demand("playground.inspector_loading_ends")
async def test_loading_ends_with_an_error_that_says_what_to_do(tab: BrowserTab) -> None:
    tab.expect_problem("Failed to load resource")
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "Done:")
    await open_inspector(tab)
    await tab.page.route("**/playground/wire/**", lambda route: route.abort())
    await choose_tab(tab, "wire")
    await tab.wait_visible(".asked [role=alert] button", "Try again")
    await tab.page.unroute("**/playground/wire/**")
    await tab.click(".asked [role=alert] button")
    await tab.wait_visible(".wire .lines")
    await choose_tab(tab, "prompts")
    await tab.wait_visible(".asked", "No prompt is kept of this run.")


async def read_download(download: Any) -> str:
    path = await download.path()
    return await asyncio.to_thread(Path(path).read_text)


@pytest.mark.demand("playground.inspector_save_test_turns")
async def test_a_conversation_is_saved_as_a_test(tab: BrowserTab) -> None:
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "Done:")
    await open_inspector(tab)
    async with tab.page.expect_download() as pending:
        await tab.click("text=Save as test")
    turns = load_script(await read_download(await pending.value), "saved").turns
    assert [call.name for turn in turns for call in turn.calls] == ["orders"]
    assert "Done:" in str(turns[-1].say)


async def test_a_handed_over_run_is_inside_its_call(tab: BrowserTab, server: RightseatProcess) -> None:
    await tab.open_url(f"{server.url}/#/chat/boss")
    await tab.page.reload()
    await tab.wait_visible("#say")
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "The shop says:")
    await open_inspector(tab)
    await wait_idle(tab)
    levels = await tab.page.evaluate(
        "[...document.querySelectorAll('.tr[data-row]')].map((row) => `${row.dataset.kind} ${row.ariaLevel}`)"
    )
    assert levels == [
        "run 1",
        "round 2",
        "model 3",
        "tool 3",
        "agent 4",
        "model 5",
        "tool 5",
        "model 5",
        "round 2",
        "model 3",
    ]


async def test_a_failed_run_and_a_flow_are_traced(tab: BrowserTab, server: RightseatProcess) -> None:
    await send_message(tab, "fail")
    await tab.wait_visible("[role=alert]")
    await open_inspector(tab)
    await wait_idle(tab)
    assert [row[0] for row in await read_rows(tab)] == ["run", "round", "model"]
    assert await tab.page.locator(".tr .chip.bad").count() == 2
    await tab.open_url(f"{server.url}/#/chat/report.sales")
    await tab.page.reload()
    await tab.wait_visible("#say")
    await send_message(tab, "go")
    await tab.wait_visible(ANSWER, "Drawn.")
    await open_inspector(tab)
    await wait_idle(tab)
    rows = await read_rows(tab)
    assert [(row[0], row[1]) for row in rows] == [("run", "go"), ("step", "start"), ("step", "chart"), ("step", "end")]


@pytest.mark.demand("playground.axe_accessibility_check_without")
@SIZES
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_every_tab_passes_axe(
    tab: BrowserTab, size: dict[str, int], theme: str, record_driven: Callable[[str, str], None]
) -> None:
    folder = require("axe") / "node_modules" / "axe-core"
    source = (folder / "axe.min.js").read_text(encoding="utf-8")
    record_driven("axe-core", json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"])
    await tab.page.set_viewport_size(size)
    await tab.page.evaluate(f"localStorage.setItem('rightseat.theme', '{theme}')")
    await tab.page.reload()
    await tab.wait_visible("#say")
    await answer_cancel(tab)
    await send_message(tab, "walk")
    await tab.wait_visible(ANSWER, "Done: arrived")
    await open_inspector(tab)
    await wait_idle(tab)
    await tab.page.locator(".tr[data-kind=tool]").first.click()
    await tab.page.evaluate(source)
    for name in ("trace", "raw", "state", "prompts", "wire"):
        await choose_tab(tab, name)
        await tab.page.wait_for_timeout(500)
        found = await tab.page.evaluate("axe.run(document.querySelector('.insp'))")
        assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found["violations"]] == [], name

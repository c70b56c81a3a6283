"""The playground when things go wrong: hostile answers, floods, cut connections, dead servers, no key."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kit.relay import TcpRelay
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.echo_upstream import answer_in_steps
from tests.peers.playground import make_server, open_playground, send_message, wait_for_expression

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
ANSWER = ".message.assistant"
CUT_CONNECTION_ERRORS = r"ERR_|Failed to load resource"
# The longest time between two turns of the page's loop while something is drawn.
MEASURE_LONGEST_TASK = """() => { window.longest = 0; let last = performance.now();
  const look = () => { const now = performance.now(); window.longest = Math.max(window.longest, now - last);
    last = now; setTimeout(look, 10); }; look(); }"""


HELD_CONFIG = """
[assistants.held]
model = "held"
[models.held]
spec = "openai:held"
base_url = "{url}"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[FakeUpstream]:
    """The model of the assistant `held`."""
    async with FakeUpstream() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(upstream: FakeUpstream) -> AsyncIterator[RightseatProcess]:
    async with make_server(HELD_CONFIG.format(url=upstream.base_url)) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess) -> AsyncIterator[BrowserTab]:
    async with open_playground(chromium, server.url) as found:
        yield found


@pytest.mark.demand("playground.hostile_answer_script_tags", "playground.injected_images_links_carry")
async def test_a_hostile_answer_neither_runs_nor_loads_nor_hides_anything(tab: BrowserTab) -> None:
    """The tab itself fails the test on a request that leaves this machine."""
    await send_message(tab, "hostile")
    await tab.wait_visible(ANSWER, "<script>")
    assert await tab.page.evaluate("window.hacked") is None
    assert await tab.page.locator(f"{ANSWER} img, {ANSWER} script, {ANSWER} style").count() == 0
    # A picture is a link that a person may follow; a script is no link at all.
    links = await tab.page.locator(f"{ANSWER} a").evaluate_all("all => all.map(a => a.href)")
    assert links == ["http://evil.example/p.png?secret=1", "https://evil.example/q"]


CHART = {
    "title": {"text": "x", "link": "javascript:1", "sublink": "http://evil.example"},
    "tooltip": {"formatter": "<img src=x>", "extraCssText": "x"},
    "series": [
        {
            "type": "bar",
            "symbol": "image://http://evil.example/a.png",
            "itemStyle": {"color": {"image": "http://evil.example/b.png"}},
            "data": [{"name": "https://a.example", "tooltip": {"renderMode": "html"}}],
        }
    ],
    "graphic": [{"type": "image"}],
}


@pytest.mark.demand("playground.injected_images_links_carry")
async def test_a_charts_description_loads_and_runs_nothing(tab: BrowserTab) -> None:
    clean = "async option => (await import('/playground/charts.js')).safe(option)"
    [series] = (made := await tab.page.evaluate(clean, CHART))["series"]
    assert made["title"] == {"text": "x"}
    assert made["tooltip"] == {"renderMode": "richText"}
    assert "graphic" not in made
    assert (series["symbol"], series["itemStyle"]) == ("", {"color": {"image": ""}})
    # What is only a name stays, also where it looks like an address.
    assert series["data"] == [{"name": "https://a.example", "tooltip": {"renderMode": "richText"}}]


@pytest.mark.demand("playground.hostile_answer_script_tags")
@pytest.mark.parametrize(("asked", "shown"), [("fast", 10_000 * 6), ("huge", 120_000)])
async def test_a_flood_does_not_freeze_the_page(tab: BrowserTab, asked: str, shown: int) -> None:
    await tab.page.evaluate(MEASURE_LONGEST_TASK)
    await send_message(tab, asked)
    said = f"(document.querySelector('{ANSWER} .prose')?.textContent.length ?? 0)"
    await wait_for_expression(tab, f"{said} >= {shown - 10}")
    await tab.wait_gone("button.stop")
    await tab.fill_text("#say", "still there")
    longest = await tab.page.evaluate("window.longest")
    print(f"the longest time that the page stood still: {longest:.0f} ms")
    assert longest < HANG_TIMEOUT * 500
    await tab.page.keyboard.press("Enter")
    await tab.wait_visible(ANSWER, "You said: still there")


@pytest.mark.demand("playground.hostile_answer_script_tags")
async def test_what_is_too_long_to_draw_can_be_saved(tab: BrowserTab) -> None:
    await send_message(tab, "huge")
    async with tab.page.expect_download() as pending:
        await tab.click(".rest button")
    path = await (await pending.value).path()
    assert (await asyncio.to_thread(Path(path).stat)).st_size == 2_000_000


@pytest.mark.demand("playground.cut_connection_re_joins")
async def test_a_cut_connection_is_joined_again_and_nothing_is_missed(
    chromium: Chromium, server: RightseatProcess, upstream: FakeUpstream
) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    upstream.queue_replies(answer_in_steps("one", (first, " two"), (second, " three")))
    async with TcpRelay(server.port) as relay, open_playground(chromium, relay.url) as tab:
        tab.expect_problem(CUT_CONNECTION_ERRORS)
        await tab.page.select_option("select[aria-label=Assistant]", "held")
        await send_message(tab, "count")
        await tab.wait_visible(ANSWER, "one")
        for go, said in ((first, "one two"), (second, "one two three")):
            assert relay.cut_connections()
            go.set()
            await tab.wait_visible(ANSWER, said)
        await tab.wait_gone("button.stop")
        assert await tab.read_texts(f"{ANSWER} .prose") == ["one two three"]
        assert len(await tab.read_texts(ANSWER)) == 1


@pytest.mark.demand("playground.cut_connection_re_joins")
async def test_after_a_crash_the_page_shows_what_was_said_and_asks_again(chromium: Chromium) -> None:
    async with make_server() as server, TcpRelay(server.port) as relay, open_playground(chromium, relay.url) as tab:
        tab.expect_problem(CUT_CONNECTION_ERRORS)
        await send_message(tab, "endless")
        counted = f"(document.querySelector('{ANSWER} .prose')?.textContent.split('word').length ?? 0)"
        # The log is behind by a quarter of a second at most, which is ten words.
        await wait_for_expression(tab, f"{counted} > 100")
        server.send_signal(signal.SIGKILL)
        await server.wait_exit()
        relay.refuses_connections = True
        relay.cut_connections()
        await tab.wait_visible(".banner", "The connection was lost")
        (server.folder / "ready").unlink()
        await server.start()
        relay.target_port, relay.refuses_connections = server.port, False
        await tab.wait_visible(".failure", "interrupted")
        await tab.page.reload()
        await tab.wait_visible(".failure", "interrupted")
        assert (await tab.read_texts(f"{ANSWER} .prose"))[0].count("word") > 40
        await tab.click(".failure >> text=Try again")
        await tab.wait_gone(".failure")
        await tab.wait_visible("button.stop")
        await tab.page.keyboard.press("Escape")
        await tab.wait_visible(".note", "Stopped.")


@pytest.mark.demand("playground.empty_loading_error_states")
async def test_a_server_that_is_away_is_said(chromium: Chromium, server: RightseatProcess) -> None:
    async with TcpRelay(server.port) as relay, open_playground(chromium, relay.url) as tab:
        tab.expect_problem(CUT_CONNECTION_ERRORS)
        relay.refuses_connections = True
        relay.cut_connections()
        await send_message(tab, "hello")
        await tab.wait_visible(".failure", "cannot be reached")
        relay.refuses_connections = False
        await tab.click(".failure >> text=Try again")
        await tab.wait_visible(ANSWER, "You said: hello")


@pytest.mark.demand("playground.cut_connection_re_joins")
async def test_a_question_that_never_arrived_is_not_lost(chromium: Chromium, server: RightseatProcess) -> None:
    """In a conversation that has a past: what comes back from the log is not its answer."""
    async with TcpRelay(server.port) as relay, open_playground(chromium, relay.url) as tab:
        tab.expect_problem(CUT_CONNECTION_ERRORS)
        await send_message(tab, "one")
        await tab.wait_visible(ANSWER, "You said: one")
        relay.refuses_connections = True
        relay.cut_connections()
        await send_message(tab, "two")
        await tab.wait_visible(".banner", "The connection was lost")
        relay.refuses_connections = False
        await tab.click(".failure >> text=Try again")
        await tab.wait_visible(ANSWER, "You said: two")
        assert await tab.read_texts(f"{ANSWER} .prose") == ["You said: one", "You said: two"]


@pytest.mark.demand("playground.empty_loading_error_states")
async def test_a_key_is_asked_for_and_kept_only_in_the_tab(chromium: Chromium) -> None:
    keys = '[auth.keys]\nann = "env:ANN"'
    async with make_server(keys, env={"ANN": "sesame-5"}) as server, chromium.open_tab() as tab:
        tab.expect_problem("401")
        await tab.open_url(server.url)
        await tab.wait_visible("h1", "This server needs a key.")
        await tab.fill_text("input[type=password]", "wrong")
        await tab.click("text=Open")
        await tab.wait_visible("[role=alert]", "The key is not valid")
        await tab.fill_text("input[type=password]", "sesame-5")
        await tab.click("text=Open")
        await send_message(tab, "hello")
        await tab.wait_visible(ANSWER, "You said: hello")
        kept = await tab.page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href]")
        assert "sesame" not in "".join(kept)
        await tab.page.reload()
        await tab.wait_visible(ANSWER, "You said: hello")
        async with chromium.open_tab() as other:
            other.expect_problem("401")
            await other.open_url(server.url)
            await other.wait_visible("h1", "This server needs a key.")


@pytest.mark.demand("playground.strict_content_security_policy", "playground.axe_accessibility_check_without")
async def test_nothing_inline_runs(tab: BrowserTab) -> None:
    """The policy holds even where a hole in the page would let markup through."""
    tab.expect_problem("Content Security Policy|404")
    await tab.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"hacked=1\">')")
    await tab.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.hacked=1'}))"
    )
    await send_message(tab, "hello")
    await tab.wait_visible(ANSWER, "You said: hello")
    assert await tab.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in fault for fault in tab.problems)

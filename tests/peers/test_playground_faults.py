"""The playground when things go wrong: hostile answers, floods, cut connections, dead servers, no key."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kit.patience import STUCK
from tests.kit.relay import Relay
from tests.kit.server import Server
from tests.kit.upstream import Upstream
from tests.peers.browser import Chromium, Tab
from tests.peers.mirror import halting
from tests.peers.playground import opened, say, served, until

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
ANSWER = ".message.assistant"
CUT = r"ERR_|Failed to load resource"
# The longest time between two turns of the page's loop while something is drawn.
WATCH = """() => { window.longest = 0; let last = performance.now();
  const look = () => { const now = performance.now(); window.longest = Math.max(window.longest, now - last);
    last = now; setTimeout(look, 10); }; look(); }"""


HELD = """
[assistants.held]
model = "held"
[models.held]
spec = "openai:held"
base_url = "{url}"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[Upstream]:
    """The model of the assistant `held`."""
    async with Upstream() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(upstream: Upstream) -> AsyncIterator[Server]:
    async with served(HELD.format(url=upstream.url)) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: Server) -> AsyncIterator[Tab]:
    async with opened(chromium, server.url) as found:
        yield found


@pytest.mark.demand("playground.hostile_answer_script_tags", "playground.injected_images_links_carry")
async def test_a_hostile_answer_neither_runs_nor_loads_nor_hides_anything(tab: Tab) -> None:
    """The tab itself fails the test on a request that leaves this machine."""
    await say(tab, "hostile")
    await tab.see(ANSWER, "<script>")
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
async def test_a_charts_description_loads_and_runs_nothing(tab: Tab) -> None:
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
async def test_a_flood_does_not_freeze_the_page(tab: Tab, asked: str, shown: int) -> None:
    await tab.page.evaluate(WATCH)
    await say(tab, asked)
    said = f"(document.querySelector('{ANSWER} .prose')?.textContent.length ?? 0)"
    await until(tab, f"{said} >= {shown - 10}")
    await tab.gone("button.stop")
    await tab.write("#say", "still there")
    longest = await tab.page.evaluate("window.longest")
    print(f"the longest time that the page stood still: {longest:.0f} ms")
    assert longest < STUCK * 500
    await tab.page.keyboard.press("Enter")
    await tab.see(ANSWER, "You said: still there")


@pytest.mark.demand("playground.hostile_answer_script_tags")
async def test_what_is_too_long_to_draw_can_be_saved(tab: Tab) -> None:
    await say(tab, "huge")
    async with tab.page.expect_download() as pending:
        await tab.click(".rest button")
    path = await (await pending.value).path()
    assert (await asyncio.to_thread(Path(path).stat)).st_size == 2_000_000


@pytest.mark.demand("playground.cut_connection_re_joins")
async def test_a_cut_connection_is_joined_again_and_nothing_is_missed(
    chromium: Chromium, server: Server, upstream: Upstream
) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    upstream.queue(halting("one", (first, " two"), (second, " three")))
    async with Relay(server.port) as relay, opened(chromium, relay.url) as tab:
        tab.expect(CUT)
        await tab.page.select_option("select[aria-label=Assistant]", "held")
        await say(tab, "count")
        await tab.see(ANSWER, "one")
        for go, said in ((first, "one two"), (second, "one two three")):
            assert relay.cut()
            go.set()
            await tab.see(ANSWER, said)
        await tab.gone("button.stop")
        assert await tab.texts(f"{ANSWER} .prose") == ["one two three"]
        assert len(await tab.texts(ANSWER)) == 1


@pytest.mark.demand("playground.cut_connection_re_joins")
async def test_after_a_crash_the_page_shows_what_was_said_and_asks_again(chromium: Chromium) -> None:
    async with served() as server, Relay(server.port) as relay, opened(chromium, relay.url) as tab:
        tab.expect(CUT)
        await say(tab, "endless")
        counted = f"(document.querySelector('{ANSWER} .prose')?.textContent.split('word').length ?? 0)"
        # The log is behind by a quarter of a second at most, which is ten words.
        await until(tab, f"{counted} > 100")
        server.signal(signal.SIGKILL)
        await server.exited()
        relay.closed = True
        relay.cut()
        await tab.see(".banner", "The connection was lost")
        (server.folder / "ready").unlink()
        await server.start()
        relay.target, relay.closed = server.port, False
        await tab.see(".failure", "interrupted")
        await tab.page.reload()
        await tab.see(".failure", "interrupted")
        assert (await tab.texts(f"{ANSWER} .prose"))[0].count("word") > 40
        await tab.click(".failure button.main")
        await tab.gone(".failure")
        await tab.see("button.stop")
        await tab.page.keyboard.press("Escape")
        await tab.see(".note", "Stopped.")


@pytest.mark.demand("playground.empty_loading_error_states")
async def test_a_server_that_is_away_is_said(chromium: Chromium, server: Server) -> None:
    async with Relay(server.port) as relay, opened(chromium, relay.url) as tab:
        tab.expect(CUT)
        relay.closed = True
        relay.cut()
        await say(tab, "hello")
        await tab.see(".failure", "cannot be reached")
        relay.closed = False
        await tab.click(".failure button.main")
        await tab.see(ANSWER, "You said: hello")


@pytest.mark.demand("playground.cut_connection_re_joins")
async def test_a_question_that_never_arrived_is_not_lost(chromium: Chromium, server: Server) -> None:
    """In a conversation that has a past: what comes back from the log is not its answer."""
    async with Relay(server.port) as relay, opened(chromium, relay.url) as tab:
        tab.expect(CUT)
        await say(tab, "one")
        await tab.see(ANSWER, "You said: one")
        relay.closed = True
        relay.cut()
        await say(tab, "two")
        await tab.see(".banner", "The connection was lost")
        relay.closed = False
        await tab.click(".failure button.main")
        await tab.see(ANSWER, "You said: two")
        assert await tab.texts(f"{ANSWER} .prose") == ["You said: one", "You said: two"]


@pytest.mark.demand("playground.empty_loading_error_states")
async def test_a_key_is_asked_for_and_kept_only_in_the_tab(chromium: Chromium) -> None:
    keys = '[auth.keys]\nann = "env:ANN"'
    async with served(keys, env={"ANN": "sesame-5"}) as server, chromium.tab() as tab:
        tab.expect("401")
        await tab.open(server.url)
        await tab.see("h1", "This server needs a key.")
        await tab.write("input[type=password]", "wrong")
        await tab.click("text=Open")
        await tab.see("[role=alert]", "The key is not valid")
        await tab.write("input[type=password]", "sesame-5")
        await tab.click("text=Open")
        await say(tab, "hello")
        await tab.see(ANSWER, "You said: hello")
        kept = await tab.page.evaluate("[JSON.stringify(localStorage), document.cookie, location.href]")
        assert "sesame" not in "".join(kept)
        await tab.page.reload()
        await tab.see(ANSWER, "You said: hello")
        async with chromium.tab() as other:
            other.expect("401")
            await other.open(server.url)
            await other.see("h1", "This server needs a key.")


@pytest.mark.demand("playground.strict_content_security_policy", "playground.axe_accessibility_check_without")
async def test_nothing_inline_runs(tab: Tab) -> None:
    """The policy holds even where a hole in the page would let markup through."""
    tab.expect("Content Security Policy|404")
    await tab.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"hacked=1\">')")
    await tab.page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {text: 'window.hacked=1'}))"
    )
    await say(tab, "hello")
    await tab.see(ANSWER, "You said: hello")
    assert await tab.page.evaluate("window.hacked") is None
    assert any("Content Security Policy" in fault for fault in tab.faults)

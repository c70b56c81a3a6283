"""Flows, plugins and the API in the playground, with a plugin of thirty flows: each window, both languages."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.many_flows import BRANCHES, CHINESE, COUNT, LONG_STEPS, LOOP, write_flows_plugin
from tests.peers.playground import make_server, wait_for_expression
from tests.peers.prerequisites import require, require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
LARGE, SMALL, PHONE = (1440, 900), (1280, 720), (390, 844)
WINDOWS = [pytest.param(size, id=f"{size[0]}x{size[1]}") for size in (LARGE, SMALL, PHONE)]
LANGUAGES = ["en", "zh"]
RUN = ".side.run .btn.ink"
IS_SEEN = """e => {
  const { left, right, top, bottom } = e.getBoundingClientRect();
  return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
}"""
# On the canvas things may be outside; so may they in what scrolls, which is inside the window itself.
FIND_TOO_WIDE = """() => [...document.querySelectorAll('#app *')].filter((e) => {
  const { left, right, width, height } = e.getBoundingClientRect();
  if (!width || !height || !e.checkVisibility() || e.closest('.world, .map, pre, .sr, .skip, .cut *')) return false;
  return left < -1 || right > innerWidth + 1;
}).map((e) => `${e.tagName} ${e.className}`).concat(
  document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight
    ? ['the page itself'] : [])"""
FIND_OVERLAPS = """() => {
  const all = [...document.querySelectorAll('.world .node, .world .elab')]
    .map((e) => [e.textContent, e.getBoundingClientRect()]);
  const found = [];
  all.forEach(([a, one], at) => all.slice(at + 1).forEach(([b, two]) => {
    const apart = one.right <= two.left || two.right <= one.left || one.bottom <= two.top || two.bottom <= one.top;
    if (!apart) found.push(`${a} / ${b}`);
  }));
  return found;
}"""
END = ".world [data-step=end]"
IS_END_SEEN = """() => {
  const end = document.querySelector('.world [data-step=end]').getBoundingClientRect();
  const { left, top, right } = document.querySelector('.canvas').getBoundingClientRect();
  const x = (end.left + end.right) / 2, y = (end.top + end.bottom) / 2;
  const free = document.elementFromPoint(x, y)?.closest('[data-step]')?.dataset.step === 'end';
  return free && end.left >= left && end.right <= right && end.top >= top;
}"""
READ_ZOOM = "parseInt(document.querySelector('.zoom .pc').textContent)"
READ_PLACE = """(() => {
  const { x, y } = document.querySelector('.world [data-step=start]').getBoundingClientRect();
  return [x, y];
})()"""
COUNT_SMALL_TARGETS = """() => [...document.querySelectorAll('.side.run button, .side.run input')]
  .filter((e) => e.checkVisibility() && !e.closest('.seg, .grip') && e.offsetHeight < 40).length"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RightseatProcess]:
    require_assets("@dagrejs/dagre")
    found = make_server()
    write_flows_plugin(found.folder)
    async with found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess) -> AsyncIterator[BrowserTab]:
    async with chromium.open_tab() as found:
        yield found


async def open_view(
    tab: BrowserTab, server: RightseatProcess, view: str, size: tuple[int, int] = LARGE, language: str = "en"
) -> None:
    width, height = size
    await tab.page.set_viewport_size({"width": width, "height": height})
    await tab.page.add_init_script(f"localStorage.setItem('rightseat.language', '{language}')")
    await tab.open_url(f"{server.url}/#/{view}")
    await tab.page.locator("[data-entry]").first.wait_for(state="attached")


async def choose_entry(tab: BrowserTab, text: str) -> None:
    """Open an entry of the list, which lies behind a button on a phone."""
    entry = tab.page.locator(f"[data-entry*='{text}']").first
    await entry.wait_for(state="attached")
    if not await entry.is_visible():
        await tab.page.locator(".topbar .icon.phone").first.click()
    await entry.click()
    await tab.wait_visible("h1")


async def choose_flow(tab: BrowserTab, kind: str) -> None:
    await choose_entry(tab, kind)
    await wait_for_expression(tab, "document.querySelectorAll('.world .way').length > 1")
    await wait_for_expression(tab, f"document.querySelector('.topbar h1').textContent.includes('{kind}')")


async def list_overlaps(tab: BrowserTab) -> list[str]:
    overlaps: list[str] = await tab.page.evaluate(FIND_OVERLAPS)
    return overlaps


async def run_flow(tab: BrowserTab) -> None:
    await tab.click(RUN)
    await tab.wait_visible(".runstatus [data-run=done]")


@pytest.mark.demand("playground.flows_fit_the_window")
@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", [BRANCHES, LOOP, CHINESE])
async def test_a_flow_fits(
    tab: BrowserTab, server: RightseatProcess, size: tuple[int, int], language: str, kind: str
) -> None:
    await open_view(tab, server, "flows", size, language)
    await choose_flow(tab, kind)
    assert await tab.page.locator(RUN).evaluate(IS_SEEN)
    assert await tab.page.evaluate(FIND_TOO_WIDE) == []
    assert await list_overlaps(tab) == []
    assert await tab.page.evaluate(READ_ZOOM) >= 60
    if kind != CHINESE:
        await run_flow(tab)
        assert await tab.page.evaluate(FIND_TOO_WIDE) == []
        assert await list_overlaps(tab) == []
        assert await tab.page.locator(RUN).evaluate(IS_SEEN)
    top = await tab.page.evaluate("document.querySelector('.canvas').getBoundingClientRect().top")
    assert top < 160


@pytest.mark.demand("playground.flows_fit_the_window", "playground.flows_canvas")
@pytest.mark.parametrize("size", WINDOWS)
async def test_the_end_is_reached_by_pan(tab: BrowserTab, server: RightseatProcess, size: tuple[int, int]) -> None:
    await open_view(tab, server, "flows", size)
    await choose_flow(tab, LOOP)
    canvas = await tab.page.locator(".canvas").bounding_box()
    middle = (canvas["x"] + canvas["width"] / 2, canvas["y"] + 150)
    await tab.page.mouse.move(*middle)
    for _ in range(20):
        if await tab.page.evaluate(IS_END_SEEN):
            break
        await tab.page.mouse.wheel(0, 60)
        await tab.page.wait_for_timeout(30)
    assert await tab.page.evaluate(IS_END_SEEN)
    # By a drag too, which may begin on a step and is no click on it.
    before = await tab.page.evaluate(READ_PLACE)
    await tab.page.mouse.down()
    await tab.page.mouse.move(middle[0] - 40, middle[1] + 60, steps=4)
    await tab.page.mouse.up()
    after = await tab.page.evaluate(READ_PLACE)
    assert [round(new - old) for old, new in zip(before, after, strict=True)] == [-40, 60]
    assert await tab.page.locator(".node.on").count() == 0


@pytest.mark.demand("playground.flows_canvas")
async def test_the_canvas_zooms_fits_and_is_walked_by_keys(tab: BrowserTab, server: RightseatProcess) -> None:
    await open_view(tab, server, "flows")
    await choose_flow(tab, BRANCHES)
    fitted = await tab.page.evaluate(READ_ZOOM)
    assert 60 <= fitted <= 100
    press = tab.page.keyboard.press
    await tab.page.focus(".canvas")
    await press("+")
    assert await tab.page.evaluate(READ_ZOOM) > fitted
    await press("-")
    await press("-")
    assert await tab.page.evaluate(READ_ZOOM) < fitted
    await press("0")
    assert await tab.page.evaluate(READ_ZOOM) == fitted
    await zoom_by_wheel(tab, -200)
    assert await tab.page.evaluate(READ_ZOOM) > fitted
    await tab.click("[aria-label=Fit]")
    assert await tab.page.evaluate(READ_ZOOM) == fitted
    walked = []
    await tab.page.focus(".canvas")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowDown", "ArrowUp", "ArrowUp"):
        await press(key)
        walked.append(await tab.page.evaluate("document.activeElement.dataset.step"))
    assert walked == ["start", "pick", LONG_STEPS[0], LONG_STEPS[1], "answer", LONG_STEPS[0], "pick"]
    await press("Enter")
    await tab.wait_visible(".stepdata", "This step has not run yet.")
    # What has the focus is brought into the window.
    for _ in range(5):
        await press("+")
    await tab.page.focus(END)
    assert await tab.page.evaluate(IS_END_SEEN)


async def zoom_by_wheel(tab: BrowserTab, distance: int) -> None:
    await tab.page.hover(".world [data-step=start]")
    await tab.page.keyboard.down("Control")
    await tab.page.mouse.wheel(0, distance)
    await tab.page.keyboard.up("Control")
    await tab.page.wait_for_timeout(50)


@pytest.mark.demand("playground.flows_canvas")
async def test_two_fingers_zoom(tab: BrowserTab, server: RightseatProcess) -> None:
    await open_view(tab, server, "flows", PHONE)
    await choose_flow(tab, BRANCHES)
    before = await tab.page.evaluate(READ_ZOOM)
    session = await tab.page.context.new_cdp_session(tab.page)
    await session.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    for distance in (60, 80, 110, 140):
        fingers = [{"x": 200 - distance, "y": 300, "id": 0}, {"x": 200 + distance, "y": 300, "id": 1}]
        kind = "touchStart" if distance == 60 else "touchMove"
        await session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": fingers})
    await session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert await tab.page.evaluate(READ_ZOOM) > before * 1.5
    # The page itself stays as large as it is.
    assert await tab.page.evaluate("visualViewport.scale") == 1


@pytest.mark.demand("playground.flows_searched")
@pytest.mark.parametrize("size", [WINDOWS[0], WINDOWS[2]])
async def test_flows_are_found_by_name_plugin_and_description(
    tab: BrowserTab, server: RightseatProcess, size: tuple[int, int]
) -> None:
    await open_view(tab, server, "flows", size)
    if size == PHONE:
        await tab.click("[aria-label='All flows']")
    else:
        await tab.page.locator(".topbar h1").click()
        await tab.page.keyboard.press("/")
    assert await tab.page.evaluate("document.activeElement.matches('.list input, .list[data-open] *')")
    entries = tab.page.locator(".list [data-entry]")
    assert await entries.count() == COUNT + 2
    await tab.page.focus(".list input")
    await tab.page.keyboard.type("patrol UNTIL none")
    assert await entries.count() == COUNT // 3
    await tab.fill_text(".list input", "诊断报告")
    assert await entries.count() == COUNT // 3
    await tab.fill_text(".list input", "no such flow")
    await tab.wait_visible(".list [role=status]", "no such flow")
    await tab.fill_text(".list input", "01_loop")
    # A name on one line, cut, and whole when one points at it.
    assert await entries.evaluate("e => e.title.length === 40 && e.offsetHeight <= 44")
    cut = "e => e.scrollWidth > e.clientWidth && getComputedStyle(e).textOverflow === 'ellipsis'"
    assert size == PHONE or await entries.locator(".cut").evaluate(cut)
    await tab.page.keyboard.press("Tab")
    await entries.press("Enter")
    await tab.wait_visible("h1", "01_loop")
    if size == PHONE:
        assert not await tab.page.locator(".list").is_visible()
        assert await tab.page.evaluate("document.activeElement.getAttribute('aria-label')") == "All flows"


@pytest.mark.demand("playground.flows_run_beside")
async def test_a_run_is_shown_beside_its_graph(tab: BrowserTab, server: RightseatProcess) -> None:
    await open_view(tab, server, "flows")
    await choose_flow(tab, BRANCHES)
    await tab.page.get_by_label("Input of the run").fill("task 8f2c")
    await run_flow(tab)
    await tab.wait_visible(".side.run [aria-label=Result]", "8f2c")
    assert await tab.read_texts(".steps .stp[data-visit] .cut") == ["start", "pick", LONG_STEPS[0], "answer", "end"]
    times = await tab.read_texts(".steps .stp[data-visit] .tm")
    assert all(time.endswith("s") for time in times)
    states = "all => Object.fromEntries(all.map((e) => [e.dataset.step, e.dataset.state]))"
    seen = await tab.page.locator(".world .node").evaluate_all(states)
    taken = {"start", "pick", LONG_STEPS[0], "answer", "end"}
    assert seen == {name: "done" if name in taken else "not" for name in (*taken, *LONG_STEPS[1:])}
    ways = await tab.page.locator(".world .way").evaluate_all(
        "all => all.map((e) => [e.classList.contains('went'), getComputedStyle(e.firstChild).strokeDasharray])"
    )
    # Four lines were taken, are solid and drawn last.
    assert [went for went, _ in ways] == [False] * (len(ways) - 4) + [True] * 4
    assert {dashes for went, dashes in ways if went} == {"none"}
    assert "none" not in {dashes for went, dashes in ways if not went}
    await tab.click(f".world [data-step={LONG_STEPS[0]}]")
    await tab.wait_visible(".stepdata pre", '"task": "cve fix"')
    await tab.click(".stepdata .seg >> text=In")
    await tab.wait_visible(".stepdata pre", '"data"')
    await tab.click(".steps .stp >> text=pick")
    await tab.click(".stepdata .seg >> text=Out")
    await tab.wait_visible(".stepdata pre", LONG_STEPS[0])


@pytest.mark.demand("playground.flows_run_beside")
async def test_earlier_runs_are_kept_and_opened_again(tab: BrowserTab, server: RightseatProcess) -> None:
    await open_view(tab, server, "flows")
    await choose_flow(tab, CHINESE)
    await tab.page.get_by_label("Input of the run").fill("first host")
    await tab.click(RUN)
    await tab.wait_visible(".asking", "Which host?")
    assert await tab.page.locator(".world [data-step=start]").get_attribute("data-state") == "asking"
    await tab.page.get_by_label("Input of the run").fill("second host")
    await tab.click(RUN)
    await tab.wait_visible(".stp[title='first host']")
    await tab.click(".stp[title='first host']")
    await tab.wait_visible(".runstatus", "waiting for you")
    await wait_for_expression(tab, "document.querySelector('.side.run input').value === 'first host'")
    await tab.wait_visible(".stp[title='second host']")
    await tab.click("text=Open in chat")
    await tab.wait_visible(".talk", "first host")


@pytest.mark.demand("playground.flows_run_beside")
async def test_on_a_phone_the_run_is_a_sheet(tab: BrowserTab, server: RightseatProcess) -> None:
    await open_view(tab, server, "flows", PHONE)
    await choose_flow(tab, BRANCHES)
    sheet = tab.page.locator(".side.run")
    # The canvas comes first: most of the window is its.
    assert (await sheet.bounding_box())["y"] > PHONE[1] / 2
    await run_flow(tab)
    low = await sheet.bounding_box()
    assert low["y"] > 300
    await tab.click(".grip")
    await wait_for_expression(tab, "document.querySelector('.side.run').getBoundingClientRect().top < 100")
    await tab.click(".grip")
    assert await tab.page.evaluate(COUNT_SMALL_TARGETS) == 0
    await tab.click(".side.run [aria-label=Close]")
    assert not await sheet.is_visible()
    assert await tab.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Run of the flow"
    await tab.page.locator(".world [data-step=start]").click()
    await tab.wait_visible(".stepdata", "start")


@pytest.mark.demand("playground.flows_canvas")
async def test_without_the_layout_a_flow_is_a_list_of_steps(tab: BrowserTab, server: RightseatProcess) -> None:
    tab.expect_problem("404|Failed to load|Failed to fetch")
    await tab.page.route("**/vendor/dagre.js", lambda route: route.fulfill(status=404))
    await open_view(tab, server, "flows")
    await choose_entry(tab, BRANCHES)
    await tab.wait_visible(".plain", "dagre")
    await tab.wait_visible(".plainsteps [data-step=pick]")
    await run_flow(tab)
    assert await tab.page.locator(".plainsteps .node.done").count() == 5
    await tab.click(".plainsteps [data-step=start]")
    await tab.wait_visible(".stepdata pre", "cve fix")


@pytest.mark.demand("playground.flows_searched")
@pytest.mark.parametrize("size", WINDOWS)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("view", ["plugins", "api"])
async def test_plugins_and_routes_fit(
    tab: BrowserTab, server: RightseatProcess, size: tuple[int, int], language: str, view: str
) -> None:
    await open_view(tab, server, view, size, language)
    await choose_entry(tab, "patrol" if view == "plugins" else "/agui/")
    await tab.wait_visible(".operation")
    assert await tab.page.evaluate(FIND_TOO_WIDE) == []
    assert await tab.page.locator(".operation .btn.ink").evaluate("e => e.getBoundingClientRect().top < innerHeight")
    if size == PHONE:
        await tab.page.locator(".topbar .icon.phone").first.click()
    await tab.fill_text(".list input", "offline_nothing")
    assert await tab.page.locator(".list [data-entry]").count() == 0
    await tab.fill_text(".list input", "report_clear" if view == "plugins" else "embed")
    assert await tab.page.locator(".list [data-entry]").count() == (1 if view == "plugins" else 2)


@pytest.mark.demand("playground.api_tried")
async def test_a_route_is_tried(tab: BrowserTab, server: RightseatProcess) -> None:
    await open_view(tab, server, "api")
    await choose_entry(tab, "post /v1/chat/completions")
    await tab.page.focus(".operation textarea")
    await tab.page.keyboard.press("Control+Enter")
    await tab.wait_visible(".operation .chip.ok", "200")
    await tab.wait_visible(".operation .out pre", "You said: What time is it?")
    streamed = {"messages": [{"role": "user", "content": "streamed"}], "stream": True}
    await tab.fill_text(".operation textarea", json.dumps(streamed))
    await tab.click(".operation button:text-is('Send')")
    await tab.wait_visible(".operation .out pre", "data: [DONE]")
    tab.expect_problem("404|400")
    await tab.fill_text(".operation textarea", "{")
    await tab.click(".operation button:text-is('Send')")
    await tab.wait_visible(".operation .chip.bad", "400")
    await choose_entry(tab, "get /v1/models/{model}")
    await tab.page.get_by_label("model").fill("nobody")
    await tab.click(".operation button:text-is('Send')")
    await tab.wait_visible(".operation .chip.bad", "404")
    await tab.wait_visible(".operation .out pre", "nobody")


@pytest.mark.demand("playground.api_tried")
@pytest.mark.parametrize("key", ["", "it's-a-key"])
async def test_what_a_route_hands_out_runs_as_pasted(chromium: Chromium, key: str) -> None:
    config = '[auth.keys]\nann = "env:PAGE_KEY"' if key else ""
    async with make_server(config, env={"PAGE_KEY": key} if key else {}) as server, chromium.open_tab() as tab:
        await tab.page.add_init_script(f"sessionStorage.setItem('rightseat.key', {json.dumps(key)})" if key else "")
        await open_view(tab, server, "api")
        await choose_entry(tab, "post /v1/chat/completions")
        body = {"messages": [{"role": "user", "content": 'it\'s "me" $HOME'}]}
        await tab.fill_text(".operation textarea", json.dumps(body, indent=2))
        lines = {}
        for name in ("curl", "Python"):
            await tab.click(f".operation .seg >> text={name}")
            lines[name] = (await tab.read_texts(".operation form pre"))[0]
            assert key not in lines[name] or not key
        commands = (["bash", "-c", lines["curl"]], [sys.executable, "-c", lines["Python"]])
        for command in commands:
            result = await asyncio.to_thread(run_command, command, key)
            assert json.loads(result)["choices"][0]["message"]["content"] == 'You said: it\'s "me" $HOME'


def run_command(command: list[str], key: str) -> str:
    env = {**os.environ, "RIGHTSEAT_KEY": key}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.demand("playground.axe_accessibility_check_without", "playground.light_dark_keyboard_first")
@pytest.mark.parametrize("size", [WINDOWS[0], WINDOWS[2]])
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing(
    tab: BrowserTab,
    server: RightseatProcess,
    size: tuple[int, int],
    theme: str,
    record_driven: Callable[[str, str], None],
) -> None:
    folder = require("axe") / "node_modules" / "axe-core"
    source = (folder / "axe.min.js").read_text(encoding="utf-8")
    record_driven("axe-core", json.loads((folder / "package.json").read_text(encoding="utf-8"))["version"])
    await tab.page.add_init_script(f"localStorage.setItem('rightseat.theme', '{theme}')")
    await open_view(tab, server, "flows", size)
    await tab.page.evaluate(source)
    await choose_flow(tab, BRANCHES)
    assert await list_violations(tab) == []
    await run_flow(tab)
    await tab.page.locator(".steps .stp >> nth=2").click()
    assert await list_violations(tab) == []
    await tab.page.evaluate("location.hash = '#/plugins'")
    await choose_entry(tab, "report")
    await tab.click(".operation button:text-is('Call')")
    await tab.wait_visible(".out .chip")
    assert await list_violations(tab) == []
    await tab.page.evaluate("location.hash = '#/api'")
    await tab.wait_visible(".operation textarea")
    await tab.click(".operation button:text-is('Send')")
    await tab.wait_visible(".operation .chip.ok")
    assert await list_violations(tab) == []
    if size == PHONE:
        await tab.page.locator(".topbar .icon.phone").first.click()
        assert await list_violations(tab) == []


async def list_violations(tab: BrowserTab) -> list[tuple[str, str]]:
    result: dict[str, Any] = await tab.page.evaluate("() => axe.run()")
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in result["violations"]]

"""The playground's frame: waiting, conversations, examples, the model card, a phone, Chinese, the microphone."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.answers import write_json
from tests.kit.relay import TcpRelay
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.peers.browser import BrowserTab, Chromium, launch_chromium
from tests.peers.echo_upstream import answer_in_steps
from tests.peers.playground import make_server, open_playground, send_message, wait_for_expression
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
ANSWER = ".message.assistant"
DESKTOP = {"width": 1440, "height": 900}
PHONE = {"width": 390, "height": 844}
SIZES = pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
TONGUES = pytest.mark.parametrize("language", ["en", "zh"])
CONFIG = """
[assistants.held]
title = "Held"
model = "held"
[models.held]
spec = "openai:held-model"
base_url = "{url}"

[assistants.packer]
model = "packer"
tools = ["packing:pack"]
[models.packer]
spec = "scripted:packer.json"
"""
PACKING = """
import asyncio
from rightseat import tool

@tool
async def pack() -> str:
    \"\"\"Pack, for as long as it takes.\"\"\"
    await asyncio.sleep(600)
    return "packed"
"""
PARCEL = """\
name: parcel
description: Packs a parcel.
steps:
  - name: start
    call_type: pack
"""
SPEECH = """
[models.ears]
spec = "openai:ears"
base_url = "{url}"
transcribes = true
"""
HAS_FOCUS = "document.activeElement !== document.body"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[FakeUpstream]:
    """The model of the assistant `held`: it answers when the test says so."""
    async with FakeUpstream() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(upstream: FakeUpstream) -> AsyncIterator[RightseatProcess]:
    found = make_server(CONFIG.format(url=upstream.base_url))
    write_slow_things(found.folder)
    async with found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def demo() -> AsyncIterator[RightseatProcess]:
    """What a newcomer has, with a script for the model."""
    async with RightseatProcess(env={"RIGHTSEAT_MODEL": "scripted:demo"}) as found:
        yield found


def write_slow_things(folder: Path) -> None:
    """A tool and a flow's step that take until they are stopped."""
    (folder / "packing.py").write_text(PACKING)
    (folder / "packer.json").write_text(json.dumps({"turns": [{"when": {}, "calls": [{"name": "pack"}]}]}))
    plugin = folder / "plugins" / "depot"
    for name in ("flows", "lib"):
        (plugin / name).mkdir(parents=True)
    about = {"id": "depot", "name": "Depot", "description": "Packs.", "predefined_question": ""}
    (plugin / "plugin.json").write_text(json.dumps(about))
    (plugin / "flows" / "parcel.yaml").write_text(PARCEL)
    (plugin / "lib" / "packing.py").write_text(PACKING)


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess) -> AsyncIterator[BrowserTab]:
    async with open_playground(chromium, server.url) as found:
        yield found


async def look_at(tab: BrowserTab, size: Any, language: str = "en") -> None:
    await tab.page.set_viewport_size(size)
    if language != "en":
        await tab.page.evaluate(f"localStorage.setItem('rightseat.language', '{language}')")
        await tab.page.reload()
        await tab.wait_visible("#say")


WAITING = {"en": ("Asking held-model", "Answering"), "zh": ("正在询问 held-model", "正在回答")}


@pytest.mark.demand("playground.waiting_named_with_seconds")
@SIZES
@TONGUES
async def test_waiting_says_for_what_and_how_long(
    tab: BrowserTab, upstream: FakeUpstream, size: Any, language: str
) -> None:
    asking, answering = WAITING[language]
    await look_at(tab, size, language)
    await tab.page.select_option(".topbar select", "held")
    began, go = asyncio.Event(), asyncio.Event()
    upstream.queue_replies(answer_in_steps("", (began, "one"), (go, " two")))
    await tab.page.evaluate(
        "() => { addEventListener('keydown', () => { const at = performance.now();"
        " new MutationObserver((_, seer) => { if (document.querySelector('.wait b')?.textContent) {"
        " window.waited = performance.now() - at; seer.disconnect(); } })"
        ".observe(document.body, {subtree: true, childList: true, attributes: true}); }, {once: true}); }"
    )
    await send_message(tab, "hello")
    await tab.wait_visible(".wait", asking)
    print(f"shown after {await tab.page.evaluate('window.waited')} ms")
    assert await tab.page.evaluate("window.waited < 200")
    await wait_for_expression(tab, r"/[1-9]\.\d s/.test(document.querySelector('.wait .num').textContent)")
    # The button that stops is no alarm.
    colour = await tab.page.evaluate("getComputedStyle(document.querySelector('.send.stop')).backgroundColor")
    assert colour == "rgb(22, 23, 29)"
    began.set()
    await tab.wait_visible(".wait", answering)
    await tab.page.keyboard.press("Escape")
    await tab.page.locator(".wait").wait_for(state="hidden")
    go.set()
    assert await tab.page.evaluate(HAS_FOCUS)


@pytest.mark.demand("playground.waiting_named_with_seconds")
async def test_waiting_names_the_tool_and_the_step(tab: BrowserTab) -> None:
    await tab.page.select_option(".topbar select", "packer")
    await send_message(tab, "pack")
    await tab.wait_visible(".wait", "Calling pack")
    await tab.page.keyboard.press("Escape")
    await tab.page.locator(".wait").wait_for(state="hidden")
    await tab.page.select_option(".topbar select", "depot.parcel")
    await send_message(tab, "go")
    await tab.wait_visible(".wait", "Step start")
    await tab.click(".send.stop")
    await tab.page.locator(".wait").wait_for(state="hidden")


@pytest.mark.demand("playground.waiting_named_with_seconds")
async def test_a_cut_connection_is_waited_for_by_name(
    chromium: Chromium, server: RightseatProcess, upstream: FakeUpstream
) -> None:
    go = asyncio.Event()
    upstream.queue_replies(answer_in_steps("one", (go, " two")))
    async with TcpRelay(server.port) as relay, open_playground(chromium, relay.url) as tab:
        tab.expect_problem("ERR_|Failed to load resource")
        await tab.page.select_option(".topbar select", "held")
        await send_message(tab, "hello")
        await tab.wait_visible(ANSWER, "one")
        relay.refuses_connections = True
        relay.cut_connections()
        await tab.wait_visible(".wait", "Reconnecting")
        relay.refuses_connections = False
        go.set()
        await tab.wait_visible(ANSWER, "one two")


@pytest.mark.demand("playground.threads_search_dates_menu")
@SIZES
@TONGUES
async def test_conversations_are_searched_renamed_and_deleted(tab: BrowserTab, size: Any, language: str) -> None:
    await look_at(tab, size, language)
    name = f"pears {size['width']} {language}"
    for text in (f"apples {name}", name):
        await tab.page.evaluate("location.hash = '#/chat/default'")
        await tab.page.keyboard.press("Control+Shift+o")
        await wait_for_expression(tab, "document.activeElement.id === 'say'")
        await send_message(tab, text)
        await tab.wait_visible(ANSWER, f"You said: {text}")
    await wait_for_expression(tab, f"document.title === '{name} · rightseat'")
    await tab.page.keyboard.press("Control+k")
    await wait_for_expression(tab, "document.activeElement.type === 'search'")
    await tab.page.keyboard.type(f"apples {name}")
    await wait_for_expression(tab, "document.querySelectorAll('.list .thread').length === 1")
    await tab.wait_visible(".list h3.group", {"en": "Today", "zh": "今天"}[language])
    assert ":" in (await tab.read_texts(".list .thread .when"))[0]
    await tab.page.keyboard.press("ArrowDown")
    await tab.page.keyboard.press("F2")
    await tab.page.keyboard.type("plums")
    await tab.page.keyboard.press("Enter")
    await tab.fill_text(".list input", "plums")
    await tab.wait_visible(".list .thread", "plums")
    await tab.page.hover(".list .threads li")
    await tab.click(".list .mo")
    await tab.click(f"[role=menuitem] >> text={ {'en': 'Delete', 'zh': '删除'}[language] }")
    await tab.wait_visible(".toast", "plums")
    assert await tab.page.locator(".list .thread").count() == 0
    assert await tab.page.evaluate(HAS_FOCUS)
    await tab.click(".toast button")
    await tab.wait_visible(".list .thread", "plums")
    # With the page the time to take it back ends.
    await tab.page.keyboard.press("Delete")
    await tab.wait_gone(".list .thread")
    await tab.page.reload()
    await wait_for_expression(tab, "document.querySelectorAll('.list .thread').length > 0")
    await wait_for_deletion(tab, "plums")


async def wait_for_deletion(tab: BrowserTab, name: str) -> None:
    found = f"(await (await fetch('/copilotkit/threads')).json()).threads.some((one) => one.name === '{name}')"
    await wait_for_expression(tab, f"(async () => !({found}))()")


@pytest.mark.demand("playground.threads_search_dates_menu")
async def test_days_have_names(tab: BrowserTab) -> None:
    told = await tab.page.evaluate(
        """async () => {
          const { group, short } = await import('/playground/dates.js');
          const now = new Date(2026, 2, 30, 0, 30);
          const days = [new Date(2026, 2, 30, 0, 5), new Date(2026, 2, 29, 23, 59), new Date(2026, 2, 24, 9),
            new Date(2026, 2, 23, 9), new Date(2025, 10, 2)];
          return days.map((day) => [group(day, now), short(day, 'en', now), short(day, 'zh', now)]);
        }"""
    )
    assert told == [
        ["today", "00:05", "00:05"],
        ["yesterday", "23:59", "23:59"],
        ["week", "Tue", "周二"],
        ["older", "23 Mar", "3月23日"],
        ["older", "2 Nov", "11月2日"],
    ]


@pytest.mark.demand("playground.threads_search_dates_menu")
@SIZES
async def test_all_conversations_are_a_view_and_archived_ones_are_found_again(tab: BrowserTab, size: Any) -> None:
    await look_at(tab, size)
    name = f"quinces {size['width']}"
    await send_message(tab, name)
    await tab.wait_visible(ANSWER, f"You said: {name}")
    await tab.page.evaluate("location.hash = '#/threads'")
    await tab.wait_visible(".all .thread", name)
    await tab.fill_text(".all input[type=search]", name)
    await wait_for_expression(tab, "document.querySelectorAll('.all .thread').length === 1")
    assert await tab.read_texts(".all .thread b mark") == [name]
    await tab.page.focus(".all .thread")
    await tab.page.keyboard.press("e")
    await tab.wait_visible(".toast", f"“{name}” archived")
    # Another report ends the time of this one.
    await tab.page.evaluate("dispatchEvent(new Event('pagehide'))")
    await tab.wait_gone(".toast")
    await tab.page.evaluate("location.hash = '#/threads'")
    await tab.page.check(".all input[type=checkbox]")
    await tab.fill_text(".all input[type=search]", name)
    await tab.wait_visible(".all .thread .chip", "archived")
    await tab.click(".all .mo")
    await tab.click("[role=menuitem] >> text=Restore")
    await tab.wait_gone(".all .thread .chip.line")


@pytest.mark.demand("playground.examples_and_default_always_near")
@SIZES
@TONGUES
async def test_examples_are_one_click_away_and_a_new_conversation_is_the_default_s(
    chromium: Chromium, demo: RightseatProcess, size: Any, language: str
) -> None:
    sales, clock = {"en": ("Show the sales", "What time"), "zh": ("显示今年的销售额", "现在几点")}[language]
    async with open_playground(chromium, demo.url) as tab:
        await look_at(tab, size, language)
        await tab.click(f".eg button:has-text('{sales}')")
        await tab.wait_visible(".message.user", sales)
        await tab.page.locator(".wait").wait_for(state="hidden")
        assert await tab.page.evaluate("document.querySelector('.topbar select').value") == "demo.sales"
        await tab.click(".topbar .examples")
        await tab.click(f"[role=menuitem]:has-text('{clock}')")
        await tab.wait_visible(".message.user", clock)
        await tab.page.locator(".wait").wait_for(state="hidden")
        assert await tab.page.evaluate("document.querySelector('.topbar select').value") == "default"
        await tab.page.select_option(".topbar select", "demo.sales")
        await tab.page.keyboard.press("Control+Shift+o")
        await tab.wait_visible(".eg button", clock)
        assert await tab.page.evaluate("document.querySelector('.topbar select').value") == "default"
        assert await tab.page.evaluate("document.activeElement.id") == "say"


@pytest.mark.demand("playground.welcome_model_card")
@SIZES
@TONGUES
async def test_the_welcome_shows_ones_own_model_and_its_tools(tab: BrowserTab, size: Any, language: str) -> None:
    await look_at(tab, size, language)
    await tab.wait_visible(".now b", "stall")
    await tab.wait_visible(".now .chip", {"en": "6 tools", "zh": "6 个工具"}[language])
    await tab.page.select_option(".topbar select", "held")
    await tab.wait_visible(".now b", "held-model")
    await tab.wait_visible(".now .chip", {"en": "Calls tools", "zh": "调用工具"}[language])
    await tab.click(".now a.btn")
    await wait_for_expression(tab, "location.hash === '#/models'")


PLACES = ("chat", "flows", "models", "plugins", "connect", "api")
SMALL = """(root) => [...document.querySelector(root)
    .querySelectorAll('button, a[href], select, input, summary, textarea')]
  .filter((one) => one.checkVisibility({opacityProperty: true}) && !one.closest('.prose, .skip, .inspector'))
  .filter((one) => { const {width, height} = (one.closest('label, .choose') ?? one).getBoundingClientRect();
    return width > 0 && (width < 44 || height < 44); })
  .map((one) => one.outerHTML.slice(0, 120))"""


@pytest.mark.demand("playground.phone_reaches_everything")
@TONGUES
async def test_on_a_phone_every_place_is_reached_and_every_target_is_large(tab: BrowserTab, language: str) -> None:
    await look_at(tab, PHONE, language)
    await send_message(tab, "hello")
    await tab.wait_visible(f"{ANSWER}[aria-busy=false]", "You said: hello")
    assert await tab.page.evaluate(SMALL, "body") == []
    await tab.click(".topbar .icon.phone >> nth=0")
    await tab.wait_visible(".list .thread", "hello")
    assert await tab.page.evaluate(SMALL, "body") == []
    await tab.click(".list .title .phone")
    await tab.page.locator(".list").wait_for(state="hidden")
    await wait_for_expression(tab, HAS_FOCUS)
    for place in PLACES:
        direct = tab.page.locator(f".rail [data-view={place}]")
        if await direct.is_visible():
            await direct.click()
        else:
            await tab.click(".rail .go.phone")
            assert await tab.page.evaluate(SMALL, "dialog") == []
            await tab.click(f"dialog [href='#/{place}']")
        await wait_for_expression(tab, f"location.hash.startsWith('#/{place}')")
        await wait_for_expression(tab, f"document.documentElement.scrollWidth <= {PHONE['width']}")
    fonts = """[...document.querySelectorAll('input:not([hidden]), textarea, select')]
      .map((one) => parseFloat(getComputedStyle(one).fontSize))"""
    await tab.click(".rail [data-view=chat]")
    assert min(await tab.page.evaluate(fonts)) >= 16


async def test_an_answer_for_a_view_that_was_left_does_not_change_the_address(tab: BrowserTab) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def answer_later(route: Any) -> None:
        asked.set()
        await go.wait()
        await route.continue_()

    await tab.page.route("**/playground/setup", answer_later)
    await tab.click(".rail [data-view=connect]")
    await asyncio.wait_for(asked.wait(), HANG_TIMEOUT)
    await tab.click(".rail [data-view=api]")
    async with tab.page.expect_response("**/playground/setup") as response:
        go.set()
    await (await response.value).finished()
    await tab.wait_visible(".view.api")
    assert await tab.page.evaluate("location.hash") == "#/api"
    await tab.click(".rail [data-view=connect]")
    await wait_for_expression(tab, "location.hash.startsWith('#/connect/')")


UNTRANSLATED = """() => {
  const seen = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode()); ) {
    const {parentElement} = node;
    const theirs = 'code, pre, .kbd, .message, .thread, .foot';
    if (!parentElement.checkVisibility() || parentElement.closest(theirs)) continue;
    if (/[A-Za-z]{3,}/.test(node.data) && !/[\u4e00-\u9fff]/.test(node.data)) seen.push(node.data.trim());
  }
  for (const one of document.querySelectorAll('[aria-label], [title], [placeholder]'))
    for (const name of ['aria-label', 'title', 'placeholder']) {
      const text = one.getAttribute(name) ?? '';
      if (one.checkVisibility() && !one.closest('.thread') && /[A-Za-z]{3,}/.test(text)
        && !/[\u4e00-\u9fff]/.test(text)) seen.push(text);
    }
  return [...new Set(seen)];
}"""
NAMES = {"Shop", "Boss", "Held", "stall", "default", "other", "rightseat", "English", "API", "hello", "packer"}


@pytest.mark.demand("playground.chinese_to_the_last_sentence")
@SIZES
async def test_chinese_to_the_last_sentence(tab: BrowserTab, size: Any) -> None:
    await look_at(tab, size, "zh")
    assert set(await tab.page.evaluate(UNTRANSLATED)) - await read_names(tab) == set()
    await send_message(tab, "hello")
    await tab.wait_visible(ANSWER, "You said: hello")
    assert set(await tab.page.evaluate(UNTRANSLATED)) - await read_names(tab) == set()
    await tab.page.evaluate("location.hash = '#/threads'")
    await tab.wait_visible(".all .thread")
    await tab.page.hover(".all .threads li")
    await tab.click(".all .mo >> nth=0")
    await tab.wait_visible("[role=menu]")
    assert set(await tab.page.evaluate(UNTRANSLATED)) - await read_names(tab) == set()


async def read_names(tab: BrowserTab) -> set[str]:
    """Names of assistants, models and conversations: they are as their owner wrote them."""
    options = await tab.page.evaluate("[...document.querySelectorAll('option')].map(o => o.textContent)")
    titles = await tab.page.evaluate("[...document.querySelectorAll('.thread')].map(o => o.title)")
    return NAMES | set(options) | set(titles)


@pytest.mark.demand("playground.light_dark_keyboard_first")
async def test_the_theme_follows_the_system_until_one_is_chosen(tab: BrowserTab) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    for scheme, colour in (("dark", "rgb(16, 17, 21)"), ("light", "rgb(255, 255, 255)")):
        await tab.page.emulate_media(color_scheme=scheme)
        assert await tab.page.evaluate(back) == colour
    assert await tab.page.evaluate("localStorage.getItem('rightseat.theme')") is None
    await tab.click(".rail [aria-label='Light or dark']")
    assert await tab.page.evaluate(back) == "rgb(16, 17, 21)"
    await tab.page.emulate_media(color_scheme="dark")
    await tab.page.reload()
    await tab.wait_visible("#say")
    assert await tab.page.evaluate("localStorage.getItem('rightseat.theme')") == "dark"


@pytest.mark.demand("playground.light_dark_keyboard_first")
async def test_the_skip_link_has_a_target_in_every_view(tab: BrowserTab) -> None:
    for place in (*PLACES, "threads"):
        await tab.page.evaluate(f"location.hash = '#/{place}'")
        await wait_for_expression(tab, f"document.querySelector('.app').dataset.view === '{place}'")
        await tab.page.focus(".skip")
        await tab.page.keyboard.press("Enter")
        expected = "say" if place == "chat" else "stage"
        assert await tab.page.evaluate("document.activeElement.id") == expected


@pytest.mark.demand("playground.light_dark_keyboard_first")
async def test_the_focus_never_falls_to_the_page(tab: BrowserTab) -> None:
    focused = "document.activeElement.id"
    await tab.page.focus(".now a.btn")
    await tab.page.keyboard.press("Enter")
    await wait_for_expression(tab, f"{focused} === 'stage'")
    await tab.page.evaluate("location.hash = '#/threads'")
    await tab.wait_visible(".topbar .btn.ink")
    await tab.page.focus(".topbar .btn.ink")
    await tab.page.keyboard.press("Enter")
    await wait_for_expression(tab, f"{focused} === 'say'")
    await send_message(tab, "endless")
    await tab.page.focus(".send.stop")
    await tab.page.keyboard.press("Enter")
    await wait_for_expression(tab, f"{focused} === 'say'")
    await look_at(tab, PHONE)
    await tab.click(".rail .go.phone")
    await tab.page.focus("dialog [data-tongue]")
    await tab.page.keyboard.press("Enter")
    await tab.wait_gone("dialog")
    await wait_for_expression(tab, "document.documentElement.lang === 'zh'")
    assert await tab.page.evaluate(HAS_FOCUS)


@pytest.mark.demand("playground.axe_accessibility_check_without")
@SIZES
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_nothing_of_the_frame_keeps_anyone_out(
    tab: BrowserTab, server: RightseatProcess, size: Any, theme: str
) -> None:
    source = (require("axe") / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    await tab.page.emulate_media(color_scheme=theme)
    await look_at(tab, size)
    await tab.page.evaluate(source)
    assert await list_violations(tab) == []
    await send_message(tab, "hello")
    await tab.wait_visible(ANSWER)
    await wait_for_expression(tab, "document.querySelectorAll('.list .thread').length > 0")
    assert await list_violations(tab) == []
    if size == PHONE:
        await tab.click(".topbar .icon.phone >> nth=0")
        await tab.wait_visible(".list .thread")
        assert await list_violations(tab) == []
    await tab.page.evaluate("location.hash = '#/threads'")
    await tab.wait_visible(".all .thread")
    await tab.page.hover(".all .threads li")
    await tab.click(".all .mo >> nth=0")
    await tab.wait_visible("[role=menu]")
    assert await list_violations(tab) == []
    await tab.page.keyboard.press("End")
    await tab.page.keyboard.press("Enter")
    await tab.wait_visible(".toast")
    assert await list_violations(tab) == []


async def list_violations(tab: BrowserTab) -> list[tuple[str, str]]:
    found = await tab.page.evaluate("axe.run()")
    bad = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in bad]


@pytest.mark.demand("playground.microphone_transcribes")
@SIZES
@TONGUES
async def test_what_is_spoken_comes_into_the_box(size: Any, language: str) -> None:
    flags = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
    async with (
        FakeUpstream() as ears,
        make_server(SPEECH.format(url=ears.base_url)) as server,
        launch_chromium(*flags) as chromium,
        open_playground(chromium, server.url) as tab,
    ):
        ears.queue_replies(lambda connection, request: write_json(connection, 200, {"text": "turn left"}))
        await look_at(tab, size, language)
        await tab.fill_text("#say", "Please")
        await tab.click(".mic")
        await tab.wait_visible(".mic[aria-pressed=true]")
        await tab.page.wait_for_timeout(300)
        await tab.click(".mic")
        await wait_for_expression(tab, "document.querySelector('#say').value === 'Please turn left'")
        assert await tab.page.evaluate("document.activeElement.id") == "say"
        [request] = ears.requests
        assert request.target.endswith("/audio/transcriptions")
        assert b"WAVEfmt" in request.body


async def test_without_a_model_for_speech_there_is_no_microphone(tab: BrowserTab) -> None:
    assert await tab.page.locator(".mic").count() == 0

"""The playground's frame: waiting, conversations, examples, the model card, a phone, Chinese, the microphone."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.echo_upstream import answer_in_steps
from tests.peers.playground import make_server, open_playground, send_message, wait_for_expression

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
"""
HAS_FOCUS = "document.activeElement !== document.body"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def upstream() -> AsyncIterator[FakeUpstream]:
    """The model of the assistant `held`: it answers when the test says so."""
    async with FakeUpstream() as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(upstream: FakeUpstream) -> AsyncIterator[RightseatProcess]:
    async with make_server(CONFIG.format(url=upstream.base_url)) as found:
        yield found


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
    seen = "window.seen = new Set(); const look = () => { const t = document.querySelector('.wait [role=status]')"
    seen += "?.textContent; if (t) window.seen.add(t); requestAnimationFrame(look); }; look();"
    await tab.page.evaluate(f"() => {{ {seen} }}")
    await send_message(tab, "slow")
    await tab.wait_visible(".wait", "Calling slow")
    await tab.page.keyboard.press("Escape")
    await tab.page.locator(".wait").wait_for(state="hidden")

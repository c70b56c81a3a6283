"""The search in messages, operations with method and path, and requests sent again: a real browser, a real server."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import make_server, send_message, wait_for_expression
from tests.peers.prerequisites import require_assets
from tests.peers.test_playground_author import answer_weather, write_weather_plugin
from tests.peers.test_playground_models import SIZES, check_accessible, open_view

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

QUESTIONS = ("The zebra crosses the street.", "今年的销售额是多少？", "Nothing of this kind.")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RightseatProcess]:
    async with FakeUpstream() as upstream:
        upstream.reply = answer_weather
        found = make_server()
        write_weather_plugin(found, upstream.port)
        async with found:
            yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium) -> AsyncIterator[BrowserTab]:
    require_assets("markdown-it")
    async with chromium.open_tab() as found:
        yield found


async def say_all(tab: BrowserTab, url: str) -> None:
    for number, question in enumerate(QUESTIONS):
        await tab.open_url(f"{url}/?new{number}")
        await tab.wait_visible("#say")
        await send_message(tab, question)
        await wait_for_expression(tab, f"document.body.innerText.includes('You said: {question}')")


@pytest.mark.demand("playground.search_in_messages")
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES)
async def test_what_was_said_is_found(tab: BrowserTab, size: str, language: str) -> None:
    async with make_server() as server:
        await say_all(tab, server.url)
        await open_view(tab, server.url, "threads", size, language)
        await tab.wait_visible(".all .thread")
        # Said by the assistant only: no title has it.
        await tab.fill_text(".all input[type=search]", "you SAID: the zebra")
        await tab.wait_visible(".all .snippet", "You said: The zebra crosses")
        assert await tab.page.locator(".all .thread").count() == 1
        assert await tab.read_texts(".all .snippet mark") == ["You said: The zebra"]
        await check_accessible(tab)
        assert await tab.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size][0]
        await tab.fill_text(".all input[type=search]", "said: 今年的销售")
        await tab.wait_visible(".all .snippet", "今年的销售额是多少")
        await tab.click(".all .thread")
        await tab.wait_visible(".message.assistant", "今年的销售额是多少")
        if size == "phone":
            await tab.click(".topbar .icon.phone")
        await tab.fill_text(".list input[type=search]", "said: nothing")
        await tab.wait_visible(".list .snippet", "You said: Nothing of this kind.")
        assert await tab.page.locator(".list .thread").count() == 1
        await check_accessible(tab, ".list")
        await tab.fill_text(".list input[type=search]", "said by nobody")
        await tab.wait_visible(".list p", "said by nobody")


@pytest.mark.demand("playground.operations_show_method_and_path")
@pytest.mark.parametrize("size", SIZES)
async def test_operations_show_method_and_path(tab: BrowserTab, server: RightseatProcess, size: str) -> None:
    await open_view(tab, server.url, "plugins", size)
    if size == "phone":
        await tab.click(".topbar .icon.phone")
    await tab.click("[data-entry=weather]")
    await tab.wait_visible("[data-tool] .meth.post", "POST")
    await tab.wait_visible("[data-tool] code.path", "/cities/{city}")
    await check_accessible(tab)


@pytest.mark.demand("playground.server_sentences_in_chinese")
async def test_problems_and_checks_are_chinese(tab: BrowserTab, server: RightseatProcess) -> None:
    await open_view(tab, server.url, "plugins", "desktop", "zh")
    await tab.click("[data-entry=report]")
    await tab.wait_visible(".problems li", "flows/wrong.yaml")
    told = " ".join(await tab.read_texts(".problems li"))
    assert "它没有步骤。" in told, told
    await open_view(tab, server.url, "connect", "desktop", "zh")
    texts = "[...document.querySelectorAll('.checks li')].map((one) => one.textContent)"
    await wait_for_expression(tab, f"{texts}.some((text) => text.includes('可以回答新问题'))")
    lines = await tab.page.evaluate(texts)
    assert any("flows/wrong.yaml:2: steps: 它没有步骤。 请至少写一个" in line for line in lines), lines
    assert [line for line in lines if "not installed" in line or " tools" in line or "databases of" in line] == []


@pytest.mark.demand("playground.wire_sends_again")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_request_is_sent_again(tab: BrowserTab, server: RightseatProcess, language: str) -> None:
    label = {"en": "Send again", "zh": "重新发送"}[language]
    done = {"en": "new answer · HTTP 200", "zh": "新的响应 · HTTP 200"}[language]
    await open_view(tab, server.url, "chat", "desktop", language)
    await tab.wait_visible("#say")
    await send_message(tab, "Tell me once more.")
    await tab.wait_visible(".message.assistant", "You said")
    await tab.page.keyboard.press("Control+i")
    await tab.page.get_by_role("tab", name={"en": "Wire", "zh": "协议输出"}[language]).click()
    await tab.wait_visible(".wire .lines")
    for door in ("agui", "openai", "openbb", "copilotkit", "mcp"):
        await tab.click(f".wire:first-child [data-door={door}]")
        assert await tab.page.locator(".wire:first-child .resent").count() == 0
        await tab.click(f".wire:first-child [aria-label='{label}']")
        await tab.wait_visible(".wire:first-child .resent.ok", done)
        assert "once" in " ".join(await tab.read_texts(".wire:first-child .lines")), door
    await check_accessible(tab, ".insp")
    # No endpoint leaves a conversation behind.
    await wait_for_expression(
        tab, "fetch('copilotkit/threads').then((one) => one.json()).then((found) => found.threads.length <= 2)"
    )

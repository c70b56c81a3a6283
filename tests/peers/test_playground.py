"""The playground as a person uses it: a real browser, a real server, a script for a model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.server import RightseatProcess
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import make_server, open_playground, send_message, wait_for_expression
from tests.peers.prerequisites import require_assets

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
ANSWER = ".message.assistant"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RightseatProcess]:
    require_assets("echarts")
    async with make_server() as found:
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess) -> AsyncIterator[BrowserTab]:
    async with open_playground(chromium, server.url) as found:
        yield found


async def read_download(download: Any) -> str:
    path = await download.path()
    return await asyncio.to_thread(Path(path).read_text)


@pytest.mark.demand("playground.chat_streaming_markdown_sanitised")
async def test_an_answer_can_be_stopped_and_asked_again(tab: BrowserTab) -> None:
    await send_message(tab, "endless")
    await tab.wait_visible(ANSWER, "word word")
    await tab.click("button.stop")
    await tab.wait_visible(".note", "Stopped.")
    [said] = await tab.read_texts(f"{ANSWER} .prose")
    assert said.count("word") >= 2
    await tab.click(f"{ANSWER} [aria-label='Try again']")
    await tab.wait_gone(".note")
    await tab.wait_visible("button.stop")
    # By the keyboard too.
    await tab.page.keyboard.press("Escape")
    await tab.wait_visible(".note", "Stopped.")


@pytest.mark.demand("playground.chat_streaming_markdown_sanitised")
async def test_a_question_is_edited_into_a_branch(tab: BrowserTab) -> None:
    await send_message(tab, "first")
    await tab.wait_visible(ANSWER, "You said: first")
    await send_message(tab, "second")
    await tab.wait_visible(ANSWER, "You said: second")
    await tab.page.hover(".message.user >> nth=1")
    await tab.click(".message.user >> nth=1 >> [aria-label=Edit]")
    await tab.fill_text(".message.user textarea", "third")
    await tab.click("text=Edit and ask again")
    await tab.wait_visible(ANSWER, "You said: third")
    texts = await tab.read_texts(f"{ANSWER} .prose")
    assert texts == ["You said: first", "You said: third"]
    # What was said before the branch is not lost.
    await tab.click(".threads li >> nth=1 >> .thread")
    await tab.wait_visible(ANSWER, "You said: second")


@pytest.mark.demand("playground.thread_list_survives_reload")
async def test_conversations_survive_a_reload(tab: BrowserTab) -> None:
    await send_message(tab, "remember me")
    await tab.wait_visible(ANSWER, "You said: remember me")
    await tab.page.reload()
    await tab.wait_visible(ANSWER, "You said: remember me")
    await send_message(tab, "and this")
    await tab.wait_visible(ANSWER, "You said: and this")
    await tab.page.reload()
    await tab.wait_visible(ANSWER, "You said: and this")
    assert len(await tab.read_texts(ANSWER)) == 2
    await tab.click("[aria-label='New conversation']")
    await tab.wait_gone(ANSWER)
    await tab.click(".threads >> text=remember me")
    await tab.wait_visible(ANSWER, "You said: and this")


@pytest.mark.demand("playground.thread_list_survives_reload")
async def test_a_conversation_is_renamed_and_deleted(tab: BrowserTab) -> None:
    await send_message(tab, "short lived")
    await tab.wait_visible(".thread", "short lived")
    await tab.page.hover(".thread >> text=short lived")
    await tab.click("[aria-label='More: short lived']")
    await tab.click("[role=menuitem] >> text=Rename")
    await tab.fill_text(".threads input", "another name")
    await tab.page.keyboard.press("Enter")
    await tab.wait_visible(".thread", "another name")
    await wait_for_expression(tab, "document.title === 'another name · rightseat'")
    await tab.page.focus(".thread:has-text('another name')")
    await tab.page.keyboard.press("Delete")
    await tab.page.locator(".thread", has_text="another name").wait_for(state="detached")
    await tab.wait_gone(ANSWER)
    # The way back is open for some seconds.
    await tab.click(".toast >> text=Undo")
    await tab.wait_visible(ANSWER, "You said: short lived")
    await tab.page.focus(".thread:has-text('another name')")
    await tab.page.keyboard.press("Delete")
    await tab.wait_visible(".toast", "“another name” deleted")
    await tab.page.reload()
    await tab.wait_visible("#say")
    assert "another name" not in "".join(await tab.read_texts(".thread"))


@pytest.mark.demand("playground.thread_list_survives_reload")
async def test_whom_one_asks_and_by_which_model(tab: BrowserTab) -> None:
    assert "Shop" in await tab.read_texts("select[aria-label=Assistant] option")
    await tab.page.select_option("select[aria-label=Model]", "other")
    await send_message(tab, "hello")
    await tab.wait_visible(ANSWER, "The other model.")


@pytest.mark.demand("playground.confirmations_missing_parameter_forms")
async def test_a_form_has_fields_of_the_right_kind(tab: BrowserTab) -> None:
    await send_message(tab, "deliver")
    await tab.wait_visible(".question form")
    labels = ["Street *", *(f"{name} · optional" for name in ("Floor", "Fast", "Day"))]
    assert await tab.read_texts(".question label") == labels
    await tab.page.get_by_label("Floor").fill("3")
    await tab.click(".question >> button:text-is('Send')")
    # What is needed is asked for before anything is sent.
    assert await tab.page.locator(".question input:invalid").count() == 1
    await tab.page.get_by_label("Street").fill("High St")
    await tab.page.get_by_label("Fast").select_option(label="Yes")
    await tab.page.get_by_label("Day · optional").select_option(label="Tuesday")
    await tab.click(".question >> button:text-is('Send')")
    await tab.wait_visible(ANSWER, "Done:")
    [said] = await tab.read_texts(f"{ANSWER} .prose")
    assert all(one in said for one in ("High St", "3", "True", "Tuesday"))


@pytest.mark.demand("playground.confirmations_missing_parameter_forms")
async def test_a_question_is_still_there_after_a_reload(tab: BrowserTab) -> None:
    await send_message(tab, "cancel")
    await tab.wait_visible(".call[data-state=asking] >> button >> text=Allow once")
    await tab.page.reload()
    await tab.click(".call[data-state=asking] >> button >> text=Allow once")
    await tab.wait_visible(ANSWER, "a-1 is cancelled")


@pytest.mark.demand("playground.charts_render_steps_real")
async def test_a_chart_is_really_drawn_and_a_table_saved_without_formulas(tab: BrowserTab) -> None:
    await send_message(tab, "orders")
    await tab.click(".call .head >> nth=0")
    async with tab.page.expect_download() as pending:
        await tab.click(".call [aria-label='Download CSV']")
    # A spreadsheet must not take a cell for a formula.
    assert "'=cmd,200" in await read_download(await pending.value)
    await tab.click("[data-view=flows]")
    await tab.click("button >> text=Run")
    await tab.wait_visible(".world .node[data-state=done]", "chart")
    await tab.click("[data-view=chat]")
    await tab.wait_visible(".artifact canvas")
    # Not every point of its canvas is empty.
    drawn = "c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(Boolean)"
    assert await tab.page.locator(".artifact canvas").first.evaluate(drawn)


@pytest.mark.demand("playground.set_doctor_knows_fixes")
async def test_connect_tells_what_works_and_calls_every_endpoint(tab: BrowserTab) -> None:
    await tab.click("[data-view=connect]")
    await tab.click(".health summary")
    await tab.wait_visible(".health", "plugin report")
    await tab.click(".checkbox button")
    await tab.wait_visible(".checkbox .checks li")
    await tab.wait_gone(".checkbox .spin")
    assert await tab.page.locator(".checkbox .bad").count() == 0
    await tab.wait_visible(".list .foot", "endpoints")


async def test_thoughts_are_folded_away(tab: BrowserTab) -> None:
    await send_message(tab, "think")
    await tab.wait_visible(ANSWER, "Thought.")
    assert await tab.page.locator(".reasoning").get_attribute("open") is None
    await tab.click(".reasoning summary")
    await tab.wait_visible(".thought", "Let me see.")


@pytest.mark.demand("playground.empty_loading_error_states")
async def test_a_failure_says_what_to_do(tab: BrowserTab) -> None:
    await send_message(tab, "fail")
    await tab.wait_visible(".failure[role=alert]", "That did not work.")
    await tab.wait_visible(".failure code", "upstream_busy")
    await tab.click(".failure >> text=Try again")
    await tab.wait_visible(".failure")
    # The thread can be used again.
    await send_message(tab, "still there")
    await tab.wait_visible(ANSWER, "You said: still there")


@pytest.mark.demand("playground.light_dark_keyboard_first")
async def test_in_chinese_in_the_dark_and_on_a_phone(tab: BrowserTab) -> None:
    await tab.click(".rail [aria-label=中文]")
    await tab.wait_visible("[aria-label=发送]")
    await tab.page.reload()
    await tab.wait_visible("[aria-label=发送]")
    assert await tab.page.evaluate("document.documentElement.lang") == "zh"
    await tab.click("[aria-label=浅色或深色]")
    theme = await tab.page.evaluate("document.documentElement.dataset.theme")
    back = await tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (theme, back) == ("dark", "rgb(16, 17, 21)")
    await tab.page.set_viewport_size({"width": 375, "height": 700})
    await send_message(tab, "prose")
    await tab.wait_visible(f"{ANSWER} table")
    assert await tab.page.evaluate("document.documentElement.scrollWidth") <= 375
    await tab.click(".topbar [aria-label=会话]")
    await tab.wait_visible(".list .thread")

"""A day with the playground: an author's flows and operations, agents that hand over, files, several tabs."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.kit.answers import write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.playground import make_server, open_playground, send_message, wait_for_expression

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
ANSWER = ".message.assistant"
TRIAL = ".trial"
# A picture of one point.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
FILES = [
    {"name": "dot.png", "mimeType": "image/png", "buffer": PIXEL},
    {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"hello"},
]
DROP_LARGE_FILE = """() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([new Uint8Array(7_000_001)], 'large.bin'));
  const drop = new DragEvent('drop', { dataTransfer, cancelable: true });
  document.querySelector('.composer').dispatchEvent(drop);
}"""
WEATHER = {
    "openapi": "3.1.0",
    "info": {"title": "Weather", "version": "1"},
    "paths": {
        "/cities/{city}": {
            "post": {
                "operationId": "look",
                "summary": "Look at the sky.",
                "parameters": [
                    {"name": "city", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "days", "in": "query", "schema": {"type": ["integer", "null"]}},
                ],
                "responses": {"200": {"description": "ok"}},
            }
        }
    },
}


async def answer_weather(connection: Connection, request: ReceivedRequest) -> None:
    await write_json(connection, 200, {"sky": "clear"})


def write_weather_plugin(server: RightseatProcess, port: int) -> None:
    plugin = server.folder / "plugins" / "weather"
    plugin.mkdir(parents=True)
    about = {"id": "weather", "name": "Weather", "description": "The sky.", "predefined_question": ""}
    (plugin / "plugin.json").write_text(json.dumps(about))
    document = WEATHER | {"servers": [{"url": f"http://127.0.0.1:{port}"}]}
    (plugin / "openapi.json").write_text(json.dumps(document))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[RightseatProcess]:
    async with FakeUpstream() as upstream:
        upstream.reply = answer_weather
        found = make_server()
        write_weather_plugin(found, upstream.port)
        async with found:
            yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, server: RightseatProcess) -> AsyncIterator[BrowserTab]:
    async with open_playground(chromium, server.url) as found:
        yield found


async def read_step_states(tab: BrowserTab) -> dict[str, str]:
    boxes = "all => all.map(box => [box.dataset.step, box.dataset.state])"
    return dict(await tab.page.locator(".world .node").evaluate_all(boxes))


async def run_trip(tab: BrowserTab, target: str) -> None:
    await tab.click("button:text-is('Run')")
    await tab.wait_visible(".side.run .asking", "Where to?")
    assert (await read_step_states(tab))["start"] == "asking"
    await tab.page.get_by_label("Your answer").fill(target)
    await tab.click(".side.run .asking >> button:text-is('Send')")


@pytest.mark.demand("playground.flows_list_per_plugin")
async def test_a_flow_asks_branches_loops_and_fails_before_ones_eyes(tab: BrowserTab) -> None:
    await tab.click("[data-view=flows]")
    await tab.click("[data-entry='report/trip']")
    await run_trip(tab, "hills")
    await tab.wait_visible(".runstatus [data-run=done]")
    done = dict.fromkeys(("start", "pick", "days", "end"), "done")
    assert await read_step_states(tab) == {**done, "sink": "not"}
    # By the keyboard, too.
    await tab.page.focus(".world [data-step=start]")
    await tab.page.keyboard.press("Space")
    await tab.wait_visible(".stepdata pre", "hills")
    await run_trip(tab, "sea")
    await tab.wait_visible(".side.run .asking", "the ship has sunk")
    found = await read_step_states(tab)
    assert (found["sink"], found["days"]) == ("failed", "not")
    await tab.click("text=Open in chat")
    await tab.wait_visible(".failure >> text=Try again")


@pytest.mark.demand("playground.plugins_loaded_wrong_try")
async def test_an_operation_is_tried_and_its_request_seen(tab: BrowserTab) -> None:
    await choose_tool(tab, "weather", "weather_look")
    await tab.page.locator(TRIAL).get_by_label("city").fill("Rome")
    await tab.page.locator(TRIAL).get_by_label("days").fill("3")
    await tab.click(f"{TRIAL} >> button:text-is('Call')")
    await tab.wait_visible(f"{TRIAL} .out pre", "clear")
    await tab.click(f"{TRIAL} .out >> text=Request")
    await tab.wait_visible(f"{TRIAL} .out pre", "/cities/Rome?days=3")
    await tab.click(f"{TRIAL} >> text=As a model sees it")
    await tab.wait_visible(f"{TRIAL} .model pre", '"city"')


@pytest.mark.demand("playground.plugins_loaded_wrong_try")
async def test_what_an_operation_does_wrong_is_a_result(tab: BrowserTab) -> None:
    await choose_tool(tab, "report", "report_broken")
    await tab.wait_visible(".problems .bad", "It has no steps.")
    await tab.click(f"{TRIAL} >> button:text-is('Call')")
    await tab.wait_visible(f"{TRIAL} .out .bad", "the ship has sunk")
    await choose_tool(tab, "report", "report_clear")
    await tab.page.locator(TRIAL).get_by_label("year").fill("2020")
    await tab.click(f"{TRIAL} >> button:text-is('Call')")
    await tab.click(f"{TRIAL} >> button:text-is('Decline')")
    await tab.wait_visible(f"{TRIAL} .out .bad", "did not allow")


async def choose_tool(tab: BrowserTab, plugin: str, tool: str) -> None:
    await tab.click("[data-view=plugins]")
    await tab.click(f"[data-entry={plugin}]")
    await tab.click(f"[data-tool={tool}]")
    await tab.wait_visible(f"{TRIAL}[aria-label={tool}]")


@pytest.mark.demand("playground.tool_calls_cards_name")
async def test_a_run_inside_is_one_card_also_after_a_question(tab: BrowserTab) -> None:
    await tab.page.select_option("select[aria-label=Assistant]", "boss")
    await tab.wait_visible(".welcome", "Hands everything over.")
    assert await tab.page.locator("select[aria-label=Model]").count() == 0
    await send_message(tab, "cancel")
    await tab.wait_visible(".nested[data-state=waiting]", "cancel")
    await tab.click("button:text-is('Allow once')")
    await tab.wait_visible(ANSWER, "The shop says: Done: a-1 is cancelled")
    await tab.wait_visible(".nested[data-state=done] .calls", 'cancel({"id":"a-1"})')
    assert await tab.page.locator(".nested").count() == 1


@pytest.mark.demand("playground.chat_streaming_markdown_sanitised", "plugins.files_attached_page_fill")
async def test_files_go_with_a_message_and_are_still_there_after_a_reload(tab: BrowserTab) -> None:
    await tab.page.set_input_files("input[type=file]", FILES)
    await tab.wait_visible(".composer .files", "notes.txt")
    await tab.click("[aria-label='Delete: notes.txt']")
    await tab.page.set_input_files("input[type=file]", FILES[1:])
    await send_message(tab, "look")
    await tab.wait_visible(ANSWER, "You said: look")
    for _ in range(2):
        assert await tab.read_texts(".message.user .files li") == ["", "notes.txt"]
        width = "img => img.naturalWidth"
        assert await tab.page.locator(".message.user img[alt='dot.png']").evaluate(width) == 1
        await tab.page.reload()
        await tab.wait_visible(".message.user .files")
    # Another question about the same files.
    await tab.page.hover(".message.user")
    await tab.click(".message.user [aria-label=Edit]")
    await tab.fill_text(".message.user textarea", "look closer")
    await tab.click("text=Edit and ask again")
    await tab.wait_visible(ANSWER, "You said: look closer")
    assert await tab.read_texts(".message.user .files li") == ["", "notes.txt"]


@pytest.mark.demand("playground.empty_loading_error_states")
async def test_a_file_that_is_too_large_is_said_before_it_is_sent(tab: BrowserTab) -> None:
    await tab.page.evaluate(DROP_LARGE_FILE)
    await tab.wait_visible(".banner", "large.bin: Too large")


@pytest.mark.demand("playground.charts_render_steps_real")
async def test_what_stands_beside_words(tab: BrowserTab) -> None:
    await send_message(tab, "papers")
    await tab.wait_visible(".citations a[href='https://law.example/1']", "The law")
    await tab.wait_visible(".artifact.text strong", "bold")
    async with tab.page.expect_download() as pending:
        await tab.page.locator(".artifact.file a").evaluate("a => { a.removeAttribute('target'); a.click(); }")
    path = await (await pending.value).path()
    assert await asyncio.to_thread(Path(path).read_bytes) == b"hello"
    await tab.click(".hints >> text=orders")
    await tab.wait_visible(".call[data-state=done] code", "orders")


@pytest.mark.demand("playground.inspector_save_test_turns")
async def test_a_saved_run_answers_again(chromium: Chromium, tab: BrowserTab) -> None:
    """Words, several calls at once and an approval: the same conversation, with the file for a model."""
    await hold_conversation(tab)
    await tab.click("[aria-label=Inspector]")
    async with tab.page.expect_download() as pending:
        await tab.click("text=Save as test")
    saved = await asyncio.to_thread(Path(await (await pending.value).path()).read_text)
    first = await tab.read_texts(".talk .prose, .talk .call code:first-of-type")
    server = make_server()
    (server.folder / "stall.json").write_text(saved)
    async with server, open_playground(chromium, server.url) as again:
        await hold_conversation(again)
        assert await again.read_texts(".talk .prose, .talk .call code:first-of-type") == first


async def hold_conversation(tab: BrowserTab) -> None:
    await send_message(tab, "hello (you)")
    await tab.wait_visible(f"{ANSWER}[aria-busy=false]", "You said: hello (you)")
    await send_message(tab, "two things")
    await tab.wait_visible(".call[data-state=done] code", "orders")
    await tab.click("button:text-is('Allow once')")
    await tab.wait_visible(f"{ANSWER}[aria-busy=false]", 'Both {done}, and "more".')
    assert await tab.page.locator(".call[data-state=done]").count() == 2


@pytest.mark.demand("playground.thread_list_survives_reload")
async def test_two_tabs_on_one_conversation(chromium: Chromium, tab: BrowserTab) -> None:
    await send_message(tab, "one")
    await tab.wait_visible(ANSWER, "You said: one")
    other = await tab.page.context.new_page()
    await other.goto(tab.page.url)
    await other.fill("#say", "two")
    await other.keyboard.press("Enter")
    await other.locator(ANSWER, has_text="You said: two").wait_for()
    await tab.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await tab.wait_visible(ANSWER, "You said: two")
    await send_message(tab, "three")
    await tab.wait_visible(ANSWER, "You said: three")
    assert await tab.read_texts(f"{ANSWER} .prose") == [f"You said: {word}" for word in ("one", "two", "three")]
    # Asked at the same time: the later question waits in its box, and what is answered is seen.
    tab.expect_problem("409")
    await other.fill("#say", "endless")
    await other.keyboard.press("Enter")
    await other.locator("button.stop").wait_for()
    await other.locator(ANSWER, has_text="word").wait_for()
    await send_message(tab, "four")
    await tab.wait_visible(ANSWER, "word word")
    assert await tab.page.input_value("#say") == "four"
    await tab.click("button.stop")
    await tab.wait_visible(".note", "Stopped.")
    await other.locator(".note", has_text="Stopped.").wait_for()
    await other.close()


@pytest.mark.demand("playground.chat_streaming_markdown_sanitised")
async def test_a_branch_keeps_what_was_done_before_it(tab: BrowserTab) -> None:
    await send_message(tab, "orders")
    await tab.wait_visible(ANSWER, "Done:")
    await send_message(tab, "left")
    await tab.wait_visible(ANSWER, "You said: left")
    await tab.page.hover(".message.user >> nth=1")
    await tab.click(".message.user >> nth=1 >> [aria-label=Edit]")
    await tab.fill_text(".message.user textarea", "right")
    await tab.click("text=Edit and ask again")
    for _ in range(2):
        await tab.wait_visible(ANSWER, "You said: right")
        # A finished call is folded.
        await tab.page.locator(".call[data-state=done] td", has_text="a-3").first.wait_for(state="attached")
        said = await tab.read_texts(f"{ANSWER} .prose")
        assert [text.split(":")[0] for text in said] == ["Done", "You said"]
        await tab.page.reload()


@pytest.mark.demand("playground.chat_streaming_markdown_sanitised")
async def test_nothing_written_is_lost(tab: BrowserTab) -> None:
    await send_message(tab, "endless")
    await tab.wait_visible(ANSWER, "word")
    # An Enter too early neither stops the answer nor takes the text.
    await send_message(tab, "my next question")
    await tab.wait_visible("button.stop")
    assert await tab.page.input_value("#say") == "my next question"
    await tab.click("button.stop")
    await tab.wait_visible(".note", "Stopped.")
    await tab.click(".rail [aria-label=中文]")
    assert await tab.page.input_value("#say") == "my next question"
    await tab.wait_visible(".note", "已停止")


@pytest.mark.demand("playground.light_dark_keyboard_first")
async def test_by_the_keyboard_alone(tab: BrowserTab) -> None:
    press = tab.page.keyboard.press
    await press("Tab")
    await press("Enter")
    assert await tab.page.evaluate("document.activeElement.id") == "say"
    await tab.page.keyboard.type("cancel")
    await press("Enter")
    await tab.wait_visible(".question")
    await tab.page.focus(".question button")
    await press("Enter")
    await tab.wait_visible(ANSWER, "a-1 is cancelled")
    await tab.page.focus("[aria-label=Inspector]")
    await press("Enter")
    await tab.page.focus("[role=tab][aria-selected=true]")
    await press("ArrowRight")
    await tab.wait_visible(".insp .ev")
    assert "Events" in await tab.page.evaluate("document.activeElement.textContent")
    await press("Control+Shift+O")
    await tab.wait_gone(ANSWER)
    assert await tab.page.evaluate("document.activeElement.id") == "say"


@pytest.mark.demand("playground.light_dark_keyboard_first", "playground.charts_render_steps_real")
async def test_a_chart_takes_the_light_and_rests_for_who_wants_rest(tab: BrowserTab) -> None:
    await tab.page.emulate_media(reduced_motion="reduce")
    await tab.page.select_option("select[aria-label=Assistant]", "report.sales")
    await send_message(tab, "draw")
    await tab.wait_visible(".artifact canvas")
    drawn = "document.querySelector('.artifact canvas')?.toDataURL() ?? ''"
    before = await tab.page.evaluate(drawn)
    await tab.click("[aria-label='Light or dark']")
    await wait_for_expression(tab, f"({drawn}).length > 1000 && ({drawn}) !== {json.dumps(before)}")


@pytest.mark.demand("playground.thread_list_survives_reload")
async def test_a_very_long_conversation_opens_at_its_end(tab: BrowserTab, server: RightseatProcess) -> None:
    """Six hundred messages, posted as a client would that kept them."""
    roles = ("assistant", "user")
    past = [{"id": f"m{n}", "role": roles[n % 2], "content": f"**word {n}**"} for n in range(1, 600)]
    script = """async ([past]) => {
      const { run } = await import('/playground/server.js');
      const input = { threadId: 'long', runId: 'r1', messages: past, tools: [], context: [], state: {} };
      for await (const event of run('default', input)) ;
    }"""
    await tab.page.evaluate(script, [past])
    await tab.open_url(f"{server.url}/#/chat/default/long")
    await tab.page.reload()
    await tab.wait_visible(ANSWER, "You said: word 599")
    assert await tab.page.locator(".message").count() == 600
    last = f"[...document.querySelectorAll('{ANSWER}')].at(-1).getBoundingClientRect()"
    await wait_for_expression(tab, f"{last}.bottom <= innerHeight && {last}.top >= 0")

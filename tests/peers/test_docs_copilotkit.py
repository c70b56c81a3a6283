"""The React files of docs/copilotkit.md as they are printed, compiled, in a real Chromium on the printed server."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.answers import SSE_HEADERS, UpstreamReply, answer_tokens, answer_tool_call
from tests.kit.chunks import DONE, encode_frame, make_call_delta, make_chunk
from tests.kit.connection import Connection, ReceivedRequest
from tests.peers import copilotkit_page as printed
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.copilotkit_example import PEER
from tests.peers.copilotkit_page import CHATS, ChatParts, PrintedSite
from tests.peers.echo_upstream import answer_in_steps
from tests.peers.prerequisites import require

pytestmark = [
    pytest.mark.peers,
    pytest.mark.timeout(600),
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.demand("copilotkit.printed_app"),
]
NOTE = "main input"
ORDERS = "main li"
PAGE_TOOLS = {"show_orders", "write_label", "choose_day"}
SERVER_TOOLS = {"find_order", "cancel_order", "set_state"}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=CHATS, ids=[chat.version for chat in CHATS])
async def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, record_driven: Callable[[str, str], None]
) -> AsyncIterator[PrintedSite]:
    require(PEER)
    chat: ChatParts = request.param
    folder = tmp_path_factory.mktemp("printed")
    printed.write_sources(folder, chat, printed.get_source(chat))
    printed.bundle_page(folder)
    async with printed.open_site(folder, chat) as found:
        record_driven("copilotkit-printed", chat.version)
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, site: PrintedSite) -> AsyncIterator[BrowserTab]:
    async with chromium.open_tab() as found:
        # Only in builds for development, as the printed command makes them: not every tool of the page has a card.
        found.expect_problem("no renderer is registered")
        await found.open_url(site.page_url)
        await found.wait_visible("h1", "Order desk")
        yield found


async def send_message(tab: BrowserTab, site: PrintedSite, text: str) -> None:
    # With nothing to send the button is off; while a run is going on it stops the run.
    await tab.wait_visible(f"{site.chat.ready_button}:disabled")
    await tab.fill_text(site.chat.textarea, text)
    await tab.click(f"{site.chat.ready_button}:enabled")


async def wait_answer(tab: BrowserTab, site: PrintedSite, text: str) -> None:
    await tab.wait_visible(site.chat.assistant_message, text)


def get_last_request(site: PrintedSite) -> dict[str, Any]:
    body: dict[str, Any] = site.upstream.requests[-1].json
    return body


def list_tool_results(site: PrintedSite) -> list[str]:
    return [str(message["content"]) for message in get_last_request(site)["messages"] if message["role"] == "tool"]


def answer_call_in_steps(name: str, first: str, go: asyncio.Event, rest: str) -> UpstreamReply:
    """A call whose arguments stop in the middle until the event is set."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for delta in (make_call_delta(0, id="up_1", name=name, arguments=""), make_call_delta(0, arguments=first)):
            await connection.write_chunk(encode_frame(make_chunk({"tool_calls": [delta]})))
        await go.wait()
        await connection.write_chunk(encode_frame(make_chunk({"tool_calls": [make_call_delta(0, arguments=rest)]})))
        for part in (encode_frame(make_chunk({}, "tool_calls")), DONE, b""):
            await connection.write_chunk(part)

    return reply


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat.version)
async def test_the_printed_file_compiles(chat: ChatParts, tmp_path: Path) -> None:
    require(PEER)
    source = printed.get_source(chat)
    printed.write_sources(tmp_path, chat, source)
    assert printed.check_types(tmp_path) == ""
    # The compiler does look at CopilotKit's own types.
    (tmp_path / printed.SOURCE).write_text(source.replace("description:", "describe:", 1), "utf-8")
    assert "error TS" in printed.check_types(tmp_path)


async def test_chat_and_context(tab: BrowserTab, site: PrintedSite) -> None:
    go = asyncio.Event()
    site.upstream.queue_replies(answer_in_steps("Hello ", (go, "there.")))
    await send_message(tab, site, "Hi")
    await wait_answer(tab, site, "Hello")
    assert "there." not in "".join(await tab.read_texts(site.chat.assistant_message))
    go.set()
    await wait_answer(tab, site, "Hello there.")
    assert "Bookshelf" in json.dumps(get_last_request(site)["messages"])
    assert {tool["function"]["name"] for tool in get_last_request(site)["tools"]} == PAGE_TOOLS | SERVER_TOOLS


async def test_frontend_tool(tab: BrowserTab, site: PrintedSite) -> None:
    assert len(await tab.read_texts(ORDERS)) == 3
    call = answer_tool_call("show_orders", '{"status": "delivered"}')
    site.upstream.queue_replies(call, answer_tokens(["Only ", "one."]))
    await send_message(tab, site, "What was delivered?")
    await wait_answer(tab, site, "Only one.")
    assert await tab.read_texts(ORDERS) == ["C9 Armchair delivered"]
    assert list_tool_results(site) == ["The page shows: delivered."]


async def test_generative_ui(tab: BrowserTab, site: PrintedSite) -> None:
    go = asyncio.Event()
    call = answer_call_in_steps("write_label", '{"text": "For', go, ' Ada"}')
    site.upstream.queue_replies(call, answer_tokens(["It ", "sticks."]))
    await send_message(tab, site, "A label for Ada, please.")
    await tab.wait_visible(".label", "For inProgress")
    go.set()
    await tab.wait_visible(".label", "For Ada A label with 7 characters.")
    await wait_answer(tab, site, "It sticks.")
    assert list_tool_results(site) == ["A label with 7 characters."]


async def test_human_in_the_loop(tab: BrowserTab, site: PrintedSite) -> None:
    call = answer_tool_call("choose_day", '{"number": "B2"}')
    site.upstream.queue_replies(call, answer_tokens(["On ", "that ", "day."]))
    await send_message(tab, site, "Deliver B2.")
    await tab.wait_visible(".day", "When is B2 to come?")
    await tab.click(".day >> text=Friday")
    await wait_answer(tab, site, "On that day.")
    assert list_tool_results(site) == ["Friday"]
    await tab.wait_gone(".day button")


async def test_a_suggestion_and_the_card_of_a_backend_tool(tab: BrowserTab, site: PrintedSite) -> None:
    call = answer_tool_call("find_order", '{"number": "A7"}')
    site.upstream.queue_replies(call, answer_tokens(["It ", "travels."]))
    await tab.wait_visible(site.chat.suggestion, "Find A7")
    await tab.click(f"{site.chat.suggestion}:has-text('Find A7')")
    await wait_answer(tab, site, "It travels.")
    assert await tab.read_texts(site.chat.user_message) == ["Where is A7?"]
    assert await tab.read_texts(".order") == ["A7 Desk lamp: on its way"]


@pytest.mark.parametrize(("answer", "done"), [("Yes", True), ("No", False)])
async def test_approval(tab: BrowserTab, site: PrintedSite, answer: str, done: bool) -> None:
    call = answer_tool_call("cancel_order", '{"number": "C9"}')
    site.upstream.queue_replies(call, answer_tokens(["So ", "be ", "it."]))
    await send_message(tab, site, "Cancel C9.")
    await tab.wait_visible(".approval", 'Allow cancel_order with {"number":"C9"}?')
    await tab.click(f".approval >> text={answer}")
    await wait_answer(tab, site, "So be it.")
    await tab.wait_gone(".approval")
    assert (list_tool_results(site) == ["C9 is cancelled."]) is done


async def test_shared_state(tab: BrowserTab, site: PrintedSite) -> None:
    await tab.fill_text(NOTE, "Ring once.")
    go = asyncio.Event()
    call = answer_call_in_steps("set_state", '{"note": "Ring', go, ' twice."}')
    site.upstream.queue_replies(call, answer_tokens(["It ", "is ", "noted."]), answer_tokens(["I ", "see."]))
    await send_message(tab, site, "They do not hear well.")
    # The page changes while the model writes.
    await wait_note(tab, "Ring")
    assert '"Ring once."' in json.dumps(get_last_request(site)["messages"]).replace("\\", "")
    go.set()
    await wait_note(tab, "Ring twice.")
    await wait_answer(tab, site, "It is noted.")
    await tab.fill_text(NOTE, "Knock.")
    await send_message(tab, site, "And now?")
    await wait_answer(tab, site, "I see.")
    assert '"Knock."' in json.dumps(get_last_request(site)["messages"]).replace("\\", "")
    assert await tab.page.input_value(NOTE) == "Knock."


async def wait_note(tab: BrowserTab, text: str) -> None:
    await tab.page.wait_for_function(f"document.querySelector('{NOTE}').value === {json.dumps(text)}")

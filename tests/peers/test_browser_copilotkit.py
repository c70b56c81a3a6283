"""The React app of examples/copilotkit in a real Chromium, on a real server: what the person sees."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.answers import answer_tokens, answer_tool_call, answer_tool_calls
from tests.kit.connection_faults import cut_inside_frame
from tests.kit.faults import CANARY, fail_with_status, send_endlessly
from tests.peers import copilotkit_example as example
from tests.peers.browser import BrowserTab, Chromium
from tests.peers.copilotkit_example import CLIENT_PACKAGE, SEND_BUTTON, ExampleSite, send_message
from tests.peers.echo_upstream import answer_in_steps

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

ASSISTANT_MESSAGE = '[data-testid="copilot-assistant-message"]'
USER_MESSAGE = '[data-testid="copilot-user-message"]'
CARD = '[data-testid="order"]'
APPROVAL = '[data-testid="approval"]'
SHOWN_ORDER = '[data-testid="shown"]'
ORDERS = '[data-testid="orders"] >> li'
ALERT = '[role="alert"]'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def example_site(
    tmp_path_factory: pytest.TempPathFactory, record_driven: Callable[[str, str], None]
) -> AsyncIterator[ExampleSite]:
    site = example.bundle_page(tmp_path_factory.mktemp("desk"))
    async with example.open_site(site) as found:
        record_driven("copilotkit-example", example.list_packages()[CLIENT_PACKAGE])
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, example_site: ExampleSite) -> AsyncIterator[BrowserTab]:
    """The page, just opened, in a conversation of its own."""
    async with chromium.open_tab() as found:
        await found.open_url(example_site.page_url)
        yield found


def get_last_request(example_site: ExampleSite) -> dict[str, Any]:
    """What the model was asked last."""
    body: dict[str, Any] = example_site.upstream.requests[-1].json
    return body


def list_tool_results(example_site: ExampleSite) -> list[str]:
    return [str(one["content"]) for one in get_last_request(example_site)["messages"] if one["role"] == "tool"]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless", "copilotkit.docs_copilotkit_md_react")
async def test_text_streams_and_the_model_knows_the_page(tab: BrowserTab, example_site: ExampleSite) -> None:
    go = asyncio.Event()
    example_site.upstream.queue_replies(answer_in_steps("Hello ", (go, "there.")))
    await send_message(tab, "Hi")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Hello")
    assert "there." not in "".join(await tab.read_texts(ASSISTANT_MESSAGE))
    go.set()
    await tab.wait_visible(ASSISTANT_MESSAGE, "Hello there.")
    assert await tab.read_texts(USER_MESSAGE) == ["Hi"]
    assert "Bookshelf" in json.dumps(get_last_request(example_site)["messages"]), "the readable"
    offered = {one["function"]["name"] for one in get_last_request(example_site)["tools"]}
    assert offered == {"find_order", "cancel_order", "show_orders"}


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless", "copilotkit.docs_copilotkit_md_react")
async def test_a_frontend_action_changes_the_page(tab: BrowserTab, example_site: ExampleSite) -> None:
    assert len(await tab.read_texts(ORDERS)) == 3
    example_site.upstream.queue_replies(
        answer_tool_call("show_orders", '{"status": "delivered"}'), answer_tokens(["Only ", "one."])
    )
    await send_message(tab, "What was delivered?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Only one.")
    await tab.wait_visible(SHOWN_ORDER, "delivered")
    assert await tab.read_texts(ORDERS) == ["C9\nArmchair\ndelivered"]
    assert list_tool_results(example_site) == ["The page shows: delivered."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_server_tool_is_shown_as_a_card(tab: BrowserTab, example_site: ExampleSite) -> None:
    example_site.upstream.queue_replies(
        answer_tool_call("find_order", '{"number": "A7"}'), answer_tokens(["It ", "travels."])
    )
    await send_message(tab, "Where is A7?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "It travels.")
    assert await tab.read_texts(CARD) == ["A7 Desk lamp: on its way"]
    assert json.loads(list_tool_results(example_site)[0]) == {"item": "Desk lamp", "status": "on its way"}


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_two_calls_in_one_answer(tab: BrowserTab, example_site: ExampleSite) -> None:
    calls = (("find_order", '{"number": "B2"}'), ("show_orders", '{"status": "packed"}'))
    example_site.upstream.queue_replies(answer_tool_calls(*calls), answer_tokens(["Both ", "done."]))
    await send_message(tab, "Show me B2.")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Both done.")
    assert await tab.read_texts(CARD) == ["B2 Bookshelf: packed"]
    await tab.wait_visible(SHOWN_ORDER, "packed")


# The shop is the same for all tests, and an order stays cancelled: C9 is the one that none of them looks up.
@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize(("answer", "done"), [("Yes", True), ("No", False)])
async def test_approval(tab: BrowserTab, example_site: ExampleSite, answer: str, done: bool) -> None:
    example_site.upstream.queue_replies(
        answer_tool_call("cancel_order", '{"number": "C9"}'), answer_tokens(["So ", "be ", "it."])
    )
    await send_message(tab, "Cancel C9.")
    await tab.wait_visible(APPROVAL, 'Allow cancel_order with {"number":"C9"}?')
    await tab.click(f"{APPROVAL} >> text={answer}")
    await tab.wait_visible(ASSISTANT_MESSAGE, "So be it.")
    await tab.wait_gone(APPROVAL)
    assert (list_tool_results(example_site) == ["C9 is cancelled."]) is done


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_question_outlives_a_reload(tab: BrowserTab, example_site: ExampleSite) -> None:
    example_site.upstream.queue_replies(
        answer_tool_call("cancel_order", '{"number": "C9"}'), answer_tokens(["It ", "is ", "off."])
    )
    await send_message(tab, "Cancel C9.")
    await tab.wait_visible(APPROVAL)
    await tab.page.reload()
    await tab.wait_visible(APPROVAL, "Allow cancel_order")
    await tab.click(f"{APPROVAL} >> text=Yes")
    await tab.wait_visible(ASSISTANT_MESSAGE, "It is off.")
    assert list_tool_results(example_site) == ["C9 is cancelled."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_stop_ends_the_model_and_the_talk_goes_on(tab: BrowserTab, example_site: ExampleSite) -> None:
    example_site.upstream.queue_replies(send_endlessly(rate=50))
    closed = example_site.upstream.closed_count
    await send_message(tab, "Tell me everything.")
    await tab.wait_visible(ASSISTANT_MESSAGE)
    await tab.click(SEND_BUTTON)
    await example_site.upstream.wait_closed(closed + 1)
    assert "w0" in (await tab.read_texts(ASSISTANT_MESSAGE))[0], "what was said stays"
    assert await tab.read_texts(ALERT) == []
    example_site.upstream.queue_replies(answer_tokens(["As ", "you ", "wish."]))
    await send_message(tab, "Enough.")
    await tab.wait_visible(ASSISTANT_MESSAGE, "As you wish.")
    await tab.page.reload()
    await tab.wait_visible(ASSISTANT_MESSAGE, "As you wish.")
    assert await tab.read_texts(USER_MESSAGE) == ["Tell me everything.", "Enough."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize(
    "broken", [fail_with_status(401), fail_with_status(500), cut_inside_frame(after=2)], ids=["401", "500", "cut"]
)
async def test_a_failure_of_the_model_is_shown_and_the_talk_goes_on(
    tab: BrowserTab, example_site: ExampleSite, broken: Any
) -> None:
    example_site.upstream.reply = broken
    await send_message(tab, "Hi")
    await tab.wait_visible(ALERT, "model")
    example_site.upstream.reply = None
    assert CANARY not in await tab.page.content()
    await tab.click(f"{ALERT} >> text=Close")
    example_site.upstream.queue_replies(answer_tokens(["Back ", "again."]))
    await send_message(tab, "And now?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Back again.")
    await tab.page.reload()
    await tab.wait_visible(ASSISTANT_MESSAGE, "Back again.")
    assert await tab.read_texts(USER_MESSAGE) == ["Hi", "And now?"]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_reload_shows_the_thread_and_goes_on(tab: BrowserTab, example_site: ExampleSite) -> None:
    example_site.upstream.queue_replies(
        answer_tool_call("find_order", '{"number": "A7"}'), answer_tokens(["Seen."]), answer_tokens(["Still ", "here."])
    )
    await send_message(tab, "Where is A7?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Seen.")
    await tab.page.reload()
    await tab.wait_visible(ASSISTANT_MESSAGE, "Seen.")
    assert await tab.read_texts(CARD) == ["A7 Desk lamp: on its way"]
    await send_message(tab, "Are you there?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Still here.")
    assert await tab.read_texts(USER_MESSAGE) == ["Where is A7?", "Are you there?"]
    said = [one.get("content") for one in get_last_request(example_site)["messages"] if one["role"] != "system"]
    assert said[0] == "Where is A7?"
    assert said[-1] == "Are you there?"


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_reload_in_the_middle_of_an_answer_misses_nothing(tab: BrowserTab, example_site: ExampleSite) -> None:
    go = asyncio.Event()
    example_site.upstream.queue_replies(answer_in_steps("First half, ", (go, "second half.")))
    await send_message(tab, "Speak.")
    await tab.wait_visible(ASSISTANT_MESSAGE, "First half,")
    await tab.page.reload()
    await tab.wait_visible(ASSISTANT_MESSAGE, "First half,")
    go.set()
    await tab.wait_visible(ASSISTANT_MESSAGE, "First half, second half.")


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_second_window_follows_the_answer_and_may_stop_it(
    tab: BrowserTab, example_site: ExampleSite, chromium: Chromium
) -> None:
    example_site.upstream.queue_replies(send_endlessly(rate=50))
    closed = example_site.upstream.closed_count
    await send_message(tab, "Tell me everything.")
    await tab.wait_visible(ASSISTANT_MESSAGE, "w0w0")
    async with chromium.open_tab() as other:
        await other.open_url(tab.page.url)
        await other.wait_visible(ASSISTANT_MESSAGE, "w0w0")
        await other.click(SEND_BUTTON)
        await example_site.upstream.wait_closed(closed + 1)
        assert await other.read_texts(USER_MESSAGE) == ["Tell me everything."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_conversations_are_listed_opened_and_deleted(tab: BrowserTab, example_site: ExampleSite) -> None:
    example_site.upstream.queue_replies(answer_tokens(["Of ", "oak."]), answer_tokens(["Of ", "brass."]))
    await send_message(tab, "What is the bookshelf made of?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Of oak.")
    await tab.click("nav >> text=a new one")
    await tab.wait_visible("nav li", "What is the bookshelf made of?")
    assert await tab.read_texts(ASSISTANT_MESSAGE) == []
    await send_message(tab, "And the lamp?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Of brass.")
    await tab.click("nav >> text=What is the bookshelf made of?")
    await tab.wait_visible(ASSISTANT_MESSAGE, "Of oak.")
    await tab.click("nav li:has-text('bookshelf') >> text=delete")
    await tab.wait_gone("nav li:has-text('bookshelf')")
    await tab.page.reload()
    await tab.wait_visible("nav li", "And the lamp?")
    assert "bookshelf" not in "".join(await tab.read_texts("nav li"))


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_without_the_key_a_refusal_and_with_it_an_answer(chromium: Chromium, example_site: ExampleSite) -> None:
    async with chromium.open_tab() as tab:
        tab.expect_problem(r"\b401\b|Agent default not found")
        await tab.open_url(example_site.locked_page_url)
        await tab.wait_visible(ALERT, "This server needs a key.")
        await tab.fill_text(f"{ALERT} >> input", "ada-key")
        await tab.click(f"{ALERT} >> text=Use")
        example_site.upstream.queue_replies(answer_tokens(["Welcome, ", "Ada."]))
        await send_message(tab, "Hi")
        await tab.wait_visible(ASSISTANT_MESSAGE, "Welcome, Ada.")

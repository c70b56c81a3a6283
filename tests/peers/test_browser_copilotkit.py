"""The React app of examples/copilotkit in a real Chromium, on a real server: what the person sees."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from tests.kit.answers import say, tool, tools
from tests.kit.breaks import cut
from tests.kit.faults import CANARY, endless, status
from tests.peers import desk as example
from tests.peers.browser import Chromium, Tab
from tests.peers.desk import CLIENT, SEND, Desk, ask
from tests.peers.mirror import halting

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

SAID = '[data-testid="copilot-assistant-message"]'
ASKED = '[data-testid="copilot-user-message"]'
CARD = '[data-testid="order"]'
APPROVAL = '[data-testid="approval"]'
SHOWN = '[data-testid="shown"]'
ORDERS = '[data-testid="orders"] >> li'
FAILURE = '[role="alert"]'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory, driven: Callable[[str, str], None]) -> AsyncIterator[Desk]:
    site = example.bundled(tmp_path_factory.mktemp("desk"))
    async with example.opened(site) as found:
        driven("copilotkit-example", example.wanted()[CLIENT])
        yield found


@pytest_asyncio.fixture(loop_scope="module")
async def tab(chromium: Chromium, desk: Desk) -> AsyncIterator[Tab]:
    """The page, just opened, in a conversation of its own."""
    async with chromium.tab() as found:
        await found.open(desk.page)
        yield found


def posted(desk: Desk) -> dict[str, Any]:
    """What the model was asked last."""
    found: dict[str, Any] = desk.upstream.requests[-1].json
    return found


def results(desk: Desk) -> list[str]:
    return [str(one["content"]) for one in posted(desk)["messages"] if one["role"] == "tool"]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless", "copilotkit.docs_copilotkit_md_react")
async def test_text_streams_and_the_model_knows_the_page(tab: Tab, desk: Desk) -> None:
    go = asyncio.Event()
    desk.upstream.queue(halting("Hello ", (go, "there.")))
    await ask(tab, "Hi")
    await tab.see(SAID, "Hello")
    assert "there." not in "".join(await tab.texts(SAID))
    go.set()
    await tab.see(SAID, "Hello there.")
    assert await tab.texts(ASKED) == ["Hi"]
    assert "Bookshelf" in json.dumps(posted(desk)["messages"]), "the readable"
    offered = {one["function"]["name"] for one in posted(desk)["tools"]}
    assert offered == {"find_order", "cancel_order", "show_orders"}


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless", "copilotkit.docs_copilotkit_md_react")
async def test_a_frontend_action_changes_the_page(tab: Tab, desk: Desk) -> None:
    assert len(await tab.texts(ORDERS)) == 3
    desk.upstream.queue(tool("show_orders", '{"status": "delivered"}'), say(["Only ", "one."]))
    await ask(tab, "What was delivered?")
    await tab.see(SAID, "Only one.")
    await tab.see(SHOWN, "delivered")
    assert await tab.texts(ORDERS) == ["C9\nArmchair\ndelivered"]
    assert results(desk) == ["The page shows: delivered."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_server_tool_is_shown_as_a_card(tab: Tab, desk: Desk) -> None:
    desk.upstream.queue(tool("find_order", '{"number": "A7"}'), say(["It ", "travels."]))
    await ask(tab, "Where is A7?")
    await tab.see(SAID, "It travels.")
    assert await tab.texts(CARD) == ["A7 Desk lamp: on its way"]
    assert json.loads(results(desk)[0]) == {"item": "Desk lamp", "status": "on its way"}


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_two_calls_in_one_answer(tab: Tab, desk: Desk) -> None:
    calls = (("find_order", '{"number": "B2"}'), ("show_orders", '{"status": "packed"}'))
    desk.upstream.queue(tools(*calls), say(["Both ", "done."]))
    await ask(tab, "Show me B2.")
    await tab.see(SAID, "Both done.")
    assert await tab.texts(CARD) == ["B2 Bookshelf: packed"]
    await tab.see(SHOWN, "packed")


# The shop is the same for all tests, and an order stays cancelled: C9 is the one that none of them looks up.
@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize(("answer", "done"), [("Yes", True), ("No", False)])
async def test_approval(tab: Tab, desk: Desk, answer: str, done: bool) -> None:
    desk.upstream.queue(tool("cancel_order", '{"number": "C9"}'), say(["So ", "be ", "it."]))
    await ask(tab, "Cancel C9.")
    await tab.see(APPROVAL, 'Allow cancel_order with {"number":"C9"}?')
    await tab.click(f"{APPROVAL} >> text={answer}")
    await tab.see(SAID, "So be it.")
    await tab.gone(APPROVAL)
    assert (results(desk) == ["C9 is cancelled."]) is done


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_question_outlives_a_reload(tab: Tab, desk: Desk) -> None:
    desk.upstream.queue(tool("cancel_order", '{"number": "C9"}'), say(["It ", "is ", "off."]))
    await ask(tab, "Cancel C9.")
    await tab.see(APPROVAL)
    await tab.page.reload()
    await tab.see(APPROVAL, "Allow cancel_order")
    await tab.click(f"{APPROVAL} >> text=Yes")
    await tab.see(SAID, "It is off.")
    assert results(desk) == ["C9 is cancelled."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_stop_ends_the_model_and_the_talk_goes_on(tab: Tab, desk: Desk) -> None:
    desk.upstream.queue(endless(rate=50))
    closed = desk.upstream.closed
    await ask(tab, "Tell me everything.")
    await tab.see(SAID)
    await tab.click(SEND)
    await desk.upstream.all_closed(closed + 1)
    assert "w0" in (await tab.texts(SAID))[0], "what was said stays"
    assert await tab.texts(FAILURE) == []
    desk.upstream.queue(say(["As ", "you ", "wish."]))
    await ask(tab, "Enough.")
    await tab.see(SAID, "As you wish.")
    await tab.page.reload()
    await tab.see(SAID, "As you wish.")
    assert await tab.texts(ASKED) == ["Tell me everything.", "Enough."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
@pytest.mark.parametrize("broken", [status(401), status(500), cut(after=2)], ids=["401", "500", "cut"])
async def test_a_failure_of_the_model_is_shown_and_the_talk_goes_on(tab: Tab, desk: Desk, broken: Any) -> None:
    desk.upstream.reply = broken
    await ask(tab, "Hi")
    await tab.see(FAILURE, "model")
    desk.upstream.reply = None
    assert CANARY not in await tab.page.content()
    await tab.click(f"{FAILURE} >> text=Close")
    desk.upstream.queue(say(["Back ", "again."]))
    await ask(tab, "And now?")
    await tab.see(SAID, "Back again.")
    await tab.page.reload()
    await tab.see(SAID, "Back again.")
    assert await tab.texts(ASKED) == ["Hi", "And now?"]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_reload_shows_the_thread_and_goes_on(tab: Tab, desk: Desk) -> None:
    desk.upstream.queue(tool("find_order", '{"number": "A7"}'), say(["Seen."]), say(["Still ", "here."]))
    await ask(tab, "Where is A7?")
    await tab.see(SAID, "Seen.")
    await tab.page.reload()
    await tab.see(SAID, "Seen.")
    assert await tab.texts(CARD) == ["A7 Desk lamp: on its way"]
    await ask(tab, "Are you there?")
    await tab.see(SAID, "Still here.")
    assert await tab.texts(ASKED) == ["Where is A7?", "Are you there?"]
    said = [one.get("content") for one in posted(desk)["messages"] if one["role"] != "system"]
    assert said[0] == "Where is A7?"
    assert said[-1] == "Are you there?"


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_reload_in_the_middle_of_an_answer_misses_nothing(tab: Tab, desk: Desk) -> None:
    go = asyncio.Event()
    desk.upstream.queue(halting("First half, ", (go, "second half.")))
    await ask(tab, "Speak.")
    await tab.see(SAID, "First half,")
    await tab.page.reload()
    await tab.see(SAID, "First half,")
    go.set()
    await tab.see(SAID, "First half, second half.")


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_a_second_window_follows_the_answer_and_may_stop_it(tab: Tab, desk: Desk, chromium: Chromium) -> None:
    desk.upstream.queue(endless(rate=50))
    closed = desk.upstream.closed
    await ask(tab, "Tell me everything.")
    await tab.see(SAID, "w0w0")
    async with chromium.tab() as other:
        await other.open(tab.page.url)
        await other.see(SAID, "w0w0")
        await other.click(SEND)
        await desk.upstream.all_closed(closed + 1)
        assert await other.texts(ASKED) == ["Tell me everything."]


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_conversations_are_listed_opened_and_deleted(tab: Tab, desk: Desk) -> None:
    desk.upstream.queue(say(["Of ", "oak."]), say(["Of ", "brass."]))
    await ask(tab, "What is the bookshelf made of?")
    await tab.see(SAID, "Of oak.")
    await tab.click("nav >> text=a new one")
    await tab.see("nav li", "What is the bookshelf made of?")
    assert await tab.texts(SAID) == []
    await ask(tab, "And the lamp?")
    await tab.see(SAID, "Of brass.")
    await tab.click("nav >> text=What is the bookshelf made of?")
    await tab.see(SAID, "Of oak.")
    await tab.click("nav li:has-text('bookshelf') >> text=delete")
    await tab.gone("nav li:has-text('bookshelf')")
    await tab.page.reload()
    await tab.see("nav li", "And the lamp?")
    assert "bookshelf" not in "".join(await tab.texts("nav li"))


@pytest.mark.demand("copilotkit.react_apps_jsdom_headless")
async def test_without_the_key_a_refusal_and_with_it_an_answer(chromium: Chromium, desk: Desk) -> None:
    async with chromium.tab() as tab:
        tab.expect(r"\b401\b|Agent default not found")
        await tab.open(desk.locked)
        await tab.see(FAILURE, "This server needs a key.")
        await tab.write(f"{FAILURE} >> input", "ada-key")
        await tab.click(f"{FAILURE} >> text=Use")
        desk.upstream.queue(say(["Welcome, ", "Ada."]))
        await ask(tab, "Hi")
        await tab.see(SAID, "Welcome, Ada.")

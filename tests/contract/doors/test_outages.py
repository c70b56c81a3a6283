"""What a person at each door gets while the store's server is away, and afterwards."""

import pytest

from rightseat import Runtime, tool
from rightseat.engine import late_results
from tests.contract.doors.client_result import ClientResult
from tests.contract.doors.members import DETACHED_MEMBERS, MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.away_store import AwayStore
from tests.kit.client import RawHttpClient
from tests.kit.waiting import wait_until

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
WITHOUT_STATUS = ("copilotkit-planned", "copilotkit-executed", "copilotkit-whole", "openbb-today", "openbb-2024")
"""Doors whose clients read an error from the body of a 200."""
TEXT_MEMBERS = ("openai-streamed", "openai-whole", "openbb-today", "openbb-2024")
"""Doors whose clients see questions as text."""


@pytest.mark.demand("cluster.new_runs_without_store")
async def test_a_new_question_is_answered(member: str) -> None:
    store = AwayStore()
    runtime = Runtime(model=FakeModel(reply_text("Hello."), reply_text("And again.")), store=store)
    async with serve_runtime(runtime) as server:
        person = MEMBERS[member](server.url)
        with store.be_away():
            seen = await person.send_message("Hi")
            assert (seen.text, seen.error) == ("Hello.", None)
        seen = await person.send_message("Again")
        assert (seen.text, seen.error) == ("And again.", None)
        if member in DETACHED_MEMBERS:
            assert runtime.meters.runs_not_kept.values == {(): 1}


@pytest.mark.demand("cluster.new_runs_without_store")
async def test_a_new_question_is_answered_by_an_assistant_with_tools(member: str) -> None:
    store = AwayStore()

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    answers = [
        reply_calls(("add", '{"a": 1, "b": 2}')),
        reply_text("It is 3."),
        reply_text("Hello."),
        reply_text("Bye. Or which one?"),
    ]
    model = FakeModel(*answers, reply_text("Blue it is."))
    async with serve_runtime(Runtime(model=model, tools=[add], store=store)) as server:
        person, other = MEMBERS[member](server.url), MEMBERS[member](server.url)
        assert (await person.send_message("What is 1 + 2")).text == "It is 3."
        with store.be_away():
            seen = await other.send_message("Good morning")
            assert (seen.text, seen.error) == ("Hello.", None)
            # In a conversation that has had a call, too.
            seen = await person.send_message("And now something else")
            assert (seen.text, seen.error) == ("Bye. Or which one?", None)
            # After what may be a tool's question, where those are text, it may be its answer.
            seen = await person.send_message("The blue one")
            if member in TEXT_MEMBERS:
                check_refusal(member, seen)
            else:
                assert (seen.text, seen.error) == ("Blue it is.", None)


@pytest.mark.demand("cluster.tools_without_store")
async def test_an_answer_goes_on_when_the_store_goes_away_while_a_tool_runs(
    member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(late_results, "RETRY_SECONDS", (0.01, 0.01))
    store, calls = AwayStore(), []

    @tool
    def charge(order: str) -> str:
        """Charge an order."""
        calls.append(order)
        store.is_away = True
        return f"{order} is charged"

    model = FakeModel(reply_calls(("charge", '{"order": "7"}')), reply_text("Done."), reply_text("Yes, order 7."))
    async with serve_runtime(Runtime(model=model, tools=[charge], store=store)) as server:
        person = MEMBERS[member](server.url)
        seen = await person.send_message("Charge order 7")
        assert (seen.text, seen.error, calls) == ("Done.", None, ["7"])
        store.is_away = False
        await wait_until(lambda: not late_results.get_waiting())
        seen = await person.send_message("Which one was it")
        assert (seen.text, seen.error) == ("Yes, order 7.", None)
        results = [message.text for message in model.prompts[-1].messages if message.role == "tool"]
        assert set(results) <= {"7 is charged"}


@pytest.mark.demand("cluster.continuations_wait")
async def test_an_approval_is_not_gone(member: str) -> None:
    store, calls = AwayStore(), []

    @tool(confirm=True)
    def send_mail(to: str) -> str:
        """Send a mail."""
        calls.append(to)
        return "sent"

    model = FakeModel(reply_calls(("send_mail", '{"to": "ann"}')), reply_text("It is sent."))
    async with serve_runtime(Runtime(model=model, tools=[send_mail], store=store)) as server:
        person = MEMBERS[member](server.url)
        asked = await person.send_message("Mail ann")
        assert len(asked.questions) == 1
        history, waiting = list(person.history), list(getattr(person, "open", []))
        with store.be_away():
            check_refusal(member, await person.answer_question(True))
        assert calls == []
        person.history = history
        if waiting:
            person.open = waiting  # type: ignore[attr-defined]
        seen = await person.answer_question(True)
        assert (seen.text, seen.error) == ("It is sent.", None)
    assert calls == ["ann"]


@pytest.mark.demand("cluster.continuations_wait")
async def test_the_result_of_a_client_tool_is_not_gone(member: str) -> None:
    store = AwayStore()
    model = FakeModel(reply_calls(("show", '{"title": "x"}')), reply_text("Shown."))
    async with serve_runtime(Runtime(model=model, store=store)) as server:
        person = MEMBERS[member](server.url)
        asked = await person.send_message("Show x")
        [id] = asked.calls
        history = list(person.history)
        with store.be_away():
            check_refusal(member, await person.send_results({id: "ok"}))
            if member not in WITHOUT_STATUS:
                async with RawHttpClient(server.url) as client:
                    await client.post_json(*person.build_request())
                    assert (await client.read_head()).headers["retry-after"] == "5"
        person.history = history
        seen = await person.send_results({id: "ok"})
        assert (seen.text, seen.error) == ("Shown.", None)


def check_refusal(member: str, seen: ClientResult) -> None:
    assert seen.error == "store_failed"
    assert seen.status == (200 if member in WITHOUT_STATUS else 503)

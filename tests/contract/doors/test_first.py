"""The first cases: one conversation of each kind, the same through every door."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from rightseat import Ask, Pause, Result, Runtime, ToolContext, tool
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.events import Event, StepEnd, StepStart
from rightseat.types.model import Prompt
from rightseat.types.turn import Owner
from tests.contract.doors.members import DETACHED_MEMBERS, MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
MakeClient = Callable[[str], DoorClient]


@pytest.fixture
def make_client(member: str) -> MakeClient:
    return MEMBERS[member]


executed: list[str] = []


@pytest.fixture(autouse=True)
def clear_executed() -> None:
    executed.clear()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    executed.append("add")
    return a + b


@tool(confirm=True)
async def remove(path: str) -> dict[str, str]:
    """Remove a file."""
    executed.append(f"remove {path}")
    return {"removed": path}


@tool
def book(city: str, ctx: ToolContext) -> str:
    """Book a trip."""
    day = ctx.ask("On which day?")
    executed.append(f"book {city} {day}")
    return f"{city} on {day}"


@tool
async def flow(ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    """Two steps with a question between them; the first is not done twice."""
    if ctx.state is None:
        yield StepStart("fetch")
        executed.append("fetch")
        yield StepEnd("fetch")
        yield Pause((Ask("Which colour?"),), state={"fetched": 7})
        return
    yield StepStart("paint")
    executed.append("paint")
    yield StepEnd("paint")
    yield Result({"fetched": ctx.state["fetched"], "colour": ctx.answers[0]})


def list_tool_results(prompt: Prompt) -> list[str]:
    return [message.text for message in prompt.messages if message.role == "tool"]


@pytest.mark.demand("engine.text_through_both_doors")
async def test_text(make_client: MakeClient) -> None:
    model = FakeModel(reply_text("Hello", " there"))
    async with serve_runtime(Runtime(model=model)) as server:
        seen = await make_client(server.url).send_message("hi")
    assert (seen.text, seen.error, seen.calls) == ("Hello there", None, {})
    # OpenBB's door adds today's date as an instruction.
    assert [message.text for message in model.prompts[0].messages if message.role != "system"] == ["hi"]


@pytest.mark.demand("copilotkit.server_tools_run_results", "engine.server_tool_through_both")
async def test_a_server_tool_runs_here_and_the_model_goes_on(make_client: MakeClient) -> None:
    model = FakeModel(reply_calls(("add", '{"a": 2, "b": 3}'), text="Let me see."), reply_text("It is 5."))
    async with serve_runtime(Runtime(model=model, tools=[add])) as server:
        seen = await make_client(server.url).send_message("2 + 3?")
    assert seen.text.replace("\n", "") == "Let me see.It is 5."
    assert seen.calls == {}
    assert executed == ["add"]
    assert list_tool_results(model.prompts[1]) == ["5"]


@pytest.mark.demand(
    "copilotkit.server_tools_run_results",
    "engine.client_tool_through_both",
    "openbb.exactly_copilotfunctioncall_last_stream",
)
async def test_a_client_tool_ends_the_run_and_its_result_goes_on(make_client: MakeClient) -> None:
    model = FakeModel(reply_calls(("show", '{"title": "x"}')), reply_text("Shown."))
    async with serve_runtime(Runtime(model=model)) as server:
        visitor = make_client(server.url)
        seen = await visitor.send_message("show it")
        [(id, call)] = seen.calls.items()
        assert call == ("show", {"title": "x"})
        seen = await visitor.send_results({id: "it is on the screen"})
    assert (seen.text, seen.calls) == ("Shown.", {})
    assert list_tool_results(model.prompts[1]) == ["it is on the screen"]


@pytest.mark.demand("copilotkit.server_tools_run_results", "engine.server_client_call_model")
async def test_server_and_client_call_in_one_model_turn(make_client: MakeClient) -> None:
    model = FakeModel(reply_calls(("add", '{"a": 1, "b": 1}'), ("show", '{"title": "t"}')), reply_text("Both done."))
    async with serve_runtime(Runtime(model=model, tools=[add])) as server:
        visitor = make_client(server.url)
        seen = await visitor.send_message("both")
        [(id, call)] = seen.calls.items()
        assert call[0] == "show"
        assert executed == ["add"]
        seen = await visitor.send_results({id: "shown"})
    assert seen.text == "Both done."
    assert executed == ["add"]
    assert list_tool_results(model.prompts[1]) == ["2", "shown"]
    [asking] = [message for message in model.prompts[1].messages if message.calls]
    assert [call.name for call in asking.calls] == ["add", "show"]


@pytest.mark.demand("engine.two_client_calls", "openbb.exactly_copilotfunctioncall_last_stream")
async def test_two_client_calls(make_client: MakeClient) -> None:
    model = FakeModel(reply_calls(("show", '{"title": "1"}'), ("paint", '{"title": "2"}')), reply_text("Two done."))
    async with serve_runtime(Runtime(model=model)) as server:
        visitor = make_client(server.url)
        seen = await visitor.send_message("two")
        assert [name for name, _ in seen.calls.values()] == ["show", "paint"]
        seen = await visitor.send_results(dict(zip(seen.calls, ("one", "two"), strict=True)))
    assert seen.text == "Two done."
    assert list_tool_results(model.prompts[1]) == ["one", "two"]


@pytest.mark.demand("engine.question")
async def test_a_question(make_client: MakeClient) -> None:
    model = FakeModel(reply_calls(("book", '{"city": "Oslo"}')), reply_text("Booked."))
    async with serve_runtime(Runtime(model=model, tools=[book])) as server:
        visitor = make_client(server.url)
        seen = await visitor.send_message("book Oslo")
        assert seen.questions[0]["message"] == "On which day?"
        assert seen.calls == {}
        assert executed == []
        seen = await visitor.answer_question("Monday")
    assert seen.text == "Booked."
    assert executed == ["book Oslo Monday"]
    assert list_tool_results(model.prompts[1]) == ["Oslo on Monday"]


@pytest.mark.demand("engine.approval")
@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval(make_client: MakeClient, approved: bool) -> None:
    model = FakeModel(reply_calls(("remove", '{"path": "/x"}')), reply_text("As you wish."))
    async with serve_runtime(Runtime(model=model, tools=[remove])) as server:
        visitor = make_client(server.url)
        seen = await visitor.send_message("remove /x")
        assert '"/x"' in seen.questions[0]["message"]
        assert executed == []
        seen = await visitor.answer_question(approved)
    assert seen.text == "As you wish."
    assert executed == (["remove /x"] if approved else [])
    [result] = list_tool_results(model.prompts[1])
    assert result == '{"removed":"/x"}' if approved else json.loads(result)["error"]["code"] == "denied"


@pytest.mark.demand("copilotkit.answers_as_text")
@pytest.mark.parametrize(
    ("answer", "approved"),
    [("yes", True), ("true", True), ('{"approved":true}', True), ("no", False), ('{"approved": false}', False)],
)
async def test_an_approval_answered_by_a_string(make_client: MakeClient, answer: str, approved: bool) -> None:
    model = FakeModel(reply_calls(("remove", '{"path": "/x"}')), reply_text("As you wish."))
    async with serve_runtime(Runtime(model=model, tools=[remove])) as server:
        visitor = make_client(server.url)
        assert (await visitor.send_message("remove /x")).questions
        assert (await visitor.answer_question(answer)).text == "As you wish."
    assert executed == (["remove /x"] if approved else [])


@pytest.mark.demand("engine.flow_like_tool_asks")
async def test_a_tool_like_a_flow_asks_and_goes_on_where_it_stopped(make_client: MakeClient) -> None:
    model = FakeModel(reply_calls(("flow", "{}")), reply_text("Painted."))
    async with serve_runtime(Runtime(model=model, tools=[flow])) as server:
        visitor = make_client(server.url)
        seen = await visitor.send_message("paint")
        assert seen.questions[0]["message"] == "Which colour?"
        seen = await visitor.answer_question("red")
    assert seen.text == "Painted."
    assert executed == ["fetch", "paint"]
    assert list_tool_results(model.prompts[1]) == ['{"fetched":7,"colour":"red"}']


@pytest.mark.demand("engine.answer_sent_twice_acts")
async def test_the_answer_sent_twice_acts_once(make_client: MakeClient, member: str) -> None:
    model = FakeModel(reply_calls(("remove", '{"path": "/x"}')), reply_text("Removed."), reply_text("What else?"))
    async with serve_runtime(Runtime(model=model, tools=[remove])) as server:
        visitor: Any = make_client(server.url)
        await visitor.send_message("remove /x")
        before = list(visitor.history)
        asked = list(getattr(visitor, "open", []))
        await visitor.answer_question(True)
        visitor.history, visitor.open = before, asked
        seen = await visitor.answer_question(True)
    assert executed == ["remove /x"]
    # Where the client names the question it is told; where it has only text, "yes" is a new thing said.
    named = member == "agui" or member.startswith("copilotkit")
    assert seen.error == ("already_answered" if named else None)


@pytest.mark.demand("engine.answer_sent_twice_acts")
async def test_a_result_sent_twice_is_answered_twice_and_runs_nothing_again(make_client: MakeClient) -> None:
    model = FakeModel(
        reply_calls(("add", '{"a": 1, "b": 1}'), ("show", '{"title": "t"}')), reply_text("Once."), reply_text("Twice.")
    )
    async with serve_runtime(Runtime(model=model, tools=[add])) as server:
        visitor: Any = make_client(server.url)
        [id] = (await visitor.send_message("both")).calls
        before = list(visitor.history)
        assert (await visitor.send_results({id: "shown"})).text == "Once."
        visitor.history = before
        assert (await visitor.send_results({id: "shown"})).text == "Twice."
    assert executed == ["add"]


@pytest.mark.demand("engine.failure_before_after_first")
async def test_a_failure_before_the_first_word(make_client: MakeClient, member: str) -> None:
    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        raise UpstreamRefused("The model's server cannot be reached.")
        yield TextChunk("")

    async with serve_runtime(Runtime(model=FakeModel(fails, reply_text("Back.")))) as server:
        visitor = make_client(server.url)
        seen = await visitor.send_message("hi")
        assert (seen.error, seen.text) == ("upstream_unreachable", "")
        assert seen.status == (502 if member.startswith("openai") else 200)
        assert (await visitor.send_history()).text == "Back."


@pytest.mark.demand("engine.failure_before_after_first")
async def test_a_failure_in_the_middle_keeps_what_was_said(make_client: MakeClient, member: str) -> None:
    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half of ")
        raise UpstreamRefused("The model's server went away.")

    async with serve_runtime(Runtime(model=FakeModel(fails))) as server:
        seen = await make_client(server.url).send_message("hi")
    assert seen.error == "upstream_unreachable"
    assert seen.text == ("" if member == "openai-whole" else "Half of ")
    assert seen.calls == {}


async def test_an_answer_that_just_ends_is_a_failure(make_client: MakeClient) -> None:
    async with serve_runtime(Runtime(model=FakeModel([TextChunk("Half")]))) as server:
        seen = await make_client(server.url).send_message("hi")
    assert seen.error == "incomplete"


@pytest.mark.demand("copilotkit.graphql_client_abort_cancels", "engine.cancel_leaving_ends_model")
async def test_leaving_cancels_the_model_unless_its_thread_is_kept(make_client: MakeClient, member: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("one")
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    runtime = Runtime(model=FakeModel(waits))
    async with serve_runtime(runtime) as server:
        visitor = make_client(server.url)
        visitor.history.append({"id": "1", "role": "user", "content": "hi"})
        target, body = visitor.build_request()
        async with RawHttpClient(server.url) as client:
            await client.post_json(target, body)
            await asyncio.wait_for(begun.wait(), HANG_TIMEOUT)
            assert runtime.active_runs == 1
        if member in DETACHED_MEMBERS:
            # The connection is gone as soon as another one on the same loop is answered.
            assert (await make_client(server.url).send_message("more")).error == "conflict"
            assert not ended.is_set()
            assert await runtime.threads.stop(Owner(), "t1")
        await asyncio.wait_for(ended.wait(), HANG_TIMEOUT)
    assert runtime.active_runs == 0


@pytest.mark.demand("engine.call_cut_token_limit")
async def test_a_call_cut_by_the_token_limit_is_no_call(make_client: MakeClient, member: str) -> None:
    cut = [*reply_calls(("show", '{"title": "x'), enforced=True)[:-1], *reply_text(finish="length")]
    async with serve_runtime(Runtime(model=FakeModel(cut))) as server:
        seen = await make_client(server.url).send_message("show")
    assert seen.calls == {}
    assert (seen.error or seen.finish_reason) == "length"

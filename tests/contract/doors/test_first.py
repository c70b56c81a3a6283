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
from tests.contract.doors.members import DETACHED, MEMBERS, Visit
from tests.kit.client import Client
from tests.kit.house import Lines, calls, house, says
from tests.kit.patience import STUCK

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
Door = Callable[[str], Visit]


@pytest.fixture
def visit(member: str) -> Door:
    return MEMBERS[member]


done: list[str] = []


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    done.append("add")
    return a + b


@tool(confirm=True)
async def remove(path: str) -> dict[str, str]:
    """Remove a file."""
    done.append(f"remove {path}")
    return {"removed": path}


@tool
def book(city: str, ctx: ToolContext) -> str:
    """Book a trip."""
    day = ctx.ask("On which day?")
    done.append(f"book {city} {day}")
    return f"{city} on {day}"


@tool
async def flow(ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    """Two steps with a question between them; the first is not done twice."""
    if ctx.state is None:
        yield StepStart("fetch")
        done.append("fetch")
        yield StepEnd("fetch")
        yield Pause((Ask("Which colour?"),), state={"fetched": 7})
        return
    yield StepStart("paint")
    done.append("paint")
    yield StepEnd("paint")
    yield Result({"fetched": ctx.state["fetched"], "colour": ctx.answers[0]})


def results(prompt: Prompt) -> list[str]:
    return [message.text for message in prompt.messages if message.role == "tool"]


@pytest.mark.demand("engine.text_through_both_doors")
async def test_text(visit: Door) -> None:
    model = Lines(says("Hello", " there"))
    async with house(Runtime(model=model)) as server:
        seen = await visit(server.url).say("hi")
    assert (seen.text, seen.error, seen.calls) == ("Hello there", None, {})
    assert [message.text for message in model.asked[0].messages] == ["hi"]


@pytest.mark.demand("copilotkit.server_tools_run_results", "engine.server_tool_through_both")
async def test_a_server_tool_runs_here_and_the_model_goes_on(visit: Door) -> None:
    model = Lines(calls(("add", '{"a": 2, "b": 3}'), text="Let me see."), says("It is 5."))
    async with house(Runtime(model=model, tools=[add])) as server:
        seen = await visit(server.url).say("2 + 3?")
    assert seen.text.replace("\n", "") == "Let me see.It is 5."
    assert seen.calls == {}
    assert done == ["add"]
    assert results(model.asked[1]) == ["5"]


@pytest.mark.demand(
    "copilotkit.server_tools_run_results",
    "engine.client_tool_through_both",
    "openbb.exactly_copilotfunctioncall_last_stream",
)
async def test_a_client_tool_ends_the_run_and_its_result_goes_on(visit: Door) -> None:
    model = Lines(calls(("show", '{"title": "x"}')), says("Shown."))
    async with house(Runtime(model=model)) as server:
        visitor = visit(server.url)
        seen = await visitor.say("show it")
        [(id, call)] = seen.calls.items()
        assert call == ("show", {"title": "x"})
        seen = await visitor.give({id: "it is on the screen"})
    assert (seen.text, seen.calls) == ("Shown.", {})
    assert results(model.asked[1]) == ["it is on the screen"]


@pytest.mark.demand("copilotkit.server_tools_run_results", "engine.server_client_call_model")
async def test_server_and_client_call_in_one_model_turn(visit: Door) -> None:
    model = Lines(calls(("add", '{"a": 1, "b": 1}'), ("show", '{"title": "t"}')), says("Both done."))
    async with house(Runtime(model=model, tools=[add])) as server:
        visitor = visit(server.url)
        seen = await visitor.say("both")
        [(id, call)] = seen.calls.items()
        assert call[0] == "show"
        assert done == ["add"]
        seen = await visitor.give({id: "shown"})
    assert seen.text == "Both done."
    assert done == ["add"]
    assert results(model.asked[1]) == ["2", "shown"]
    [asking] = [message for message in model.asked[1].messages if message.calls]
    assert [call.name for call in asking.calls] == ["add", "show"]


@pytest.mark.demand("engine.two_client_calls", "openbb.exactly_copilotfunctioncall_last_stream")
async def test_two_client_calls(visit: Door) -> None:
    model = Lines(calls(("show", '{"title": "1"}'), ("paint", '{"title": "2"}')), says("Two done."))
    async with house(Runtime(model=model)) as server:
        visitor = visit(server.url)
        seen = await visitor.say("two")
        assert [name for name, _ in seen.calls.values()] == ["show", "paint"]
        seen = await visitor.give(dict(zip(seen.calls, ("one", "two"), strict=True)))
    assert seen.text == "Two done."
    assert results(model.asked[1]) == ["one", "two"]


@pytest.mark.demand("engine.question")
async def test_a_question(visit: Door) -> None:
    model = Lines(calls(("book", '{"city": "Oslo"}')), says("Booked."))
    async with house(Runtime(model=model, tools=[book])) as server:
        visitor = visit(server.url)
        seen = await visitor.say("book Oslo")
        assert seen.asks[0]["message"] == "On which day?"
        assert seen.calls == {}
        assert done == []
        seen = await visitor.answer("Monday")
    assert seen.text == "Booked."
    assert done == ["book Oslo Monday"]
    assert results(model.asked[1]) == ["Oslo on Monday"]


@pytest.mark.demand("engine.approval")
@pytest.mark.parametrize("approved", [True, False])
async def test_an_approval(visit: Door, approved: bool) -> None:
    model = Lines(calls(("remove", '{"path": "/x"}')), says("As you wish."))
    async with house(Runtime(model=model, tools=[remove])) as server:
        visitor = visit(server.url)
        seen = await visitor.say("remove /x")
        assert '"/x"' in seen.asks[0]["message"]
        assert done == []
        seen = await visitor.answer(approved)
    assert seen.text == "As you wish."
    assert done == (["remove /x"] if approved else [])
    [result] = results(model.asked[1])
    assert result == '{"removed":"/x"}' if approved else json.loads(result)["error"]["code"] == "denied"


@pytest.mark.demand("engine.flow_like_tool_asks")
async def test_a_tool_like_a_flow_asks_and_goes_on_where_it_stopped(visit: Door) -> None:
    model = Lines(calls(("flow", "{}")), says("Painted."))
    async with house(Runtime(model=model, tools=[flow])) as server:
        visitor = visit(server.url)
        seen = await visitor.say("paint")
        assert seen.asks[0]["message"] == "Which colour?"
        seen = await visitor.answer("red")
    assert seen.text == "Painted."
    assert done == ["fetch", "paint"]
    assert results(model.asked[1]) == ['{"fetched":7,"colour":"red"}']


@pytest.mark.demand("engine.answer_sent_twice_acts")
async def test_the_answer_sent_twice_acts_once(visit: Door, member: str) -> None:
    model = Lines(calls(("remove", '{"path": "/x"}')), says("Removed."), says("What else?"))
    async with house(Runtime(model=model, tools=[remove])) as server:
        visitor: Any = visit(server.url)
        await visitor.say("remove /x")
        before = list(visitor.history)
        asked = list(getattr(visitor, "open", []))
        await visitor.answer(True)
        visitor.history, visitor.open = before, asked
        seen = await visitor.answer(True)
    assert done == ["remove /x"]
    # Where the client names the question it is told; where it has only text, "yes" is a new thing said.
    named = member == "agui" or member.startswith("copilotkit")
    assert seen.error == ("already_answered" if named else None)


@pytest.mark.demand("engine.answer_sent_twice_acts")
async def test_a_result_sent_twice_is_answered_twice_and_runs_nothing_again(visit: Door) -> None:
    model = Lines(calls(("add", '{"a": 1, "b": 1}'), ("show", '{"title": "t"}')), says("Once."), says("Twice."))
    async with house(Runtime(model=model, tools=[add])) as server:
        visitor: Any = visit(server.url)
        [id] = (await visitor.say("both")).calls
        before = list(visitor.history)
        assert (await visitor.give({id: "shown"})).text == "Once."
        visitor.history = before
        assert (await visitor.give({id: "shown"})).text == "Twice."
    assert done == ["add"]


@pytest.mark.demand("engine.failure_before_after_first")
async def test_a_failure_before_the_first_word(visit: Door, member: str) -> None:
    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        raise UpstreamRefused("The model's server cannot be reached.")
        yield TextChunk("")

    async with house(Runtime(model=Lines(fails, says("Back.")))) as server:
        visitor = visit(server.url)
        seen = await visitor.say("hi")
        assert (seen.error, seen.text) == ("upstream_unreachable", "")
        assert seen.status == (502 if member.startswith("openai") else 200)
        assert (await visitor.again()).text == "Back."


@pytest.mark.demand("engine.failure_before_after_first")
async def test_a_failure_in_the_middle_keeps_what_was_said(visit: Door, member: str) -> None:
    async def fails(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("Half of ")
        raise UpstreamRefused("The model's server went away.")

    async with house(Runtime(model=Lines(fails))) as server:
        seen = await visit(server.url).say("hi")
    assert seen.error == "upstream_unreachable"
    assert seen.text == ("" if member == "openai-whole" else "Half of ")
    assert seen.calls == {}


async def test_an_answer_that_just_ends_is_a_failure(visit: Door) -> None:
    async with house(Runtime(model=Lines([TextChunk("Half")]))) as server:
        seen = await visit(server.url).say("hi")
    assert seen.error == "incomplete"


@pytest.mark.demand("copilotkit.graphql_client_abort_cancels", "engine.cancel_leaving_ends_model")
async def test_leaving_cancels_the_model_unless_its_thread_is_kept(visit: Door, member: str) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def waits(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield TextChunk("one")
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    runtime = Runtime(model=Lines(waits))
    async with house(runtime) as server:
        visitor = visit(server.url)
        visitor.history.append({"id": "1", "role": "user", "content": "hi"})
        target, body = visitor.body()
        async with Client(server.url) as client:
            await client.post(target, body)
            await asyncio.wait_for(begun.wait(), STUCK)
            assert runtime.active_runs == 1
        if member in DETACHED:
            # The connection is gone as soon as another one on the same loop is answered.
            assert (await visit(server.url).say("more")).error == "conflict"
            assert not ended.is_set()
            assert await runtime.threads.stop(Owner(), "t1")
        await asyncio.wait_for(ended.wait(), STUCK)
    assert runtime.active_runs == 0


@pytest.mark.demand("engine.call_cut_token_limit")
async def test_a_call_cut_by_the_token_limit_is_no_call(visit: Door, member: str) -> None:
    cut = [*calls(("show", '{"title": "x'), enforced=True)[:-1], *says(finish="length")]
    async with house(Runtime(model=Lines(cut))) as server:
        seen = await visit(server.url).say("show")
    assert seen.calls == {}
    assert (seen.error or seen.finish) == "length"

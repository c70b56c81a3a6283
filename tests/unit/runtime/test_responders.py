"""Agents of remote places among all who answer, and requests that are handed over to them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from rightseat.engine.loop import Assistant, Engine
from rightseat.errors import AgentFailed
from rightseat.middleware.match_by_history import match_results_by_history, questions_as_text, stream_as_text
from rightseat.models.scripted import ScriptFileModel, load_script
from rightseat.runtime.responders import apply_layers
from rightseat.stores.memory import MemoryStore
from rightseat.types.agents import Agent, AgentThreadState
from rightseat.types.events import (
    CallResult,
    Event,
    Interrupt,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSnapshot,
    SubRunEvent,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn, TurnClient
from rightseat.wiring.runtime import Runtime
from tests.kit.chunks import encode_json
from tests.kit.timeouts import HANG_TIMEOUT


@dataclass
class FakeAgent:
    """An agent that says one thing, or does what its turn's words name."""

    name: str = "guide"
    title: str = "Guide"
    description: str = "Knows the way."
    unavailable_reason: str = ""
    turns: list[Turn] = field(default_factory=list)

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        self.turns.append(turn)
        word = turn.messages[-1].text
        if word == "fail":
            raise AgentFailed("The guide is lost.")
        yield StateSnapshot({"asked": word})
        if word == "ask" and not turn.answers:
            yield Interrupt("ask_7", "ask", "Which way?", {"type": "string"})
            yield RunFinished("interrupt")
            return
        yield TextStart("g")
        yield TextDelta("g", f"{turn.answers[0].payload}!" if turn.answers else "Left.")
        yield TextEnd("g")
        yield RunFinished("stop")

    async def get_thread_state(self, owner: Owner, thread: str) -> AgentThreadState | None:
        return AgentThreadState({"owner": owner.name}) if thread == "known" else None


class FakeAgentSource:
    def __init__(self, *agents: Agent) -> None:
        self.agents = {agent.name: agent for agent in agents}
        self.tools: tuple[Tool, ...] = ()
        self.log: list[str] = []

    async def start(self) -> None:
        self.log.append("start")

    async def close(self) -> None:
        self.log.append("close")


def make_scripted_model(*turns: dict[str, Any]) -> ScriptFileModel:
    return ScriptFileModel(load_script(encode_json({"turns": list(turns)}), "test"))


def make_runtime(source: FakeAgentSource, *turns: dict[str, Any]) -> Runtime:
    clerk = Assistant("clerk", make_scripted_model(*turns), agents=("guide",))
    return Runtime(assistants=[clerk], agent_sources=[source], store=MemoryStore())


def script_handoff(request: str) -> dict[str, Any]:
    return {"when": {"user": "."}, "calls": [{"name": "ask_guide", "arguments": {"request": request}}]}


async def collect_events(runtime: Runtime, turn: Turn) -> list[Event]:
    async with closing(runtime.run(turn)) as events:
        return [event async for event in events]


async def test_agents_come_and_go() -> None:
    place = FakeAgentSource()
    runtime = make_runtime(place)
    assert list(runtime.responders) == ["clerk"]
    guide = FakeAgent()
    place.agents["guide"] = guide
    assert list(runtime.responders) == ["clerk", "guide"]
    turn = Turn(messages=(text_message("user", "Where?"),), assistant="guide")
    texts = [event.text for event in await collect_events(runtime, turn) if isinstance(event, TextDelta)]
    assert texts == ["Left."]
    del place.agents["guide"]
    [_, failed] = await collect_events(runtime, turn)
    assert isinstance(failed, RunFailed)
    assert "Those that exist: clerk" in failed.message


async def test_an_assistants_name_is_not_taken_over() -> None:
    runtime = make_runtime(FakeAgentSource(FakeAgent(name="clerk")), {"say": "Mine."})
    events = await collect_events(runtime, Turn(messages=(text_message("user", "?"),), assistant="clerk"))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Mine."
    assert list(runtime.responders) == ["clerk"]


@pytest.mark.demand("agents.availableagents_lists_agent_down")
async def test_one_that_is_down_is_listed_as_down() -> None:
    runtime = make_runtime(FakeAgentSource(FakeAgent(unavailable_reason="connection refused")))
    about = runtime.describe("guide")
    assert about is not None
    assert (about.title, about.description) == ("Guide", "Knows the way. (Cannot be asked now: connection refused)")
    assert runtime.ready


async def test_a_place_starts_and_closes_with_the_runtime() -> None:
    place = FakeAgentSource(FakeAgent())
    runtime = make_runtime(place)
    await runtime.start()
    await runtime.close()
    assert place.log == ["start", "close"]


async def test_an_agent_remembers_its_own_threads() -> None:
    runtime = make_runtime(FakeAgentSource(FakeAgent()))
    assert await runtime.recall("guide", Owner("ann"), "known") == AgentThreadState({"owner": "ann"})
    assert await runtime.recall("guide", Owner("ann"), "other") is None
    assert await runtime.recall("clerk", Owner("ann"), "known") is None


@pytest.mark.demand("agents.hand_off_agent_flow")
async def test_a_request_is_handed_over_and_seen() -> None:
    runtime = make_runtime(FakeAgentSource(FakeAgent()), script_handoff("Where?"), {"say": "Go left."})
    events = await collect_events(runtime, Turn(messages=(text_message("user", "Help"),), assistant="clerk"))
    inside = [event.event for event in events if isinstance(event, SubRunEvent)]
    assert isinstance(inside[0], RunStarted)
    assert inside[1:] == [TextStart("g"), TextDelta("g", "Left."), TextEnd("g"), RunFinished("stop")]
    assert StateSnapshot({"asked": "Where?"}) in events
    [result] = [event for event in events if isinstance(event, CallResult)]
    assert (result.content, result.failed) == ("Left.", False)
    # What the guide said is not what the clerk says.
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Go left."


@pytest.mark.demand("agents.hand_off_agent_flow")
async def test_a_model_is_told_what_an_agent_is_for() -> None:
    runtime = make_runtime(FakeAgentSource(FakeAgent()))
    engine = runtime.responders.get_unlayered("clerk")
    assert isinstance(engine, Engine)
    [tool] = engine.assistant.tools
    assert (tool.name, tool.description) == ("ask_guide", "Knows the way.")


@pytest.mark.demand("agents.availableagents_lists_agent_down")
async def test_places_start_at_the_same_time() -> None:
    """Each may be one that does not answer."""
    both = asyncio.Barrier(2)

    class Slow(FakeAgentSource):
        async def start(self) -> None:
            await both.wait()

    runtime = Runtime(agent_sources=[Slow(), Slow()], store=MemoryStore())
    async with asyncio.timeout(HANG_TIMEOUT):
        await runtime.start()


async def test_a_failure_inside_is_the_calls_and_not_the_runs() -> None:
    runtime = make_runtime(FakeAgentSource(FakeAgent()), script_handoff("fail"), {"say": "Sorry."})
    events = await collect_events(runtime, Turn(messages=(text_message("user", "Help"),), assistant="clerk"))
    [result] = [event for event in events if isinstance(event, CallResult)]
    assert result.failed
    assert "The guide is lost." in result.content
    assert isinstance(events[-1], RunFinished)
    assert [e.event.code for e in events if isinstance(e, SubRunEvent) and isinstance(e.event, RunFailed)] == [
        "agent_failed"
    ]


@pytest.mark.demand("agents.hand_off_agent_flow")
async def test_its_question_comes_up_and_the_answer_finds_it() -> None:
    guide = FakeAgent()
    runtime = make_runtime(FakeAgentSource(guide), script_handoff("ask"), {"say": "Done."})
    turn = Turn(messages=(text_message("user", "Help"),), assistant="clerk", thread="t")
    asked = [event for event in await collect_events(runtime, turn) if isinstance(event, Interrupt)]
    assert [item.message for item in asked] == ["Which way?"]
    answered = Turn(
        messages=turn.messages, assistant="clerk", thread="t", answers=(InterruptAnswer(asked[0].id, payload="Up"),)
    )
    events = await collect_events(runtime, answered)
    [result] = [event for event in events if isinstance(event, CallResult)]
    assert result.content == "Up!"
    # The same conversation as the one in which it asked, under its own name for the question.
    assert guide.turns[0].thread == guide.turns[1].thread
    assert guide.turns[1].answers == (InterruptAnswer("ask_7", payload="Up"),)


def test_a_layer_steps_aside_for_whom_it_has_nothing_to_do() -> None:
    store = MemoryStore()
    layers = [questions_as_text(store), match_results_by_history(store)]
    turn = Turn(messages=(text_message("user", "?"),), client=TurnClient(shows_interrupts=False))
    # Every token would pay for a generator more.
    for tools, code in (((), Engine.__call__), ((Tool("t", "", {}, run_empty_tool),), stream_as_text)):
        engine = Engine(Assistant("a", make_scripted_model({"say": "Hi"}), tools=tools), store)
        stream: Any = apply_layers(engine, layers)(turn)
        assert stream.ag_code is code.__code__


async def run_empty_tool(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    yield Result()

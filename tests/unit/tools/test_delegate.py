"""A Responder as a tool: what goes through, what becomes its result, how its questions come up."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat.errors import RightseatError, UpstreamBusy
from rightseat.tools.delegate import make_responder_tool
from rightseat.types.events import (
    Artifact,
    Citations,
    Custom,
    Event,
    Interrupt,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    SubRunEvent,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import text_message
from rightseat.types.model import ToolChoice, ToolSpec
from rightseat.types.streams import closing
from rightseat.types.tools import Ask, Pause, Result, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn, TurnClient

CONFIRM = {"type": "object"}
LATER = RunFailed("upstream_busy", "Later.", 429, "upstream")


class ScriptedResponder:
    """A Responder that says the given events and keeps the turns it was given."""

    def __init__(self, *events: Event | RightseatError) -> None:
        self.events = events
        self.turns: list[Turn] = []
        self.closed = 0

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        self.turns.append(turn)
        try:
            for event in self.events:
                if isinstance(event, RightseatError):
                    raise event
                yield event
        finally:
            self.closed += 1


async def call_delegate(inner: ScriptedResponder, turn: Turn | None = None, **context: Any) -> list[Any]:
    tool = make_responder_tool("plan", "Plans.", inner)
    assert tool.call is not None
    ctx = ToolContext(turn or Turn(messages=(text_message("user", "outer"),)), **context)
    async with closing(tool.call({"request": "a trip"}, ctx)) as items:
        return [item async for item in items]


def list_own_events(items: list[Any]) -> list[Any]:
    """What is not shown as of the run inside."""
    return [item for item in items if not isinstance(item, SubRunEvent)]


def list_sub_run_events(items: list[Any]) -> list[Event]:
    return [item.event for item in items if isinstance(item, SubRunEvent)]


@pytest.mark.demand("agents.hand_off_agent_flow")
async def test_words_are_the_result_and_the_rest_goes_through() -> None:
    through: list[Event] = [
        StepStart("s"),
        StateSnapshot({}),
        StateDelta([]),
        Custom("c", 1),
        Artifact("a", "table", "t", []),
        Citations([]),
        Suggestions(("x",)),
        StepEnd("s"),
    ]
    words: list[Event] = [TextStart("m"), TextDelta("m", "all "), TextDelta("m", "set"), TextEnd("m")]
    thought = ReasoningDelta("m", "hm")
    inner = ScriptedResponder(RunStarted("t", "r"), thought, *through, *words, RunFinished("stop"))
    items = await call_delegate(inner, call_id="call_1")
    assert list_own_events(items) == [*through, Result("all set")]
    run = inner.turns[0].run
    # Its own run begins and ends within the caller's, and everything of it names the call.
    assert list_sub_run_events(items) == [RunStarted(".call_1", run), thought, *words, RunFinished("stop")]
    nested = [item for item in items if isinstance(item, SubRunEvent)]
    assert {(item.run, item.agent, item.call) for item in nested} == {(run, "plan", "call_1")}
    assert inner.closed == 1


async def test_saying_nothing_is_an_empty_result() -> None:
    assert list_own_events(await call_delegate(ScriptedResponder(RunFinished("stop")))) == [Result("")]


async def test_a_failure_is_the_result() -> None:
    inner = ScriptedResponder(TextDelta("m", "half"), RunFailed("upstream_busy", "Later."), StepStart("never"))
    items = await call_delegate(inner)
    [result] = list_own_events(items)
    assert list_sub_run_events(items)[-1] == RunFailed("upstream_busy", "Later.")
    assert result == Result({"error": {"code": "upstream_busy", "message": "Later."}}, failed=True)
    assert inner.closed == 1


@pytest.mark.demand("agents.hand_off_agent_flow")
@pytest.mark.parametrize("end", [LATER, UpstreamBusy("Later.")])
async def test_what_a_failure_leaves_open_is_ended(end: Any) -> None:
    """The caller goes on, and its client must not wait for the ends."""
    begun: list[Event] = [StepStart("s"), StepStart("t"), ReasoningStart("r"), TextStart("m")]
    items = await call_delegate(ScriptedResponder(*begun, ReasoningEnd("r"), end))
    assert list_own_events(items)[:-1] == [StepStart("s"), StepStart("t"), StepEnd("t"), StepEnd("s")]
    assert list_sub_run_events(items)[-2:] == [TextEnd("m"), LATER]


async def test_texts_are_told_apart() -> None:
    words: list[Event] = []
    for id in ("One", "Two"):
        words += [TextStart(id), TextDelta(id, f"{id}."), TextEnd(id)]
    assert list_own_events(await call_delegate(ScriptedResponder(*words, RunFinished("stop")))) == [
        Result("One.\n\nTwo.")
    ]


def test_it_takes_as_long_as_its_run_may() -> None:
    """A tool has a minute; an agent that is asked for a report needs more."""
    tool = make_responder_tool("plan", "Plans.", ScriptedResponder(RunFinished("stop")))
    assert (tool.timeout or 0) >= 3600


async def test_its_turn_is_the_callers_one_level_down() -> None:
    outer = Turn(
        messages=(text_message("user", "secret history"),),
        assistant="outer",
        tools=(ToolSpec("show", "", {}),),
        output_schema={"type": "object"},
        owner=Owner("ann"),
        depth=2,
        client=TurnClient(shows_interrupts=False),
        conversation="thread-1",
        answers=(InterruptAnswer("ask_x"),),
        thread="t",
    )
    inner = ScriptedResponder(RunFinished("stop"))
    await call_delegate(inner, outer, call_id="call_9")
    [turn] = inner.turns
    assert turn.messages == (text_message("user", "a trip"),)
    assert (turn.owner, turn.depth, turn.thread) == (Owner("ann"), 3, "t.call_9")
    assert (turn.tools, turn.output_schema, turn.assistant) == ((), None, None)
    assert (turn.answers, turn.conversation) == ((), None)
    assert turn.client.shows_interrupts


async def test_a_forced_choice_does_not_reach_the_inner_one() -> None:
    inner = ScriptedResponder(RunFinished("stop"))
    await call_delegate(inner, Turn(messages=(), tool_choice=ToolChoice("named", "plan")))
    assert inner.turns[0].tool_choice == ToolChoice()


async def test_questions_come_up_and_answers_go_down() -> None:
    asks = Interrupt("ask_1", "ask", "Which day?", {"type": "string"})
    confirms = Interrupt("ask_2", "confirm", "Really?", CONFIRM)
    inner = ScriptedResponder(TextDelta("m", "Well. "), asks, confirms, RunFinished("interrupt"))
    items = await call_delegate(inner, call_id="call_1")
    [pause] = list_own_events(items)
    assert list_sub_run_events(items)[-1] == RunFinished("interrupt")
    assert pause == Pause(
        (Ask("Which day?", "ask", {"type": "string"}), Ask("Really?", "confirm", CONFIRM)),
        {"asked": ["ask_1", "ask_2"], "said": ["Well. "], "thread": ".call_1"},
    )
    inner.events = (TextDelta("m", "Done."), RunFinished("stop"))
    given = ("Monday", {"approved": True})
    assert list_own_events(await call_delegate(inner, state=pause.state, answers=given)) == [Result("Well. Done.")]
    # An agent that remembers finds the conversation again in which it asked.
    assert [turn.thread for turn in inner.turns] == [".call_1", ".call_1"]
    assert inner.turns[1].answers == (
        InterruptAnswer("ask_1", payload="Monday"),
        InterruptAnswer("ask_2", payload={"approved": True}),
    )


async def test_a_second_question_gets_only_its_own_answer() -> None:
    inner = ScriptedResponder(RunFinished("stop"))
    state = {"asked": ["ask_2"], "said": []}
    await call_delegate(inner, state=state, answers=("old", "new"))
    assert inner.turns[0].answers == (InterruptAnswer("ask_2", payload="new"),)


def test_it_takes_one_request_in_words() -> None:
    tool = make_responder_tool("plan", "Plans.", ScriptedResponder())
    assert (tool.name, tool.description, tool.runs_on_client) == ("plan", "Plans.", False)
    assert tool.parameters["required"] == ["request"]


@pytest.mark.demand("language.sentences_in_persons_language")
async def test_the_inner_one_speaks_the_person_s_language_not_the_model_s() -> None:
    inner = ScriptedResponder()
    await call_delegate(inner, Turn(messages=(text_message("user", "订一张桌子"),)))
    [turn] = inner.turns
    assert turn.messages[-1].text.isascii()
    assert turn.get_language() == "zh"

"""A Responder as a tool: what goes through, what becomes its result, how its questions come up."""

from collections.abc import AsyncIterator
from typing import Any

from rightseat.delegate import responder_tool
from rightseat.events import (
    Artifact,
    Citations,
    Custom,
    Event,
    Interrupt,
    ReasoningDelta,
    RunFailed,
    RunFinished,
    RunStarted,
    StateDelta,
    StateSnapshot,
    StepEnd,
    StepStart,
    Suggestions,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.messages import said
from rightseat.prompt import ToolChoice, ToolSpec
from rightseat.streams import closing
from rightseat.tools import Ask, Pause, Result, ToolContext
from rightseat.turn import Answer, Owner, Turn

CONFIRM = {"type": "object"}


class Inner:
    """A Responder that says the given events and keeps the turns it was given."""

    def __init__(self, *events: Event) -> None:
        self.events = events
        self.turns: list[Turn] = []
        self.closed = 0

    async def __call__(self, turn: Turn) -> AsyncIterator[Event]:
        self.turns.append(turn)
        try:
            for event in self.events:
                yield event
        finally:
            self.closed += 1


async def called(inner: Inner, turn: Turn | None = None, **context: Any) -> list[Any]:
    tool = responder_tool("plan", "Plans.", inner)
    assert tool.call is not None
    ctx = ToolContext(turn or Turn(messages=(said("user", "outer"),)), **context)
    async with closing(tool.call({"request": "a trip"}, ctx)) as items:
        return [item async for item in items]


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
    hidden: list[Event] = [RunStarted("t", "r"), ReasoningDelta("m", "hm")]
    inner = Inner(*hidden, *through, *words, RunFinished("stop"))
    assert await called(inner) == [*through, Result("all set")]
    assert inner.closed == 1


async def test_saying_nothing_is_an_empty_result() -> None:
    assert await called(Inner(RunFinished("stop"))) == [Result("")]


async def test_a_failure_is_the_result() -> None:
    inner = Inner(TextDelta("m", "half"), RunFailed("upstream_busy", "Later."), StepStart("never"))
    [result] = await called(inner)
    assert result == Result({"error": {"code": "upstream_busy", "message": "Later."}}, failed=True)
    assert inner.closed == 1


async def test_its_turn_is_the_callers_one_level_down() -> None:
    outer = Turn(
        messages=(said("user", "secret history"),),
        assistant="outer",
        tools=(ToolSpec("show", "", {}),),
        output_schema={"type": "object"},
        owner=Owner("ann"),
        depth=2,
        shows_interrupts=False,
        conversation="thread-1",
        answers=(Answer("ask_x"),),
        thread="t",
    )
    inner = Inner(RunFinished("stop"))
    await called(inner, outer)
    [turn] = inner.turns
    assert turn.messages == (said("user", "a trip"),)
    assert (turn.owner, turn.depth, turn.thread) == (Owner("ann"), 3, "t")
    assert (turn.tools, turn.output_schema, turn.assistant) == ((), None, None)
    assert (turn.answers, turn.conversation) == ((), None)
    assert turn.shows_interrupts


async def test_a_forced_choice_does_not_reach_the_inner_one() -> None:
    inner = Inner(RunFinished("stop"))
    await called(inner, Turn(messages=(), tool_choice=ToolChoice("named", "plan")))
    assert inner.turns[0].tool_choice == ToolChoice()


async def test_questions_come_up_and_answers_go_down() -> None:
    asks = Interrupt("ask_1", "ask", "Which day?", {"type": "string"})
    confirms = Interrupt("ask_2", "confirm", "Really?", CONFIRM)
    inner = Inner(TextDelta("m", "Well. "), asks, confirms, RunFinished("interrupt"))
    [pause] = await called(inner)
    assert pause == Pause(
        (Ask("Which day?", "ask", {"type": "string"}), Ask("Really?", "confirm", CONFIRM)),
        {"asked": ["ask_1", "ask_2"], "said": ["Well. "]},
    )
    inner.events = (TextDelta("m", "Done."), RunFinished("stop"))
    given = ("Monday", {"approved": True})
    assert await called(inner, state=pause.state, answers=given) == [Result("Well. Done.")]
    assert inner.turns[1].answers == (
        Answer("ask_1", payload="Monday"),
        Answer("ask_2", payload={"approved": True}),
    )


async def test_a_second_question_gets_only_its_own_answer() -> None:
    inner = Inner(RunFinished("stop"))
    state = {"asked": ["ask_2"], "said": []}
    await called(inner, state=state, answers=("old", "new"))
    assert inner.turns[0].answers == (Answer("ask_2", payload="new"),)


def test_it_takes_one_request_in_words() -> None:
    tool = responder_tool("plan", "Plans.", Inner())
    assert (tool.name, tool.description, tool.client) == ("plan", "Plans.", False)
    assert tool.parameters["required"] == ["request"]

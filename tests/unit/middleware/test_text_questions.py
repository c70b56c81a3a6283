"""Questions in plain words: found again by conversation, never by a guess."""

from collections.abc import Callable
from typing import Any

import pytest

from rightseat import Owner, Runtime, Tool, ToolContext, Turn, text_message, tool
from rightseat.middleware.match_by_history import format_question
from rightseat.types.events import CallStart, Event, Interrupt, RunFailed, RunFinished, TextDelta
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import ToolSpec
from tests.kit.house import Lines, Script, calls, says

ACT = calls(("act", '{"name":"x"}'))
QUESTION = 'Allow act with {"name":"x"}?\n\nReply yes or no.'


class Talk:
    """A client that has only text: it keeps what it saw and sends it all back."""

    def __init__(self, *lines: Script, tools: tuple[Tool, ...] = (), conversation: str | None = None) -> None:
        self.ran: list[str] = []
        self.model = Lines(*lines)
        self.conversation = conversation
        self.history: list[Message] = []
        self.client: tuple[ToolSpec, ...] = ()
        self.events: list[Event] = []

        @tool(confirm=True)
        def act(name: str) -> str:
            self.ran.append(name)
            return "done"

        self.runtime = Runtime(model=self.model, tools=[act, *tools])

    async def say(self, text: str, **turn: Any) -> str:
        self.history.append(text_message("user", text))
        return await self.post(**turn)

    async def post(self, **turn: Any) -> str:
        asked = Turn(
            messages=tuple(self.history),
            conversation=self.conversation,
            shows_interrupts=False,
            tools=self.client,
            **turn,
        )
        self.events = [event async for event in self.runtime.run(asked)]
        assert not [event for event in self.events if isinstance(event, Interrupt | RunFailed)]
        text = "".join(event.text for event in self.events if isinstance(event, TextDelta))
        made = [event for event in self.events if isinstance(event, CallStart) and event.client]
        own = tuple(ToolCall(call.id, call.name, "{}") for call in made)
        self.history.append(Message("assistant", text_message("assistant", text).parts, own))
        return text

    @property
    def reason(self) -> str:
        last = self.events[-1]
        assert isinstance(last, RunFinished)
        return last.reason


@pytest.mark.parametrize("conversation", [None, "thread-1"])
@pytest.mark.parametrize(("answer", "ran"), [("yes", ["x"]), ("是的。", ["x"]), ("no", [])])
async def test_a_question_in_words_and_its_answer(conversation: str | None, answer: str, ran: list[str]) -> None:
    talk = Talk(ACT, says("finished"), conversation=conversation)
    assert await talk.say("go") == QUESTION
    assert talk.reason == "stop"
    assert await talk.say(answer) == "finished"
    assert talk.ran == ran
    assert ("denied" in talk.model.asked[1].messages[-1].text) is (not ran)


async def test_the_models_own_words_come_before_the_question() -> None:
    talk = Talk(calls(("act", '{"name":"x"}'), text="I would like to."), says("ok"))
    await talk.say("go")
    deltas = [event for event in talk.events if isinstance(event, TextDelta)]
    assert [delta.text for delta in deltas] == ["I would like to.", QUESTION]
    # A text of its own, and how two texts are set apart is the door's affair.
    assert len({delta.id for delta in deltas}) == 2
    await talk.say("yes")
    assert talk.ran == ["x"]


async def test_white_space_does_not_count() -> None:
    talk = Talk(ACT, says("ok"))
    text = await talk.say("  go   now ")
    talk.history = [text_message("user", "go now"), text_message("assistant", text.replace("\n\n", " ") + "\n")]
    await talk.say("yes")
    assert talk.ran == ["x"]


def edited(history: list[Message]) -> list[Message]:
    return [text_message("user", "go elsewhere"), *history[1:]]


def shortened(history: list[Message]) -> list[Message]:
    return history[1:]


def reworded(history: list[Message]) -> list[Message]:
    return [history[0], text_message("assistant", "Shall I make tea?")]


@pytest.mark.parametrize("change", [edited, shortened, reworded])
async def test_another_history_is_a_new_turn(change: Callable[[list[Message]], list[Message]]) -> None:
    talk = Talk(ACT, says("what?"))
    await talk.say("go")
    talk.history = change(talk.history)
    assert await talk.say("yes") == "what?"
    assert talk.ran == []


@pytest.mark.demand("engine.text_approval_listed_yes")
async def test_in_a_thread_too_the_yes_must_follow_the_question() -> None:
    talk = Talk(ACT, says("what?"), conversation="thread-1")
    await talk.say("go")
    talk.history = reworded(talk.history)
    await talk.say("yes")
    assert talk.ran == []


@pytest.mark.demand("engine.text_approval_listed_yes")
@pytest.mark.parametrize("conversation", [None, "thread-1"])
async def test_yes_counts_only_directly_after_the_question(conversation: str | None) -> None:
    talk = Talk(ACT, says("I mean it"), says("too late"), conversation=conversation)
    await talk.say("go")
    assert await talk.say("what does it do?") == "I mean it"
    assert await talk.say("yes") == "too late"
    assert talk.ran == []


@pytest.mark.demand("engine.text_approval_listed_yes")
@pytest.mark.parametrize("text", ["yes please", "I think so", "yes, and then sleep"])
async def test_other_words_are_a_new_turn(text: str) -> None:
    talk = Talk(ACT, says("hm"))
    await talk.say("go")
    assert await talk.say(text) == "hm"
    assert talk.ran == []
    assert talk.model.asked[1].messages[-1] == text_message("user", text)


async def test_an_answer_counts_once() -> None:
    talk = Talk(ACT, says("ok"), says("again?"))
    await talk.say("go")
    kept = list(talk.history)
    await talk.say("yes")
    talk.history = kept
    assert await talk.say("yes") == "again?"
    assert talk.ran == ["x"]


async def test_another_owner_is_not_asked() -> None:
    talk = Talk(ACT, says("who?"), conversation="thread-1")
    await talk.say("go", owner=Owner("me"))
    assert await talk.say("yes", owner=Owner("you")) == "who?"
    assert talk.ran == []


@pytest.mark.parametrize("conversation", [None, "thread-1"])
async def test_two_questions_come_one_by_one(conversation: str | None) -> None:
    both = calls(("act", '{"name":"a"}'), ("act", '{"name":"b"}'))
    talk = Talk(both, says("ok"), conversation=conversation)
    assert '"a"' in await talk.say("go")
    assert '"b"' in await talk.say("yes")
    assert await talk.say("no") == "ok"
    assert talk.ran == ["a"]


async def test_a_free_question_takes_any_words() -> None:
    @tool
    def day(ctx: ToolContext) -> str:
        return f"on {ctx.ask('Which day?')}"

    talk = Talk(calls(("day", "{}")), says("ok"), tools=(day,))
    assert await talk.say("plan") == "Which day?"
    await talk.say("the day after tomorrow")
    assert talk.model.asked[1].messages[-1].text == "on the day after tomorrow"


async def test_the_clients_calls_come_first_and_then_the_question() -> None:
    talk = Talk(calls(("show", "{}"), ("act", '{"name":"x"}')), says("ok"))
    talk.client = (ToolSpec("show", "", {"type": "object"}),)
    assert await talk.say("go") == ""
    assert talk.reason == "calls"
    [call] = talk.history[-1].calls
    talk.history.append(text_message("tool", "shown", call_id=call.id))
    assert await talk.post() == QUESTION
    assert talk.reason == "stop"
    assert await talk.say("yes") == "ok"
    assert talk.ran == ["x"]
    results = [m.text for m in talk.model.asked[1].messages if m.role == "tool"]
    assert results == ["shown", "done"]


async def test_where_interrupts_are_shown_they_stay_as_they_are() -> None:
    talk = Talk(ACT)
    events = [event async for event in talk.runtime.run(Turn(messages=(text_message("user", "go"),)))]
    assert any(isinstance(event, Interrupt) for event in events)
    assert not any(isinstance(event, TextDelta) for event in events)


FORM = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where to"}, "days": {"type": "integer"}},
}


@pytest.mark.parametrize(
    ("kind", "message", "schema", "text"),
    [
        ("confirm", "Delete it?", {}, "Delete it?\n\nReply yes or no."),
        ("confirm", "要删除吗？", {}, "要删除吗？\n\n请回复“是”或“否”。"),
        ("ask", "Who?", {"type": "string"}, "Who?"),
        ("form", "Trip?", FORM, "Trip?\n\n- city: Where to\n- days"),
        ("form", "How many?", {"type": "integer"}, "How many?"),
        ("form", "How long?", {"properties": {"days": {"type": "integer"}}}, "How long?"),
    ],
)
def test_how_a_question_is_put(kind: Any, message: str, schema: dict[str, Any], text: str) -> None:
    assert format_question(Interrupt("ask_1", kind, message, schema)) == text

"""Questions in plain words: found again by conversation, never by a guess."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rightseat import Owner, Runtime, Tool, ToolContext, Turn, text_message, tool
from rightseat.middleware.match_by_history import format_question
from rightseat.types.events import CallStart, Event, Interrupt, RunFailed, RunFinished, TextDelta
from rightseat.types.language import detect_language
from rightseat.types.messages import Message, ToolCall
from rightseat.types.model import ToolSpec
from rightseat.types.turn import TurnClient
from tests.kit.app_server import FakeModel, ModelReply, reply_calls, reply_text
from tests.kit.cases import each_case

ACT = reply_calls(("act", '{"name":"x"}'))
QUESTION = 'Allow act with {"name":"x"}?\n\nReply yes or no.'


class TextOnlyClient:
    """A client that has only text: it keeps what it saw and sends it all back."""

    def __init__(self, *lines: ModelReply, tools: tuple[Tool, ...] = (), conversation: str | None = None) -> None:
        self.performed: list[str] = []
        self.model = FakeModel(*lines)
        self.conversation = conversation
        self.history: list[Message] = []
        self.client_tools: tuple[ToolSpec, ...] = ()
        self.events: list[Event] = []

        @tool(confirm=True)
        def act(name: str) -> str:
            self.performed.append(name)
            return "done"

        self.runtime = Runtime(model=self.model, tools=[act, *tools])

    async def send_text(self, text: str, **turn: Any) -> str:
        self.history.append(text_message("user", text))
        return await self.post_history(**turn)

    async def post_history(self, **turn: Any) -> str:
        asked = Turn(
            messages=tuple(self.history),
            conversation=self.conversation,
            client=TurnClient(shows_interrupts=False),
            tools=self.client_tools,
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
    talk = TextOnlyClient(ACT, reply_text("finished"), conversation=conversation)
    assert await talk.send_text("go") == QUESTION
    assert talk.reason == "stop"
    assert await talk.send_text(answer) == "finished"
    assert talk.performed == ran
    assert ("denied" in talk.model.prompts[1].messages[-1].text) is (not ran)


async def test_the_models_own_words_come_before_the_question() -> None:
    talk = TextOnlyClient(reply_calls(("act", '{"name":"x"}'), text="I would like to."), reply_text("ok"))
    await talk.send_text("go")
    deltas = [event for event in talk.events if isinstance(event, TextDelta)]
    assert [delta.text for delta in deltas] == ["I would like to.", QUESTION]
    # A text of its own, and how two texts are set apart is the door's affair.
    assert len({delta.id for delta in deltas}) == 2
    await talk.send_text("yes")
    assert talk.performed == ["x"]


async def test_white_space_does_not_count() -> None:
    talk = TextOnlyClient(ACT, reply_text("ok"))
    text = await talk.send_text("  go   now ")
    talk.history = [text_message("user", "go now"), text_message("assistant", text.replace("\n\n", " ") + "\n")]
    await talk.send_text("yes")
    assert talk.performed == ["x"]


def edit_question(history: list[Message]) -> list[Message]:
    return [text_message("user", "go elsewhere"), *history[1:]]


def drop_first_message(history: list[Message]) -> list[Message]:
    return history[1:]


def reword_answer(history: list[Message]) -> list[Message]:
    return [history[0], text_message("assistant", "Shall I make tea?")]


@pytest.mark.parametrize("change", [edit_question, drop_first_message, reword_answer])
async def test_another_history_is_a_new_turn(change: Callable[[list[Message]], list[Message]]) -> None:
    talk = TextOnlyClient(ACT, reply_text("what?"))
    await talk.send_text("go")
    talk.history = change(talk.history)
    assert await talk.send_text("yes") == "what?"
    assert talk.performed == []


@pytest.mark.demand("engine.text_approval_listed_yes")
async def test_in_a_thread_too_the_yes_must_follow_the_question() -> None:
    talk = TextOnlyClient(ACT, reply_text("what?"), conversation="thread-1")
    await talk.send_text("go")
    talk.history = reword_answer(talk.history)
    await talk.send_text("yes")
    assert talk.performed == []


AGAIN = 'Allow act with {"name":"x"}?\n(this is neither a yes nor a no, so nothing has been done yet; reply yes or no)'


@pytest.mark.demand("engine.text_approval_listed_yes", "approvals.text_while_question_waits")
@pytest.mark.parametrize("conversation", [None, "thread-1"])
async def test_text_that_is_no_answer_gets_the_question_again(conversation: str | None) -> None:
    talk = TextOnlyClient(ACT, reply_text("finished"), conversation=conversation)
    await talk.send_text("go")
    for text in ("what does it do?", "I think so", "yes, and then sleep", "thanks", "go to bed"):
        assert await talk.send_text(text) == AGAIN
        assert talk.performed == []
    assert len(talk.model.prompts) == 1
    assert await talk.send_text("yes please") == "finished"
    assert talk.performed == ["x"]


@pytest.mark.demand("approvals.text_while_question_waits")
@pytest.mark.parametrize("conversation", [None, "thread-1"])
async def test_an_edited_reply_still_answers(conversation: str | None) -> None:
    talk = TextOnlyClient(ACT, reply_text("finished"), conversation=conversation)
    await talk.send_text("go")
    before = list(talk.history)
    await talk.send_text("what does it do?")
    if conversation is None:
        talk.history = before
    await talk.send_text("yes")
    assert talk.performed == ["x"]


@pytest.mark.demand("approvals.text_while_question_waits")
async def test_a_thread_whose_client_posts_only_what_is_new() -> None:
    both = reply_calls(("act", '{"name":"a"}'), ("act", '{"name":"b"}'))
    talk = TextOnlyClient(both, reply_text("finished"), conversation="thread-1")
    await talk.send_text("go")
    for text, performed in (("what?", []), ("yes", ["a"]), ("yes", ["a"]), ("yes", ["a", "b"])):
        talk.history = []
        await talk.send_text(text)
        # The same post directly after an answer may be the same one: the next question is asked again first.
        assert talk.performed == performed
    assert len(talk.model.prompts) == 2


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_an_answer_in_words_posted_twice_counts_once() -> None:
    @tool
    def day(ctx: ToolContext) -> str:
        return f"on {ctx.ask('Which day?')}"

    talk = TextOnlyClient(reply_calls(("day", "{}")), reply_text("ok"), reply_text("I see"), tools=(day,))
    await talk.send_text("plan")
    before = list(talk.history)
    await talk.send_text("Monday")
    talk.history = before
    assert await talk.send_text("Monday") == "I see"


@pytest.mark.demand("approvals.words_that_ask_nothing")
@pytest.mark.parametrize("conversation", [None, "thread-1"])
@pytest.mark.parametrize(
    ("said", "text", "told"),
    [
        ("Done.", "thanks", "asked for nothing"),
        ("Done.", "yes", "asked for nothing"),
        ("Done. Shall I note it too?", "great, thanks", "asked for nothing"),
        ("Done. Shall I note it too?", "yes", ""),
        ("Done.", "note it too", "noted"),
    ],
)
async def test_words_that_ask_for_nothing_cause_no_effect(
    conversation: str | None, said: str, text: str, told: str
) -> None:
    @tool
    def note() -> str:
        return "noted"

    @tool
    def look() -> str:
        return "seen"

    calls = reply_calls(("note", "{}"), ("look", "{}"))
    reading = replace(look, effect="reads")
    talk = TextOnlyClient(
        ACT, reply_text(said), calls, reply_text("ok"), tools=(note, reading), conversation=conversation
    )
    await talk.send_text("act")
    assert await talk.send_text("yes") == said
    answer = await talk.send_text(text)
    if told:
        results = [message.text for message in talk.model.prompts[2 + 1].messages if message.role == "tool"]
        assert told in results[-2]
        assert results[-1] == "seen", "a call that only reads is made"
    else:
        # It may answer what the model has asked in its own words: the call itself is asked about.
        assert answer.startswith("Allow note")
    assert talk.performed == ["x"]


@pytest.mark.demand("approvals.words_that_ask_nothing")
async def test_a_yes_to_the_models_own_question_makes_the_call() -> None:
    @tool
    def note() -> str:
        return "noted"

    talk = TextOnlyClient(reply_text("Shall I?"), reply_calls(("note", "{}")), reply_text("ok"), tools=(note,))
    await talk.send_text("hm")
    assert await talk.send_text("yes") == "ok"
    assert talk.model.prompts[2].messages[-1].text == "noted"


async def test_an_answer_counts_once() -> None:
    talk = TextOnlyClient(ACT, reply_text("ok"), reply_text("again?"))
    await talk.send_text("go")
    kept = list(talk.history)
    await talk.send_text("yes")
    talk.history = kept
    assert await talk.send_text("yes") == "again?"
    assert talk.performed == ["x"]


async def test_another_owner_is_not_asked() -> None:
    talk = TextOnlyClient(ACT, reply_text("who?"), conversation="thread-1")
    await talk.send_text("go", owner=Owner("me"))
    assert await talk.send_text("yes", owner=Owner("you")) == "who?"
    assert talk.performed == []


@pytest.mark.parametrize("conversation", [None, "thread-1"])
async def test_two_questions_come_one_by_one(conversation: str | None) -> None:
    both = reply_calls(("act", '{"name":"a"}'), ("act", '{"name":"b"}'))
    talk = TextOnlyClient(both, reply_text("ok"), conversation=conversation)
    assert '"a"' in await talk.send_text("go")
    assert '"b"' in await talk.send_text("yes")
    assert await talk.send_text("no") == "ok"
    assert talk.performed == ["a"]


async def test_a_free_question_takes_any_words() -> None:
    @tool
    def day(ctx: ToolContext) -> str:
        return f"on {ctx.ask('Which day?')}"

    talk = TextOnlyClient(reply_calls(("day", "{}")), reply_text("ok"), tools=(day,))
    assert await talk.send_text("plan") == "Which day?"
    await talk.send_text("the day after tomorrow")
    assert talk.model.prompts[1].messages[-1].text == "on the day after tomorrow"


async def test_the_clients_calls_come_first_and_then_the_question() -> None:
    talk = TextOnlyClient(reply_calls(("show", "{}"), ("act", '{"name":"x"}')), reply_text("ok"))
    talk.client_tools = (ToolSpec("show", "", {"type": "object"}),)
    assert await talk.send_text("go") == ""
    assert talk.reason == "calls"
    [call] = talk.history[-1].calls
    talk.history.append(text_message("tool", "shown", call_id=call.id))
    assert await talk.post_history() == QUESTION
    assert talk.reason == "stop"
    assert await talk.send_text("yes") == "ok"
    assert talk.performed == ["x"]
    results = [m.text for m in talk.model.prompts[1].messages if m.role == "tool"]
    assert results == ["shown", "done"]


async def test_where_interrupts_are_shown_they_stay_as_they_are() -> None:
    talk = TextOnlyClient(ACT)
    events = [event async for event in talk.runtime.run(Turn(messages=(text_message("user", "go"),)))]
    assert any(isinstance(event, Interrupt) for event in events)
    assert not any(isinstance(event, TextDelta) for event in events)


FORM = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where to"}, "days": {"type": "integer"}},
}


@each_case(
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
    assert format_question(Interrupt("ask_1", kind, message, schema), detect_language(message)) == text

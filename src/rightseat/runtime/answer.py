"""Answer of `Runtime.ask`, and the Turn that its arguments mean."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import INTERNAL_ERROR, Incomplete, make_internal_error
from rightseat.http.agui.visible_branch import load_entries, visible_branch
from rightseat.runtime.incidents import current_causes
from rightseat.runtime.runs import new_id, to_error
from rightseat.types.events import CallResult, Event, Interrupt, RunFailed, RunFinished, RunFinishReason, Usage
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.model import Model, unwrap_model
from rightseat.types.output import RunOutput, make_messages
from rightseat.types.streams import closing
from rightseat.types.threads import ThreadStore, UserInput
from rightseat.types.turn import InterruptAnswer, Owner, Turn

AnswerValues = Mapping[str, Any] | Iterable[InterruptAnswer]
"""Values by the ids of interrupts, where None declines to answer; or whole InterruptAnswers."""


class AnswerCall(Struct, frozen=True):
    """Tool call of an answer. `result` is None while a person or the caller has to act."""

    id: str
    name: str
    arguments: Any
    """Object of the arguments; the text itself where it is not JSON."""
    result: str | None = None
    failed: bool = False


class Answer(Struct, frozen=True, kw_only=True):
    """Answer of a run, or of its part up to an interrupt or a call that the caller has to carry out."""

    turn: Turn
    """Turn that was run. Its `messages` are the history before this answer."""
    output: tuple[Message, ...]
    tool_calls: tuple[AnswerCall, ...]
    interrupts: tuple[Interrupt, ...]
    """Questions to a person. `ask(thread=answer.thread, answers={id: value})` goes on."""
    pending: tuple[str, ...]
    """Ids of the calls that the caller has to carry out: tools of `Turn.tools`."""
    reason: RunFinishReason
    usage: Usage | None
    events: tuple[Event, ...]

    @property
    def text(self) -> str:
        """Text of all messages, with a blank line between them."""
        return "\n\n".join(message.text for message in self.output if message.role == "assistant" and message.text)

    @property
    def thread(self) -> str:
        return self.turn.thread

    @property
    def messages(self) -> tuple[Message, ...]:
        """History with this answer."""
        return (*self.turn.messages, *self.output)


async def collect_answer(turn: Turn, stream: AsyncIterator[Event], model: Model | None) -> Answer:
    """Make an answer of a stream; raise the error of a failed run, from the exception that nobody expected."""
    causes: list[Exception] = []
    token = current_causes.set(causes)
    try:
        async with closing(stream) as events:
            collected = [event async for event in events]
    finally:
        current_causes.reset(token)
    last = collected[-1] if collected else None
    if causes and isinstance(last, RunFailed) and last.message == INTERNAL_ERROR.message:
        runner = f"the model {type(unwrap_model(model)).__name__}" if model else "the assistant"
        detail = f"A run of {runner} failed: {type(causes[-1]).__name__}. That exception is the cause of this error."
        raise make_internal_error(causes[-1], detail)
    return make_answer(turn, collected)


def make_answer(turn: Turn, events: Sequence[Event]) -> Answer:
    """Make an answer of all events of a run; raise the error of a failed run."""
    last = events[-1] if events else None
    if isinstance(last, RunFailed):
        raise to_error(last)
    if not isinstance(last, RunFinished):
        raise Incomplete("The run ended without a last event.")
    run_output = RunOutput(events)
    output = run_output.messages
    results = {event.id: event for event in events if isinstance(event, CallResult)}
    return Answer(
        turn=turn,
        output=output,
        tool_calls=tuple(_make_call(call, results.get(call.id)) for message in output for call in message.calls),
        interrupts=tuple(run_output.interrupts),
        pending=last.pending,
        reason=last.reason,
        usage=last.usage,
        events=tuple(events),
    )


def _make_call(call: ToolCall, result: CallResult | None) -> AnswerCall:
    try:
        arguments = msgspec.json.decode(call.arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        arguments = call.arguments
    done = (result.content, result.failed) if result is not None else ()
    return AnswerCall(call.id, call.name, arguments, *done)


async def make_turn(
    question: str | Iterable[Message] | Turn,
    thread: str | None,
    assistant: str | None,
    owner: Owner,
    answers: AnswerValues,
    store: ThreadStore,
) -> Turn:
    """Make the turn of a question: a text after the history of its thread, a whole history, or a Turn as it is."""
    if isinstance(answers, Mapping):
        answers = [_make_interrupt_answer(id, value) for id, value in answers.items()]
    answers = tuple(answers)
    if isinstance(question, Turn):
        return replace(question, answers=answers or question.answers, thread=thread or question.thread or new_id())
    if isinstance(question, str):
        history = await load_history(store, owner, thread) if thread else ()
        messages = (*history, text_message("user", question, id=new_id())) if question else history
    else:
        messages = tuple(question)
    return Turn(
        messages=messages,
        assistant=assistant,
        owner=owner,
        answers=answers,
        thread=thread or new_id(),
        recording="asked",
    )


def _make_interrupt_answer(id: str, value: Any) -> InterruptAnswer:
    if value is None:
        return InterruptAnswer(id, "cancelled")
    return InterruptAnswer(id, text=value) if isinstance(value, str) else InterruptAnswer(id, payload=value)


async def load_history(store: ThreadStore, owner: Owner, thread: str) -> tuple[Message, ...]:
    """Load the messages of a thread's visible branch."""
    history: list[Message] = []
    known: set[str] = set()
    for item in RunOutput(visible_branch(await load_entries(store, owner, thread))).items:
        # A client posts messages again that the thread has already.
        messages = [m for m in make_messages(item) if not isinstance(item, UserInput) or m.id not in known]
        known.update(message.id for message in messages if message.id)
        history += messages
    return tuple(history)

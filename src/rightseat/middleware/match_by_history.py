"""Answers of clients that echo no ids, found by the conversation: its thread, else a hash of the history up to and
including our question. Without a match it is a normal new turn; a reply that is no answer gets the question again.

Interrupts become a text whose next message is the answer; results of a client's calls are given our ids.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import AsyncIterator, Sequence

import msgspec
from msgspec.structs import replace

from rightseat.engine.form_values import FormField, list_form_fields
from rightseat.engine.repeats import (
    hash_messages,
    hash_turn,
    is_unused_answer,
    read_question,
    remove_whitespace,
    with_answer,
)
from rightseat.types.agents import Layer, Responder, make_layer
from rightseat.types.events import CallStart, Event, Interrupt, RunFinished, TextDelta, text_events
from rightseat.types.language import Language, detect_language
from rightseat.types.messages import Message, text_message
from rightseat.types.replies import parse_consent
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import IdGenerator, PendingQuestion, Store, parse_resume_token
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Turn, measure_turn
from rightseat.types.workers import run_sized

MAX_EARLIER_QUESTIONS = 16


def questions_as_text(store: Store) -> Layer:
    layer = make_layer(
        lambda turn: not turn.client.shows_interrupts, lambda inner, turn: stream_as_text(inner, turn, store)
    )
    return lambda inner: layer(inner) if getattr(inner, "can_ask", True) else inner


async def stream_as_text(inner: Responder, turn: Turn, store: Store) -> AsyncIterator[Event]:
    answered_turn = await restore_answer(turn, store)
    if isinstance(answered_turn, PendingQuestion):
        for event in await ask_again(turn, answered_turn, store):
            yield event
        return
    texts = io.StringIO()
    question: Interrupt | None = None
    async with closing(inner(answered_turn)) as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    texts.write(text)
                    yield event
                case Interrupt():
                    # One at a time: the others follow after its answer.
                    question = question or event
                case RunFinished(reason="interrupt", pending=()) if question is not None:
                    question_text = format_question(question, turn.get_language(detect_language(question.message)))
                    for part in text_events(IdGenerator().new_message_id(), question_text):
                        yield part
                    pending = PendingQuestion(
                        question.id,
                        question.kind,
                        "",
                        question.message if question.kind == "confirm" else question_text,
                        await hash_turn(turn),
                        answered_turn is not turn,
                    )
                    continues = pending.answers
                    await save_question(turn, pending, texts.getvalue(), question_text, store, continues=continues)
                    yield replace(event, reason="stop")
                case RunFinished(reason="interrupt"):
                    # The client's calls come first; the question follows their results.
                    yield replace(event, reason="calls")
                case _:
                    yield event


async def save_question(
    turn: Turn, pending: PendingQuestion, said_before: str, shown: str, store: Store, *, continues: bool
) -> None:
    """Keep the question under the conversation as the client will post it with the answer. `continues`: the turn
    replied to a question of the same run."""
    asked_messages = (*turn.messages, text_message("assistant", said_before + shown))
    key = await run_sized(measure_turn(turn), make_conversation_key, turn, asked_messages)
    before = await store.get_pending_question(turn.owner, key) if turn.conversation and continues else None
    earlier: dict[str, str] = {}
    places: tuple[str, ...] = ()
    if before is not None:
        asked = [*before.earlier.items(), (before.question, before.interrupt)]
        earlier, places = dict(asked[-MAX_EARLIER_QUESTIONS:]), before.places
        *history, _ = turn.messages
        # A client that posts only what is new has no place in a history.
        if before.interrupt != pending.interrupt and any(message.role == "assistant" for message in history):
            places = (*places, await run_sized(measure_turn(turn), hash_messages, turn, history))[
                -MAX_EARLIER_QUESTIONS:
            ]
    question = replace(pending, question=remove_whitespace(shown), earlier=earlier, places=places)
    await store.save_pending_question(turn.owner, key, question)


async def restore_answer(turn: Turn, store: Store) -> Turn | PendingQuestion:
    """Return the turn with its last message as the answer, if that follows our question; the question, if the
    message does not answer it."""
    if turn.answers or not turn.messages or turn.messages[-1].role != "user":
        return turn
    *history, reply = turn.messages
    size = measure_turn(turn)
    key = await run_sized(size, make_conversation_key, turn, history)
    request = await hash_turn(turn)
    pending = await load_question(turn, key, request, store)
    if pending is None:
        return turn
    if pending.kind == "answered":
        # The same reply once more, or another one in its place: neither is a new request.
        repeats = pending.request == request or find_question(history, pending) is not None
        return replace(turn, repeats_answer=True) if repeats else turn
    if not follows_question(turn, history, pending):
        # Another reply to an earlier question of the run is no answer to the one that waits.
        return turn if find_question(history, pending) is None else pending
    if pending.request != request and await run_sized(size, hash_messages, turn, history) in pending.places:
        # Two questions may have the same words.
        return pending
    if pending.request == request:
        # In a thread, the same post again: it was an answer before, or the request that is asked anew.
        if pending.answers:
            return replace(pending, request="")
        await store.take_pending_question(turn.owner, key)
        return turn
    answer = InterruptAnswer(pending.interrupt, text=reply.text)
    if pending.kind == "confirm":
        approved = parse_consent(reply.text, pending.text)
        if approved is None:
            return pending
        answer = InterruptAnswer(pending.interrupt, payload={"approved": approved})
    # Kept as answered, and not taken: the same reply once more is no new request. The Continuation is claimed once.
    answered = replace(pending, kind="answered", answered_kind=pending.kind, request=request)
    await store.save_pending_question(turn.owner, key, answered)
    return with_answer(turn, history[:-1], reply, answer)


async def load_question(turn: Turn, key: str, request: str, store: Store) -> PendingQuestion | None:
    """Return the question that the conversation waits for. One is open again if the same reply was given to a worker
    that died with it."""
    pending = await read_question(store, turn, key)
    if pending is None or pending.request != request or not await is_unused_answer(store, turn.owner, pending):
        return pending
    return replace(pending, kind=pending.answered_kind, request="")


def follows_question(turn: Turn, history: Sequence[Message], pending: PendingQuestion) -> bool:
    """Whether the last message follows the question. A thread id alone is not enough, unless its client posts only
    what is new."""
    if turn.conversation and not any(message.role == "assistant" for message in history):
        return True
    return find_question(history, pending) == pending.interrupt


def find_question(history: Sequence[Message], pending: PendingQuestion) -> str | None:
    """Return the interrupt of the question that the history ends with, among those of the run."""
    last = remove_whitespace(history[-1].text) if history else ""
    asked = ((pending.question, pending.interrupt), *pending.earlier.items())
    return next((interrupt for shown, interrupt in asked if last.endswith(shown)), None)


async def ask_again(turn: Turn, pending: PendingQuestion, store: Store) -> list[Event]:
    """Ask the question again, with what can be said. It stays open at its earlier place too."""
    language = turn.get_language(detect_language(pending.text))
    question = pending.text or "".join(message.text for message in turn.messages[-2:-1])
    hint = get_sentence("answer_yes_or_no", language) if pending.kind == "confirm" else ""
    text = get_sentence("ask_again", language, question=question, problem=hint) if hint else question
    await save_question(turn, pending, "", text, store, continues=True)
    return [*text_events(IdGenerator().new_message_id(), text), RunFinished("stop")]


def make_conversation_key(turn: Turn, messages: Sequence[Message]) -> str:
    if turn.conversation:
        return f"thread:{turn.conversation}"
    history = [(m.role, remove_whitespace(m.text), [(c.name, c.id) for c in m.calls], m.call_id) for m in messages]
    return "history:" + hashlib.sha256(msgspec.json.encode([turn.assistant, history])).hexdigest()


def format_question(question: Interrupt, language: Language) -> str:
    """Format the question with a hint on how to answer."""
    if question.kind == "confirm":
        return f"{question.message}\n\n{get_sentence('reply_yes_or_no', language)}"
    fields = list_form_fields(question.schema)
    if question.kind == "form" and len(fields) > 1:
        # Where nothing is required, the mark would stand at every field.
        optional = get_sentence("optional_field", language) if any(field.required for field in fields) else ""
        lines = [f"{field.name}{format_field_note(field, optional)}" for field in fields]
    else:
        lines = next((choices for field in fields if (choices := list_choices(field.schema))), [])
    return "\n".join([question.message, *([""] if lines else []), *(f"- {line}" for line in lines)])


def format_field_note(field: FormField, optional: str) -> str:
    notes = (", ".join(list_choices(field.schema)), "" if field.required else optional)
    text = "; ".join(note for note in notes if note)
    return (f": {field.description}" if field.description else "") + (f" ({text})" if text else "")


def list_choices(field: object) -> list[str]:
    """Return the values of a field's `enum`."""
    options = field.get("enum") if isinstance(field, dict) else None
    return list(map(str, options)) if isinstance(options, list) else []


def match_results_by_history(store: Store) -> Layer:
    return make_layer(
        lambda turn: not turn.client.returns_call_ids, lambda inner, turn: stream_with_ids(inner, turn, store)
    )


async def stream_with_ids(inner: Responder, turn: Turn, store: Store) -> AsyncIterator[Event]:
    turn = await restore_call_id(turn, store)
    names: dict[str, str] = {}
    async with closing(inner(turn)) as events:
        async for event in events:
            if isinstance(event, CallStart):
                names[event.id] = event.name
            elif isinstance(event, RunFinished) and event.pending:
                # The client runs one call at a time; the next one follows its result.
                first = event.pending[0]
                key = await run_sized(measure_turn(turn), make_call_key, turn, turn.messages, names.get(first, ""))
                await store.save_pending_question(turn.owner, key, PendingQuestion(first, "call", ""))
            yield event


async def restore_call_id(turn: Turn, store: Store) -> Turn:
    """Return the turn with our id in its last call and result, if the call is ours."""
    if len(turn.messages) < 2:
        return turn
    *history, call_message, result = turn.messages
    if result.role != "tool" or len(call_message.calls) != 1 or parse_resume_token(call_message.calls[0].id):
        return turn
    call = call_message.calls[0]
    key = await run_sized(measure_turn(turn), make_call_key, turn, history, call.name)
    # Kept: the result may be posted again. The Continuation is claimed once.
    bound = await store.get_pending_question(turn.owner, key)
    if bound is None or bound.kind != "call":
        return turn
    restored = replace(call_message, calls=(replace(call, id=bound.interrupt),))
    return replace(turn, messages=(*history, restored, replace(result, call_id=bound.interrupt)))


def make_call_key(turn: Turn, messages: Sequence[Message], name: str) -> str:
    """Hash the conversation at this call, without tool results, which clients truncate."""
    history = [
        (m.role, remove_whitespace(m.text) if not m.calls and m.role != "tool" else "", [c.name for c in m.calls])
        for m in messages
    ]
    return "call:" + hashlib.sha256(msgspec.json.encode([turn.assistant, history, name])).hexdigest()

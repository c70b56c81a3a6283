"""Interrupts for text-only clients: the question is a text, and the next message is its answer.

Such a client echoes no id, so the interrupt is found by the conversation: its thread, else a hash of the
history up to and including our question. Without a match it is a normal new turn.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import AsyncIterator

import msgspec
from msgspec.structs import replace

from rightseat.engine.answers import consent
from rightseat.engine.assembler import spoken
from rightseat.types.events import Event, Interrupt, RunFinished, TextDelta
from rightseat.types.messages import Message, Text, said
from rightseat.types.responder import Layer, Responder
from rightseat.types.stores import Bound, Ids, Store
from rightseat.types.streams import closing
from rightseat.types.turn import Answer, Turn


def words(store: Store) -> Layer:
    def layer(inner: Responder) -> Responder:
        if not getattr(inner, "can_ask", True):
            return inner

        def respond(turn: Turn) -> AsyncIterator[Event]:
            return inner(turn) if turn.shows_interrupts else in_words(inner, turn, store)

        return respond

    return layer


async def in_words(inner: Responder, turn: Turn, store: Store) -> AsyncIterator[Event]:
    heard = await hear(turn, store)
    texts = io.StringIO()
    question: Interrupt | None = None
    async with closing(inner(heard)) as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    texts.write(text)
                    yield event
                case Interrupt():
                    # One at a time: the others follow after its answer.
                    question = question or event
                case RunFinished(reason="interrupt", pending=()) if question is not None:
                    asked = phrase(question)
                    for part in spoken(Ids().message(), asked):
                        yield part
                    told = said("assistant", texts.getvalue() + asked)
                    key = conversation(turn, (*turn.messages, told))
                    await store.bind(turn.owner, key, Bound(question.id, question.kind, squeezed(asked)))
                    yield replace(event, reason="stop")
                case RunFinished(reason="interrupt"):
                    # The client's calls come first; the question follows their results.
                    yield replace(event, reason="calls")
                case _:
                    yield event


async def hear(turn: Turn, store: Store) -> Turn:
    """Return the turn with its last message as the answer, if that directly follows our question."""
    if turn.answers or not turn.messages or turn.messages[-1].role != "user":
        return turn
    bound = await store.release(turn.owner, conversation(turn, turn.messages[:-1]))
    if bound is None:
        return turn
    history = turn.messages[:-1]
    # A thread id alone is not enough: the previous message must be the question.
    if not history or not squeezed(history[-1].text).endswith(bound.question):
        return turn
    text = turn.messages[-1].text
    approved = consent(text) if bound.kind == "confirm" else None
    if bound.kind == "confirm" and approved is None:
        return turn
    answer = (
        Answer(bound.interrupt, text=text)
        if approved is None
        else Answer(bound.interrupt, payload={"approved": approved})
    )
    # Keep attachments: they may be what the question asks for.
    files = tuple(part for part in turn.messages[-1].parts if not isinstance(part, Text))
    kept = (*history[:-1], Message("user", files)) if files else history[:-1]
    return replace(turn, answers=(answer,), messages=kept)


def squeezed(text: str) -> str:
    """Remove white space: clients trim texts, and a door may add a line between two."""
    return "".join(text.split())


def conversation(turn: Turn, messages: tuple[Message, ...]) -> str:
    if turn.conversation:
        return f"thread:{turn.conversation}"
    told = [(m.role, squeezed(m.text), [(c.name, c.id) for c in m.calls], m.call_id) for m in messages]
    return "history:" + hashlib.sha256(msgspec.json.encode([turn.assistant, told])).hexdigest()


def phrase(question: Interrupt) -> str:
    """Format the question with a hint on how to answer, in Chinese if the question is Chinese."""
    chinese = any("\u4e00" <= char <= "\u9fff" for char in question.message)
    if question.kind == "confirm":
        return question.message + ("\n\n请回复“是”或“否”。" if chinese else "\n\nReply yes or no.")
    fields = question.schema.get("properties") or {}
    if question.kind == "form" and len(fields) > 1:
        names = (f"- {name}{note(field)}" for name, field in fields.items())
        return f"{question.message}\n\n" + "\n".join(names)
    for field in fields.values():
        if options := choices(field):
            return f"{question.message}\n\n" + "\n".join(f"- {option}" for option in options)
    return question.message


def note(field: object) -> str:
    text = field.get("description") if isinstance(field, dict) else None
    options = ", ".join(choices(field))
    return (f": {text}" if text else "") + (f" ({options})" if options else "")


def choices(field: object) -> list[str]:
    """Return the values of a field's `enum`."""
    found = field.get("enum") if isinstance(field, dict) else None
    return [str(one) for one in found] if isinstance(found, list) else []

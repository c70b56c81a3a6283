"""Tool results of clients that return no call ids, matched to our calls by the conversation.

Such a client (OpenBB's of 2024) posts the conversation, the call and the result. Without the call's id the
turn would start over and lose earlier results of server tools. Without a match it is a normal new turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence

import msgspec
from msgspec.structs import replace

from rightseat.middleware.text_questions import remove_whitespace
from rightseat.types.events import CallStart, Event, RunFinished
from rightseat.types.messages import Message
from rightseat.types.responder import Layer, Responder
from rightseat.types.stores import PendingQuestion, Store, parse_resume_token
from rightseat.types.streams import closing
from rightseat.types.turn import Turn


def match_results_by_history(store: Store) -> Layer:
    def layer(inner: Responder) -> Responder:
        def respond(turn: Turn) -> AsyncIterator[Event]:
            return inner(turn) if turn.returns_call_ids else stream_with_bound_calls(inner, turn, store)

        return respond

    return layer


async def stream_with_bound_calls(inner: Responder, turn: Turn, store: Store) -> AsyncIterator[Event]:
    turn = await restore_call_id(turn, store)
    names: dict[str, str] = {}
    async with closing(inner(turn)) as events:
        async for event in events:
            if isinstance(event, CallStart):
                names[event.id] = event.name
            elif isinstance(event, RunFinished) and event.pending:
                # The client runs one call at a time; the next one follows its result.
                first = event.pending[0]
                key = make_call_key(turn, turn.messages, names.get(first, ""))
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
    bound = await store.take_pending_question(turn.owner, make_call_key(turn, history, call.name))
    if bound is None or bound.kind != "call":
        return turn
    restored = replace(call_message, calls=(replace(call, id=bound.interrupt),))
    return replace(turn, messages=(*history, restored, replace(result, call_id=bound.interrupt)))


def make_call_key(turn: Turn, messages: Sequence[Message], name: str) -> str:
    """Hash the conversation at this call, without tool results, which clients truncate."""
    history = [
        (
            m.role,
            remove_whitespace(m.text) if not m.calls and m.role != "tool" else "",
            [c.name for c in m.calls],
        )
        for m in messages
    ]
    return "call:" + hashlib.sha256(msgspec.json.encode([turn.assistant, history, name])).hexdigest()

"""Tool results of clients that return no call ids, matched to our calls by the conversation.

Such a client (OpenBB's of 2024) posts the conversation, the call and the result. Without the call's id the
turn would start over and lose earlier results of server tools. Without a match it is a normal new turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence

import msgspec
from msgspec.structs import replace

from rightseat.middleware.text_questions import squeezed
from rightseat.types.events import CallStart, Event, RunFinished
from rightseat.types.messages import Message
from rightseat.types.responder import Layer, Responder
from rightseat.types.stores import Bound, Store, ticket_of
from rightseat.types.streams import closing
from rightseat.types.turn import Turn


def echo(store: Store) -> Layer:
    def layer(inner: Responder) -> Responder:
        def respond(turn: Turn) -> AsyncIterator[Event]:
            return inner(turn) if turn.echoes else followed(inner, turn, store)

        return respond

    return layer


async def followed(inner: Responder, turn: Turn, store: Store) -> AsyncIterator[Event]:
    turn = await recalled(turn, store)
    names: dict[str, str] = {}
    async with closing(inner(turn)) as events:
        async for event in events:
            if isinstance(event, CallStart):
                names[event.id] = event.name
            elif isinstance(event, RunFinished) and event.pending:
                # The client runs one call at a time; the next one follows its result.
                first = event.pending[0]
                key = conversation(turn, turn.messages, names.get(first, ""))
                await store.bind(turn.owner, key, Bound(first, "call", ""))
            yield event


async def recalled(turn: Turn, store: Store) -> Turn:
    """Return the turn with our id in its last call and result, if the call is ours."""
    if len(turn.messages) < 2:
        return turn
    *history, called, result = turn.messages
    if result.role != "tool" or len(called.calls) != 1 or ticket_of(called.calls[0].id):
        return turn
    call = called.calls[0]
    bound = await store.release(turn.owner, conversation(turn, history, call.name))
    if bound is None or bound.kind != "call":
        return turn
    ours = replace(called, calls=(replace(call, id=bound.interrupt),))
    return replace(turn, messages=(*history, ours, replace(result, call_id=bound.interrupt)))


def conversation(turn: Turn, messages: Sequence[Message], name: str) -> str:
    """Hash the conversation at this call, without tool results, which clients truncate."""
    told = [
        (m.role, squeezed(m.text) if not m.calls and m.role != "tool" else "", [c.name for c in m.calls])
        for m in messages
    ]
    return "call:" + hashlib.sha256(msgspec.json.encode([turn.assistant, told, name])).hexdigest()

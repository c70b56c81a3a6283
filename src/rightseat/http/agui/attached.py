"""Attached AG-UI runs by their id: one that called a tool or ran a step is replayed when it is posted again.

Its events are kept in the store as a tool's result is. A run that only answered is not kept: it has no effect that
could happen twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from weakref import WeakKeyDictionary

import msgspec

from rightseat.errors import StoreFailed
from rightseat.types.agents import Responder
from rightseat.types.events import CallStart, Event, StepStart, TextDelta
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.threads import hash_input, is_run_end, merge_rows
from rightseat.types.turn import Owner, Turn

log = logging.getLogger(__name__)
MAX_KEPT_EVENTS = 20_000
MAX_KEPT_BYTES = 1 << 18
_encode = msgspec.json.Encoder(enc_hook=str).encode
_decoder = msgspec.json.Decoder(list[Event])


_active_runs: WeakKeyDictionary[object, dict[tuple[str, str], asyncio.Event]] = WeakKeyDictionary()
"""Runs that have not ended, by store, owner and key."""


async def run_once(turn: Turn, respond: Responder, store: object) -> AsyncIterator[Event]:
    """Run a turn, or replay its run if one with the same id and input has ended and may have had effects. Posted again
    while it runs, it waits for the end."""
    if not turn.thread or not turn.run or not isinstance(store, Store):
        async with closing(respond(turn)) as events:
            async for event in events:
                yield event
        return
    key = make_run_key(turn)
    active_runs, place = _active_runs.setdefault(store, {}), (turn.owner.name, key)
    while place in active_runs:
        await active_runs[place].wait()
    active_runs[place] = ended = asyncio.Event()
    try:
        kept = await load_run(store, turn.owner, key)
        events = replay_run(kept) if kept else keep_run(turn, respond, store, key)
        async with closing(events):
            async for event in events:
                yield event
    finally:
        del active_runs[place]
        ended.set()


async def replay_run(kept: list[Event]) -> AsyncIterator[Event]:
    for event in kept:
        yield event


async def keep_run(turn: Turn, respond: Responder, store: Store, key: str) -> AsyncIterator[Event]:
    """Run a turn, and keep its events at the end if it may have had effects."""
    seen: list[Event] = []
    has_effect = False
    async with closing(respond(turn)) as events:
        async for event in events:
            if len(seen) < MAX_KEPT_EVENTS:
                seen.append(event)
            if type(event) is not TextDelta:
                has_effect = has_effect or is_effect(event)
                if has_effect and is_run_end(event):
                    # Before the client has the end: whoever has seen it cannot make the run happen again.
                    await save_run(store, turn.owner, key, seen)
            yield event


def is_effect(event: Event) -> bool:
    """Whether something begins that may have an effect: a step, or a call that the server runs."""
    return isinstance(event, StepStart) or (isinstance(event, CallStart) and not event.client)


async def load_run(store: Store, owner: Owner, key: str) -> list[Event]:
    """Return the events of the ended run; empty if there is none."""
    try:
        kept = await store.get_results(owner, [key])
        return _decoder.decode(kept[key]) if key in kept else []
    except (StoreFailed, msgspec.DecodeError):
        log.warning("a run cannot be replayed: what was kept of it cannot be read")
        return []


async def save_run(store: Store, owner: Owner, key: str, events: list[Event]) -> None:
    try:
        body = _encode([row.entry for row in merge_rows(enumerate(events, 1))])
        if len(body) <= MAX_KEPT_BYTES and is_run_end(events[-1]):
            await store.save_results(owner, {key: body.decode()})
        else:
            log.warning("a run is too long to be kept: posted again, it runs again")
    except (StoreFailed, TypeError, ValueError, RecursionError):
        log.warning("a run is not kept: posted again, it runs again")


def make_run_key(turn: Turn) -> str:
    """Return the key of a run's events, beside the ids of calls: a hash of its ids and input."""
    text = f"{turn.thread}\0{turn.run}\0{hash_input(turn)}"
    return f"run_{hashlib.sha256(text.encode()).hexdigest()[:32]}"

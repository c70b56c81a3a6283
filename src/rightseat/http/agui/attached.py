"""Attached AG-UI runs by their id: one that called a tool or ran a step is replayed when it is posted again.

Its events are kept in the store as a tool's result is. A run that only answered is not kept, unless it was posted again
meanwhile: it has no effect that could happen twice. Where workers share the store, one of them claims the run.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator
from typing import Self
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import StoreDamaged, StoreFailed
from rightseat.types.agents import Responder
from rightseat.types.events import CallStart, Event, StepStart, TextDelta
from rightseat.types.stores import SharedCheckpointStore, Store, get_shared_store, replace_checkpoint
from rightseat.types.streams import closing
from rightseat.types.threads import hash_input, is_run_end, make_restart_entries, merge_rows
from rightseat.types.turn import Owner, Turn, measure_turn
from rightseat.types.workers import run_sized

log = logging.getLogger(__name__)
MAX_KEPT_EVENTS = 20_000
MAX_KEPT_BYTES = 1 << 18
_encode = msgspec.json.Encoder(enc_hook=str).encode
_decoder = msgspec.json.Decoder(list[Event])
CLAIM_SECONDS = 24 * 3600.0
POLL_SECONDS = 0.2
"""Time after which a run that waits for another worker looks again."""
_active_runs: WeakKeyDictionary[object, dict[tuple[str, str], AttachedRun]] = WeakKeyDictionary()
"""Runs that have not ended, by store, owner and key."""


async def run_once(turn: Turn, respond: Responder, store: object) -> AsyncIterator[Event]:
    """Run a turn, or replay its run if one with the same id and input has ended and may have had effects. Posted again
    while it runs, at any worker, it waits for the end."""
    if not turn.thread or not turn.run or not isinstance(store, Store):
        async with closing(respond(turn)) as events:
            async for event in events:
                yield event
        return
    key = await run_sized(measure_turn(turn), make_run_key, turn)
    active_runs, place = _active_runs.setdefault(store, {}), (turn.owner.name, key)
    while place in active_runs:
        active_runs[place].is_awaited = True
        await active_runs[place].ended.wait()
    active_runs[place] = active = AttachedRun(make_claim(store, turn.owner, key))
    try:
        async with active:
            kept = await load_run(store, turn.owner, key)
            if active.is_interrupted and not kept:
                kept = make_restart_entries((), turn.thread, turn.run)
            events = replay_run(kept) if kept else keep_run(turn, respond, store, key, active)
            async with closing(events):
                async for event in events:
                    yield event
    finally:
        del active_runs[place]
        active.ended.set()


class ClaimRecord(Struct, frozen=True, omit_defaults=True):
    """Stored claim of a run: the worker that runs it, if any; whether something has begun that may have an effect;
    whether another worker waits for its end."""

    worker: str
    has_effect: bool = False
    is_awaited: bool = False


_claim_decoder = msgspec.json.Decoder(ClaimRecord)


class RunClaim:
    """Claim of a run among the workers that share a store."""

    def __init__(self, store: SharedCheckpointStore, owner: Owner, key: str) -> None:
        self.store = store
        self.owner = owner
        self.key = f"claim_{key}"
        self.is_interrupted = False
        """Whether a worker died with the run after something had begun."""

    async def acquire(self) -> None:
        """Claim the run once no living worker has it."""
        while True:
            body = await self.store.get_checkpoint(self.owner, self.key)
            earlier = None if body is None else _claim_decoder.decode(body)
            # One of this worker is left from a release that failed: `run_once` runs one at a time.
            is_free = earlier is None or earlier.worker in ("", self.store.worker)
            if earlier is None or is_free or await self.store.find_dead([earlier.worker]):
                # Before the claim is stored: the client may leave meanwhile.
                self.is_interrupted = earlier is not None and earlier.has_effect
                claimed = ClaimRecord(self.store.worker, self.is_interrupted)
                if await replace_checkpoint(self.store, self.owner, self.key, body, _encode(claimed), CLAIM_SECONDS):
                    return
            else:
                if not earlier.is_awaited:
                    # Once: each write is a transaction of the store.
                    await self.change(earlier.worker, is_awaited=True)
                await asyncio.sleep(POLL_SECONDS)

    async def change(self, worker: str, **fields: bool) -> None:
        """Change the record if it is of this worker."""

        def update(body: bytes | None) -> bytes | None:
            record = None if body is None else _claim_decoder.decode(body)
            return body if record is None or record.worker != worker else _encode(replace(record, **fields))

        await self.store.update_checkpoint(self.owner, self.key, update, CLAIM_SECONDS)

    async def is_awaited(self) -> bool:
        body = await self.store.get_checkpoint(self.owner, self.key)
        return body is not None and _claim_decoder.decode(body).is_awaited

    async def release(self) -> None:
        """Give up this worker's claim. An interrupted run stays so for whoever posts it again."""
        worker = self.store.worker

        def update(body: bytes | None) -> bytes | None:
            record = None if body is None else _claim_decoder.decode(body)
            if record is None or record.worker != worker:
                return body
            return _encode(ClaimRecord("", has_effect=True)) if self.is_interrupted else None

        await self.store.update_checkpoint(self.owner, self.key, update, CLAIM_SECONDS)


def make_claim(store: object, owner: Owner, key: str) -> RunClaim | None:
    """Make the claim of a run; None where no other worker can run it."""
    shared_store = get_shared_store(store)
    return None if shared_store is None else RunClaim(shared_store, owner, key)


class AttachedRun:
    """A run of this worker, with its claim. If the store fails, it runs without: an answer matters more."""

    def __init__(self, claim: RunClaim | None) -> None:
        self.claim = claim
        self.ended = asyncio.Event()
        self.is_awaited = False
        """Whether it was posted again meanwhile, at this worker."""

    @property
    def is_interrupted(self) -> bool:
        """Whether a worker died with the run after something had begun: it may have had its effect."""
        return self.claim is not None and self.claim.is_interrupted

    async def __aenter__(self) -> Self:
        if self.claim is not None:
            try:
                await self.claim.acquire()
            except (asyncio.CancelledError, StoreDamaged):
                # The claim may have been stored.
                await self.__aexit__()
                raise
            except StoreFailed:
                log.warning("a run is not claimed: posted at another worker at the same time, it runs there too")
                self.claim = None
        return self

    async def note_effect(self) -> None:
        """Note that something begins that may have an effect. Fails if that cannot be noted."""
        if self.claim is not None:
            await self.claim.change(self.claim.store.worker, has_effect=True)

    async def has_reader(self) -> bool:
        """Whether another post waits for the end of the run, here or at another worker."""
        return self.is_awaited or (self.claim is not None and await self.claim.is_awaited())

    async def __aexit__(self, *error: object) -> None:
        if self.claim is not None:
            try:
                await self.claim.release()
            except StoreFailed:
                log.warning("the claim of a run is not released: the store failed")


async def replay_run(kept: list[Event]) -> AsyncIterator[Event]:
    for event in kept:
        yield event


async def keep_run(turn: Turn, respond: Responder, store: Store, key: str, active: AttachedRun) -> AsyncIterator[Event]:
    """Run a turn, and keep its events at the end if it may have had effects or another post waits for them."""
    seen: list[Event] = []
    has_effect = False
    async with closing(respond(turn)) as events:
        async for event in events:
            if len(seen) < MAX_KEPT_EVENTS:
                seen.append(event)
            if type(event) is not TextDelta:
                if not has_effect and is_effect(event):
                    has_effect = True
                    await active.note_effect()
                if is_run_end(event) and (has_effect or await active.has_reader()):
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
    except StoreDamaged:
        # Whether this run has run before cannot be read.
        raise
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

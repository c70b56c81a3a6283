"""Records of runs that another worker goes on with when their own has died.

A record has the Turn of a run, without headers and credentials, and how many workers the run has lost. It is written
when the run begins on its thread and deleted at its end. Beside it is the checkpoint of a model's turn, which only the
worker may replace that wrote it or has taken the run over: it is the fence of calls.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import Restarting, StoreFailed
from rightseat.types.agents import Responder
from rightseat.types.checkpoints import LoggedMessages, TurnCheckpoint
from rightseat.types.events import Event, OpenMessageTracker, RunFinished, RunStarted, StepEnd, StepStart
from rightseat.types.stores import CheckpointChanged, CheckpointStore, Store, parse_resume_token, replace_checkpoint
from rightseat.types.streams import closing
from rightseat.types.threads import (
    MAX_TAKE_OVERS,
    OrphanedRun,
    ThreadEntry,
    UserInput,
    make_checkpoint_key,
    make_resume_key,
)
from rightseat.types.turn import Owner, Turn, TurnClient, measure_turn
from rightseat.types.workers import run_sized

log = logging.getLogger(__name__)
MAX_RECORD_BYTES = 1 << 20
"""Size of a turn beyond which its run is not recorded: it ends as `restarted`."""
PLAIN_HEADERS = ("traceparent", "tracestate", "baggage", "x-request-id", "x-correlation-id")
"""Forwarded headers that a run goes on without. Any other may be a credential, or decide what a tool does."""
PLAIN_PREFIX = "x-copilotkit-"
_CREDENTIAL = re.compile(
    r"auth|token|secret|passw|credential|cookie|session|jwt|bearer|api[-_ ]?key|mcp_?(servers|endpoints)", re.IGNORECASE
)


class ResumeRecord(Struct, frozen=True):
    turn: Turn
    take_overs: int = 0
    """Workers that the run has lost."""
    hand_overs: int = 0
    """Those of them that left it on purpose: they count as no loss."""
    is_handed_over: bool = False
    """Whether the last one does so."""


class CheckpointRecord(Struct, frozen=True):
    take_overs: int = 0
    """Workers that the run had lost when this was written."""
    checkpoint: TurnCheckpoint | None = None


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(ResumeRecord)
_checkpoint_decoder = msgspec.json.Decoder(CheckpointRecord)


def has_credentials(client: TurnClient) -> bool:
    """Whether a client has sent what may be a credential, which is not kept."""
    if any(name not in PLAIN_HEADERS and not name.startswith(PLAIN_PREFIX) for name in client.headers):
        return True
    forwarded = client.forwarded
    return any(map(has_credential_name, (forwarded.properties, forwarded.extensions, forwarded.config)))


def has_credential_name(value: Any) -> bool:
    """Whether a name in a value of nested objects is that of a credential."""
    if isinstance(value, dict):
        return any(_CREDENTIAL.search(str(key)) or has_credential_name(item) for key, item in value.items())
    return isinstance(value, list | tuple) and any(map(has_credential_name, value))


def encode_turn(turn: Turn) -> bytes | None:
    """Encode the record of a turn; None if its run cannot go on elsewhere."""
    client = turn.client
    if client.convert_arguments is not None or has_credentials(client):
        return None
    try:
        body = _encode(ResumeRecord(replace(turn, client=replace(client, headers={}))))
    except (TypeError, ValueError, OverflowError, RecursionError):
        # Not JSON: a lone surrogate, for example.
        return None
    return body if len(body) <= MAX_RECORD_BYTES else None


async def encode_record(turn: Turn) -> bytes | None:
    """Encode the record of a turn, a large one in a thread; None if its run cannot go on elsewhere."""
    return await run_sized(measure_turn(turn), encode_turn, turn)


class ResumeRecords:
    """Records of the runs of all workers that share a store."""

    def __init__(self, store: CheckpointStore) -> None:
        self.store = store

    async def save(self, turn: Turn) -> bool:
        """Record a run that begins; return whether another worker can go on with it."""
        body = await encode_record(turn)
        if body is None:
            return False
        try:
            await self.store.save_checkpoint(turn.owner, make_resume_key(turn.thread, turn.run), body)
        except StoreFailed:
            log.warning("a run is not kept for other workers: the store failed")
            return False
        return True

    async def delete(self, turn: Turn, checkpoints: StoredCheckpoints | None, *, with_record: bool) -> None:
        """Delete what is kept of a run that has ended, its record only if the store has not done so."""
        try:
            if with_record:
                await self.store.delete_checkpoint(turn.owner, make_resume_key(turn.thread, turn.run))
            if checkpoints is not None:
                await checkpoints.delete()
        except StoreFailed:
            # It expires, and no run has its id any more.
            log.warning("the record of a run that has ended is still kept: the store failed")

    async def load(self, run: OrphanedRun) -> tuple[ResumeRecord, bytes] | None:
        """Return a run's record and its stored form; None if the run cannot go on, or has lost too many workers."""
        body = await self.store.get_checkpoint(run.owner, make_resume_key(run.thread, run.run))
        try:
            record = None if body is None else _decoder.decode(body)
        except msgspec.DecodeError:
            # Another version wrote it.
            return None
        if body is None or record is None:
            return None
        if record.take_overs - record.hand_overs >= MAX_TAKE_OVERS and not record.is_handed_over:
            return None
        return record, body

    async def count_take_over(self, run: OrphanedRun, record: ResumeRecord, body: bytes) -> bool:
        """Count a take-over, before it happens; False if another worker was faster."""
        hand_overs = record.hand_overs + record.is_handed_over
        next_record = replace(record, take_overs=record.take_overs + 1, hand_overs=hand_overs, is_handed_over=False)
        counted = _encode(next_record)
        return await replace_checkpoint(self.store, run.owner, make_resume_key(run.thread, run.run), body, counted)

    async def hand_over(self, turn: Turn) -> None:
        """Note that the worker of a run leaves it on purpose."""
        run = OrphanedRun(turn.owner, turn.thread, turn.run)
        try:
            if (body := await self.store.get_checkpoint(run.owner, make_resume_key(run.thread, run.run))) is not None:
                noted = _encode(replace(_decoder.decode(body), is_handed_over=True))
                await replace_checkpoint(self.store, run.owner, make_resume_key(run.thread, run.run), body, noted)
        except (StoreFailed, msgspec.DecodeError):
            log.warning("a run that is handed over counts as lost by its worker: the store failed")


class StoredCheckpoints:
    """Checkpoints of a run in the store that its workers share. Each replaces the last one of this worker: after a
    take-over the store has another, and nothing more is written from here."""

    def __init__(self, store: CheckpointStore, turn: Turn, recording: Awaitable[bool] | None = None) -> None:
        self.store = store
        self.owner = turn.owner
        self.thread = turn.thread
        self.run = turn.run
        self.key = make_checkpoint_key(turn.thread, turn.run)
        self.recording = recording
        """Whether the run is recorded; without a record no other worker goes on with it."""
        self.take_overs = 0
        self.body: bytes | None = None
        """What this worker has written last."""
        self.saved: TurnCheckpoint | None = None
        self.logged: LoggedMessages | None = None

    async def save(self, checkpoint: TurnCheckpoint) -> None:
        if self.recording is not None and not await asyncio.shield(self.recording):
            return
        if not await self.replace(self.body, CheckpointRecord(self.take_overs, checkpoint)):
            raise Restarting("Another process goes on with this answer.", retry_after=2)

    async def replace(self, expected: bytes | None, record: CheckpointRecord) -> bool:
        """Write a record where the store has the expected one; return whether it has."""
        body = _encode(record)

        def replace_expected(current: bytes | None) -> bytes | None:
            # The second: the store repeats a write whose outcome a broken connection hid.
            if current != expected and current != body:
                raise CheckpointChanged("Another process goes on with this answer.")
            return body

        try:
            await self.store.update_checkpoint(self.owner, self.key, replace_expected)
        except CheckpointChanged:
            return False
        self.body = body
        return True

    async def take_over(self, take_overs: int, logged: LoggedMessages) -> bool:
        """Take the last checkpoint of the dead worker, which begins no call from here on. Return False if another
        version wrote it in a form that cannot be read."""
        self.take_overs, self.logged = take_overs, logged
        while True:
            body = await self.store.get_checkpoint(self.owner, self.key)
            record: CheckpointRecord | None
            try:
                record = CheckpointRecord() if body is None else _checkpoint_decoder.decode(body)
            except msgspec.DecodeError:
                record = None
            self.saved = None if record is None else record.checkpoint
            # Not if the old worker has begun calls since: those are in the next one.
            if await self.replace(body, CheckpointRecord(take_overs, self.saved)):
                return record is not None

    async def delete(self) -> None:
        """Delete the checkpoint. After a take-over an empty one stays until it expires: without it the worker that was
        taken for dead would believe that nobody has gone on."""
        if self.take_overs:
            await self.replace(self.body, CheckpointRecord(self.take_overs))
        elif self.body is not None:
            await replace_checkpoint(self.store, self.owner, self.key, self.body, None)


class StoredPart:
    """What the log has of a run whose worker has died."""

    def __init__(self, entries: Iterable[ThreadEntry]) -> None:
        self.logged = LoggedMessages()
        self.has_input = self.is_started = self.has_begun = False
        self.open_messages = OpenMessageTracker()
        self.open_steps: Counter[str] = Counter()
        for entry in entries:
            self.add(entry)

    def add(self, entry: ThreadEntry) -> None:
        match entry:
            case UserInput():
                self.has_input = True
                return
            case RunStarted():
                self.is_started = True
                return
            case StepStart(name):
                self.open_steps[name] += 1
            case StepEnd(name):
                self.open_steps[name] -= 1
            case _:
                self.open_messages.track(entry)
        self.logged.add(entry)
        self.has_begun = True

    def end_events(self) -> list[Event]:
        """Return the ends of what the dead worker had open: the next one begins it anew."""
        return [*self.open_messages.end_events(), *map(StepEnd, reversed(list((+self.open_steps).elements())))]

    async def list_pause_events(self, store: object, owner: Owner) -> list[Event]:
        """Return the end of a run that had stopped to ask, but for the questions that the log has."""
        if not isinstance(store, Store):
            return []
        for id in self.logged.interrupts:
            token = parse_resume_token(id)
            continuation = await store.get_continuation(owner, token) if token is not None else None
            calls = continuation.calls if continuation is not None else {}
            questions = {question.interrupt.id: question.interrupt for call in calls.values() for question in call.open}
            if id in questions:
                pending = tuple(id for id, call in calls.items() if call.client and call.result is None)
                missing = [question for id, question in questions.items() if id not in self.logged.interrupts]
                return [*missing, RunFinished("interrupt", None, pending)]
        return []

    async def go_on(self, runner: Responder, turn: Turn) -> AsyncIterator[Event]:
        """Stream the rest of the run. Its log has one RunStarted."""
        for event in self.end_events():
            yield event
        async with closing(runner(replace(turn, is_taken_over=self.has_begun))) as events:
            async for event in events:
                if not (self.is_started and isinstance(event, RunStarted)):
                    yield event

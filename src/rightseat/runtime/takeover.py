"""Records of runs that another worker goes on with when their own has died.

A record has the Turn of a run, without headers and credentials, and how many workers the run has lost. It is written
when the run begins on its thread and deleted at its end.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import StoreFailed
from rightseat.types.agents import Responder
from rightseat.types.events import Event, OpenMessageTracker, RunStarted, StepEnd, StepStart
from rightseat.types.stores import CheckpointStore, replace_checkpoint
from rightseat.types.streams import closing
from rightseat.types.threads import MAX_TAKE_OVERS, OrphanedRun, ThreadEntry, UserInput, make_resume_key
from rightseat.types.turn import Turn, TurnClient, measure_turn
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
GetRunner = Callable[[Turn], Responder | None]
"""Returns what runs a turn again from its progress; None where a run cannot go on after its worker has died."""


class ResumeRecord(Struct, frozen=True):
    turn: Turn
    take_overs: int = 0
    """Workers that the run has lost."""


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(ResumeRecord)


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


class ResumeRecords:
    """Records of the runs of all workers that share a store."""

    def __init__(self, store: CheckpointStore) -> None:
        self.store = store

    async def save(self, turn: Turn) -> bool:
        """Record a run that begins; return whether another worker can go on with it."""
        body = await run_sized(measure_turn(turn), encode_turn, turn)
        if body is None:
            return False
        try:
            await self.store.save_checkpoint(turn.owner, make_resume_key(turn.thread, turn.run), body)
        except StoreFailed:
            log.warning("a run is not kept for other workers: the store failed")
            return False
        return True

    async def delete(self, turn: Turn) -> None:
        try:
            await self.store.delete_checkpoint(turn.owner, make_resume_key(turn.thread, turn.run))
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
        if body is None or record is None or record.take_overs >= MAX_TAKE_OVERS:
            return None
        return record, body

    async def count_take_over(self, run: OrphanedRun, record: ResumeRecord, body: bytes) -> bool:
        """Count a take-over, before it happens; False if another worker was faster."""
        counted = _encode(replace(record, take_overs=record.take_overs + 1))
        return await replace_checkpoint(self.store, run.owner, make_resume_key(run.thread, run.run), body, counted)


class StoredPart:
    """What the log has of a run whose worker has died."""

    def __init__(self, entries: Iterable[ThreadEntry]) -> None:
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
        self.has_begun = True

    def end_events(self) -> list[Event]:
        """Return the ends of what the dead worker had open: the next one begins it anew."""
        return [*self.open_messages.end_events(), *map(StepEnd, reversed(list((+self.open_steps).elements())))]

    async def go_on(self, runner: Responder, turn: Turn) -> AsyncIterator[Event]:
        """Stream the rest of the run. Its log has one RunStarted."""
        for event in self.end_events():
            yield event
        async with closing(runner(replace(turn, is_taken_over=self.has_begun))) as events:
            async for event in events:
                if not (self.is_started and isinstance(event, RunStarted)):
                    yield event

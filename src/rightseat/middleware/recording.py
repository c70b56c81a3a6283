"""Recording of attached runs in the thread store, so that a client can load a conversation again.

Detached runs are already recorded (`runtime/threads.py`). The client of an attached run does not follow it by entry
number, so several deltas are written as one entry. Readers of its thread at other workers are told of each write.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Literal

from msgspec import Struct

from rightseat.errors import Conflict, StoreFailed
from rightseat.runtime.runs import DEFAULT_ASSISTANT
from rightseat.runtime.threads import RUN_STOPPED, RUN_TOO_LONG, RunLimits
from rightseat.types.agents import Layer, Responder, make_layer
from rightseat.types.events import Event, OpenMessageTracker, RunStarted, TextDelta
from rightseat.types.live import LivePlane
from rightseat.types.streams import closing
from rightseat.types.threads import (
    DeltaEvent,
    Lease,
    RunEnded,
    ThreadEntry,
    ThreadStore,
    delta_text,
    extract_user_input,
    hash_input,
    is_delta,
    is_run_end,
    make_title,
    with_delta_text,
)
from rightseat.types.turn import Turn, measure_turn
from rightseat.types.workers import run_sized

log = logging.getLogger(__name__)
RecordingMode = Literal["off", "threads", "all"]
DELTAS_PER_ENTRY = 16
"""Deltas that are joined into one entry: the most that a killed process loses."""


class RecordingTarget(Struct, frozen=True):
    """Where runs are recorded, how much of each, and who is told."""

    store: ThreadStore
    max_chars: int
    plane: LivePlane | None
    on_unkept: Callable[[], None]


def record_runs(
    store: ThreadStore,
    mode: RecordingMode = "threads",
    max_chars: int = RunLimits().run_bytes,
    plane: LivePlane | None = None,
    on_unkept: Callable[[], None] = lambda: None,
) -> Layer:
    """Layer that records runs. Mode `threads`: turns whose client may load them again. At most `max_chars`
    characters of a run are kept. `plane` tells readers at other workers of new entries; `on_unkept` is called for
    each run that the store cannot keep."""
    if mode == "off":
        return lambda inner: inner
    return make_layer(
        lambda turn: should_record(turn, mode),
        lambda inner, turn: stream_recorded(inner, turn, RecordingTarget(store, max_chars, plane, on_unkept)),
    )


def should_record(turn: Turn, mode: RecordingMode) -> bool:
    if turn.recording == "never" or turn.raw is not None:
        return False
    return mode == "all" or turn.recording == "asked"


async def stream_recorded(inner: Responder, turn: Turn, target: RecordingTarget) -> AsyncIterator[Event]:
    recorder: RunRecorder | None = None
    async with closing(inner(turn)) as events:
        try:
            async for event in events:
                if type(event) is RunStarted:
                    recorder = await start_recording(turn, event, target)
                elif recorder is not None:
                    recorder.add_event(event)
                yield event
        finally:
            if recorder is not None:
                recorder.close()


async def start_recording(turn: Turn, started: RunStarted, target: RecordingTarget) -> RunRecorder | None:
    """Lease the thread for the run and return its recorder; None if the store cannot record it."""
    thread = turn.conversation or started.thread
    assistant, title = turn.assistant or DEFAULT_ASSISTANT, make_title(turn.messages)
    begin_run = partial(target.store.begin_run, turn.owner, thread, started.run, assistant=assistant, name=title)
    try:
        try:
            lease = await begin_run(digest=await run_sized(measure_turn(turn), hash_input, turn))
        except RunEnded:
            # This door runs the same id again, which is another run of the thread.
            lease = await begin_run()
    except Conflict:
        log.debug("an answer is not kept: another run has its thread")
        return None
    except StoreFailed:
        log.warning("an answer is not kept: the store failed")
        target.on_unkept()
        return None
    recorder = RunRecorder(target, turn, thread, lease)
    recorder.write(extract_user_input(turn, new=lease.before == 0, results=True))
    recorder.write(started)
    return recorder


class RunRecorder:
    """Writes the entries of one run."""

    def __init__(self, target: RecordingTarget, turn: Turn, thread: str, lease: Lease) -> None:
        self.store = target.store
        self.plane = target.plane
        self.unstored: asyncio.Future[None] | None = None
        """The write of the store that the last entry waits for."""
        self.owner = turn.owner
        self.thread = thread
        self.number = lease.before
        self.fence = lease.fence
        self.remaining = target.max_chars
        self.opened = OpenMessageTracker()
        self.delta: DeltaEvent | None = None
        """The delta that is being joined; `pieces` are its texts so far."""
        self.pieces: list[str] = []
        self.is_ended = False

    def add_event(self, event: Event) -> None:
        before, pieces = self.delta, self.pieces
        if type(event) is TextDelta and type(before) is TextDelta and before.id == event.id:
            # Fast path: nearly all events continue a text.
            left = self.remaining - len(event.text)
            if left >= 0 and len(pieces) + 1 < DELTAS_PER_ENTRY:
                self.remaining = left
                pieces.append(event.text)
                return
        if self.is_ended:
            return
        if is_delta(event):
            self.add_delta(event)
            return
        self.opened.track(event)
        self.flush()
        self.write(event)

    def add_delta(self, event: DeltaEvent) -> None:
        text = delta_text(event)
        self.remaining -= len(text)
        before = self.delta
        if before is None or before.id != event.id or type(before) is not type(event):
            self.flush()
            # Logprobs belong to single deltas and are dropped.
            self.delta = TextDelta(event.id, "") if type(event) is TextDelta else event
        self.pieces.append(text)
        if self.remaining < 0:
            self.end(RUN_TOO_LONG)
        elif len(self.pieces) == DELTAS_PER_ENTRY:
            self.flush()

    def flush(self) -> None:
        if self.delta is not None:
            entry = with_delta_text(self.delta, "".join(self.pieces))
            self.delta, self.pieces = None, []
            self.write(entry)

    def write(self, entry: ThreadEntry) -> None:
        self.number += 1
        stored = self.store.append_entries(self.owner, self.thread, self.number, (entry,), self.fence)
        self.is_ended = is_run_end(entry)
        if self.plane is not None:
            self.notify_when_stored(self.plane, stored)

    def notify_when_stored(self, plane: LivePlane, stored: asyncio.Future[None] | None) -> None:
        """Tell other workers of new entries, once for each write of the store."""
        if stored is None:
            plane.notify(self.owner, self.thread)
        elif stored is not self.unstored:
            self.unstored = stored
            stored.add_done_callback(lambda _: plane.notify(self.owner, self.thread))

    def end(self, entry: Event) -> None:
        self.flush()
        for event in (*self.opened.end_events(), entry):
            self.write(event)

    def close(self) -> None:
        """End the record of a run whose client left: close open items and mark it stopped."""
        if not self.is_ended:
            self.end(RUN_STOPPED)

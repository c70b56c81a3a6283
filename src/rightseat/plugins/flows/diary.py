"""Checkpoints of flow runs: a run saves its progress and resumes after a crash.

The same question in the same conversation resumes the unfinished run. A running flow is leased: a concurrent
identical request gets a fresh run with a random key and never resumes the first.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from rightseat.errors import ContinuationGone
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.progress import Progress, first, restored
from rightseat.types.stores import Notes
from rightseat.types.turn import Owner, Turn

_running: WeakKeyDictionary[object, set[tuple[str, str]]] = WeakKeyDictionary()
"""Leased keys by store; only the store survives a reload."""
_decode = msgspec.json.Decoder(Progress).decode
RECENT = 8
ANSWERED = "This question was answered before, or it has expired. Please ask again."


class Diary:
    """Stored progress and lease of one flow run. Call `close` when the run ends, however it ends."""

    def __init__(self, notes: Notes | None, owner: Owner) -> None:
        self.notes = notes
        self.owner = owner
        self.key = ""

    async def begin(self, flow: Flow, question: str, turn: Turn) -> Progress:
        """Start a new run, or resume an unfinished one."""
        key = key_of(flow, question, turn)
        if not self.lease(key):
            key = f"{key}-{secrets.token_hex(8)}"
            self.lease(key)
            return first(flow, question, key=key)
        left = await self.read(key)
        if left is not None and left.flow == flow.id and left.digest == flow.digest:
            return await self.taken(left)
        return first(flow, question, key=key)

    async def resume(self, state: Any, flow: Flow, answers: tuple[Any, ...]) -> Progress:
        """Resume a run with answers to its questions; ContinuationGone if it went on meanwhile."""
        progress = restored(state, flow)
        if not self.lease(progress.key):
            raise ContinuationGone(ANSWERED)
        if self.notes is not None and not await self.stands(progress):
            raise ContinuationGone(ANSWERED)
        return await self.taken(progress.heard(answers))

    async def left(self, flow: Flow, turn: Turn) -> str:
        """Return the request of a run that crashed after its question was answered, if this turn repeats the
        answer. A client without ids must send the answer directly after the question. Empty if none."""
        said = [message.text.strip() for message in turn.messages if message.role == "user"]
        earlier = said if turn.answers else said[:-1]
        # Each lookup reads the store, so their number is bounded.
        for question in dict.fromkeys(reversed(earlier[-RECENT:])):
            progress = await self.read(key_of(flow, question, turn))
            if progress is None or progress.digest != flow.digest or progress.asks or not progress.asked:
                continue
            if not self.busy(progress.key) and (turn.answers or follows(turn, progress.asked)):
                return question
        return ""

    async def give_up(self, state: Any, flow: Flow) -> None:
        """Delete a run whose question was declined: the same request starts a new run."""
        progress = restored(state, flow)
        if self.lease(progress.key) and await self.stands(progress):
            await self.forget()

    async def stands(self, progress: Progress) -> bool:
        """Whether the stored run has not advanced since `progress`."""
        left = await self.read(progress.key)
        return left is not None and (left.run, left.serial) == (progress.run, progress.serial)

    async def taken(self, progress: Progress) -> Progress:
        made = msgspec.structs.replace(progress, serial=progress.serial + 1)
        await self.note(made)
        return made

    async def read(self, key: str) -> Progress | None:
        body = await self.notes.noted(self.owner, key) if self.notes is not None else None
        try:
            return None if body is None else _decode(body)
        except msgspec.DecodeError:
            # Another version wrote it.
            return None

    async def note(self, progress: Progress) -> None:
        if self.notes is not None:
            await self.notes.note(self.owner, progress.key, msgspec.json.encode(progress))

    async def forget(self) -> None:
        if self.notes is not None and self.key:
            await self.notes.forget(self.owner, self.key)

    def lease(self, key: str) -> bool:
        """Lease the key; False if another run holds it."""
        if self.notes is None:
            return True
        running = _running.setdefault(self.notes, set())
        if (self.owner.name, key) in running:
            return False
        running.add((self.owner.name, key))
        self.key = key
        return True

    def busy(self, key: str) -> bool:
        running = _running.get(self.notes, set()) if self.notes is not None else set()
        return (self.owner.name, key) in running

    def close(self) -> None:
        if self.notes is not None and self.key:
            _running.get(self.notes, set()).discard((self.owner.name, self.key))


def follows(turn: Turn, asked: str) -> bool:
    """Whether the user's message directly follows the question."""
    before = turn.messages[-2] if len(turn.messages) > 1 else None
    told = "".join(before.text.split()) if before is not None and before.role == "assistant" else ""
    return "".join(asked.split()) in told


def key_of(flow: Flow, question: str, turn: Turn) -> str:
    """Return the key of a run: conversation plus a hash of flow and question. A client that names no
    conversation has a new thread id each time, so equal words never reach another user's run."""
    thread = turn.conversation or turn.thread
    told = msgspec.json.encode([flow.id, question, turn.depth])
    return f"{thread}/{hashlib.sha256(told).hexdigest()[:24]}"

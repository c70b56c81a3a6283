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
from rightseat.plugins.flows.progress import FlowProgress, restore_progress, start_progress
from rightseat.types.stores import CheckpointStore
from rightseat.types.turn import Owner, Turn

_leases: WeakKeyDictionary[object, set[tuple[str, str]]] = WeakKeyDictionary()
"""Leased keys by store; only the store survives a reload."""
_decode_progress = msgspec.json.Decoder(FlowProgress).decode
MAX_LOOKBACK = 8
ALREADY_ANSWERED = "This question was answered before, or it has expired. Please ask again."


class FlowCheckpoint:
    """Stored progress and lease of one flow run. Call `close` when the run ends, however it ends."""

    def __init__(self, store: CheckpointStore | None, owner: Owner) -> None:
        self.store = store
        self.owner = owner
        self.key = ""

    async def begin(self, flow: Flow, question: str, turn: Turn) -> FlowProgress:
        """Start a new run, or resume an unfinished one."""
        key = make_checkpoint_key(flow, question, turn)
        if not self.acquire_lease(key):
            key = f"{key}-{secrets.token_hex(8)}"
            self.acquire_lease(key)
            return start_progress(flow, question, key=key)
        unfinished = await self.load(key)
        if unfinished is not None and unfinished.flow == flow.id and unfinished.digest == flow.digest:
            return await self.claim(unfinished)
        return start_progress(flow, question, key=key)

    async def resume(self, state: Any, flow: Flow, answers: tuple[Any, ...]) -> FlowProgress:
        """Resume a run with answers to its questions; ContinuationGone if it went on meanwhile."""
        progress = restore_progress(state, flow)
        if not self.acquire_lease(progress.key):
            raise ContinuationGone(ALREADY_ANSWERED)
        if self.store is not None and not await self.is_current(progress):
            raise ContinuationGone(ALREADY_ANSWERED)
        return await self.claim(progress.with_answers(answers))

    async def find_interrupted_question(self, flow: Flow, turn: Turn) -> str:
        """Return the request of a run that crashed after its question was answered, if this turn repeats the
        answer. A client without ids must send the answer directly after the question. Empty if none."""
        user_texts = [message.text.strip() for message in turn.messages if message.role == "user"]
        earlier = user_texts if turn.answers else user_texts[:-1]
        # Each lookup reads the store, so their number is bounded.
        for question in dict.fromkeys(reversed(earlier[-MAX_LOOKBACK:])):
            progress = await self.load(make_checkpoint_key(flow, question, turn))
            if progress is None or progress.digest != flow.digest or progress.asks or not progress.asked:
                continue
            if not self.is_leased(progress.key) and (turn.answers or follows_question(turn, progress.asked)):
                return question
        return ""

    async def abandon(self, state: Any, flow: Flow) -> None:
        """Delete a run whose question was declined: the same request starts a new run."""
        progress = restore_progress(state, flow)
        if self.acquire_lease(progress.key) and await self.is_current(progress):
            await self.delete()

    async def is_current(self, progress: FlowProgress) -> bool:
        """Whether the stored run has not advanced since `progress`."""
        stored = await self.load(progress.key)
        return stored is not None and (stored.run, stored.serial) == (progress.run, progress.serial)

    async def claim(self, progress: FlowProgress) -> FlowProgress:
        claimed = msgspec.structs.replace(progress, serial=progress.serial + 1)
        await self.save(claimed)
        return claimed

    async def load(self, key: str) -> FlowProgress | None:
        body = await self.store.get_checkpoint(self.owner, key) if self.store is not None else None
        try:
            return None if body is None else _decode_progress(body)
        except msgspec.DecodeError:
            # Another version wrote it.
            return None

    async def save(self, progress: FlowProgress) -> None:
        if self.store is not None:
            await self.store.save_checkpoint(self.owner, progress.key, msgspec.json.encode(progress))

    async def delete(self) -> None:
        if self.store is not None and self.key:
            await self.store.delete_checkpoint(self.owner, self.key)

    def acquire_lease(self, key: str) -> bool:
        """Lease the key; False if another run holds it."""
        if self.store is None:
            return True
        leases = _leases.setdefault(self.store, set())
        if (self.owner.name, key) in leases:
            return False
        leases.add((self.owner.name, key))
        self.key = key
        return True

    def is_leased(self, key: str) -> bool:
        leases = _leases.get(self.store, set()) if self.store is not None else set()
        return (self.owner.name, key) in leases

    def close(self) -> None:
        if self.store is not None and self.key:
            _leases.get(self.store, set()).discard((self.owner.name, self.key))


def follows_question(turn: Turn, question: str) -> bool:
    """Whether the user's message directly follows the question."""
    before = turn.messages[-2] if len(turn.messages) > 1 else None
    assistant_text = "".join(before.text.split()) if before is not None and before.role == "assistant" else ""
    return "".join(question.split()) in assistant_text


def make_checkpoint_key(flow: Flow, question: str, turn: Turn) -> str:
    """Return the key of a run: conversation plus a hash of flow and question. A client that names no
    conversation has a new thread id each time, so equal words never reach another user's run."""
    thread = turn.conversation or turn.thread
    encoded = msgspec.json.encode([flow.id, question, turn.depth])
    return f"{thread}/{hashlib.sha256(encoded).hexdigest()[:24]}"

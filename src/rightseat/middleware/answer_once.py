"""Answers to questions of remote agents, once for all workers that share a store.

The engine's own questions have continuations. An agent at another server keeps its questions itself, and each worker
remembers only the answers that it has passed on.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from rightseat.errors import ContinuationGone
from rightseat.types.agents import Layer, Responder, make_layer
from rightseat.types.events import Event
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import SharedCheckpointStore, parse_resume_token, replace_checkpoint
from rightseat.types.streams import closing
from rightseat.types.turn import Owner, Turn

ANSWERED_SECONDS = 24 * 3600.0
PASSED_ON = b"passed on"


def answer_once(store: SharedCheckpointStore) -> Layer:
    """Make the layer that passes each answer to a remote agent on once."""
    return make_layer(
        lambda turn: bool(list_remote_interrupts(turn)), lambda inner, turn: stream_once(inner, turn, store)
    )


def list_remote_interrupts(turn: Turn) -> list[str]:
    """Return the answered questions that have no continuation of ours. One without an id is the agent's to find."""
    interrupts = sorted({answer.interrupt for answer in turn.answers if answer.interrupt})
    return [interrupt for interrupt in interrupts if parse_resume_token(interrupt) is None]


async def stream_once(inner: Responder, turn: Turn, store: SharedCheckpointStore) -> AsyncIterator[Event]:
    async with AsyncExitStack() as stack:
        for interrupt in list_remote_interrupts(turn):
            claim = AnswerClaim(store, turn.owner, turn.assistant or "", interrupt)
            # Before: the client may leave while the claim is stored.
            stack.push_async_exit(claim.release)
            if not await claim.acquire():
                raise ContinuationGone(get_sentence("ask_expired", turn.get_language()))
        async with closing(inner(turn)) as events:
            async for event in events:
                yield event


class AnswerClaim:
    """A run's right to pass one answer on. The stored body names its worker and itself, or says that the agent has the
    answer."""

    def __init__(self, store: SharedCheckpointStore, owner: Owner, assistant: str, interrupt: str) -> None:
        self.store = store
        self.owner = owner
        digest = hashlib.sha256(f"{assistant}\0{interrupt}".encode()).hexdigest()
        self.key = f"answered_{digest[:32]}"
        self.body = f"{store.worker} {secrets.token_hex(8)}".encode()

    async def acquire(self) -> bool:
        """Claim the answer; False if it is passed on, or being so by a living worker."""
        stored = await self.store.get_checkpoint(self.owner, self.key)
        if stored == PASSED_ON:
            return False
        if stored is not None and not await self.store.find_dead([stored.decode().partition(" ")[0]]):
            return False
        return await replace_checkpoint(self.store, self.owner, self.key, stored, self.body, ANSWERED_SECONDS)

    async def release(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Keep that the agent has the answer; after a failure the question is open again. What another run has claimed
        stays."""
        body = PASSED_ON if kind is None else None
        await replace_checkpoint(self.store, self.owner, self.key, self.body, body, ANSWERED_SECONDS)

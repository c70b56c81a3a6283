"""Self-fencing: a process begins an effect only while the others know that it runs, and its run is still its own.

Where presence is by beats over a network the others may take a process for dead that runs: it was cut off, or stood
still. Locks of the kernel do not lapse, so a store that has those is no FencedStore.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from msgspec import Struct

from rightseat.errors import StoreFailed
from rightseat.types.stores import ContinuationClaim
from rightseat.types.threads import LeaseHolder
from rightseat.types.turn import Owner

CONFIRM_SECONDS = 30.0
"""Longest wait for a sign that the others know this process alive."""
TAKEN_OVER = "Another process goes on with this run: nothing more is done here."


class RunLease(Struct, frozen=True):
    """Lease under which the current run writes to its thread."""

    owner: Owner
    thread: str
    fence: int


current_lease: ContextVar[RunLease | None] = ContextVar("current_lease", default=None)
"""Lease of the run that is under way; None for one that ends with its client, which nobody goes on with."""


@dataclass(slots=True)
class RunEffects:
    """Effects of a run, its sub-runs and flows included."""

    has_begun: bool = False
    """Whether one has begun: the same request once more might repeat it."""


current_effects: ContextVar[RunEffects | None] = ContextVar("current_effects", default=None)


@runtime_checkable
class FencedStore(Protocol):
    """Store whose other processes judge by beats who is alive."""

    @property
    def lapses(self) -> int:
        """How often the others may have taken this process for dead."""
        ...

    @property
    def is_confirmed(self) -> bool:
        """Whether the others take this process for alive, and will for a moment."""
        ...

    async def confirm_presence(self) -> int:
        """Wait until this process is confirmed; return `lapses`. StoreFailed after CONFIRM_SECONDS."""
        ...

    async def get_lease_holder(self, owner: Owner, thread: str) -> LeaseHolder | None: ...

    async def holds_claim(self, owner: Owner, resume_token: str) -> bool:
        """Whether this process still has the continuation that it has claimed."""
        ...


async def begin_effect(
    store: object, note: Callable[[], Awaitable[None]], claim: ContinuationClaim | None = None
) -> None:
    """Note that an effect begins, and return when it may begin. StoreFailed if the store does not say for long that
    this process is alive, or if another process has the run, or the answer that it goes on with, by now."""
    if not isinstance(store, FencedStore):
        await note()
        note_effect()
        return
    is_begun = False
    while not is_begun:
        lapses = await store.confirm_presence()
        await check_lease(store, claim)
        await note()
        # It may have stood still since.
        is_begun = store.is_confirmed and store.lapses == lapses
    note_effect()


def note_effect() -> None:
    if (effects := current_effects.get()) is not None:
        effects.has_begun = True


async def check_lease(store: FencedStore, claim: ContinuationClaim | None) -> None:
    """Raise StoreFailed if the current run has a lease, or a claim, that is another's by now."""
    lease = current_lease.get()
    if lease is not None:
        holder = await store.get_lease_holder(lease.owner, lease.thread)
        if holder is None or holder.fence != lease.fence:
            raise StoreFailed(TAKEN_OVER)
    if claim is not None and claim.is_open:
        continuation = claim.continuation
        if not await store.holds_claim(continuation.owner, continuation.ticket):
            raise StoreFailed(TAKEN_OVER)

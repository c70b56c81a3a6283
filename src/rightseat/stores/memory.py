"""MemoryStore: a bounded store that lives as long as the process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from rightseat.stores.notebook import Notebook
from rightseat.types.stores import LIFETIME, Bound, Continuation, theirs
from rightseat.types.threads import Keep
from rightseat.types.turn import Owner

V = TypeVar("V")


class Entry(NamedTuple, Generic[V]):
    expires: float
    weight: int
    value: V


class Shelf(Generic[V]):
    """Mapping that drops items older than `lifetime`, and the oldest ones when over its capacity."""

    def __init__(self, capacity: int, lifetime: float, clock: Callable[[], float]) -> None:
        self.capacity = capacity
        self.lifetime = lifetime
        self.clock = clock
        self.weight = 0
        self.items: OrderedDict[tuple[str, str], Entry[V]] = OrderedDict()

    def put(self, owner: Owner, key: str, value: V, seconds: float | None = None) -> None:
        now = self.clock()
        self.drop((owner.name, key))
        weight = len(value if isinstance(value, bytes) else msgspec.json.encode(value, enc_hook=str))
        self.items[owner.name, key] = Entry(now + (seconds or self.lifetime), weight, value)
        self.weight += weight
        while self.items and (self.weight > self.capacity or next(iter(self.items.values())).expires < now):
            self.drop(next(iter(self.items)))

    def drop(self, key: tuple[str, str]) -> None:
        gone = self.items.pop(key, None)
        self.weight -= gone.weight if gone else 0

    def get(self, owner: Owner, key: str) -> V | None:
        found = self.items.get((owner.name, key))
        return found.value if found and found.expires >= self.clock() else None

    def pop(self, owner: Owner, key: str) -> V | None:
        value = self.get(owner, key)
        self.drop((owner.name, key))
        return value


class Memory(Notebook):
    def __init__(
        self,
        *,
        capacity: int = 64 << 20,
        lifetime: float = LIFETIME,
        clock: Callable[[], float] | None = None,
        keep: Keep = Keep(bytes=256 << 20),
    ) -> None:
        super().__init__(keep, clock or time.time)
        # Monotonic: a changed system clock must not expire what waits for an answer.
        steady = clock or time.monotonic
        self.continuations: Shelf[Continuation] = Shelf(capacity, lifetime, steady)
        self.conversations: Shelf[Bound] = Shelf(capacity, lifetime, steady)
        self.results: Shelf[str] = Shelf(capacity, lifetime, steady)
        self.notes: Shelf[bytes] = Shelf(capacity, lifetime, steady)

    async def save(self, continuation: Continuation) -> None:
        self.continuations.put(continuation.owner, continuation.ticket, continuation)

    async def take(self, owner: Owner, ticket: str) -> Continuation | None:
        return self.continuations.pop(owner, ticket)

    async def bind(self, owner: Owner, conversation: str, bound: Bound) -> None:
        self.conversations.put(owner, conversation, bound)

    async def release(self, owner: Owner, conversation: str) -> Bound | None:
        return self.conversations.pop(owner, conversation)

    async def remember(self, owner: Owner, results: dict[str, str]) -> None:
        for call_id, text in results.items():
            self.results.put(owner, call_id, text)

    async def recall(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        found = {call_id: self.results.get(owner, call_id) for call_id in call_ids}
        return {call_id: text for call_id, text in found.items() if text is not None}

    async def note(self, owner: Owner, key: str, body: bytes, seconds: float | None = None) -> None:
        self.notes.put(owner, key, body, seconds)

    async def noted(self, owner: Owner, key: str) -> bytes | None:
        return self.notes.get(owner, key)

    async def forget(self, owner: Owner, key: str) -> None:
        self.notes.drop((owner.name, key))

    async def delete(self, owner: Owner, thread: str) -> bool:
        page = self.pages.get((owner.name, thread))
        calls, tickets = theirs(line.row.entry for line in page.lines) if page else (set(), set())
        for call in calls:
            self.results.drop((owner.name, call))
        for ticket in tickets:
            self.continuations.drop((owner.name, ticket))
        for key in [
            key for key in self.notes.items if key[0] == owner.name and key[1].startswith(f"{thread}/")
        ]:
            self.notes.drop(key)
        return await super().delete(owner, thread)

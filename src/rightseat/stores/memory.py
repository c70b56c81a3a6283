"""MemoryStore: a bounded store that lives as long as the process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from rightseat.stores.notebook import MemoryThreadStore
from rightseat.types.stores import CONTINUATION_SECONDS, Continuation, PendingQuestion, collect_ids_and_tokens
from rightseat.types.threads import Retention
from rightseat.types.turn import Owner

V = TypeVar("V")


class ExpiringItem(NamedTuple, Generic[V]):
    expires: float
    weight: int
    value: V


class ExpiringMap(Generic[V]):
    """Mapping that drops items older than `lifetime`, and the oldest ones when over its capacity."""

    def __init__(self, capacity: int, lifetime: float, clock: Callable[[], float]) -> None:
        self.capacity = capacity
        self.lifetime = lifetime
        self.clock = clock
        self.weight = 0
        self.items: OrderedDict[tuple[str, str], ExpiringItem[V]] = OrderedDict()

    def put(self, owner: Owner, key: str, value: V, seconds: float | None = None) -> None:
        now = self.clock()
        self.drop((owner.name, key))
        weight = len(value if isinstance(value, bytes) else msgspec.json.encode(value, enc_hook=str))
        self.items[owner.name, key] = ExpiringItem(now + (seconds or self.lifetime), weight, value)
        self.weight += weight
        while self.items and (self.weight > self.capacity or next(iter(self.items.values())).expires < now):
            self.drop(next(iter(self.items)))

    def drop(self, key: tuple[str, str]) -> None:
        item = self.items.pop(key, None)
        self.weight -= item.weight if item else 0

    def get(self, owner: Owner, key: str) -> V | None:
        item = self.items.get((owner.name, key))
        return item.value if item and item.expires >= self.clock() else None

    def pop(self, owner: Owner, key: str) -> V | None:
        value = self.get(owner, key)
        self.drop((owner.name, key))
        return value


class MemoryStore(MemoryThreadStore):
    def __init__(
        self,
        *,
        capacity: int = 64 << 20,
        lifetime: float = CONTINUATION_SECONDS,
        clock: Callable[[], float] | None = None,
        retention: Retention = Retention(bytes=256 << 20),
    ) -> None:
        super().__init__(retention, clock or time.time)
        # Monotonic: a changed system clock must not expire what waits for an answer.
        monotonic_clock = clock or time.monotonic
        self.continuations: ExpiringMap[Continuation] = ExpiringMap(capacity, lifetime, monotonic_clock)
        self.pending_questions: ExpiringMap[PendingQuestion] = ExpiringMap(
            capacity, lifetime, monotonic_clock
        )
        self.results: ExpiringMap[str] = ExpiringMap(capacity, lifetime, monotonic_clock)
        self.checkpoints: ExpiringMap[bytes] = ExpiringMap(capacity, lifetime, monotonic_clock)

    async def save_continuation(self, continuation: Continuation) -> None:
        self.continuations.put(continuation.owner, continuation.ticket, continuation)

    async def take_continuation(self, owner: Owner, resume_token: str) -> Continuation | None:
        return self.continuations.pop(owner, resume_token)

    async def save_pending_question(self, owner: Owner, conversation: str, question: PendingQuestion) -> None:
        self.pending_questions.put(owner, conversation, question)

    async def take_pending_question(self, owner: Owner, conversation: str) -> PendingQuestion | None:
        return self.pending_questions.pop(owner, conversation)

    async def save_results(self, owner: Owner, results: dict[str, str]) -> None:
        for call_id, text in results.items():
            self.results.put(owner, call_id, text)

    async def get_results(self, owner: Owner, call_ids: list[str]) -> dict[str, str]:
        results = {call_id: self.results.get(owner, call_id) for call_id in call_ids}
        return {call_id: text for call_id, text in results.items() if text is not None}

    async def save_checkpoint(
        self, owner: Owner, key: str, body: bytes, seconds: float | None = None
    ) -> None:
        self.checkpoints.put(owner, key, body, seconds)

    async def get_checkpoint(self, owner: Owner, key: str) -> bytes | None:
        return self.checkpoints.get(owner, key)

    async def delete_checkpoint(self, owner: Owner, key: str) -> None:
        self.checkpoints.drop((owner.name, key))

    async def delete_thread(self, owner: Owner, thread: str) -> bool:
        log = self.logs.get((owner.name, thread))
        calls, tokens = (
            collect_ids_and_tokens(log_row.row.entry for log_row in log.rows) if log else (set(), set())
        )
        for call in calls:
            self.results.drop((owner.name, call))
        for token in tokens:
            self.continuations.drop((owner.name, token))
        for key in [
            key for key in self.checkpoints.items if key[0] == owner.name and key[1].startswith(f"{thread}/")
        ]:
            self.checkpoints.drop(key)
        return await super().delete_thread(owner, thread)

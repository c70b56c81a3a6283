"""Every Store, made with a clock and a capacity of the test's own."""

from collections.abc import Callable
from typing import Protocol

from rightseat.continuation import Store
from rightseat.stores.memory import Memory


class Make(Protocol):
    def __call__(self, *, capacity: int, lifetime: float, clock: Callable[[], float]) -> Store: ...


MEMBERS: dict[str, Make] = {"memory": Memory}

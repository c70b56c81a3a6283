"""A store in memory whose server can be taken away."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from rightseat.errors import StoreFailed
from rightseat.stores.memory import MemoryStore


class AwayStore(MemoryStore):
    """`with store.be_away():` all that reads or writes fails, as a database that cannot be reached does."""

    is_away = False

    @contextmanager
    def be_away(self) -> Iterator[None]:
        self.is_away = True
        try:
            yield
        finally:
            self.is_away = False


def fail_while_away(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: AwayStore, *args: Any, **named: Any) -> Any:
        if self.is_away:
            raise StoreFailed("The database cannot be reached.", retry_after=5)
        return await method(self, *args, **named)

    return call


for name, method in inspect.getmembers(MemoryStore, inspect.iscoroutinefunction):
    if name not in ("close", "find_dead"):
        setattr(AwayStore, name, fail_while_away(method))

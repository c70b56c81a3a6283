"""`Upstream`: an OpenAI-shaped server that answers, stalls, cuts and lies as a test tells it.

The answer to a request is, in this order: the next of `upstream.queue(...)`, `upstream.reply`,
the word `fault-NAME` or `fault-NAME:key=value,key=value` in the last user message
(NAME from `tests.kit.catalogue`), else three words of text.
"""

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self

from tests.kit.answers import Reply, text
from tests.kit.catalogue import CATALOGUE
from tests.kit.connection import Connection, Received
from tests.kit.framing import raw
from tests.kit.patience import STUCK

WORD = re.compile(r"fault-([a-z0-9-]+)(?::([a-z0-9_=.,-]+))?")


class Upstream:
    def __init__(self) -> None:
        self.reply: Reply | None = None
        self.requests: list[Received] = []
        self.connections: list[Connection] = []
        self.live: set[Connection] = set()
        self._queue: deque[Reply] = deque()
        self._answers: dict[Connection, asyncio.Task[None]] = {}
        self._faults: list[BaseException] = []
        self._changed = asyncio.Condition()
        self._notices: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self.live):
            connection.abort()
        await self._until(lambda: not self.live and not self._answers, STUCK, lambda: "answers still running")
        await asyncio.gather(*self._notices)
        # A broken script is the test's mistake; it must not pass for a fault the server survived.
        if self._faults and kind is None:
            raise self._faults[0]

    @property
    def port(self) -> int:
        assert self._server is not None
        found: int = self._server.sockets[0].getsockname()[1]
        return found

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """What belongs into OPENAI_BASE_URL."""
        return f"{self.origin}/v1"

    def queue(self, *replies: Reply) -> None:
        self._queue.extend(replies)

    def raw(self, pieces: Iterable[bytes]) -> None:
        """From now on every answer is exactly these pieces as an SSE body."""
        self.reply = raw(pieces)

    @property
    def closed(self) -> int:
        """Connections that the peer closed."""
        return sum(c.closed_by_peer for c in self.connections)

    async def all_closed(self, n: int, within: float = STUCK) -> list[float]:
        """The moments (loop time) of n closes by the peer; AssertionError when there are fewer in time."""
        await self._until(
            lambda: self.closed >= n, within, lambda: f"{self.closed} of {n} connections closed by the peer"
        )
        return sorted(c.closed_at for c in self.connections if c.closed_at is not None)

    async def received(self, n: int, within: float = STUCK) -> list[Received]:
        """The requests so far, once there are n."""
        await self._until(lambda: len(self.requests) >= n, within, lambda: f"{len(self.requests)} of {n} requests came")
        return self.requests

    async def quiet(self, within: float = STUCK) -> None:
        """Until no answer is under way (pooled idle connections may stay open)."""
        await self._until(lambda: not self._answers, within, lambda: f"{len(self._answers)} answers under way")

    async def _until(self, true: Callable[[], bool], within: float, what: Callable[[], str]) -> None:
        try:
            async with asyncio.timeout(within), self._changed:
                await self._changed.wait_for(true)
        except TimeoutError:
            raise AssertionError(f"{what()} within {within} s") from None

    def _connected(self) -> Connection:
        connection = Connection(self._received, self._lost)
        self.connections.append(connection)
        self.live.add(connection)
        return connection

    def _received(self, connection: Connection, request: Received) -> None:
        self.requests.append(request)
        task = asyncio.create_task(self._answer(connection, request))
        self._answers[connection] = task
        task.add_done_callback(lambda done: self._answered(connection, done))
        self._notify()

    def _answered(self, connection: Connection, task: asyncio.Task[None]) -> None:
        self._answers.pop(connection, None)
        if task.cancelled():
            pass
        elif (fault := task.exception()) is not None:
            self._faults.append(fault)
            connection.abort()
        elif connection in self.live:
            connection.next_request()
        self._notify()

    def _lost(self, connection: Connection) -> None:
        self.live.discard(connection)
        if (task := self._answers.get(connection)) is not None:
            task.cancel()
        self._notify()

    def _notify(self) -> None:
        task = asyncio.create_task(self._tell())
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _answer(self, connection: Connection, request: Received) -> None:
        await self._choose(request)(connection, request)
        request.answered = True

    def _choose(self, request: Received) -> Reply:
        if self._queue:
            return self._queue.popleft()
        if self.reply is not None:
            return self.reply
        # Whoever sends tool results must get an answer to them, else `fault-tool` calls for ever.
        answered = bool(request.messages) and request.messages[-1].get("role") == "tool"
        return text() if answered else named(request.last_user_text())


def named(message: str) -> Reply:
    """The reply that a message names; LookupError when it names an unknown one."""
    if (found := WORD.search(message)) is None:
        return text()
    name, settings = found.groups()
    pairs = (pair.split("=", 1) for pair in settings.split(",")) if settings else ()
    make: Callable[..., Callable[[Connection, Received], Awaitable[None]]] = CATALOGUE[name]
    return make(**{key: float(value) if "." in value else int(value) for key, value in pairs})

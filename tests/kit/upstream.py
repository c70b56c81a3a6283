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

from tests.kit.answers import UpstreamReply, answer_text
from tests.kit.catalogue import REPLIES
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.framing import send_raw
from tests.kit.timeouts import HANG_TIMEOUT

FAULT_PATTERN = re.compile(r"fault-([a-z0-9-]+)(?::([a-z0-9_=.,-]+))?")


class FakeUpstream:
    def __init__(self) -> None:
        self.reply: UpstreamReply | None = None
        self.requests: list[ReceivedRequest] = []
        self.connections: list[Connection] = []
        self.open_connections: set[Connection] = set()
        self._queue: deque[UpstreamReply] = deque()
        self._reply_tasks: dict[Connection, asyncio.Task[None]] = {}
        self._errors: list[BaseException] = []
        self._changed = asyncio.Condition()
        self._notify_tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._make_connection, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for connection in list(self.open_connections):
            connection.abort()
        await self._wait_until(
            lambda: not self.open_connections and not self._reply_tasks, HANG_TIMEOUT, lambda: "answers still running"
        )
        await asyncio.gather(*self._notify_tasks)
        # A broken script is the test's mistake; it must not pass for a fault the server survived.
        if self._errors and kind is None:
            raise self._errors[0]

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def base_url(self) -> str:
        """What belongs into OPENAI_BASE_URL."""
        return f"{self.origin}/v1"

    def queue_replies(self, *replies: UpstreamReply) -> None:
        self._queue.extend(replies)

    def reply_raw(self, pieces: Iterable[bytes]) -> None:
        """From now on every answer is exactly these pieces as an SSE body."""
        self.reply = send_raw(pieces)

    @property
    def closed_count(self) -> int:
        """Connections that the peer closed."""
        return sum(c.closed_by_peer for c in self.connections)

    async def wait_closed(self, count: int, within: float = HANG_TIMEOUT) -> list[float]:
        """The moments (loop time) of n closes by the peer; AssertionError when there are fewer in time."""
        await self._wait_until(
            lambda: self.closed_count >= count,
            within,
            lambda: f"{self.closed_count} of {count} connections closed by the peer",
        )
        return sorted(c.closed_at for c in self.connections if c.closed_at is not None)

    async def wait_requests(self, count: int, within: float = HANG_TIMEOUT) -> list[ReceivedRequest]:
        """The requests so far, once there are n."""
        await self._wait_until(
            lambda: len(self.requests) >= count, within, lambda: f"{len(self.requests)} of {count} requests came"
        )
        return self.requests

    async def wait_idle(self, within: float = HANG_TIMEOUT) -> None:
        """Until no answer is under way (pooled idle connections may stay open)."""
        await self._wait_until(
            lambda: not self._reply_tasks, within, lambda: f"{len(self._reply_tasks)} answers under way"
        )

    async def _wait_until(self, condition: Callable[[], bool], within: float, describe: Callable[[], str]) -> None:
        try:
            async with asyncio.timeout(within), self._changed:
                await self._changed.wait_for(condition)
        except TimeoutError:
            raise AssertionError(f"{describe()} within {within} s") from None

    def _make_connection(self) -> Connection:
        connection = Connection(self._on_request, self._on_lost)
        self.connections.append(connection)
        self.open_connections.add(connection)
        return connection

    def _on_request(self, connection: Connection, request: ReceivedRequest) -> None:
        self.requests.append(request)
        task = asyncio.create_task(self._send_reply(connection, request))
        self._reply_tasks[connection] = task
        task.add_done_callback(lambda done: self._on_reply_done(connection, done))
        self._notify()

    def _on_reply_done(self, connection: Connection, task: asyncio.Task[None]) -> None:
        self._reply_tasks.pop(connection, None)
        if task.cancelled():
            pass
        elif (fault := task.exception()) is not None:
            self._errors.append(fault)
            connection.abort()
        elif connection in self.open_connections:
            connection.read_next_request()
        self._notify()

    def _on_lost(self, connection: Connection) -> None:
        self.open_connections.discard(connection)
        if (task := self._reply_tasks.get(connection)) is not None:
            task.cancel()
        self._notify()

    def _notify(self) -> None:
        task = asyncio.create_task(self._notify_all())
        self._notify_tasks.add(task)
        task.add_done_callback(self._notify_tasks.discard)

    async def _notify_all(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _send_reply(self, connection: Connection, request: ReceivedRequest) -> None:
        await self._choose_reply(request)(connection, request)
        request.answered = True

    def _choose_reply(self, request: ReceivedRequest) -> UpstreamReply:
        if self._queue:
            return self._queue.popleft()
        if self.reply is not None:
            return self.reply
        # Whoever sends tool results must get an answer to them, else `fault-tool` calls for ever.
        answered = bool(request.messages) and request.messages[-1].get("role") == "tool"
        return answer_text() if answered else find_named_reply(request.last_user_text())


def find_named_reply(message: str) -> UpstreamReply:
    """The reply that a message names; LookupError when it names an unknown one."""
    if (match := FAULT_PATTERN.search(message)) is None:
        return answer_text()
    name, settings = match.groups()
    pairs = (pair.split("=", 1) for pair in settings.split(",")) if settings else ()
    make: Callable[..., Callable[[Connection, ReceivedRequest], Awaitable[None]]] = REPLIES[name]
    return make(**{key: float(value) if "." in value else int(value) for key, value in pairs})

"""ValkeyPlane: workers on many machines, by Valkey or Redis.

Notifications and broadcasts are published: whoever is away needs them no more. A message to one worker is an entry of
that worker's stream and not a publication, for three reasons: it waits while the receiver connects again, the reply of
XADD NOMKSTREAM tells that a worker is gone, and both hold in a Cluster, where PUBLISH counts only the receivers at one
node. The stream is short, and it is gone a minute after its worker.

All keys of a deployment have its name in braces, so that a Cluster has them at one node. A worker needs three
connections, however many readers it has: for commands, for publications, and for the stream, whose reads block.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable

from rightseat.live.remote import MAX_WAITING, SEND_SECONDS, WINDOW_SECONDS, RemotePlane, ServerRefused, log
from rightseat.live.valkey_server import (
    ReplyError,
    ValkeyAddress,
    ValkeyConnection,
    Word,
    check_version,
    find_eviction_problem,
)
from rightseat.types.live import LivePlane, PlaneOptions

STREAM_LENGTH = 1000
STREAM_SECONDS = 60
"""How many messages wait for a worker, and how long it may be away."""
MESSAGES_PER_READ = 100
FIELD = b"m"
"""Field of a stream's entry that has the message. The first entry has another: it only makes the stream."""
NEEDED_RIGHTS = "Give its user ~rs:* &rs:* +@connection +@stream +@pubsub +expire +unlink +info +config|get."
Command = tuple[tuple[Word, ...], asyncio.Future[object]]
_ELSEWHERE = ("MOVED", "READONLY", "LOADING", "CLUSTERDOWN", "MASTERDOWN", "NOAUTH")
"""Errors after which the keys are looked for again: they are at another server, or not there yet."""


class CommandQueue:
    """Commands of all callers on one connection, whose replies come in their order. Only `serve` uses the connection:
    a caller that is cancelled forgets its command, and the reply is read all the same."""

    def __init__(self) -> None:
        self.waiting: deque[Command] = deque()
        self.added = asyncio.Event()
        self.is_connected = False

    def submit(self, *words: Word) -> asyncio.Future[object]:
        """Add a command. Its reply is None if the server is away."""
        reply: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if self.is_connected and len(self.waiting) < MAX_WAITING:
            self.waiting.append((words, reply))
            self.added.set()
        else:
            reply.set_result(None)
        return reply

    async def serve(self, connection: ValkeyConnection, idle_seconds: float) -> None:
        """Send what waits, in one write, and read the replies; until the connection is lost."""
        batch: list[Command] = []
        self.is_connected = True
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(idle_seconds):
                        await self.added.wait()
                self.added.clear()
                batch = list(self.waiting) or [(("PING",), asyncio.get_running_loop().create_future())]
                self.waiting.clear()
                await connection.write(*(words for words, _ in batch))
                for _, reply in batch:
                    answer = await connection.read()
                    if isinstance(answer, ReplyError) and str(answer).startswith(_ELSEWHERE):
                        raise answer
                    if not reply.done():
                        reply.set_result(answer)
        finally:
            self.is_connected = False
            for _, reply in [*batch, *self.waiting]:
                if not reply.done():
                    reply.set_result(None)
            self.waiting.clear()


class ValkeyPlane(RemotePlane):
    server = "Valkey"
    connection_errors = (OSError, TimeoutError, ReplyError)
    keys_per_payload = 5000

    def __init__(
        self, url: str, worker: str, deployment: str = "rightseat", window_seconds: float = WINDOW_SECONDS
    ) -> None:
        super().__init__(worker, deployment, window_seconds)
        self.location = ValkeyAddress(url)
        self.channel = f"rs:{{{deployment}}}:all"
        self.stream = self.name_stream(worker)
        self.last_id = b"0-0"
        """Entry of the stream that was read last."""
        self.commands = CommandQueue()

    @property
    def address(self) -> str:
        return self.location.text

    def name_stream(self, worker: str) -> str:
        return f"rs:{{{self.deployment}}}:ctl:{worker}"

    def advise(self, error: Exception) -> str:
        # A port for TLS cuts what is none, and one without it waits for more of what it takes for a command.
        is_cut = isinstance(error, ConnectionError) and not isinstance(error, ConnectionRefusedError)
        hint = ""
        if is_cut and self.location.scheme == "redis":
            hint = ", with rediss:// if its port speaks TLS"
        elif isinstance(error, TimeoutError) and self.location.scheme == "rediss":
            hint = ", with redis:// if its port does not speak TLS"
        return f"{super().advise(error)}{hint}"

    async def start(self) -> None:
        await self.check_server()
        await self.keep_connected(
            {"commands": self.serve_commands, "publications": self.listen, "messages": self.read_stream}
        )

    async def check_server(self) -> None:
        """Raise ServerRefused for a server that is too old or allows too little; warn of one that may remove keys."""
        async with await self.connect() as connection:
            await check_version(connection)
            try:
                await self.keep_stream(connection)
                await connection.run("PUBLISH", f"{self.channel}:check", "")
                await connection.run("XREAD", "STREAMS", self.stream, "$")
            except ReplyError as error:
                if str(error).startswith("NOPERM"):
                    raise ServerRefused(str(error), NEEDED_RIGHTS) from None
                raise
            if policy := await find_eviction_problem(connection):
                log.warning(
                    "Valkey at %s has maxmemory-policy %s and may remove messages: set noeviction", self.address, policy
                )

    async def connect(self, quiet_seconds: float = 0) -> ValkeyConnection:
        """Connect. The connection counts as lost when the server is silent for longer than `quiet_seconds`."""
        return await self.location.connect(self.channel, quiet_seconds + self.command_seconds)

    # Sending

    async def serve_commands(self, on_connected: Callable[[], None]) -> None:
        async with await self.connect() as connection:
            await connection.run("PING")
            self.commands.is_connected = True
            on_connected()
            await self.commands.serve(connection, self.idle_seconds)

    def publish(self, payloads: list[bytes]) -> None:
        for payload in payloads:
            self.submit_publication(payload)

    def submit_publication(self, payload: bytes) -> asyncio.Future[object]:
        return self.commands.submit("PUBLISH", self.channel, b"%b %b" % (self.worker.encode(), payload))

    async def deliver_to_all(self, payload: bytes) -> bool:
        return isinstance(await self.wait_reply(self.submit_publication(payload)), int)

    async def deliver(self, worker: str, payload: bytes) -> bool:
        length = ("MAXLEN", "~", STREAM_LENGTH)
        words = ("XADD", self.name_stream(worker), "NOMKSTREAM", *length, "*", FIELD, payload)
        # None without such a stream.
        return isinstance(await self.wait_reply(self.commands.submit(*words)), bytes)

    async def wait_reply(self, reply: asyncio.Future[object]) -> object:
        """Wait for a reply; None if the server is away."""
        try:
            async with asyncio.timeout(SEND_SECONDS):
                return await reply
        except TimeoutError:
            return None

    # Receiving

    async def listen(self, on_connected: Callable[[], None]) -> None:
        """Receive what the workers publish."""
        own = self.worker.encode()
        async with await self.connect(self.idle_seconds) as connection:
            await connection.run("SUBSCRIBE", self.channel)
            on_connected()
            pings = asyncio.create_task(send_pings(connection, self.idle_seconds))
            try:
                while True:
                    reply = await connection.read()
                    if isinstance(reply, ReplyError):
                        raise reply
                    if reply[0] == b"message":
                        sender, _, payload = reply[2].partition(b" ")
                        if sender != own:
                            self.dispatch(payload)
            finally:
                pings.cancel()

    async def read_stream(self, on_connected: Callable[[], None]) -> None:
        """Receive the messages to this worker, from where the last connection ended."""
        async with await self.connect(self.idle_seconds) as connection:
            await self.keep_stream(connection)
            on_connected()
            block = ("BLOCK", int(self.idle_seconds * 1000))
            while True:
                words = ("XREAD", "COUNT", MESSAGES_PER_READ, *block, "STREAMS", self.stream, self.last_id)
                for _, entries in await connection.run(*words) or ():
                    for self.last_id, fields in entries:
                        # None: deleted by hand.
                        if fields and fields[0] == FIELD:
                            self.dispatch(fields[1])
                await self.keep_stream(connection)

    async def keep_stream(self, connection: ValkeyConnection) -> None:
        """Keep the stream for another minute; make it again if the server has lost it."""
        if not await connection.run("EXPIRE", self.stream, STREAM_SECONDS):
            self.last_id = b"0-0"
            await connection.run("XADD", self.stream, "*", "open", "")
            await connection.run("EXPIRE", self.stream, STREAM_SECONDS)

    async def stop(self) -> None:
        if self.commands.is_connected:
            await self.wait_reply(self.commands.submit("UNLINK", self.stream))
        await self.cancel_tasks()


async def send_pings(connection: ValkeyConnection, pause: float) -> None:
    """Make the server say something now and then; the reader gives a silent connection up."""
    with contextlib.suppress(OSError, TimeoutError):
        while True:
            await asyncio.sleep(pause)
            await connection.write(("PING",))


def make_plane(options: PlaneOptions) -> LivePlane:
    return ValkeyPlane(options.url, options.worker, options.deployment, options.window_seconds)

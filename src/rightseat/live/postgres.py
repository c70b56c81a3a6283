"""PostgresPlane: workers on many machines, by LISTEN and NOTIFY of the database that they share anyway.

Each worker has one connection, direct to the server: a pooler in transaction mode carries no LISTEN. It sends and
receives on it, by turns. Notifications are sent apart from the transactions that they tell of, once in a window:
NOTIFY takes a lock of the whole server while it commits. A worker that is there holds a shared advisory lock, by which
`send` knows that another is gone.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from rightseat.config.remedies import advise_postgres, is_refused
from rightseat.errors import ConfigError
from rightseat.live.remote import MAX_WAITING, SEND_SECONDS, WINDOW_SECONDS, RemotePlane, ServerRefused, describe_error
from rightseat.types.live import LivePlane, PlaneOptions

MAX_PAYLOAD = 7900
"""Bytes of a payload: the server takes less than 8000."""
SEND = """
SELECT number, pg_notify(channel, payload)
FROM unnest(%(numbers)s::int4[], %(channels)s::text[], %(workers)s::int8[], %(payloads)s::text[]) WITH ORDINALITY
    AS message (number, channel, worker, payload, position)
WHERE worker IS NULL OR worker IN (
    SELECT objid::int8 FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND classid = %(deployment)s::int8::oid
)
ORDER BY position
"""
HOLD_LOCK = "SELECT pg_try_advisory_lock_shared(%(deployment)s::int8::oid::int4, %(worker)s::int8::oid::int4)"
FREE_LOCK = "SELECT pg_advisory_unlock_all()"
PROBE = "SELECT 1"
# A commit that only tells something need not wait for the disk.
SETTINGS = "-c synchronous_commit=off"


class OutgoingMessage:
    """Payloads to one worker, or to all if there is no lock of a worker to look for."""

    def __init__(self, channel: str, lock: int | None, payloads: list[str]) -> None:
        self.channel = channel
        self.lock = lock
        self.payloads = payloads
        self.sent: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def settle(self, is_sent: bool) -> None:
        if not self.sent.done():
            self.sent.set_result(is_sent)


class PostgresPlane(RemotePlane):
    server = "PostgreSQL"
    connection_errors = (psycopg.Error, OSError, TimeoutError)
    keys_per_payload = 600

    def __init__(
        self, url: str, worker: str, deployment: str = "rightseat", window_seconds: float = WINDOW_SECONDS
    ) -> None:
        super().__init__(worker, deployment, window_seconds)
        self.info = make_connection_info(url)
        self.channel = f"rs_{hashlib.sha256(deployment.encode()).hexdigest()[:16]}"
        self.waiting: deque[OutgoingMessage] = deque()
        self.woken = asyncio.Event()
        """Set when something waits to be sent, or the server has sent something."""
        self.connection: psycopg.AsyncConnection[Any] | None = None
        self.parts: dict[str, list[str]] = {}
        """Beginnings of messages that come in several payloads, by their ids."""
        self.sent_messages = 0
        self.is_leaving = False

    @property
    def address(self) -> str:
        given = conninfo_to_dict(self.info)
        port = f":{given['port']}" if given.get("port") else ""
        return f"{given.get('host') or 'the local socket'}{port}"

    def name_channel(self, worker: str) -> str:
        return f"{self.channel}_{hashlib.sha256(worker.encode()).hexdigest()[:16]}"

    async def start(self) -> None:
        await self.check_server()
        await self.keep_connected({"connection": self.serve})

    async def check_server(self) -> None:
        """Raise ServerRefused for an account that may not log in."""
        try:
            connection = await self.connect()
        except psycopg.OperationalError as error:
            # By its text: an error of a connection has no code in most versions of libpq.
            if is_refused(str(error)):
                raise ServerRefused(describe_error(error), self.advise(error)) from None
            raise
        await connection.close()

    def advise(self, error: Exception) -> str:
        parts = {name: str(value) for name, value in conninfo_to_dict(self.info).items() if value is not None}
        return advise_postgres(str(error), "url in [live] or [store]", parts)

    async def connect(self) -> psycopg.AsyncConnection[Any]:
        async with asyncio.timeout(self.command_seconds * 2):
            return await psycopg.AsyncConnection.connect(self.info, autocommit=True)

    # The connection

    async def serve(self, on_connected: Callable[[], None]) -> None:
        """Listen on a new connection, and send what waits, until it is lost."""
        connection = await self.connect()
        try:
            connection.add_notify_handler(self.receive)
            channels = sql.SQL("; ").join(
                sql.SQL("LISTEN {}").format(sql.Identifier(name))
                for name in (self.channel, self.name_channel(self.worker))
            )
            await self.finish(connection, connection.execute(channels))
            names = {"deployment": hash_name(self.deployment), "worker": hash_name(self.worker)}
            await self.finish(connection, connection.execute(HOLD_LOCK, names))
            self.connection = connection
            on_connected()
            await self.exchange(connection)
        finally:
            self.connection = None
            self.parts.clear()
            for message in self.waiting:
                message.settle(False)
            self.waiting.clear()
            cut_off(connection)
            await connection.close()

    async def exchange(self, connection: psycopg.AsyncConnection[Any]) -> None:
        while not self.is_leaving:
            self.woken.clear()
            if self.waiting:
                await self.send_waiting(connection)
            if not await self.wait_readable(connection):
                await self.finish(connection, connection.execute(PROBE))
            connection.pgconn.consume_input()
            while notification := connection.pgconn.notifies():
                self.receive_payload(notification.be_pid, bytes(notification.extra).decode())
        await self.send_waiting(connection)
        await self.finish(connection, connection.execute(FREE_LOCK))

    async def send_waiting(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Send all that waits in one statement: each commit takes the lock of the server once."""
        messages = list(self.waiting)
        self.waiting.clear()
        rows = [(number, message, text) for number, message in enumerate(messages) for text in message.payloads]
        values = {
            "numbers": [number for number, _, _ in rows],
            "channels": [message.channel for _, message, _ in rows],
            "workers": [message.lock for _, message, _ in rows],
            "payloads": [text for _, _, text in rows],
            "deployment": hash_name(self.deployment),
        }
        try:
            cursor = await self.finish(connection, connection.execute(SEND, values))
            for number, _ in await cursor.fetchall():
                messages[number].settle(True)
        finally:
            for message in messages:
                message.settle(False)

    async def wait_readable(self, connection: psycopg.AsyncConnection[Any]) -> bool:
        """Wait for the server or a sender; return False if neither came for a while."""
        loop = asyncio.get_running_loop()
        loop.add_reader(connection.fileno(), self.woken.set)
        try:
            async with asyncio.timeout(self.idle_seconds):
                await self.woken.wait()
        except TimeoutError:
            return False
        finally:
            # psycopg sets its own while a statement runs.
            loop.remove_reader(connection.fileno())
        return True

    async def finish(self, connection: psycopg.AsyncConnection[Any], job: Any) -> Any:
        """Wait for a statement. One that takes too long, or is not wanted any more, ends with its connection: asking
        the server to cancel it would take a second connection, to a server that may be away."""
        task = asyncio.ensure_future(job)
        try:
            await asyncio.wait([task], timeout=self.command_seconds)
        finally:
            if not task.done():
                cut_off(connection)
                await asyncio.wait([task])
                # Retrieved, also where this task is being cancelled.
                task.exception()
        return task.result()

    # Sending

    def submit(self, message: OutgoingMessage) -> OutgoingMessage:
        if self.connection is not None and len(self.waiting) < MAX_WAITING:
            self.waiting.append(message)
            self.woken.set()
        else:
            message.settle(False)
        return message

    def publish(self, payloads: list[bytes]) -> None:
        self.submit(OutgoingMessage(self.channel, None, [text for each in payloads for text in self.split(each)]))

    async def deliver(self, worker: str, payload: bytes) -> bool:
        message = OutgoingMessage(self.name_channel(worker), hash_name(worker), self.split(payload))
        return await self.wait_sent(self.submit(message))

    async def deliver_to_all(self, payload: bytes) -> bool:
        return await self.wait_sent(self.submit(OutgoingMessage(self.channel, None, self.split(payload))))

    async def wait_sent(self, message: OutgoingMessage) -> bool:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                return await message.sent
        except TimeoutError:
            return False

    def split(self, payload: bytes) -> list[str]:
        """Write bytes as texts that the server takes. Each says how many follow; equal ones would be sent once."""
        text = base64.b64encode(payload).decode()
        parts = [text[start : start + MAX_PAYLOAD - 50] for start in range(0, len(text), MAX_PAYLOAD - 50)]
        self.sent_messages += 1
        return [f"{self.sent_messages} {len(parts) - number} {part}" for number, part in enumerate(parts, start=1)]

    # Receiving

    def receive(self, notification: psycopg.Notify) -> None:
        """Take a notification that comes while a statement runs."""
        self.receive_payload(notification.pid, notification.payload)

    def receive_payload(self, sender: int, text: str) -> None:
        if self.connection is not None and sender == self.connection.info.backend_pid:
            return
        number, _, rest = text.partition(" ")
        following, _, part = rest.partition(" ")
        # Payloads of one commit come together and in order.
        key = f"{sender} {number}"
        self.parts.setdefault(key, []).append(part)
        if following == "0":
            try:
                payload = base64.b64decode("".join(self.parts.pop(key)), validate=True)
            except ValueError:
                payload = b""
            self.dispatch(payload)

    async def stop(self) -> None:
        if self.connection is not None:
            # What a run that ends has told last goes before it.
            self.is_leaving = True
            self.woken.set()
            await asyncio.wait(self.tasks, timeout=SEND_SECONDS)
        await self.cancel_tasks()
        self.is_leaving = False


def cut_off(connection: psycopg.AsyncConnection[Any]) -> None:
    """End the connection's socket, so that whatever waits for it ends too."""
    with contextlib.suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as peer:
        peer.shutdown(socket.SHUT_RDWR)


def hash_name(name: str) -> int:
    """Hash a name into half the number of an advisory lock."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


def make_connection_info(url: str) -> str:
    """Check a URL and add our settings to it; the error repeats nothing of it."""
    try:
        given = conninfo_to_dict(url)
        settings = f"{given.pop('options', None) or ''} {SETTINGS}".strip()
        return make_conninfo("", **{"application_name": "rightseat live", **given, "options": settings})
    except psycopg.Error:
        raise ConfigError(
            "[live] url is no address of PostgreSQL. Write it as postgresql://USER:PASSWORD@HOST:PORT/DATABASE, in a "
            "variable that env:NAME refers to."
        ) from None


def make_plane(options: PlaneOptions) -> LivePlane:
    return PostgresPlane(options.url, options.worker, options.deployment, options.window_seconds)

"""RemotePlane: what the planes over a server have in common: gathered notifications, handlers, reconnects.

A message is a hint. While the server is away notifications are dropped, `send` returns False, and readers look at the
store once a second; nothing is raised into a run. Each connection belongs to one task, which alone sends on it and
reads from it: a caller that is cancelled leaves no reply behind that another caller could get.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

import msgspec
from msgspec.structs import replace

from rightseat.config.remedies import UnusableServer, end_sentence
from rightseat.config.secret import mask
from rightseat.live.local import MAX_DATAGRAM, Notification, hash_thread
from rightseat.live.memory import EventWatch, WatchTable
from rightseat.types.live import ControlMessage, EngineState, MessageHandler, make_engine_state, shorten_window
from rightseat.types.turn import Owner

log = logging.getLogger(__name__)
MAX_MESSAGE = MAX_DATAGRAM
"""Bytes of an encoded message: as many as the plane of one machine takes."""
WINDOW_SECONDS = 0.025
"""Shortest time between two batches of notifications of one worker."""
FIRST_DELAY = 0.05
MAX_DELAY = 2.0
"""Shortest and longest wait before a lost connection is opened again."""
START_SECONDS = 5.0
"""Time in which a server must answer at the start."""
COMMAND_SECONDS = 2.0
"""Time in which the server must answer a command. After it the connection counts as lost."""
SEND_SECONDS = 1.0
"""Longest wait of a sender: a run must not stand still for a message that may be lost anyway."""
IDLE_SECONDS = 5.0
"""Time without traffic after which a connection is probed: a half-open one tells nothing by itself."""
MAX_WAITING = 1000
"""The most commands that wait for the connection. Further ones are dropped."""
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Notification | ControlMessage)


ServeConnection = Callable[[Callable[[], None]], Awaitable[None]]
"""Opens a connection, calls the function once it works, and uses it until it is lost. It returns only when the worker
leaves."""


class ServerRefused(Exception):
    """The server answers, but it will not work: wrong password, too old, no permission. The reason, and what to do."""

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(f"{end_sentence(reason)} {advice}")
        self.reason = reason
        self.advice = advice


class ReconnectDelay:
    """Wait before the next attempt to connect: doubled each time, half of it random, so that workers that lost their
    server together do not come back together."""

    def __init__(self) -> None:
        self.failures = 0

    def compute_next(self) -> float:
        self.failures += 1
        delay = min(MAX_DELAY, FIRST_DELAY * (1 << min(self.failures - 1, 10)))
        return delay * random.uniform(0.5, 1.0)

    def reset(self) -> None:
        self.failures = 0


class NotificationWindow:
    """Threads with new entries, gathered: told at once after a pause, and else once in a window."""

    def __init__(self, seconds: float, tell: Callable[[list[int]], None]) -> None:
        self.seconds = seconds
        self.tell = tell
        self.changed: set[tuple[str, str]] = set()
        self.timer: asyncio.Handle | None = None
        self.next_time = 0.0

    def add(self, owner: str, thread: str) -> None:
        self.changed.add((owner, thread))
        if self.timer is None:
            loop = asyncio.get_running_loop()
            wait = self.next_time - loop.time()
            # The next step of the loop, and not this one: what is stored in one moment is told together.
            self.timer = loop.call_later(wait, self.flush) if wait > 0 else loop.call_soon(self.flush)

    def flush(self) -> None:
        """Tell the gathered threads, by their hashes."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
            pause = shorten_window(self.seconds, len(self.changed))
            self.next_time = asyncio.get_running_loop().time() + pause
        keys = [hash_thread(owner, thread) for owner, thread in self.changed]
        self.changed.clear()
        if keys:
            self.tell(keys)


class RemotePlane(ABC):
    """LivePlane over a server. A subclass carries bytes to one worker and to all."""

    server: str
    """Kind of the server, for messages to people."""
    connection_errors: tuple[type[Exception], ...]
    """What a failed connection raises, TimeoutError included."""
    keys_per_payload: int
    idle_seconds = IDLE_SECONDS
    command_seconds = COMMAND_SECONDS

    def __init__(self, worker: str, deployment: str, window_seconds: float = WINDOW_SECONDS) -> None:
        for name in (worker, deployment):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a worker or a deployment")
        self.worker = worker
        self.deployment = deployment
        self.watches = WatchTable()
        self.handlers: dict[str, MessageHandler] = {}
        self.window = NotificationWindow(window_seconds, self.tell_keys)
        self.tasks: list[asyncio.Task[None]] = []
        self.outages: set[str] = set()
        """Connections that are lost now, by their purpose."""
        self.away_since: float | None = None
        """Wall-clock time at which the first of them was lost."""
        self.is_open = False

    # What a subclass does

    @abstractmethod
    async def start(self) -> None:
        """Connect, and begin to receive. Raises ServerRefused, or what a failed connection raises."""

    @abstractmethod
    def publish(self, payloads: list[bytes]) -> None:
        """Send payloads to all other workers, without waiting. They are dropped while the server is away."""

    @abstractmethod
    async def deliver(self, worker: str, payload: bytes) -> bool:
        """Send a payload to a worker; return False if the worker is gone or the server is away."""

    @abstractmethod
    async def deliver_to_all(self, payload: bytes) -> bool:
        """Send a payload to all other workers; return False if the server is away."""

    @abstractmethod
    async def stop(self) -> None:
        """Tell the server that this worker is gone, if it can be reached, and close the connections."""

    @property
    @abstractmethod
    def address(self) -> str:
        """Where the server is, without a password."""

    def advise(self, error: Exception) -> str:
        """Return what to do about a server that does not answer."""
        return "Start it, or correct url in [live]"

    def explain_unreachable(self, error: Exception) -> UnusableServer:
        reason = f"[live] {self.server} cannot be reached at {self.address}: {describe_error(error)}"
        return UnusableServer(reason, f"{self.advise(error)}; `rightseat doctor` checks it.")

    # LivePlane

    async def open(self) -> None:
        """Connect to the server. Raises UnusableServer if it cannot be reached or used."""
        if self.is_open:
            return
        delay = ReconnectDelay()
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        failure: Exception | None = None
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    await self.start()
                break
            except ServerRefused as error:
                await self.stop()
                reason = f"[live] {self.server} at {self.address} cannot be used: {error.reason}"
                raise UnusableServer(reason, error.advice) from None
            except self.connection_errors as error:
                await self.stop()
                # The last attempt may only have run out of time.
                failure = error if failure is None or not isinstance(error, TimeoutError) else failure
                pause = delay.compute_next()
                if asyncio.get_running_loop().time() + pause >= deadline:
                    raise self.explain_unreachable(failure) from None
                await asyncio.sleep(pause)
        self.is_open = True

    def notify(self, owner: Owner, thread: str) -> None:
        if self.is_open:
            self.window.add(owner.name, thread)

    def tell_keys(self, keys: list[int]) -> None:
        self.wake_watches(keys)
        size = self.keys_per_payload
        self.publish([_encoder.encode(Notification(keys[start : start + size])) for start in range(0, len(keys), size)])

    def watch(self, owner: Owner, thread: str) -> AbstractContextManager[EventWatch]:
        return self.watches.open_watch(hash_thread(owner.name, thread))

    def wake_watches(self, keys: list[int]) -> None:
        for key in keys if self.watches.watches else ():
            self.watches.wake(key)

    async def send(self, worker: str, message: ControlMessage) -> bool:
        payload = self.encode(message)
        return self.is_open and await self.deliver(worker, payload)

    async def broadcast(self, message: ControlMessage) -> bool:
        """Send a message to all other workers of the deployment; return False if the server is away."""
        payload = self.encode(message)
        return self.is_open and await self.deliver_to_all(payload)

    def encode(self, message: ControlMessage) -> bytes:
        payload = _encoder.encode(replace(message, sender=self.worker))
        if len(payload) > MAX_MESSAGE:
            raise ValueError(f"a message of kind {message.kind!r} has {len(payload)} bytes, more than {MAX_MESSAGE}")
        return payload

    def handle(self, kind: str, handler: MessageHandler) -> None:
        self.handlers[kind] = handler

    def dispatch(self, payload: bytes) -> None:
        """Wake the watches of a notification, or call the handler of a message."""
        try:
            message = _decoder.decode(payload)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            log.warning("a message of another worker cannot be read: do all workers have the same version?")
            return
        if isinstance(message, Notification):
            self.wake_watches(message.keys)
        elif handler := self.handlers.get(message.kind):
            # A step of its own: a handler that fails is reported by the loop and stops no other.
            asyncio.get_running_loop().call_soon(handler, message)

    async def close(self) -> None:
        if not self.is_open:
            return
        self.window.flush()
        self.is_open = False
        await self.stop()

    # Connections

    async def keep_connected(self, purposes: dict[str, ServeConnection]) -> None:
        """Begin a task for each connection, and wait until all of them work."""
        ready = {purpose: asyncio.Event() for purpose in purposes}
        for purpose, serve in purposes.items():
            self.tasks.append(asyncio.create_task(self.reconnect(purpose, serve, ready[purpose])))
        for event in ready.values():
            await event.wait()

    async def reconnect(self, purpose: str, serve: ServeConnection, ready: asyncio.Event) -> None:
        """Open a connection again whenever it is lost."""
        delay = ReconnectDelay()

        def on_connected() -> None:
            delay.reset()
            self.report_connected(purpose)
            ready.set()

        while True:
            try:
                await serve(on_connected)
                return
            except ServerRefused as error:
                self.report_outage(purpose, error)
            except self.connection_errors as error:
                self.report_outage(purpose, error)
            await asyncio.sleep(delay.compute_next())

    def report_outage(self, purpose: str, error: Exception) -> None:
        if not self.outages:
            log.warning(
                "the connection to %s at %s is lost (%s): workers read the store once a second until it is back",
                self.server,
                self.address,
                describe_error(error),
            )
            self.away_since = time.time()
        self.outages.add(purpose)

    def report_connected(self, purpose: str) -> None:
        if purpose in self.outages:
            self.outages.discard(purpose)
            if not self.outages:
                self.away_since = None
                log.info("the connection to %s at %s is back", self.server, self.address)

    def get_state(self) -> EngineState:
        return make_engine_state(self.server, self.away_since)

    async def cancel_tasks(self) -> None:
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


def describe_error(error: Exception) -> str:
    """Describe a failed connection in one line without secrets."""
    lines = mask(str(error)).strip().splitlines()
    return lines[0].rstrip(".") if lines else "no answer" if isinstance(error, TimeoutError) else type(error).__name__

"""Acceptor: takes new connections from the listening socket, also where no file descriptor is left.

Event loops close such a connection (uvloop) or stop listening for a second (asyncio). Here it gets a descriptor of the
reserve, so that /health and refusals are answered; meanwhile the connections that have been idle longest are closed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Iterable

from rightseat.http.descriptors import EXHAUSTED_CODES, DescriptorReserve
from rightseat.server.uvicorn_protocol import LimitedHttpProtocol

# Connections that are accepted in one turn of the event loop.
MAX_ACCEPTS = 64
# Connections that are closed at once where descriptors are short.
MAX_CLOSED = 16
# An idle connection is closed after so long: the request of a younger one may be on its way.
MIN_IDLE_SECONDS = 0.5
RETRY_SECONDS = 0.05
# Pause after a failure that has nothing to do with descriptors, such as one of memory.
FAILURE_SECONDS = 1.0
# The client has gone before its connection was accepted.
GONE_CODES = (errno.ECONNABORTED, errno.EPROTO, errno.EPERM)

log = logging.getLogger("rightseat.server")


class Acceptor:
    """Accepts connections of one listening socket. `refresh` must be called now and then."""

    def __init__(
        self,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.Protocol],
        connections: Iterable[object],
        reserve: DescriptorReserve,
    ) -> None:
        self._listener = listener
        self._make_protocol = make_protocol
        self._connections = connections
        self._reserve = reserve
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[object]] = set()
        self._retry: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._retry = None
        self._listener.setblocking(False)
        self._loop.add_reader(self._listener, self._accept_waiting)

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener)
        self._reserve.close()

    def close_listener(self) -> None:
        """Take the connections that wait, and close the socket: the system gives new ones to other processes, or
        refuses them."""
        if self._listener.fileno() >= 0:
            self.close()
            self._accept_waiting()
            self._listener.close()

    def refresh(self) -> None:
        """Fill the reserve, and say whether there are descriptors for answers."""
        if self._reserve.refill():
            self._reserve.set_exhausted(False)
        else:
            self._note_shortage()

    def _accept_waiting(self) -> None:
        for _ in range(MAX_ACCEPTS):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                if error.errno in GONE_CODES:
                    continue
                if error.errno not in EXHAUSTED_CODES:
                    log.error("No connection can be accepted: %s.", error.strerror)
                    self._pause(FAILURE_SECONDS)
                    return
                self._note_shortage()
                if not self._reserve.release_one():
                    self._pause(RETRY_SECONDS)
                    return
            else:
                task = self._loop.create_task(self._serve_connection(connection))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _serve_connection(self, connection: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make_protocol, connection)
        except OSError as error:
            connection.close()
            log.debug("a new connection was lost: %s", error)

    def _note_shortage(self) -> None:
        """Close idle connections; without any, only the end of an answer brings a descriptor back."""
        if not self._close_idle():
            self._reserve.set_exhausted(True)

    def _close_idle(self) -> int:
        latest = self._loop.time() - MIN_IDLE_SECONDS
        protocols = (protocol for protocol in self._connections if isinstance(protocol, LimitedHttpProtocol))
        idle = [protocol for protocol in protocols if protocol.is_idle and protocol.idle_since <= latest]
        oldest = sorted(idle, key=lambda protocol: protocol.idle_since)[:MAX_CLOSED]
        for protocol in oldest:
            protocol.transport.close()
        return len(oldest)

    def _pause(self, seconds: float) -> None:
        """Stop listening for a moment: the waiting connections stay in the queue of the system."""
        self._loop.remove_reader(self._listener)
        self._retry = self._loop.call_later(seconds, self.start)

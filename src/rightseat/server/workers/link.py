"""The supervisor as a worker sees it: the worker's beat, its messages, and what it does when the supervisor is gone.

All of it runs in a thread of its own, so that a tool that holds the event loop stops neither the beat nor a scrape.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import shutil
import signal
import socket
import threading
import time
from collections import deque
from pathlib import Path

from msgspec import Struct

from rightseat.runtime.metrics import Metrics
from rightseat.server.workers.channel import (
    BEATS_PER_LEASE,
    Beat,
    Ready,
    Reloaded,
    decode_request,
    decode_start,
    encode_message,
)
from rightseat.server.workers.metric_sums import sum_metrics, take_snapshot
from rightseat.stores.sqlite.presence import has_living_workers
from rightseat.wiring.storage import RUN_FOLDER_VARIABLE

log = logging.getLogger(__name__)
# Seconds beyond the grace in which a worker without a supervisor must have ended.
END_SECONDS = 10.0


class SupervisorLink:
    """The channel to the supervisor. Messages may be sent from any thread."""

    def __init__(self, channel: socket.socket) -> None:
        # No child of this worker may keep the channel open.
        channel.set_inheritable(False)
        self.channel = channel
        self.start = decode_start(_read_line(channel))
        self.run_folder = Path(os.environ[RUN_FOLDER_VARIABLE])
        self.metrics: Metrics | None = None
        self.grace = 0.0
        self._is_orphan = False
        """Whether the supervisor has ended."""
        self._outgoing: deque[Struct] = deque()
        self._wake, self._waked = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._run, name="rightseat-beat", daemon=True)

    def begin_beat(self) -> None:
        self._thread.start()

    def attach(self, metrics: Metrics, grace: float) -> None:
        """Take the metrics that beats carry, and the seconds that a drain may take."""
        self.metrics, self.grace = metrics, grace

    def tell_ready(self, rows: list[tuple[str, str]]) -> None:
        self._send(Ready(rows))

    def tell_reloaded(self, changed: bool) -> None:
        self._send(Reloaded(changed))

    async def sum_metrics(self) -> Metrics:
        """Return the metrics of all workers."""
        assert self.metrics is not None
        return await sum_metrics(self.metrics, self.run_folder, self.start.workers)

    def describe_health(self) -> dict[str, object]:
        return {"worker": self.start.number, "workers": self.start.workers}

    def close(self) -> None:
        """Send the last numbers of this worker, which ends."""
        if self._is_orphan:
            # The last one removes it: a worker that still drains has its lock there.
            if not has_living_workers(self.run_folder):
                shutil.rmtree(self.run_folder, ignore_errors=True)
            return
        self._send(self._make_beat())
        self._send(_END)
        self._thread.join(END_SECONDS)

    def _send(self, message: Struct) -> None:
        self._outgoing.append(message)
        # A full pipe has a byte that wakes the thread already.
        with contextlib.suppress(OSError):
            self._wake.send(b"\0", socket.MSG_DONTWAIT)

    def _run(self) -> None:
        interval = self.start.lease_seconds / BEATS_PER_LEASE
        for end in (self.channel, self._waked):
            self._selector.register(end, selectors.EVENT_READ)
        received = b""
        due = 0.0
        try:
            while True:
                if (now := time.monotonic()) >= due:
                    due = now + interval
                    self._outgoing.append(self._make_beat())
                if self._flush():
                    return
                for key, _ in self._selector.select(max(0.0, due - time.monotonic())):
                    received = self._receive(key.fileobj, received)
        except OSError:
            self._end_without_supervisor()

    def _receive(self, end: object, received: bytes) -> bytes:
        """Read one end; returns the bytes of a line that is not whole yet. Raises OSError without a supervisor."""
        if end is self._waked:
            self._waked.recv(4096)
            return received
        data = self.channel.recv(4096)
        if not data:
            raise ConnectionResetError
        *lines, rest = (received + data).split(b"\n")
        for line in lines:
            self._outgoing.append(self._make_beat(decode_request(line).request))
        return rest

    def _make_beat(self, request: int = 0) -> Beat:
        return Beat(take_snapshot(self.metrics) if self.metrics is not None else None, request)

    def _flush(self) -> bool:
        """Send what waits; returns whether the end is among it."""
        while self._outgoing:
            message = self._outgoing.popleft()
            if message is _END:
                return True
            self.channel.sendall(encode_message(message))
        return False

    def _end_without_supervisor(self) -> None:
        """Drain as after SIGTERM; where the event loop does not, end."""
        self._is_orphan = True
        log.warning("The supervisor has ended: this worker ends too.")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(self.grace + END_SECONDS)
        shutil.rmtree(self.run_folder, ignore_errors=True)
        os._exit(1)


_END = Ready([])
"""What the thread takes for its end; it is not sent."""


def open_link(descriptor: int) -> SupervisorLink:
    """Open the channel that the supervisor gave this worker, and read what it is to do."""
    return SupervisorLink(socket.socket(fileno=descriptor))


def _read_line(channel: socket.socket) -> bytes:
    # Byte by byte: what follows belongs to the thread.
    line = b""
    while (byte := channel.recv(1)) not in (b"", b"\n"):
        line += byte
    return line

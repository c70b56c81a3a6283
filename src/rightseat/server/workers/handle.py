"""One worker as its supervisor sees it: the process, its channel, its last sign of life."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Sequence

from msgspec import DecodeError

from rightseat.server.workers.channel import (
    MAX_LINE,
    Beat,
    MetricsRequest,
    Ready,
    Reloaded,
    WorkerMessage,
    WorkerStart,
    decode_worker_message,
    encode_message,
)
from rightseat.server.workers.metric_sums import MetricsSnapshot

WORKER_MODULE = "rightseat.cli.worker"
READ_SECONDS = 1.0


class WorkerHandle:
    """A started worker. `on_metrics` gets each snapshot of its metrics."""

    def __init__(
        self,
        number: int,
        process: asyncio.subprocess.Process,
        channel: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        on_metrics: Callable[[int, MetricsSnapshot], None],
    ) -> None:
        self.number = number
        self.process = process
        self.on_metrics = on_metrics
        self.ready = asyncio.Event()
        self.rows: list[tuple[str, str]] = []
        self.ready_since: float | None = None
        self.last_beat: float | None = None
        """None before the first beat: a starting interpreter has none."""
        self.started_at = time.monotonic()
        self._reader, self._writer = channel
        self._answers: dict[int, asyncio.Event] = {}
        self._reloaded: asyncio.Future[bool] | None = None
        self._reading = asyncio.create_task(self._read_messages())

    @classmethod
    async def spawn(
        cls,
        start: WorkerStart,
        environment: dict[str, str],
        inherited: Sequence[int],
        on_metrics: Callable[[int, MetricsSnapshot], None],
    ) -> WorkerHandle:
        """Start the process of a worker. It inherits the file descriptors."""
        own, its = socket.socketpair()
        with own, its:
            process = await asyncio.create_subprocess_exec(
                *_make_command(its.fileno()),
                stdin=asyncio.subprocess.DEVNULL,
                env=environment,
                pass_fds=[its.fileno(), *inherited],
                # Ctrl-C reaches the supervisor alone, which tells the workers.
                process_group=0,
            )
            channel = await asyncio.open_connection(sock=own.dup(), limit=MAX_LINE)
        handle = cls(start.number, process, channel, on_metrics)
        handle._send(encode_message(start))
        return handle

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process.returncode is None

    async def wait(self) -> int:
        """Wait for the end of the process and of what it has sent; returns the exit status."""
        status = await self.process.wait()
        # What the worker sent last is still in the channel.
        await asyncio.wait({self._reading}, timeout=READ_SECONDS)
        self._reading.cancel()
        self._writer.close()
        return status

    def send_signal(self, number: signal.Signals) -> None:
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the worker and what it has started in its process group."""
        if self.running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)

    async def ask_metrics(self, request: int, seconds: float) -> bool:
        """Ask for a snapshot; returns whether `on_metrics` has got it within so many seconds."""
        answer = self._answers[request] = asyncio.Event()
        self._send(encode_message(MetricsRequest(request)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wait_for(answer.wait())
        del self._answers[request]
        return answer.is_set()

    async def reload(self) -> bool:
        """Let a ready worker read its configuration again; returns whether it did. False too if it ends."""
        await self._wait_for(self.ready.wait())
        if not self.running:
            return False
        reloaded = self._reloaded = asyncio.get_running_loop().create_future()
        self.send_signal(signal.SIGHUP)
        await self._wait_for(reloaded)
        return reloaded.done() and not reloaded.cancelled() and reloaded.result()

    async def _wait_for(self, waited: Awaitable[object]) -> None:
        """Wait for this or for the end of the worker, whichever comes first."""
        waiting = asyncio.ensure_future(waited)
        try:
            await asyncio.wait({waiting, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()

    def _send(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def _read_messages(self) -> None:
        """Read until the worker ends. A message that makes no sense ends it: it is not ours any more."""
        with contextlib.suppress(OSError):
            while line := await self._reader.readline():
                try:
                    self._handle_message(decode_worker_message(line))
                except (DecodeError, ValueError):
                    self.kill()
                    return

    def _handle_message(self, message: WorkerMessage) -> None:
        self.last_beat = time.monotonic()
        match message:
            case Beat():
                if message.metrics is not None:
                    self.on_metrics(self.number, message.metrics)
                if (answer := self._answers.get(message.request)) is not None:
                    answer.set()
            case Ready():
                self.rows, self.ready_since = message.rows, time.monotonic()
                self.ready.set()
            case Reloaded():
                if self._reloaded is not None and not self._reloaded.done():
                    self._reloaded.set_result(message.changed)


def _make_command(descriptor: int) -> list[str]:
    # As `rightseat` itself, unless this process has the working folder on its path too.
    has_folder = sys.path[:1] in ([""], [os.getcwd()])
    return [sys.executable, *([] if has_folder else ["-P"]), "-m", WORKER_MODULE, str(descriptor)]

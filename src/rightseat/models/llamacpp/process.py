"""The parent's side of the child process that runs a local model."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from rightseat.config.secret import Secret
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.client import Client
from rightseat.models.llamacpp.runner import Order, Ready
from rightseat.tools.subprocess import kill

# Environment variables passed to the child; none of them can hold a secret.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "CUDA_VISIBLE_DEVICES")
# Time to wait for the exit status after a broken connection.
_NEWS_SECONDS = 0.5
_POLL_SECONDS = 0.05

log = logging.getLogger(__name__)


class NotStarted(ConfigError):
    code = "local_model_not_started"


@dataclass(frozen=True, slots=True)
class Launch:
    """What to run. `context` is per slot; `binary` is a llama-server to spawn instead of the built-in engine;
    `pooling` is for embedding models whose file names no pooling."""

    model: Path
    context: int = 4096
    slots: int = 2
    threads: int | None = None
    gpu_layers: int | None = None
    cache_mib: int = 512
    embedding: bool = False
    pooling: Literal["mean", "cls", "last"] | None = None
    lora: Path | None = None
    lora_rests: bool = False
    """The adapter applies only to requests that enable it."""
    saves: Path | None = None
    binary: Path | None = None

    def order(self, key: str) -> Order:
        def text(path: Path | None) -> str | None:
            return None if path is None else str(path.absolute())

        return Order(
            model=str(self.model.absolute()),
            key=key,
            parent=os.getpid(),
            context=self.context,
            slots=self.slots,
            threads=spare_cores() if self.threads is None else self.threads,
            gpu_layers=self.gpu_layers,
            cache_mib=self.cache_mib,
            embedding=self.embedding,
            pooling=self.pooling,
            lora=text(self.lora),
            lora_rests=self.lora_rests,
            saves=text(self.saves),
            binary=text(self.binary),
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """Timeouts and restart limits in seconds. After `max_deaths` within `death_window` the supervisor gives
    up."""

    start: float = 120
    poll: float = 5
    answer: float = 10
    deaths: int = 3
    window: float = 60
    backoff: float = 0.25
    connect: float = 10
    first_token: float = 600
    idle: float = 60

    def client(self, url: str, key: Secret | None, *, ours: bool = False) -> Client:
        return Client(
            url,
            key,
            ours=ours,
            connect_timeout=self.connect,
            first_token_timeout=self.first_token,
            idle_timeout=self.idle,
        )


class Child:
    """One child process and its client."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._client: Client | None = None
        self.last_words: deque[str] = deque(maxlen=20)
        self._drain = asyncio.create_task(self._listen())

    @classmethod
    async def started(cls, launch: Launch, rules: Rules) -> Child:
        key = secrets.token_urlsafe(32)
        child = cls(await _process())
        try:
            async with asyncio.timeout(rules.start):
                await child._connect(launch.order(key), Secret(key), launch.binary is None, rules)
        except TimeoutError:
            await child.end()
            raise NotStarted(
                f"The local model {launch.model.name} was not loaded within {rules.start:g} s."
            ) from None
        except BaseException:
            await child.end()
            raise
        return child

    @property
    def client(self) -> Client:
        assert self._client is not None
        return self._client

    async def _connect(self, order: Order, key: Secret, ours: bool, rules: Rules) -> None:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(OSError):
            stdin.write(msgspec.json.encode(order) + b"\n")
            await stdin.drain()
        line = await stdout.readline()
        ready = msgspec.json.decode(line, type=Ready) if line else Ready(error="the process ended")
        if ready.error:
            # The engine's messages may contain paths and sizes, so they go to the log only.
            log.debug("the local model was not loaded: %s\n%s", ready.error, "\n".join(self.last_words))
            raise NotStarted(
                f"The local model {Path(order.model).name} cannot be loaded: {ready.error.rstrip('.')}. "
                'Its own log is shown with log_level = "debug" in [server].'
            )
        self._client = rules.client(ready.url, key, ours=ours)
        while not await self._client.health():
            if self.process.returncode is not None:
                raise NotStarted(f"The llama-server ended at once (exit code {self.process.returncode}).")
            await asyncio.sleep(_POLL_SECONDS)

    async def lasted(self, rules: Rules) -> None:
        """Wait until the process has exited or fails a health check."""
        ended = asyncio.create_task(self.process.wait())
        try:
            while not (await asyncio.wait({ended}, timeout=rules.poll))[0]:
                if not await self.client.health(rules.answer) and self.process.returncode is None:
                    log.warning("the local model's process gave no answer for %g s", rules.answer)
                    return
        finally:
            ended.cancel()
            with suppress(asyncio.CancelledError):
                await ended

    async def is_gone(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(_NEWS_SECONDS):
                await self.process.wait()
        return self.process.returncode is not None

    async def end(self) -> None:
        await kill(self.process)
        if self._client is not None:
            await self._client.close()
        await self._drain

    async def _listen(self) -> None:
        """Read the child's stderr; a full pipe would block it."""
        assert self.process.stderr is not None
        try:
            while line := await self.process.stderr.readline():
                self.last_words.append(line.decode(errors="replace").rstrip()[:500])
                log.debug("llama.cpp: %s", self.last_words[-1])
        except ValueError:
            # The line exceeds the stream's limit.
            self.process.kill()


def spare_cores() -> int:
    """Return the number of usable cores less one, which is left to the event loop."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 2
    return max(1, cores - 1)


async def _process() -> asyncio.subprocess.Process:
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "rightseat.models.llamacpp.runner",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        limit=1 << 20,
        start_new_session=True,
    )

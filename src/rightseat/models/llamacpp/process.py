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

import msgspec
from msgspec import Struct

from rightseat.config.secret import Secret
from rightseat.errors import LocalModelNotStarted
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.llamacpp.child import LaunchOptions, LaunchRequest, LaunchResult
from rightseat.models.llamacpp.client import DEFAULT_TIMEOUTS, LlamaServerClient
from rightseat.models.llamacpp.machine import get_machine
from rightseat.tools.subprocess import kill_session

# Environment variables passed to the child; none of them can hold a secret.
_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "SYSTEMROOT", "CUDA_VISIBLE_DEVICES")
# Time to wait for the exit status after a broken connection.
_EXIT_GRACE_SECONDS = 0.5
_POLL_SECONDS = 0.05

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SupervisionPolicy:
    """Timeouts and restart limits in seconds. After `max_deaths` within `death_window` the supervisor gives
    up."""

    start_timeout: float = 120
    poll_interval: float = 5
    health_timeout: float = 10
    max_deaths: int = 3
    death_window: float = 60
    backoff: float = 0.25
    timeouts: Timeouts = DEFAULT_TIMEOUTS
    """Timeouts of requests."""


class EngineAddress(Struct, frozen=True):
    """Where an engine answers, and its key."""

    url: str
    key: str


class ServerProcess:
    """One child process and its client."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.address = EngineAddress("", "")
        self._client: LlamaServerClient | None = None
        self._stderr_tail: deque[str] = deque(maxlen=20)
        self._stderr_task = asyncio.create_task(self._read_stderr())

    @classmethod
    async def spawn(cls, launch: LaunchOptions, policy: SupervisionPolicy) -> ServerProcess:
        child = cls(await _spawn_process())
        try:
            async with asyncio.timeout(policy.start_timeout):
                await child._connect(launch, secrets.token_urlsafe(32), policy)
        except TimeoutError:
            await child.stop()
            raise LocalModelNotStarted(
                f"The local model {launch.model.name} was not loaded within {policy.start_timeout:g} s."
            ) from None
        except BaseException:
            await child.stop()
            raise
        log.info("local model %s: %s (machine: %s)", launch.model.stem, launch.describe(), get_machine().describe())
        return child

    @property
    def client(self) -> LlamaServerClient:
        assert self._client is not None
        return self._client

    async def _connect(self, launch: LaunchOptions, key: str, policy: SupervisionPolicy) -> None:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(OSError):
            stdin.write(LaunchRequest(launch, key, os.getpid()).encode())
            await stdin.drain()
        line = await stdout.readline()
        ready = msgspec.json.decode(line, type=LaunchResult) if line else LaunchResult(error="the process ended")
        if ready.error:
            # The engine's messages may contain paths and sizes, so they go to the log only.
            log.debug("the local model was not loaded: %s\n%s", ready.error, "\n".join(self._stderr_tail))
            image_hint = f"Check that mmproj ({launch.mmproj.name}) is made for this model. " if launch.mmproj else ""
            raise LocalModelNotStarted(
                f"The local model {launch.model.name} cannot be loaded: {ready.error.rstrip('.')}. {image_hint}"
                'Its own log is shown with log_level = "debug" in [server].'
            )
        self.address = EngineAddress(ready.url, key)
        own_server = launch.binary is None
        self._client = LlamaServerClient(ready.url, Secret(key), own_server=own_server, timeouts=policy.timeouts)
        while not await self._client.is_healthy():
            if self.process.returncode is not None:
                raise LocalModelNotStarted(f"The llama-server ended at once (exit code {self.process.returncode}).")
            await asyncio.sleep(_POLL_SECONDS)

    async def wait_until_dead(self, policy: SupervisionPolicy) -> None:
        ended = asyncio.create_task(self.process.wait())
        try:
            while not (await asyncio.wait({ended}, timeout=policy.poll_interval))[0]:
                if not await self.client.is_healthy(policy.health_timeout) and self.process.returncode is None:
                    log.warning("the local model's process gave no answer for %g s", policy.health_timeout)
                    return
        finally:
            ended.cancel()
            with suppress(asyncio.CancelledError):
                await ended

    async def has_exited(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_GRACE_SECONDS):
                await self.process.wait()
        return self.process.returncode is not None

    async def stop(self) -> None:
        await kill_session(self.process)
        if self._client is not None:
            await self._client.close()
        await self._stderr_task

    async def _read_stderr(self) -> None:
        """Read the child's stderr; a full pipe would block it."""
        assert self.process.stderr is not None
        try:
            while line := await self.process.stderr.readline():
                self._stderr_tail.append(line.decode(errors="replace").rstrip()[:500])
                log.debug("llama.cpp: %s", self._stderr_tail[-1])
        except ValueError:
            # The line exceeds the stream's limit.
            self.process.kill()


async def _spawn_process() -> asyncio.subprocess.Process:
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "rightseat.models.llamacpp.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        limit=1 << 20,
        start_new_session=True,
    )

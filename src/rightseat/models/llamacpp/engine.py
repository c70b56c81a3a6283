"""llama-servers: ManagedServer supervises and restarts a child process, AttachedServer uses a foreign one."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from rightseat.config.secret import Secret
from rightseat.errors import Incomplete, RightseatError, UpstreamError, UpstreamRefused
from rightseat.models.llamacpp.client import Client
from rightseat.models.llamacpp.process import Child, Launch, NotStarted, Rules
from rightseat.models.llamacpp.wire import Piece
from rightseat.types.streams import closing

log = logging.getLogger(__name__)


class EngineDied(UpstreamError):
    """The local model's process exited, or hung and was killed."""

    code = "local_model_died"
    status = 503


class Engine:
    """A llama-server child process. After `start` a supervisor task restarts it until it dies too often."""

    def __init__(self, launch: Launch, rules: Rules | None = None) -> None:
        self.launch = launch
        self._rules = rules or Rules()
        self._child: Child | None = None
        self._changed = asyncio.Condition()
        self._keeper: asyncio.Task[None] | None = None
        self._given_up = False

    @property
    def ready(self) -> bool:
        return self._alive() is not None

    @property
    def pid(self) -> int | None:
        child = self._alive()
        return None if child is None else child.process.pid

    async def start(self) -> None:
        """Start the child; raises LocalModelNotStarted if the model cannot be loaded."""
        self._child = await Child.started(self.launch, self._rules)
        self._keeper = asyncio.create_task(self._keep())

    async def close(self) -> None:
        self._given_up = True
        if self._keeper is not None:
            self._keeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeper
        child, self._child = self._child, None
        if child is not None:
            await child.end()
        await self._tell()

    async def client(self) -> Client:
        """Return the client of the running child; waits during a restart."""
        return (await self._living()).client

    async def completion(self, request: dict[str, Any]) -> AsyncIterator[Piece]:
        """Stream a completion; raises LocalModelDied within a second if the process dies."""
        while True:
            child = await self._living()
            try:
                async with closing(child.client.completion(request)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except UpstreamRefused:
                # The child died before it saw the request, so the next child can take it.
                if not await child.is_gone():
                    raise
            except Incomplete:
                # No retry: the request itself may crash the process.
                if await child.is_gone():
                    raise _died() from None
                raise

    def _alive(self) -> Child | None:
        child = self._child
        return child if child is not None and child.process.returncode is None else None

    async def _living(self) -> Child:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._rules.start), self._changed:
                await self._changed.wait_for(lambda: self.ready or self._given_up)
        child = self._alive()
        if child is None:
            raise EngineDied(
                "The local model's process died too often and is not started again: "
                "see the log, then restart the server."
                if self._given_up
                else "The local model's process died and takes too long to start again."
            )
        return child

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def _keep(self) -> None:
        """Supervisor task: restarts the child after each death. `close` stops the last child."""
        deaths: deque[float] = deque(maxlen=self._rules.deaths)
        now = asyncio.get_running_loop().time
        while True:
            if self._child is not None:
                await self._child.lasted(self._rules)
                child, self._child = self._child, None
                await child.end()
            deaths.append(now())
            if len(deaths) == self._rules.deaths and now() - deaths[0] < self._rules.window:
                break
            log.warning("the local model's process died; it is started again")
            await asyncio.sleep(self._rules.backoff * 2 ** (len(deaths) - 1))
            # Assigned without an await in between, so that a concurrent `close` always finds the child.
            self._child = await self._again()
            await self._tell()
        self._given_up = True
        log.error("the local model's process died %d times; it is not started again", len(deaths))
        await self._tell()

    async def _again(self) -> Child | None:
        try:
            return await Child.started(self.launch, self._rules)
        except NotStarted as error:
            log.warning("%s", error)
            return None


class Attached:
    """A llama-server run by somebody else: health-checked periodically, never started or stopped."""

    def __init__(self, url: str, key: Secret | None = None, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._client = self._rules.client(url, key)
        self._looking: asyncio.Task[None] | None = None
        self.ready = False

    async def start(self) -> None:
        """Begin health checks; an unreachable server is no error, since it may come up later."""
        if self._looking is None:
            self.ready = await self._client.health(self._rules.answer)
            self._looking = asyncio.create_task(self._look())

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking
        self.ready = False
        await self._client.close()

    async def client(self) -> Client:
        return self._client

    def completion(self, request: dict[str, Any]) -> AsyncIterator[Piece]:
        return self._client.completion(request)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._rules.poll)
            self.ready = await self._client.health(self._rules.answer)


def _died() -> RightseatError:
    return EngineDied("The local model's process died while it answered: try again.", retry_after=1)

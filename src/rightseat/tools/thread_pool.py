"""ToolThreadRunner: OS threads for tools written as plain `def`.

A thread cannot be stopped. When its call times out or is cancelled, it is abandoned and counted; beyond a
limit new calls are refused, so a hanging tool blocks a bounded number of threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from rightseat.errors import RightseatError

MAX_ABANDONED = 16


class ToolThreadsExhausted(RightseatError):
    code = "threads_exhausted"


class ToolThreadRunner:
    def __init__(self, limit: int = MAX_ABANDONED) -> None:
        self.limit = limit
        self.abandoned = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """Return the value of `work()`, run in a thread of its own."""
        if self.abandoned >= self.limit:
            raise ToolThreadsExhausted(
                f"{self.abandoned} earlier tool calls never came back. Give that tool a timeout of its own "
                "inside, or mark it @tool(isolate=True) so that it can be killed."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def target() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = context.run(work)
            except BaseException as caught:  # raised again in the caller's task
                error = caught
            # The loop is closed: nobody waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.settle, future, value, error)

        # Daemon: an abandoned thread must not block the exit of the process.
        threading.Thread(target=target, name="rightseat-tool", daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            # A finished thread is not counted: nothing would decrement the counter.
            if future.cancelled():
                self.abandoned += 1
            raise

    def settle(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        if future.done():
            self.abandoned -= 1
        elif error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration | SystemExit | KeyboardInterrupt):
            # A Future refuses StopIteration; the others would end the server.
            future.set_exception(RuntimeError(f"the tool raised {type(error).__name__}"))
        else:
            future.set_exception(error)

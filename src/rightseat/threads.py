"""Threads for tools written as plain `def`.

A thread cannot be stopped. When its call times out or is cancelled it is abandoned and counted; beyond a
limit new calls are refused, so that a tool that hangs takes a bounded number of threads with it.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from rightseat.errors import RightseatError

MAX_ABANDONED = 16


class ThreadsExhausted(RightseatError):
    code = "threads_exhausted"


class Threads:
    def __init__(self, limit: int = MAX_ABANDONED) -> None:
        self.limit = limit
        self.abandoned = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """The value of `work()`, from a thread of its own."""
        if self.abandoned >= self.limit:
            raise ThreadsExhausted(
                f"{self.abandoned} earlier tool calls never came back. Give that tool a timeout of its own "
                "inside, or mark it @tool(isolate=True) so that it can be killed."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def body() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = context.run(work)
            except BaseException as caught:  # the caller's task raises it, whatever it is
                error = caught
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:
                return  # the loop is gone, and with it everyone who waited

        def settle(value: Any, error: BaseException | None) -> None:
            if future.done():
                self.abandoned -= 1
            elif error is None:
                future.set_result(value)
            elif isinstance(error, StopIteration):
                # A Future refuses StopIteration, and the waiter would wait for ever.
                future.set_exception(RuntimeError("the tool raised StopIteration"))
            else:
                future.set_exception(error)

        # A daemon: an abandoned thread must not keep the process from leaving.
        threading.Thread(target=body, name="rightseat-tool", daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            self.abandoned += 1
            raise

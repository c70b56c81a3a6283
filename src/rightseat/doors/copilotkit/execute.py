"""Execute any valid document by graphql-core: one task follows the run and fills the lists, one executes the
document.

The first waits while a frame is being sent, so a slow client slows the upstream. When a client leaves, the
run is cancelled and the response finished; the execution then ends by itself, because a cancelled one leaves
coroutines that are never awaited.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
from graphql import (
    ExecutionResult,
    ExperimentalIncrementalExecutionResults,
    experimental_execute_incrementally,
)

from rightseat.doors.copilotkit.board import Board
from rightseat.doors.copilotkit.bridge import Bridge, ours, shown, status_of
from rightseat.doors.copilotkit.document import Prepared
from rightseat.doors.copilotkit.failures import unfit
from rightseat.doors.copilotkit.framing import Framing
from rightseat.doors.copilotkit.read import read
from rightseat.doors.copilotkit.schema import schema
from rightseat.doors.copilotkit.story import Story
from rightseat.doors.copilotkit.variables import converted
from rightseat.errors import CallerError
from rightseat.http.endpoint import Host, Request, piece
from rightseat.http.reply import Head, Reply
from rightseat.types.events import RunFailed
from rightseat.types.streams import closing

log = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode
TOO_LONG = RunFailed("too_large", "The answer is too long for a document of this form.", 502, "upstream")
GONE = RunFailed("internal", "The run was ended.")


class Room:
    """GraphQL context of one request: its run and the task that follows it."""

    def __init__(self, request: Request, host: Host, *, asks: bool) -> None:
        self.request = request
        self.host = host
        self.asks = asks
        self.most = request.graphql.max_answer_mb * 1_000_000
        """Characters of one answer at most: all are kept in memory until the end."""
        self.open = asyncio.Event()
        self.open.set()
        self.task: asyncio.Task[None] | None = None

    def begin(self, data: dict[str, Any], properties: dict[str, Any] | None) -> dict[str, Any]:
        if self.task is not None:
            raise CallerError("One generateCopilotResponse in a request, not more.")
        asked = read(converted(data), properties, self.request, self.host, asks=self.asks)
        board = Board(asked)
        story = Story(asked, board)
        self.task = asyncio.create_task(self.follow(board, story))
        # Readers must not wait for more, however the task ends.
        self.task.add_done_callback(lambda _: None if board.over else story.write(GONE))
        return board.root

    async def follow(self, board: Board, story: Story) -> None:
        async with closing(self.host.run(story.asked.turn)) as events:
            async for event in events:
                story.write(event)
                if board.size > self.most and not board.over:
                    story.write(TOO_LONG)
                    return
                await self.open.wait()

    async def close(self) -> None:
        if self.task is not None:
            self.open.set()
            self.task.cancel()
            await asyncio.wait([self.task])


class Execution:
    """A running execution, and the queue (of one) of reply parts to send."""

    def __init__(self, prepared: Prepared, room: Room, framing: Framing | None) -> None:
        self.prepared = prepared
        self.room = room
        self.framing = framing
        self.parts: asyncio.Queue[Head | bytes | None] = asyncio.Queue(1)
        self.left = False

    async def run(self, variables: dict[str, Any] | None, kind: bytes, refused: int) -> None:
        try:
            result = experimental_execute_incrementally(
                schema(),
                self.prepared.document,
                context_value=self.room,
                variable_values=variables,
                operation_name=self.prepared.name,
                max_coercion_errors=5,
            )
            if inspect.isawaitable(result):
                result = await result
            if isinstance(result, ExperimentalIncrementalExecutionResults):
                await self.stream(result)
            else:
                await self.whole(result, kind, refused)
        finally:
            await self.put(None)

    async def put(self, part: Head | bytes | None) -> None:
        if not self.left:
            await self.parts.put(part)

    def leave(self) -> None:
        """Drop queued parts: the client has left."""
        self.left = True
        while not self.parts.empty():
            self.parts.get_nowait()

    async def whole(self, result: ExecutionResult, kind: bytes, refused: int) -> None:
        status = refused if of_request(result) else 200
        if result.errors:
            self.room.request.count(max(map(status_of, result.errors)))
        framing = self.framing
        if framing is None or result.errors:
            told = body(result)
            await self.put(piece(status, encode(told if status == 200 else unfit(told["errors"])), kind=kind))
            return
        frame = framing.frame(encode({"data": result.data, "hasNext": False}))
        await self.put(framing.head)
        await self.put(framing.begin + frame + framing.end)

    async def stream(self, result: ExperimentalIncrementalExecutionResults) -> None:
        framing, bridge = self.framing, Bridge()
        assert framing is not None, "only what is incremental is streamed"
        inner: AsyncGenerator[Any, None] | None = None
        async with closing(result.subsequent_results) as results:
            await self.put(framing.head)
            await self.put(framing.begin + framing.frame(encode(bridge.first(result.initial_result))))
            async for payload in results:
                inner = inner or source(result.subsequent_results)
                frame = framing.frame(encode(bridge.next(payload)))
                await self.put(frame if payload.has_next else frame + framing.end)
        if inner is not None:
            await inner.aclose()


def source(results: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None] | None:
    """Return the inner generator that graphql-core 3.3 does not close."""
    frame = getattr(results, "ag_frame", None)
    return frame.f_locals.get("events") if frame else None


async def executed(
    execution: Execution, variables: dict[str, Any] | None, kind: bytes, refused: int
) -> Reply:
    """Stream an execution's reply. `content_type` is for a single JSON reply, `invalid_status` for bad
    variables."""
    room = execution.room
    task = asyncio.create_task(execution.run(variables, kind, refused))
    try:
        while (part := await execution.parts.get()) is not None:
            room.open.clear()
            yield part
            room.open.set()
    finally:
        execution.leave()
        await room.close()
        await asyncio.wait([task])
    task.result()


def of_request(result: ExecutionResult) -> bool:
    """Whether nothing was executed, so that the request itself is wrong."""
    return result.data is None and all(error.path is None for error in result.errors or ())


def body(result: ExecutionResult) -> dict[str, Any]:
    for error in result.errors or ():
        if ours(error):
            log.error("a resolver failed", exc_info=error.original_error)
    errors = {"errors": [shown(error) for error in result.errors]} if result.errors else {}
    return {**errors, "data": result.data}

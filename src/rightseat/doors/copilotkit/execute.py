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

from rightseat.doors.copilotkit.board import IncrementalLists
from rightseat.doors.copilotkit.bridge import (
    IncrementalResultAdapter,
    format_graphql_error,
    get_http_status,
    is_server_fault,
)
from rightseat.doors.copilotkit.document import PreparedDocument
from rightseat.doors.copilotkit.failures import make_invalid_request_body
from rightseat.doors.copilotkit.framing import StreamFraming
from rightseat.doors.copilotkit.read import read_request
from rightseat.doors.copilotkit.schema import get_schema
from rightseat.doors.copilotkit.story import ResponseBuilder
from rightseat.doors.copilotkit.variables import convert_input
from rightseat.errors import CallerError
from rightseat.http.endpoint import Host, Request, make_full_response
from rightseat.http.reply import Reply, ResponseStart
from rightseat.types.events import RunFailed
from rightseat.types.streams import closing

log = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode
ANSWER_TOO_LONG = RunFailed(
    "too_large", "The answer is too long for a document of this form.", 502, "upstream"
)
RUN_ENDED = RunFailed("internal", "The run was ended.")


class ExecutionContext:
    """GraphQL context of one request: its run and the task that follows it."""

    def __init__(self, request: Request, host: Host, *, supports_interrupts: bool) -> None:
        self.request = request
        self.host = host
        self.supports_interrupts = supports_interrupts
        self.max_characters = request.graphql.max_answer_mb * 1_000_000
        """Characters of one answer at most: all are kept in memory until the end."""
        self.sent = asyncio.Event()
        self.sent.set()
        self.task: asyncio.Task[None] | None = None

    def begin_run(self, data: dict[str, Any], properties: dict[str, Any] | None) -> dict[str, Any]:
        if self.task is not None:
            raise CallerError("One generateCopilotResponse in a request, not more.")
        copilot_request = read_request(
            convert_input(data),
            properties,
            self.request,
            self.host,
            supports_interrupts=self.supports_interrupts,
        )
        lists = IncrementalLists(copilot_request)
        builder = ResponseBuilder(copilot_request, lists)
        self.task = asyncio.create_task(self.follow_run(lists, builder))
        # Readers must not wait for more, however the task ends.
        self.task.add_done_callback(lambda _: None if lists.finished else builder.add_event(RUN_ENDED))
        return lists.root_value

    async def follow_run(self, lists: IncrementalLists, builder: ResponseBuilder) -> None:
        async with closing(self.host.run(builder.request.turn)) as events:
            async for event in events:
                builder.add_event(event)
                if lists.size > self.max_characters and not lists.finished:
                    builder.add_event(ANSWER_TOO_LONG)
                    return
                await self.sent.wait()

    async def close(self) -> None:
        if self.task is not None:
            self.sent.set()
            self.task.cancel()
            await asyncio.wait([self.task])


class DocumentExecution:
    """A running execution, and the queue (of one) of reply parts to send."""

    def __init__(
        self, prepared: PreparedDocument, context: ExecutionContext, framing: StreamFraming | None
    ) -> None:
        self.prepared = prepared
        self.context = context
        self.framing = framing
        self.parts: asyncio.Queue[ResponseStart | bytes | None] = asyncio.Queue(1)
        self.abandoned = False

    async def run(self, variables: dict[str, Any] | None, content_type: bytes, invalid_status: int) -> None:
        try:
            result = experimental_execute_incrementally(
                get_schema(),
                self.prepared.document,
                context_value=self.context,
                variable_values=variables,
                operation_name=self.prepared.name,
                max_coercion_errors=5,
            )
            if inspect.isawaitable(result):
                result = await result
            if isinstance(result, ExperimentalIncrementalExecutionResults):
                await self.stream_results(result)
            else:
                await self.send_result(result, content_type, invalid_status)
        finally:
            await self.send_part(None)

    async def send_part(self, part: ResponseStart | bytes | None) -> None:
        if not self.abandoned:
            await self.parts.put(part)

    def abandon(self) -> None:
        """Drop queued parts: the client has left."""
        self.abandoned = True
        while not self.parts.empty():
            self.parts.get_nowait()

    async def send_result(self, result: ExecutionResult, content_type: bytes, invalid_status: int) -> None:
        status = invalid_status if is_request_error(result) else 200
        if result.errors:
            self.context.request.count(max(map(get_http_status, result.errors)))
        framing = self.framing
        if framing is None or result.errors:
            formatted = format_result(result)
            await self.send_part(
                make_full_response(
                    status,
                    encode(formatted if status == 200 else make_invalid_request_body(formatted["errors"])),
                    content_type=content_type,
                )
            )
            return
        frame = framing.encode_frame(encode({"data": result.data, "hasNext": False}))
        await self.send_part(framing.head)
        await self.send_part(framing.opening + frame + framing.closing)

    async def stream_results(self, result: ExperimentalIncrementalExecutionResults) -> None:
        framing, adapter = self.framing, IncrementalResultAdapter()
        assert framing is not None, "only what is incremental is streamed"
        inner: AsyncGenerator[Any, None] | None = None
        async with closing(result.subsequent_results) as results:
            await self.send_part(framing.head)
            await self.send_part(
                framing.opening + framing.encode_frame(encode(adapter.adapt_initial(result.initial_result)))
            )
            async for payload in results:
                inner = inner or find_inner_generator(result.subsequent_results)
                frame = framing.encode_frame(encode(adapter.adapt_subsequent(payload)))
                await self.send_part(frame if payload.has_next else frame + framing.closing)
        if inner is not None:
            await inner.aclose()


def find_inner_generator(results: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None] | None:
    """Return the inner generator that graphql-core 3.3 does not close."""
    frame = getattr(results, "ag_frame", None)
    return frame.f_locals.get("events") if frame else None


async def stream_execution(
    execution: DocumentExecution, variables: dict[str, Any] | None, content_type: bytes, invalid_status: int
) -> Reply:
    """Stream an execution's reply. `content_type` is for a single JSON reply, `invalid_status` for bad
    variables."""
    context = execution.context
    task = asyncio.create_task(execution.run(variables, content_type, invalid_status))
    try:
        while (part := await execution.parts.get()) is not None:
            context.sent.clear()
            yield part
            context.sent.set()
    finally:
        execution.abandon()
        await context.close()
        await asyncio.wait([task])
    task.result()


def is_request_error(result: ExecutionResult) -> bool:
    """Whether nothing was executed, so that the request itself is wrong."""
    return result.data is None and all(error.path is None for error in result.errors or ())


def format_result(result: ExecutionResult) -> dict[str, Any]:
    for error in result.errors or ():
        if is_server_fault(error):
            log.error("a resolver failed", exc_info=error.original_error)
    errors = {"errors": [format_graphql_error(error) for error in result.errors]} if result.errors else {}
    return {**errors, "data": result.data}

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
from typing import Any, Self

import msgspec
from graphql import (
    ExecutionResult,
    ExperimentalIncrementalExecutionResults,
    GraphQLError,
    experimental_execute_incrementally,
)
from graphql.execution import InitialIncrementalExecutionResult, SubsequentIncrementalExecutionResult

from rightseat.doors.copilotkit.document import PreparedDocument, convert_input
from rightseat.doors.copilotkit.failures import make_invalid_request_body
from rightseat.doors.copilotkit.framing import StreamFraming
from rightseat.doors.copilotkit.plan import STREAMED_FIELDS
from rightseat.doors.copilotkit.read import CopilotKitRequest, read_request
from rightseat.doors.copilotkit.response import ResponseBuilder, Status
from rightseat.doors.copilotkit.schema import get_schema
from rightseat.errors import CallerError, RightseatError
from rightseat.http.endpoint import Host, Request, make_full_response
from rightseat.http.reply import Reply, ResponseStart
from rightseat.types.events import RunFailed
from rightseat.types.streams import closing


class GrowingList:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.closed = False
        self.changed = asyncio.Event()

    def append(self, item: Any) -> None:
        self.items.append(item)
        self.notify_readers()

    def close(self) -> None:
        self.closed = True
        self.notify_readers()

    def notify_readers(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def make_reader(self, info: object = None) -> GrowingListReader:
        return GrowingListReader(self)


class GrowingListReader:
    """Iterator of a GrowingList. Not a generator: graphql-core may drop it anywhere, and nothing needs
    closing."""

    def __init__(self, items: GrowingList) -> None:
        self.source = items
        self.index = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while self.index >= len(self.source.items):
            if self.source.closed:
                raise StopAsyncIteration
            await self.source.changed.wait()
        self.index += 1
        return self.source.items[self.index - 1]


class IncrementalLists:
    def __init__(self, request: CopilotKitRequest) -> None:
        self.request = request
        self.size = 0
        self.finished = False
        self.messages = GrowingList()
        self.meta_events = GrowingList()
        self.chunks: dict[int, GrowingList] = {}
        self.statuses: dict[int, asyncio.Future[Status]] = {}
        self.response_status: asyncio.Future[Status] = asyncio.get_running_loop().create_future()

    @property
    def root_value(self) -> dict[str, Any]:
        return {
            "__typename": "CopilotResponse",
            "threadId": self.request.turn.thread,
            "runId": self.request.run,
            "extensions": None,
            "status": self.response_status,
            "messages": self.messages.make_reader,
            "metaEvents": self.meta_events.make_reader,
        }

    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        number = len(self.messages.items)
        status = self.statuses[number] = asyncio.get_running_loop().create_future()
        item = {**fields, "__typename": kind, "status": status}
        if field := STREAMED_FIELDS.get(kind):
            log = self.chunks[number] = GrowingList()
            item[field] = log.make_reader
        self.size += len(fields.get("result", "")) + len(fields.get("state", ""))
        self.messages.append(item)
        return number

    def add_chunk(self, number: int, text: str) -> None:
        self.size += len(text)
        self.chunks[number].append(text)

    def set_status(self, number: int, status: Status) -> None:
        self.statuses.pop(number).set_result(status)
        if number in self.chunks:
            self.chunks.pop(number).close()

    def add_meta_event(self, fields: dict[str, Any]) -> None:
        self.meta_events.append(fields)

    def finish(self, status: Status) -> None:
        self.finished = True
        self.messages.close()
        self.meta_events.close()
        self.response_status.set_result(status)


ResultPath = list[str | int]
MAX_MESSAGE = 500
INTERNAL_ERROR_MESSAGE = "Something went wrong in the server. Its log has the details."


class IncrementalResultAdapter:
    def __init__(self) -> None:
        self.paths: dict[str, ResultPath] = {}
        self.counts: dict[str, int] = {}

    def adapt_initial(self, result: InitialIncrementalExecutionResult) -> dict[str, Any]:
        self.track_pending(result.pending, [([], result.data)])
        payload: dict[str, Any] = {"data": result.data}
        if result.errors:
            payload["errors"] = [format_graphql_error(error) for error in result.errors]
        return {**payload, "hasNext": True}

    def adapt_subsequent(self, result: SubsequentIncrementalExecutionResult) -> dict[str, Any]:
        entries: list[dict[str, Any]] = []
        values: list[tuple[ResultPath, Any]] = []
        for item in result.incremental or ():
            entry, value = self.adapt_item(item)
            entries.append(entry)
            values.append(value)
        self.track_pending(result.pending, values)
        for done in result.completed or ():
            path = self.paths.pop(done.id)
            self.counts.pop(done.id, None)
            if done.errors:
                entries.append({"data": None, "path": path, "errors": [format_graphql_error(e) for e in done.errors]})
        return {**({"incremental": entries} if entries else {}), "hasNext": result.has_next}

    def adapt_item(self, item: Any) -> tuple[dict[str, Any], tuple[ResultPath, Any]]:
        """Return an increment as it is sent, and the path and value of its data."""
        path = self.paths[item.id]
        errors = {"errors": [format_graphql_error(error) for error in item.errors]} if item.errors else {}
        if hasattr(item, "items"):
            start = self.counts[item.id]
            self.counts[item.id] += len(item.items)
            items = dict(zip(range(start, start + len(item.items)), item.items, strict=True))
            return {"items": item.items, "path": [*path, start], **errors}, (path, items)
        path = [*path, *(item.sub_path or ())]
        return {"data": item.data, "path": path, **errors}, (path, item.data)

    def track_pending(self, pending: Any, values: list[tuple[ResultPath, Any]]) -> None:
        """Record the paths of pending results, and the current length of pending lists."""
        for pending_result in pending or ():
            self.paths[pending_result.id] = list(pending_result.path)
            self.counts[pending_result.id] = 0
            for path, value in values:
                if pending_result.path[: len(path)] == path:
                    list_value = get_at_path(value, pending_result.path[len(path) :])
                    self.counts[pending_result.id] = (
                        len(list_value) if isinstance(list_value, list) else self.counts[pending_result.id]
                    )


def get_at_path(value: Any, path: ResultPath) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def format_graphql_error(error: GraphQLError) -> dict[str, Any]:
    """Format an error for the client, without details of server faults."""
    formatted: dict[str, Any] = dict(error.formatted)
    # The message may quote a long input value.
    formatted["message"] = INTERNAL_ERROR_MESSAGE if is_server_fault(error) else error.message[:MAX_MESSAGE]
    return formatted


def is_server_fault(error: GraphQLError) -> bool:
    """Whether the error is an unexpected exception, not a GraphQLError of a resolver or of graphql-core."""
    return not isinstance(error.original_error, GraphQLError | None) and not error.extensions


def get_http_status(error: GraphQLError) -> int:
    """Return the HTTP status that corresponds to the error, for the access log."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error or cause.__cause__
    if isinstance(cause, RightseatError):
        return cause.status
    return 500 if is_server_fault(error) else 400


log = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode

ANSWER_TOO_LONG = RunFailed("too_large", "The answer is too long for a document of this form.", 502, "upstream")

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
            convert_input(data), properties, self.request, self.host, supports_interrupts=self.supports_interrupts
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

    def __init__(self, prepared: PreparedDocument, context: ExecutionContext, framing: StreamFraming | None) -> None:
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

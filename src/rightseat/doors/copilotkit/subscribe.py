"""Answer subscriptions over server-sent events, as graphql-sse does in its distinct connections mode: one POST is one
operation, each event `next` has a result, and `complete` ends it. graphql-core executes every event."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
from graphql import ExecutionResult, subscribe

from rightseat.doors.copilotkit.execute import (
    ANSWER_TOO_LONG,
    ResponseCollector,
    RootResolvers,
    call_graphql,
    format_graphql_error,
    get_http_status,
)
from rightseat.doors.copilotkit.framing import StreamFraming
from rightseat.doors.copilotkit.graphql_document import PreparedDocument
from rightseat.doors.copilotkit.query_plan import ROOT
from rightseat.doors.copilotkit.read import CopilotKitRequest
from rightseat.doors.copilotkit.response import ResponseBuilder, Status
from rightseat.doors.copilotkit.runtime_events import RuntimeEvent, RuntimeEventWriter, format_event
from rightseat.errors import CallerError
from rightseat.http.endpoint import Host
from rightseat.http.reply import Reply
from rightseat.types.events import RunFailed
from rightseat.types.streams import closing
from rightseat.types.workers import run_sized

encode = msgspec.json.Encoder().encode
STARTED, FINISHED = "CopilotResponseStarted", "CopilotResponseFinished"


class CollectingEventWriter(RuntimeEventWriter):
    """A RuntimeEventWriter that also collects the response, with its messages only where `keeps_messages`."""

    def __init__(self, request: CopilotKitRequest, *, keeps_messages: bool) -> None:
        super().__init__()
        self.collector = ResponseCollector(request)
        self.keeps_messages = keeps_messages

    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        if self.keeps_messages:
            self.collector.add_message(kind, fields)
        return super().add_message(kind, fields)

    def add_chunk(self, number: int, text: str) -> None:
        if self.keeps_messages:
            self.collector.add_chunk(number, text)
        super().add_chunk(number, text)

    def set_status(self, number: int, status: Status) -> None:
        if self.keeps_messages:
            self.collector.set_status(number, status)
        super().set_status(number, status)

    def add_meta_event(self, fields: dict[str, Any]) -> None:
        self.collector.add_meta_event(fields)
        super().add_meta_event(fields)

    def set_extensions(self, values: dict[str, Any]) -> None:
        self.collector.set_extensions(values)

    def finish(self, status: Status) -> None:
        self.collector.finish(status)
        super().finish(status)


async def stream_runtime_events(
    request: CopilotKitRequest, host: Host, writer: RuntimeEventWriter, max_size: float = float("inf")
) -> AsyncIterator[RuntimeEvent]:
    """Run a request and yield its runtime events, until it ends or a collected answer has more than `max_size`."""
    builder = ResponseBuilder(request, writer)
    async with closing(host.run(request.turn)) as events:
        async for event in events:
            if isinstance(event, RunFailed):
                writer.failure = event
            builder.add_event(event)
            for runtime_event in writer.take_events():
                yield runtime_event
            is_too_long = isinstance(writer, CollectingEventWriter) and writer.collector.size > max_size
            if is_too_long and writer.status is None:
                builder.add_event(ANSWER_TOO_LONG)
                break
    for runtime_event in writer.take_events():
        yield runtime_event


class SubscriptionResolvers:
    """Resolvers of the fields of Subscription for one request; each returns the stream of its values."""

    def __init__(self, resolvers: RootResolvers, prepared: PreparedDocument) -> None:
        self.resolvers = resolvers
        self.prepared = prepared
        self.extensions: dict[str, Any] = {}
        self.root_value: dict[str, Any] = {"hello": self.greet, ROOT: self.start_response}

    async def greet(self, info: object) -> AsyncIterator[dict[str, Any]]:
        yield {"hello": "Hello World"}

    async def start_response(
        self, info: object, data: dict[str, Any], properties: Any = None
    ) -> AsyncIterator[dict[str, Any]]:
        """Read the request, so that an error of it is the only result; return the stream of events."""
        if not isinstance(properties, dict | None):
            raise CallerError("properties: expected an object.", param="properties")
        size = len(self.resolvers.request.body)
        return self.stream_response(await run_sized(size, self.resolvers.read_data, data, properties))

    async def stream_response(self, request: CopilotKitRequest) -> AsyncIterator[dict[str, Any]]:
        writer = CollectingEventWriter(request, keeps_messages=self.prepared.selects_messages)
        first = {"__typename": STARTED, "type": STARTED, "threadId": request.turn.thread, "runId": request.run}
        yield {ROOT: first}
        max_size = self.resolvers.request.graphql.max_answer_mb * 1_000_000
        async with closing(stream_runtime_events(request, self.resolvers.host, writer, max_size)) as events:
            async for event in events:
                yield {ROOT: format_event(event)}
        self.extensions = writer.extensions
        yield {ROOT: {"__typename": FINISHED, "type": FINISHED, "response": writer.collector.response}}


async def stream_subscription(
    prepared: PreparedDocument, root_resolvers: RootResolvers, variables: dict[str, Any] | None, framing: StreamFraming
) -> Reply:
    """Execute a subscription; errors of the request are the only event."""
    resolvers = SubscriptionResolvers(root_resolvers, prepared)
    size = len(root_resolvers.request.body)
    result = await call_graphql(subscribe, prepared, variables, resolvers.root_value, size)
    yield framing.head
    yield framing.opening
    if isinstance(result, ExecutionResult):
        root_resolvers.request.count(max(map(get_http_status, result.errors or ()), default=400))
        yield framing.encode_frame(encode_result(result, {}))
    else:
        async with closing(result) as results:
            async for item in results:
                yield framing.encode_frame(encode_result(item, resolvers.extensions))
    yield framing.closing


def encode_result(result: ExecutionResult, extensions: dict[str, Any]) -> bytes:
    errors = {"errors": [format_graphql_error(error) for error in result.errors]} if result.errors else {}
    return encode({**errors, "data": result.data, **({"extensions": extensions} if extensions else {})})

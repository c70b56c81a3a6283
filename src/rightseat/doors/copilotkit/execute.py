"""Execute a document without a ResponsePlan: graphql-core answers it in one piece, from the finished run."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any

import msgspec
from graphql import ExecutionResult, GraphQLError, experimental_execute_incrementally

from rightseat.doors.copilotkit.failures import make_extensions, make_invalid_request_body
from rightseat.doors.copilotkit.framing import StreamFraming
from rightseat.doors.copilotkit.graphql_document import PreparedDocument, convert_input, get_schema
from rightseat.doors.copilotkit.query_plan import ROOT, STREAMED_FIELDS
from rightseat.doors.copilotkit.read import CopilotKitRequest, describe_agent, make_agent_not_found, read_request
from rightseat.doors.copilotkit.response import ResponseBuilder, Status, format_extensions
from rightseat.doors.copilotkit.threads import make_agent_state_response
from rightseat.errors import INTERNAL_ERROR, CallerError, RightseatError, make_internal_error
from rightseat.http.endpoint import Host, Request, make_full_response
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.events import RunFailed
from rightseat.types.streams import closing
from rightseat.types.workers import run_sized

log = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode

MAX_MESSAGE = 500
ANSWER_TOO_LONG = RunFailed("too_large", "The answer is too long for a document of this form.", 502, "upstream")


class ResponseCollector:
    """A ResponseSink that collects the whole `response`, as graphql-core resolves its fields."""

    def __init__(self, request: CopilotKitRequest) -> None:
        self.size = 0
        self.messages: list[dict[str, Any]] = []
        self.meta_events: list[dict[str, Any]] = []
        self.extensions: dict[str, Any] = {}
        self.response: dict[str, Any] = {
            "threadId": request.turn.thread,
            "runId": request.run,
            "messages": self.messages,
            "metaEvents": self.meta_events,
        }

    @property
    def finished(self) -> bool:
        return "status" in self.response

    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        self.size += len(fields.get("result", "")) + len(fields.get("state", ""))
        self.messages.append({**fields, "__typename": kind, STREAMED_FIELDS.get(kind, ""): []})
        return len(self.messages) - 1

    def add_chunk(self, number: int, text: str) -> None:
        self.size += len(text)
        message = self.messages[number]
        message[STREAMED_FIELDS[message["__typename"]]].append(text)

    def set_status(self, number: int, status: Status) -> None:
        self.messages[number]["status"] = status

    def add_meta_event(self, fields: dict[str, Any]) -> None:
        self.meta_events.append(fields)

    def add_extension(self, name: str, value: Any) -> None:
        self.extensions[name] = value

    def set_extensions(self, values: dict[str, Any]) -> None:
        self.response["extensions"] = format_extensions(values)

    def finish(self, status: Status) -> None:
        self.response["status"] = status


class RootResolvers:
    """Resolvers of the fields of Query and Mutation for one request."""

    def __init__(self, request: Request, host: Host, supports_interrupts: bool) -> None:
        self.request = request
        self.host = host
        self.supports_interrupts = supports_interrupts
        self.has_run = False
        self.extensions: dict[str, Any] = {}
        self.root_value: dict[str, Any] = {
            "hello": "Hello World",
            "availableAgents": self.list_agents,
            "loadAgentState": self.load_agent_state,
            ROOT: self.generate_response,
        }

    def list_agents(self, info: object) -> dict[str, Any]:
        agents = ((name, describe_agent(name, self.host)) for name in self.host.responders)
        return {"agents": [{"id": name, "name": name, "description": description} for name, description in agents]}

    async def load_agent_state(self, info: object, data: dict[str, Any]) -> dict[str, Any]:
        name, thread = data["agentName"], data["threadId"]
        if name not in self.host.responders:
            raise make_agent_not_found(name, self.host)
        if len(thread) > 200:
            raise CallerError("data.threadId: at most 200 characters.", param="data.threadId")
        return await make_agent_state_response(self.request.owner, thread, name, self.host)

    async def generate_response(self, info: object, data: dict[str, Any], properties: Any = None) -> dict[str, Any]:
        """Run the turn to its end, or until the answer has more than `max_answer_mb`; return the response."""
        if not isinstance(properties, dict | None):
            raise CallerError("properties: expected an object.", param="properties")
        if self.has_run:
            raise CallerError("One generateCopilotResponse in a request, not more.")
        self.has_run = True
        copilot_request = await run_sized(len(self.request.body), self.read_data, data, properties)
        collector = ResponseCollector(copilot_request)
        builder = ResponseBuilder(copilot_request, collector)
        async with closing(self.host.run(copilot_request.turn)) as events:
            async for event in events:
                builder.add_event(event)
                if collector.size > self.request.graphql.max_answer_mb * 1_000_000 and not collector.finished:
                    builder.add_event(ANSWER_TOO_LONG)
                    break
        self.extensions = collector.extensions
        return collector.response

    def read_data(self, data: dict[str, Any], properties: Any) -> CopilotKitRequest:
        return read_request(convert_input(data), properties, self.request, self.host, self.supports_interrupts)


async def call_graphql(
    run: Callable[..., Any], prepared: PreparedDocument, variables: dict[str, Any] | None, root_value: Any, size: int
) -> Any:
    """Call a function of graphql-core that executes documents. It coerces the variables and runs nothing that waits:
    what waits, the awaitable does in this loop."""
    result = await run_sized(
        size,
        run,
        get_schema(),
        prepared.document,
        root_value=root_value,
        variable_values=variables,
        operation_name=prepared.name,
        max_coercion_errors=5,
    )
    return await result if inspect.isawaitable(result) else result


async def execute_document(
    prepared: PreparedDocument,
    resolvers: RootResolvers,
    variables: dict[str, Any] | None,
    framing: StreamFraming | None,
    content_type: bytes,
    invalid_status: int,
) -> Reply:
    """Execute a document; reply with JSON, or with one frame where only a stream is accepted. `invalid_status`
    is for bad variables."""
    # graphql-core's `execute` refuses every schema that has @defer and @stream.
    run, size = experimental_execute_incrementally, len(resolvers.request.body)
    result = await call_graphql(run, prepared, variables, resolvers.root_value, size)
    assert isinstance(result, ExecutionResult), "the document has no @defer and no @stream"
    extensions = {"extensions": resolvers.extensions} if resolvers.extensions else {}
    if framing is not None and not result.errors:
        yield framing.head
        frame = framing.encode_frame(encode({"data": result.data, **extensions, "hasNext": False}))
        yield framing.opening + frame + framing.closing
        return
    if result.errors:
        resolvers.request.count(max(map(get_http_status, result.errors)))
    errors = [format_graphql_error(error) for error in result.errors or ()]
    # Without data and paths nothing was executed: the request itself is wrong.
    is_request_error = result.data is None and all(error.path is None for error in result.errors or ())
    status = invalid_status if is_request_error else 200
    body = {**({"errors": errors} if errors else {}), "data": result.data, **extensions}
    yield make_full_response(
        status, encode(body if status == 200 else make_invalid_request_body(errors)), content_type=content_type
    )


def format_graphql_error(error: GraphQLError) -> dict[str, Any]:
    """Format an error for the client. The details of a server fault are only logged."""
    cause = error.original_error
    report_refusal(to_rightseat_error(error))
    if isinstance(cause, RightseatError):
        return {**error.formatted, "message": cause.message[:MAX_MESSAGE], "extensions": make_extensions(cause)}
    if is_server_fault(error):
        log.error("a resolver failed", exc_info=cause)
        return {**error.formatted, "message": INTERNAL_ERROR.message}
    # The message may quote a long input value.
    return {**error.formatted, "message": error.message[:MAX_MESSAGE]}


def to_rightseat_error(error: GraphQLError) -> RightseatError:
    cause = error.original_error
    if isinstance(cause, RightseatError):
        return cause
    if is_server_fault(error) and isinstance(cause, Exception):
        return make_internal_error(cause)
    return CallerError(error.message[:MAX_MESSAGE])


def is_server_fault(error: GraphQLError) -> bool:
    """Whether the error is an unexpected exception, not an error of ours or of graphql-core."""
    return not isinstance(error.original_error, GraphQLError | RightseatError | None)


def get_http_status(error: GraphQLError) -> int:
    """Return the HTTP status that corresponds to the error, for the access log."""
    cause: BaseException | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error or cause.__cause__
    if isinstance(cause, RightseatError):
        return cause.status
    return 500 if is_server_fault(error) else 400

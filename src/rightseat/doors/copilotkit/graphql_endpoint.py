"""Answer GraphQL requests: documents of CopilotKit's clients are streamed by a ResponsePlan, any other is
executed by graphql-core over the finished run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rightseat.doors.copilotkit.failures import format_error, make_invalid_request_body
from rightseat.doors.copilotkit.framing import EVENT_STREAM, JSON_TYPE, AcceptedTypes, StreamFraming
from rightseat.doors.copilotkit.read import CopilotKitRequest, read_request
from rightseat.doors.copilotkit.response import ResponseBuilder
from rightseat.doors.copilotkit.wire import CopilotKitBody
from rightseat.errors import CallerError, MethodNotAllowed
from rightseat.http.endpoint import Host, Request, make_reply
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.events import TextDelta
from rightseat.types.streams import closing

if TYPE_CHECKING:
    from rightseat.doors.copilotkit.graphql_document import PreparedDocument
    from rightseat.doors.copilotkit.query_plan import ResponsePlan

encode = msgspec.json.Encoder().encode
CLIENT_HEADER = "x-copilotkit-runtime-client-gql-version"
UTF8 = b"; charset=utf-8"


def answer_request(body: CopilotKitBody, request: Request, host: Host) -> Reply:
    # Imported here: graphql-core is large, and only clients up to 1.10 need it.
    from rightseat.doors.copilotkit.graphql_document import InvalidDocument, prepare_document

    accepted = AcceptedTypes(request.headers.get("accept"))
    # The status for an invalid document or variables: clients show a 400 only as "not found".
    invalid_status = 200 if CLIENT_HEADER in request.headers or accepted.json_type == JSON_TYPE else 400
    content_type = (accepted.json_type or JSON_TYPE).encode() + UTF8
    try:
        if not isinstance(body.query, str) or not body.query.strip():
            raise InvalidDocument([{"message": "Must provide query string."}])
        prepared = prepare_document(body.query, body.operation_name or None, request.introspection, request.graphql)
    except InvalidDocument as error:
        request.count(400)
        report_refusal(CallerError(error.errors[0]["message"], param="query"))
        if accepted.is_stream_only:
            return stream_errors(error.errors)
        return reply_errors(error.errors, invalid_status, content_type)
    if prepared.operation != "query" and request.method != "POST":
        raise MethodNotAllowed(f"Send a {prepared.operation} with POST.", allow="POST")
    try:
        framing = choose_framing(prepared, accepted)
    except NotAcceptable as error:
        report_refusal(CallerError(str(error), param="accept"))
        return reply_errors([{"message": str(error)}], 406, content_type)
    return start_execution(prepared, body, request, host, framing, content_type, invalid_status)


class NotAcceptable(Exception):
    """Raised where the client accepts no form that the document can be answered in."""


def choose_framing(prepared: PreparedDocument, accepted: AcceptedTypes) -> StreamFraming | None:
    """Return the framing of the answer; None for JSON in one piece."""
    if prepared.operation == "subscription":
        if not accepted.accepts(EVENT_STREAM):
            raise NotAcceptable("A subscription is answered as server-sent events: accept text/event-stream.")
        return StreamFraming("sse")
    if prepared.plan is None and accepted.json_type is not None:
        return None
    if accepted.stream_format is None:
        streamed = "This document streams its answer: accept multipart/mixed or text/event-stream."
        raise NotAcceptable("Accept application/json." if prepared.plan is None else streamed)
    return StreamFraming(accepted.stream_format)


async def stream_errors(entries: list[dict[str, Any]]) -> Reply:
    """Answer an invalid request as the only event, to a client that accepts nothing else."""
    framing = StreamFraming("sse")
    yield framing.head
    yield framing.opening + framing.encode_frame(encode({"errors": entries})) + framing.closing


def start_execution(
    prepared: PreparedDocument,
    body: CopilotKitBody,
    request: Request,
    host: Host,
    framing: StreamFraming | None,
    content_type: bytes,
    invalid_status: int,
) -> Reply:
    from rightseat.doors.copilotkit.execute import RootResolvers, execute_document
    from rightseat.doors.copilotkit.graphql_document import decode_named, decode_planned_input

    try:
        if prepared.plan is not None and framing is not None:
            data, properties = decode_planned_input(prepared.plan, body.variables)
            copilot_request = read_request(data, properties, request, host, prepared.selects_meta_events)
            return stream_planned(prepared.plan, copilot_request, host, framing)
        resolvers = RootResolvers(request, host, prepared.selects_meta_events)
        variables = decode_named(body.variables, "variables", dict[str, Any])
        if prepared.operation == "subscription" and framing is not None:
            from rightseat.doors.copilotkit.subscribe import stream_subscription

            return stream_subscription(prepared, resolvers, variables, framing)
        return execute_document(prepared, resolvers, variables, framing, content_type, invalid_status)
    except CallerError as error:
        request.count(error.status)
        report_refusal(error)
        return reply_errors([format_error(error, ["generateCopilotResponse"])], 200, content_type)


def reply_errors(entries: list[dict[str, Any]], status: int, content_type: bytes) -> Reply:
    body = {"errors": entries, "data": None} if status == 200 else make_invalid_request_body(entries)
    return make_reply(status, encode(body), content_type=content_type)


async def stream_planned(
    plan: ResponsePlan, copilot_request: CopilotKitRequest, host: Host, framing: StreamFraming
) -> Reply:
    from rightseat.doors.copilotkit.query_plan import PlannedResponseWriter

    writer = PlannedResponseWriter(plan, copilot_request, sized=framing.multipart)
    builder = ResponseBuilder(copilot_request, writer)
    frame, add_event, entries = framing.encode_frame, builder.add_event, writer.entries
    text_id, chunks = "", None
    yield framing.head
    yield framing.opening + frame(writer.encode_first())
    async with closing(host.run(copilot_request.turn)) as events:
        async for event in events:
            if type(event) is TextDelta:
                # Hot path: `add_event` and `take_frame` in one step.
                if event.id != text_id:
                    text_id = event.id
                    chunks = writer.chunks.get(builder.open_texts[text_id])
                if chunks is not None and event.text:
                    yield chunks.encode_next(encode(event.text))
                continue
            add_event(event)
            if writer.finished:
                yield frame(writer.take_frame()) + framing.closing
            elif entries:
                yield frame(writer.take_frame())

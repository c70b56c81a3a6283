"""Routes of llama-server: completions of raw text, infill, reranking, properties and slots of a local model."""

from __future__ import annotations

from collections.abc import Mapping

from rightseat.doors.llamacpp.read import LlamaRequest, read_completion, read_infill, read_name, read_rerank
from rightseat.doors.llamacpp.wire import InfillRequest, LlamaCompletionRequest, RerankRequest
from rightseat.doors.llamacpp.write import (
    encode,
    format_ranking,
    make_error_response,
    refuse,
    reply_completion,
    stream_completion,
)
from rightseat.errors import RightseatError, UpstreamOverloaded
from rightseat.http.endpoint import Door, Host, Probe, Request, Route, describe_error, make_full_response, make_reply
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.streams import merge_unless_single
from rightseat.types.text import decode_or_none


def create_completion(request: Request, host: Host) -> Reply:
    return run_turns(read_completion(request, host), host)


def create_infill(request: Request, host: Host) -> Reply:
    return run_turns(read_infill(request, host), host)


def run_turns(llama_request: LlamaRequest, host: Host) -> Reply:
    events = merge_unless_single(*(host.run(turn) for turn in llama_request.turns))
    reply = stream_completion if llama_request.stream else reply_completion
    return reply(events, llama_request)


def rerank_documents(request: Request, host: Host) -> Reply:
    name, body = read_rerank(request, host)
    return reply_ranking(request, host, name, body)


async def reply_ranking(request: Request, host: Host, name: str | None, body: RerankRequest) -> Reply:
    try:
        scores, usage = await host.rerank(name, body.query, body.documents or body.texts or [], request.owner)
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
        return
    yield make_full_response(200, encode(format_ranking(body, scores, usage)))


def get_props(request: Request, host: Host) -> Reply:
    return reply_props(host, *read_name(request, host))


async def reply_props(host: Host, name: str | None, alias: str) -> Reply:
    try:
        props = await host.get_engine_props(name)
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
        return
    yield make_full_response(200, encode(props | {"model_alias": alias}))


def list_slots(request: Request, host: Host) -> Reply:
    name, _ = read_name(request, host)
    return reply_slots(host, name, needs_idle="fail_on_no_slot" in request.query)


async def reply_slots(host: Host, name: str | None, *, needs_idle: bool) -> Reply:
    try:
        slots = await host.list_engine_slots(name)
        if needs_idle and all(slot.get("is_processing") for slot in slots):
            raise UpstreamOverloaded("All slots are busy: try later.")
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)
        return
    yield make_full_response(200, encode(slots))


def list_page_tools(request: Request, host: Host) -> Reply:
    """List llama-server's own tools for its page: none here, where tools belong to assistants and clients."""
    return make_reply(200, b"[]")


def list_streams(request: Request, host: Host) -> Reply:
    """List the unfinished answers that llama-server's page could read on: none, a closed stream is cancelled here."""
    return make_reply(200, b"[]")


def check_props(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    """Check the answer of /props, which is 501 where the default model is not local."""
    match status, decode_or_none(body):
        case (200, {"default_generation_settings": _}) | (501, {"error": {"type": "not_supported_error"}}):
            return None
        case _:
            return describe_error(status, body, "llama-server", "error", "message")


RERANK_PATHS = ("/rerank", "/v1/rerank", "/reranking", "/v1/reranking")

door = Door(
    name="llamacpp",
    routes=(
        Route(
            "POST",
            "/completion",
            create_completion,
            body_type=LlamaCompletionRequest,
            summary="Go on with a text as it is",
        ),
        Route("POST", "/infill", create_infill, body_type=InfillRequest, summary="Fill in a gap between two texts"),
        *(
            Route("POST", path, rerank_documents, body_type=RerankRequest, summary="Sort documents by relevance")
            for path in RERANK_PATHS
        ),
        Route("GET", "/props", get_props, summary="Properties of a local model's engine"),
        Route("GET", "/slots", list_slots, summary="State of a local model's slots"),
        Route("GET", "/tools", list_page_tools, summary="No tools of llama-server's own"),
        Route("POST", "/v1/streams/lookup", list_streams, summary="No streams to read on"),
    ),
    format_error=refuse,
    hint=lambda base: f"llama.cpp's clients and web page, for local models: {base}",
    probes=(Probe("properties", "GET", "/props", check_props),),
)

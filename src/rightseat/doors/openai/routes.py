"""Routes of the OpenAI API, and `/tokenize`, `/detokenize` and `/apply-template` of llama-server for local models."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from rightseat.doors.openai.messages import parse_messages
from rightseat.doors.openai.read import OpenAIRequest, read_chat, read_completion, read_embedding
from rightseat.doors.openai.settings import parse_chat_settings
from rightseat.doors.openai.speech import create_transcription
from rightseat.doors.openai.tools import parse_tools
from rightseat.doors.openai.wire import ChatRequest, CompletionRequest, EmbeddingRequest
from rightseat.doors.openai.write import encode, make_error_response, refuse, reply_completion, stream_completion
from rightseat.errors import CallerError, RightseatError
from rightseat.http.endpoint import (
    Door,
    Host,
    Probe,
    Request,
    Route,
    decode_body,
    describe_error,
    is_event_stream,
    make_full_response,
    make_reply,
)
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.model import Prompt
from rightseat.types.streams import merge_unless_single
from rightseat.types.text import decode_or_none

T = TypeVar("T")


class TokenizeRequest(Struct, kw_only=True):
    content: str
    model: str | None = None
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False


class DetokenizeRequest(Struct, kw_only=True):
    tokens: list[Annotated[int, Meta(ge=0, lt=2**31)]]
    model: str | None = None


def tokenize(request: Request, host: Host) -> Reply:
    body = decode_body(request.body, TokenizeRequest)
    name, special = host.resolve_responder(body.model), body.parse_special
    tokens = host.tokenize(name, body.content, add=body.add_special, special=special, pieces=body.with_pieces)
    return reply_result(tokens, lambda result: {"tokens": result})


def detokenize(request: Request, host: Host) -> Reply:
    body = decode_body(request.body, DetokenizeRequest)
    text = host.detokenize(host.resolve_responder(body.model), body.tokens)
    return reply_result(text, lambda result: {"content": result})


def apply_template(request: Request, host: Host) -> Reply:
    """Render the messages and tools of a request by a local model's chat template, without an assistant's own."""
    body = decode_body(request.body, ChatRequest)
    if not body.messages:
        raise CallerError("messages: there are none. Send at least one.", param="messages")
    settings = parse_chat_settings(body)
    prompt = Prompt(messages=parse_messages(body.messages), tools=parse_tools(body), settings=settings)
    rendered = host.render_prompt(host.resolve_responder(body.model), prompt)
    return reply_result(rendered, lambda result: {"prompt": result})


async def reply_result(result: Awaitable[T], make_body: Callable[[T], dict[str, Any]]) -> Reply:
    try:
        yield make_full_response(200, encode(make_body(await result)))
    except RightseatError as error:
        report_refusal(error)
        yield make_error_response(error)


PROBE_REQUEST = {"messages": [{"role": "user", "content": "Count from one to five, in words."}]}


def describe_refusal(status: int, body: bytes) -> str:
    return describe_error(status, body, "OpenAI", "error", "message")


def check_completion(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200:
        return describe_refusal(status, body)
    match decode_or_none(body):
        case {"choices": [{"message": {"content": content, **message}, **choice}, *_]}:
            has_output = content or message.get("tool_calls")
            return None if has_output else f"the answer is empty (finish_reason {choice.get('finish_reason')})"
        case _:
            return "the answer is no chat.completion"


def check_stream(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200:
        return describe_refusal(status, body)
    if not is_event_stream(headers):
        return "the answer is no event stream"
    if b'data: {"error"' in body:
        last = body.rsplit(b"data: ", 1)[-1].strip()
        return describe_refusal(502, last)
    if not body.rstrip().endswith(b"data: [DONE]"):
        return "the stream ended without [DONE]"
    return None if b'"delta"' in body else "the stream has no chat.completion.chunk"


def check_model_list(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200:
        return describe_refusal(status, body)
    match decode_or_none(body):
        case {"data": models}:
            return None if models else "the list is empty"
        case _:
            return "the answer is no list of models"


CHAT_PATH = "/v1/chat/completions"

PROBES = (
    Probe("models", "GET", "/v1/models", check_model_list),
    Probe("chat, whole", "POST", CHAT_PATH, check_completion, msgspec.json.encode(PROBE_REQUEST)),
    Probe("chat, streamed", "POST", CHAT_PATH, check_stream, msgspec.json.encode({**PROBE_REQUEST, "stream": True})),
)


def create_chat_completion(request: Request, host: Host) -> Reply:
    return run_turns(read_chat(request, host), host)


def create_completion(request: Request, host: Host) -> Reply:
    return run_turns(read_completion(request, host), host)


def run_turns(openai_request: OpenAIRequest, host: Host) -> Reply:
    events = merge_unless_single(*(host.run(turn) for turn in openai_request.turns))
    reply = stream_completion if openai_request.stream else reply_completion
    return reply(events, openai_request)


def create_embeddings(request: Request, host: Host) -> Reply:
    name, model, body = read_embedding(request, host)
    return reply_result(host.embed(name, body, request.owner), lambda result: result | {"model": model})


def format_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "rightseat"}


def list_model_names(host: Host) -> list[str]:
    """List all responders, and ASSISTANT/MODEL for each model that a client may select."""
    selectable = (f"{name}/{model}" for name in host.responders for model in host.list_models(name))
    return [*host.responders, *selectable]


def list_models(request: Request, host: Host) -> Reply:
    return make_reply(200, encode({"object": "list", "data": [format_model(name) for name in list_model_names(host)]}))


def get_model(request: Request, host: Host) -> Reply:
    name = request.params["model"]
    host.resolve_responder(name)
    return make_reply(200, encode(format_model(name)))


V1_ROUTES = (
    Route("POST", CHAT_PATH, create_chat_completion, body_type=ChatRequest, summary="Chat, streamed or whole"),
    Route("POST", "/v1/completions", create_completion, body_type=CompletionRequest, summary="Complete a text"),
    Route("POST", "/v1/embeddings", create_embeddings, body_type=EmbeddingRequest, summary="Embed texts"),
    Route(
        "POST", "/v1/audio/transcriptions", create_transcription, takes_form=True, summary="Speech as text, from a form"
    ),
    Route("GET", "/v1/models", list_models, summary="Models and assistants"),
    Route("GET", "/v1/models/{model:path}", get_model, summary="One of them"),
)

door = Door(
    name="openai",
    routes=(
        *V1_ROUTES,
        # For clients whose base URL has no version.
        *(replace(route, path=route.path.removeprefix("/v1")) for route in V1_ROUTES),
        Route("POST", "/tokenize", tokenize, body_type=TokenizeRequest, summary="A local model's tokens"),
        Route("POST", "/detokenize", detokenize, body_type=DetokenizeRequest, summary="The text of tokens"),
        Route("POST", "/apply-template", apply_template, body_type=ChatRequest, summary="The prompt of messages"),
    ),
    format_error=refuse,
    hint=lambda base: f"export OPENAI_BASE_URL={base}/v1 OPENAI_API_KEY=none",
    keyed_hint=lambda base: f'export OPENAI_BASE_URL={base}/v1 OPENAI_API_KEY="$RIGHTSEAT_KEY"',
    probes=PROBES,
)

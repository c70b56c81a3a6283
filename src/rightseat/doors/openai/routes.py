"""Routes of the OpenAI API."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from rightseat.doors.openai.chunks import encode
from rightseat.doors.openai.probes import PROBES
from rightseat.doors.openai.read import OpenAIRequest, read_chat, read_completion, read_embedding
from rightseat.doors.openai.tokens import DetokenizeRequest, TokenizeRequest, detokenize, tokenize
from rightseat.doors.openai.wire import ChatRequest, CompletionRequest, EmbeddingRequest
from rightseat.doors.openai.write import refuse, reply_completion, stream_completion
from rightseat.errors import NotConfigured, NotFound, RightseatError
from rightseat.http.endpoint import Door, Host, Request, Route, make_reply
from rightseat.http.reply import Reply
from rightseat.types.streams import merge_unless_single


def create_chat_completion(request: Request, host: Host) -> Reply:
    return run_turns(read_chat(request, host), host)


def create_completion(request: Request, host: Host) -> Reply:
    return run_turns(read_completion(request, host), host)


def run_turns(openai_request: OpenAIRequest, host: Host) -> Reply:
    events = merge_unless_single(*(host.run(turn) for turn in openai_request.turns))
    return (
        stream_completion(events, openai_request)
        if openai_request.stream
        else reply_completion(events, openai_request)
    )


def create_embeddings(request: Request, host: Host) -> Reply:
    name, model, body = read_embedding(request, host)
    return reply_embeddings(host.embed(name, body, request.owner), model)


async def reply_embeddings(result: Awaitable[dict[str, Any]], model: str) -> Reply:
    try:
        reply = make_reply(200, encode(await result | {"model": model}))
    except RightseatError as error:
        reply = refuse(error)
    async for part in reply:
        yield part


def format_model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "rightseat"}


def list_model_names(host: Host) -> list[str]:
    """List all responders, and ASSISTANT/MODEL for each model that a client may select."""
    selectable = (f"{name}/{model}" for name in host.responders for model in host.list_models(name))
    return [*host.responders, *selectable]


def list_models(request: Request, host: Host) -> Reply:
    return make_reply(
        200, encode({"object": "list", "data": [format_model(name) for name in list_model_names(host)]})
    )


def get_model(request: Request, host: Host) -> Reply:
    name = request.params["model"]
    if name not in host.responders and name not in list_model_names(host):
        known = ", ".join(list_model_names(host))
        raise NotFound(f"There is no model {name[:64]!r}. Those that exist: {known}", param="model")
    return make_reply(200, encode(format_model(name)))


def create_transcription(request: Request, host: Host) -> Reply:
    raise NotConfigured("Speech is not configured on this server: no model here transcribes audio.")


door = Door(
    name="openai",
    routes=(
        Route(
            "POST",
            "/v1/chat/completions",
            create_chat_completion,
            body_type=ChatRequest,
            summary="Chat, streamed or whole",
        ),
        Route(
            "POST",
            "/v1/completions",
            create_completion,
            body_type=CompletionRequest,
            summary="Complete a text",
        ),
        Route("POST", "/v1/embeddings", create_embeddings, body_type=EmbeddingRequest, summary="Embed texts"),
        Route("POST", "/tokenize", tokenize, body_type=TokenizeRequest, summary="A local model's tokens"),
        Route("POST", "/detokenize", detokenize, body_type=DetokenizeRequest, summary="The text of tokens"),
        Route("POST", "/v1/audio/transcriptions", create_transcription, summary="Not configured"),
        Route("GET", "/v1/models", list_models, summary="Models and assistants"),
        Route("GET", "/v1/models/{model:path}", get_model, summary="One of them"),
    ),
    format_error=refuse,
    hint=lambda base: f"export OPENAI_BASE_URL={base}/v1",
    probes=PROBES,
)

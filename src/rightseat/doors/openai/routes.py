"""Routes of the OpenAI API."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from rightseat.doors.openai.chunks import encode
from rightseat.doors.openai.probes import PROBES
from rightseat.doors.openai.read import Asked, read, read_completion, read_embedding
from rightseat.doors.openai.tokens import DetokenizeRequest, TokenizeRequest, detokenize, tokenize
from rightseat.doors.openai.wire import ChatRequest, CompletionRequest, EmbeddingRequest
from rightseat.doors.openai.write import complete, refuse, stream
from rightseat.errors import NotConfigured, NotFound, RightseatError
from rightseat.http.endpoint import Door, Host, Request, Route, whole
from rightseat.http.reply import Reply
from rightseat.types.streams import numbered


def chat(request: Request, host: Host) -> Reply:
    return answer(read(request, host), host)


def completions(request: Request, host: Host) -> Reply:
    return answer(read_completion(request, host), host)


def answer(asked: Asked, host: Host) -> Reply:
    events = numbered(*(host.run(turn) for turn in asked.turns))
    return stream(events, asked) if asked.stream else complete(events, asked)


def embeddings(request: Request, host: Host) -> Reply:
    name, model, body = read_embedding(request, host)
    return settled(host.embed(name, body, request.owner), model)


async def settled(work: Awaitable[dict[str, Any]], model: str) -> Reply:
    try:
        reply = whole(200, encode(await work | {"model": model}))
    except RightseatError as error:
        reply = refuse(error)
    async for part in reply:
        yield part


def card(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "rightseat"}


def names(host: Host) -> list[str]:
    """List all responders, and ASSISTANT/MODEL for each model that a client may select."""
    chosen = (f"{name}/{model}" for name in host.responders for model in host.offered(name))
    return [*host.responders, *chosen]


def models(request: Request, host: Host) -> Reply:
    return whole(200, encode({"object": "list", "data": [card(name) for name in names(host)]}))


def model(request: Request, host: Host) -> Reply:
    name = request.params["model"]
    if name not in host.responders and name not in names(host):
        known = ", ".join(names(host))
        raise NotFound(f"There is no model {name[:64]!r}. Those that exist: {known}", param="model")
    return whole(200, encode(card(name)))


def transcriptions(request: Request, host: Host) -> Reply:
    raise NotConfigured("Speech is not configured on this server: no model here transcribes audio.")


door = Door(
    name="openai",
    routes=(
        Route("POST", "/v1/chat/completions", chat, body=ChatRequest, summary="Chat, streamed or whole"),
        Route("POST", "/v1/completions", completions, body=CompletionRequest, summary="Complete a text"),
        Route("POST", "/v1/embeddings", embeddings, body=EmbeddingRequest, summary="Embed texts"),
        Route("POST", "/tokenize", tokenize, body=TokenizeRequest, summary="A local model's tokens"),
        Route("POST", "/detokenize", detokenize, body=DetokenizeRequest, summary="The text of tokens"),
        Route("POST", "/v1/audio/transcriptions", transcriptions, summary="Not configured"),
        Route("GET", "/v1/models", models, summary="Models and assistants"),
        Route("GET", "/v1/models/{model:path}", model, summary="One of them"),
    ),
    refuse=refuse,
    hint=lambda base: f"export OPENAI_BASE_URL={base}/v1",
    probes=PROBES,
)

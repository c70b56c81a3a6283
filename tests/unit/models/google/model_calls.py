"""Asks a Gemini model of a server that speaks Google's wire."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rightseat.errors import RightseatError
from rightseat.models.google import model
from rightseat.models.google.client import GoogleModel
from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.kit.answers import UpstreamReply
from tests.kit.upstream import FakeUpstream

HELLO = Prompt(messages=(text_message("user", "hello"),))
API_KEY = "kit-key-canary"


@asynccontextmanager
async def connect_model(
    reply: UpstreamReply, name: str = "gemini-2.5-flash", **options: Any
) -> AsyncIterator[tuple[FakeUpstream, GoogleModel]]:
    async with FakeUpstream() as upstream:
        upstream.reply = reply
        google_model = model(name, {"base_url": upstream.origin, "api_key": API_KEY, **options})
        try:
            yield upstream, google_model
        finally:
            await google_model.close()


async def collect_chunks(model: GoogleModel, prompt: Prompt = HELLO) -> tuple[list[ModelChunk], RightseatError | None]:
    """All that came, and the error that ended it."""
    out: list[ModelChunk] = []
    try:
        async with closing(model.stream(prompt)) as stream:
            async for fragment in stream:
                out += [fragment]
    except RightseatError as error:
        return out, error
    return out, None


async def capture_request_body(
    prompt: Prompt, reply: UpstreamReply, name: str = "gemini-2.5-flash", **options: Any
) -> Any:
    """The body that Google gets; it must be one that Google takes."""
    async with connect_model(reply, name, **options) as (upstream, made):
        _, error = await collect_chunks(made, prompt)
        assert error is None, error
        return upstream.requests[-1].json

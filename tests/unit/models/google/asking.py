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
from tests.kit.answers import Reply
from tests.kit.upstream import Upstream

HELLO = Prompt(messages=(text_message("user", "hello"),))
KEY = "kit-key-canary"


@asynccontextmanager
async def connected(
    reply: Reply, name: str = "gemini-2.5-flash", **options: Any
) -> AsyncIterator[tuple[Upstream, GoogleModel]]:
    async with Upstream() as upstream:
        upstream.reply = reply
        made = model(name, {"base_url": upstream.origin, "api_key": KEY, **options})
        try:
            yield upstream, made
        finally:
            await made.close()


async def asked(model: GoogleModel, prompt: Prompt = HELLO) -> tuple[list[ModelChunk], RightseatError | None]:
    """All that came, and the error that ended it."""
    out: list[ModelChunk] = []
    try:
        async with closing(model.stream(prompt)) as stream:
            async for fragment in stream:
                out += [fragment]
    except RightseatError as error:
        return out, error
    return out, None


async def sent(prompt: Prompt, reply: Reply, name: str = "gemini-2.5-flash", **options: Any) -> Any:
    """The body that Google gets; it must be one that Google takes."""
    async with connected(reply, name, **options) as (upstream, made):
        _, error = await asked(made, prompt)
        assert error is None, error
        return wire(upstream.requests[-1].json)


def wire(value: Any) -> Any:
    """A body in Google's spelling: its client mixes both that Google takes, of names and of base64."""
    if isinstance(value, list):
        return [wire(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _value(name, one) for key, one in value.items() for name in [_camel(key)]}


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _value(name: str, value: Any) -> Any:
    if name == "thoughtSignature":
        return value.replace("-", "+").replace("_", "/")
    # These hold names that are not Google's.
    return value if name in ("args", "response", "parametersJsonSchema", "responseJsonSchema") else wire(value)

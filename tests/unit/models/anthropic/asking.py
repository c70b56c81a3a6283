"""Asks a model of Anthropic's of a fake that is as strict as the API."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from rightseat.errors import RightseatError
from rightseat.models.anthropic import AnthropicModel, model
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.kit.upstream import Upstream
from tests.kit.vendors import anthropic as wire

HELLO = Prompt(messages=(text_message("user", "hello"),))
WORDS = wire.text(0, "w0", " w1", " w2")


@asynccontextmanager
async def connected(name: str = "claude-opus-5-5", **options: Any) -> AsyncIterator[tuple[Upstream, AnthropicModel]]:
    async with Upstream() as upstream:
        upstream.reply = wire.answer(WORDS)
        made = model(name, {"base_url": upstream.origin, **options})
        try:
            yield upstream, made
        finally:
            await made.close()


async def asked(
    model: AnthropicModel, prompt: Prompt = HELLO, pause: Callable[[], Awaitable[None]] | None = None
) -> tuple[list[ModelChunk], RightseatError | None]:
    """All that came, and the error that ended it; `pause` is awaited after each fragment."""
    out: list[ModelChunk] = []
    try:
        async with closing(model.stream(prompt)) as stream:
            async for fragment in stream:
                out.append(fragment)
                if pause is not None:
                    await pause()
    except RightseatError as error:
        return out, error
    return out, None


async def body_of(prompt: Prompt, name: str = "claude-opus-5-5", **options: Any) -> dict[str, Any]:
    """What the API was asked, after it has taken it."""
    async with connected(name, **options) as (upstream, made):
        _, failure = await asked(made, prompt)
        assert failure is None, failure
        found: dict[str, Any] = upstream.requests[0].json
        return found


def spoken(fragments: list[ModelChunk]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextChunk))

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
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import anthropic as wire

HELLO = Prompt(messages=(text_message("user", "hello"),))
TEXT_BLOCK = wire.encode_text(0, "w0", " w1", " w2")


@asynccontextmanager
async def connect_model(
    name: str = "claude-opus-5-5", **options: Any
) -> AsyncIterator[tuple[FakeUpstream, AnthropicModel]]:
    async with FakeUpstream() as upstream:
        upstream.reply = wire.answer_blocks(TEXT_BLOCK)
        anthropic_model = model(name, {"base_url": upstream.origin, **options})
        try:
            yield upstream, anthropic_model
        finally:
            await anthropic_model.close()


async def collect_chunks(
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


async def capture_request_body(prompt: Prompt, name: str = "claude-opus-5-5", **options: Any) -> dict[str, Any]:
    """What the API was asked, after it has taken it."""
    async with connect_model(name, **options) as (upstream, made):
        _, failure = await collect_chunks(made, prompt)
        assert failure is None, failure
        found: dict[str, Any] = upstream.requests[0].json
        return found


def join_text(fragments: list[ModelChunk]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextChunk))

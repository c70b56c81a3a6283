"""Asks a model of a fault upstream."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from rightseat.errors import RightseatError
from rightseat.models.openai import OpenAIModel
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.kit.upstream import FakeUpstream

HELLO = Prompt(messages=(text_message("user", "hello"),))


@asynccontextmanager
async def connect_model(**options: Any) -> AsyncIterator[tuple[FakeUpstream, OpenAIModel]]:
    async with FakeUpstream() as upstream:
        model = OpenAIModel("kit-model", base_url=upstream.base_url, **options)
        try:
            yield upstream, model
        finally:
            await model.close()


async def collect_chunks(
    model: OpenAIModel, prompt: Prompt = HELLO, pause: Callable[[], Awaitable[None]] | None = None
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


def join_text(fragments: list[ModelChunk]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextChunk))

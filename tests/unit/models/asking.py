"""Asks a model of a fault upstream."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from rightseat.errors import RightseatError
from rightseat.models.openai import OpenAI
from rightseat.types.chunks import Fragment, Text
from rightseat.types.messages import said
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.kit.upstream import Upstream

HELLO = Prompt(messages=(said("user", "hello"),))


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[tuple[Upstream, OpenAI]]:
    async with Upstream() as upstream:
        model = OpenAI("kit-model", base_url=upstream.url, **options)
        try:
            yield upstream, model
        finally:
            await model.close()


async def asked(
    model: OpenAI, prompt: Prompt = HELLO, pause: Callable[[], Awaitable[None]] | None = None
) -> tuple[list[Fragment], RightseatError | None]:
    """All that came, and the error that ended it; `pause` is awaited after each fragment."""
    out: list[Fragment] = []
    try:
        async with closing(model.stream(prompt)) as stream:
            async for fragment in stream:
                out.append(fragment)
                if pause is not None:
                    await pause()
    except RightseatError as error:
        return out, error
    return out, None


def spoken(fragments: list[Fragment]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, Text))

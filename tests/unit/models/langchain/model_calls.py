"""Asks something of LangChain's."""

from typing import Any

from rightseat.errors import RightseatError
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.langchain.client import LangChainModel, RunnableSource
from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Capabilities, Prompt
from rightseat.types.streams import closing

HELLO = Prompt(messages=(text_message("user", "hello"),))


def make_model(
    runnable: Any, *, first_timeout: float = 10, idle_timeout: float = 10, input_key: str | None = None
) -> LangChainModel:
    return LangChainModel(
        "kit:thing",
        RunnableSource(runnable),
        capabilities=Capabilities(),
        timeouts=Timeouts(first_token=first_timeout, idle=idle_timeout),
        input_key=input_key,
    )


async def collect_chunks(
    runnable: Any, prompt: Prompt = HELLO, **more: Any
) -> tuple[list[ModelChunk], RightseatError | None]:
    """All that came, and the error that ended it."""
    out: list[ModelChunk] = []
    try:
        async with closing(make_model(runnable, **more).stream(prompt)) as stream:
            async for fragment in stream:
                out += [fragment]
    except RightseatError as error:
        return out, error
    return out, None

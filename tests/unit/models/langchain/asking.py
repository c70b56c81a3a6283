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


def model(thing: Any, *, first: float = 10, idle: float = 10, input_key: str | None = None) -> LangChainModel:
    return LangChainModel(
        "kit:thing",
        RunnableSource(thing),
        capabilities=Capabilities(),
        timeouts=Timeouts(first_token=first, idle=idle),
        input_key=input_key,
    )


async def asked(thing: Any, prompt: Prompt = HELLO, **more: Any) -> tuple[list[ModelChunk], RightseatError | None]:
    """All that came, and the error that ended it."""
    out: list[ModelChunk] = []
    try:
        async with closing(model(thing, **more).stream(prompt)) as stream:
            async for fragment in stream:
                out += [fragment]
    except RightseatError as error:
        return out, error
    return out, None

"""Asks something of LangChain's."""

from typing import Any

from rightseat.errors import RightseatError
from rightseat.models.langchain.client import LangChain
from rightseat.models.langchain.reading import Times
from rightseat.models.langchain.source import Source
from rightseat.types.capabilities import Abilities
from rightseat.types.chunks import Fragment
from rightseat.types.messages import said
from rightseat.types.model import Prompt
from rightseat.types.streams import closing

HELLO = Prompt(messages=(said("user", "hello"),))


def model(thing: Any, *, first: float = 10, idle: float = 10, input_key: str | None = None) -> LangChain:
    return LangChain(
        "kit:thing", Source(thing), abilities=Abilities(), times=Times(first, idle), input_key=input_key
    )


async def asked(
    thing: Any, prompt: Prompt = HELLO, **more: Any
) -> tuple[list[Fragment], RightseatError | None]:
    """All that came, and the error that ended it."""
    out: list[Fragment] = []
    try:
        async with closing(model(thing, **more).stream(prompt)) as stream:
            async for fragment in stream:
                out += [fragment]
    except RightseatError as error:
        return out, error
    return out, None

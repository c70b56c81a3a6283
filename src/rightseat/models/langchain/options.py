"""Parse `langchain:MODULE:NAME` and its options into a LangChainModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import ConfigError
from rightseat.types import capabilities as abilities
from rightseat.types.nearest import meant

if TYPE_CHECKING:
    from rightseat.models.langchain.client import LangChain


class Options(Struct, frozen=True, kw_only=True):
    input_key: str | None = None
    """Where a chain wants the messages: `messages` gives it `{"messages": […]}`. Not given: them alone."""
    first_token_timeout: float = 120
    """Seconds for the first token."""
    idle_timeout: float = 60
    """Seconds between two tokens."""
    tools: bool | None = None
    """Whether the model calls tools; not given: whether it has `bind_tools`."""
    parallel: bool | None = None
    """Whether it makes several calls in one answer; not given: as its name is known."""
    schema: bool | None = None
    """Whether it keeps to an output schema by itself; not given: it does not."""
    images: bool | None = None
    """Whether it takes images; not given: as its name is known."""
    reasoning: bool | None = None
    """Whether it thinks; not given: as its name is known."""


def model(name: str, options: Mapping[str, Any]) -> LangChain:
    """Make the model; imports the target now, so that its errors show at start."""
    known = _known(name, options)
    try:
        from rightseat.models.langchain.binding import chat_model, takes_tools
        from rightseat.models.langchain.client import LangChain
        from rightseat.models.langchain.reading import Times
        from rightseat.models.langchain.source import Source, found
    except ImportError as error:
        raise ConfigError(
            f"The model langchain:{name} needs LangChain. Install it with: pip install 'rightseat[langchain]'"
        ) from error
    thing = found(name)
    inner = chat_model(thing)
    titles = [getattr(inner, field, None) for field in ("model_name", "model", "model_id")]
    title = next((one for one in titles if isinstance(one, str)), "")
    believed = replace(abilities.known("langchain", title), schema=False)
    if inner is not None:
        believed = replace(believed, tools=takes_tools(thing))
    able = abilities.said(believed, msgspec.structs.asdict(known))
    times = Times(known.first_token_timeout, known.idle_timeout)
    return LangChain(name, Source(thing), abilities=able, times=times, input_key=known.input_key)


def _known(name: str, options: Mapping[str, Any]) -> Options:
    keys = Options.__struct_fields__
    for key in options:
        if key not in keys:
            hint = meant(key, keys)
            raise ConfigError(f"The model langchain:{name} has no option {key!r}. {hint}", param=key)
    try:
        known = msgspec.convert(options, Options)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The model langchain:{name} has a wrong option: {error}") from error
    for key in ("first_token_timeout", "idle_timeout"):
        if not getattr(known, key) > 0:
            raise ConfigError(f"The model langchain:{name} needs a {key} above 0.", param=key)
    return known

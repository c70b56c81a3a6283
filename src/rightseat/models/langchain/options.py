"""Parse `langchain:MODULE:NAME` and its options into a LangChainModel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.config.installation import format_extra_command
from rightseat.config.options import TIMEOUTS, parse_options
from rightseat.errors import ConfigError
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.catalog import lookup_capabilities, override_capabilities

if TYPE_CHECKING:
    from rightseat.models.langchain.client import LangChainModel


class LangChainOptions(Struct, frozen=True, kw_only=True):
    input_key: str | None = None
    """The key of a chain's input for the messages: `messages` passes `{"messages": […]}`. Without it, the list of
    messages is the input."""
    first_token_timeout: float = 120
    """Seconds until the first token."""
    idle_timeout: float = 60
    """Seconds between two tokens."""
    tools: bool | None = None
    """Whether the model can call tools. Without it, true if it has `bind_tools`."""
    parallel: bool | None = None
    """Whether the model calls several tools in one answer. Without it, by the model's name."""
    schema: bool | None = None
    """Whether the model enforces an output schema itself. Without it, false."""
    images: bool | None = None
    """Whether the model accepts images. Without it, by the model's name."""
    reasoning: bool | None = None
    """Whether the model reasons before it answers. Without it, by the model's name."""
    ignored_settings: tuple[str, ...] | None = None
    """Settings of a request, such as `temperature`, that are left out instead of refused if the chat model has no
    field for them. Without it, none for a chat model, and all common ones for a chain or function."""


def model(name: str, options: Mapping[str, Any]) -> LangChainModel:
    """Make the model; imports the target now, so that its errors show at start."""
    parsed = parse_options(f"The model langchain:{name}", options, LangChainOptions, positive=TIMEOUTS)
    try:
        from rightseat.models.langchain.client import load_target
    except ImportError as error:
        raise make_missing_error(f"The model langchain:{name}") from error
    return wrap_target(name, load_target(name), parsed)


def make_langchain_model(target: Any, options: Mapping[str, Any]) -> LangChainModel:
    """Make the model of a LangChain object or function that is at hand; `options` as for a spec."""
    parsed = parse_options("The LangChain model", options, LangChainOptions, positive=TIMEOUTS)
    try:
        from rightseat.models.langchain.client import check_target
    except ImportError as error:
        raise make_missing_error("A LangChain model") from error
    name = getattr(target, "__name__", type(target).__name__)
    check_target(name, target)
    return wrap_target(name, target, parsed)


def make_missing_error(subject: str) -> ConfigError:
    return ConfigError(f"{subject} needs LangChain. Install it with: {format_extra_command('langchain')}")


def wrap_target(name: str, target: Any, parsed: LangChainOptions) -> LangChainModel:
    from rightseat.models.langchain.client import (
        LangChainModel,
        RunnableSource,
        declare_settings,
        supports_tools,
        unwrap_chat_model,
    )

    inner_model = unwrap_chat_model(target)
    model_names = [getattr(inner_model, field, None) for field in ("model_name", "model", "model_id")]
    model_name = next((text for text in model_names if isinstance(text, str)), "")
    defaults = replace(lookup_capabilities("langchain", model_name), schema=False)
    if inner_model is not None:
        defaults = replace(defaults, tools=supports_tools(target))
    declared = declare_settings(target)
    defaults = replace(defaults, settings=declared.settings, ignored_settings=declared.ignored_settings)
    capabilities = override_capabilities(defaults, msgspec.structs.asdict(parsed))
    timeouts = Timeouts(first_token=parsed.first_token_timeout, idle=parsed.idle_timeout)
    return LangChainModel(
        name, RunnableSource(target), capabilities=capabilities, timeouts=timeouts, input_key=parsed.input_key
    )

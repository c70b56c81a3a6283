"""Abilities of what answers: the model of each assistant, what it takes, and the number of its tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightseat.types.model import Capabilities, Model
from rightseat.wiring.lookup import LOCAL
from rightseat.wiring.model_notes import describe_model, is_embedded
from rightseat.wiring.runtime import Runtime

LOCAL_PROVIDERS = (LOCAL, "scripted")


def describe_answering(runtime: Runtime) -> dict[str, Any]:
    """Return, for each assistant with a model of its own, that model and how many tools it may call."""
    return {
        name: {"model": describe_model_abilities(assistant.model), "tools": len(assistant.tools)}
        for name, assistant in runtime.assistants.items()
    }


def describe_model_abilities(model: Model) -> dict[str, Any]:
    info, capabilities = model.info, model.capabilities
    abilities = dict(list_abilities(capabilities))
    return {
        "name": describe_model(info).name,
        "provider": info.provider,
        "local": info.provider in LOCAL_PROVIDERS,
        "builtin": is_embedded(info),
        "context": capabilities.context,
        "can": [name for name, able in abilities.items() if able],
        "lacks": [name for name, able in abilities.items() if not able],
    }


def list_abilities(capabilities: Capabilities) -> Iterator[tuple[str, bool]]:
    """Yield names of abilities. What is not known of a model without a table entry is left out."""
    yield "tools", capabilities.tools
    if capabilities.enforces_schema:
        yield "schema", True
    images = capabilities.supports_images and not capabilities.text_only
    if images or capabilities.context is not None:
        yield "images", images
    if capabilities.audio:
        yield "audio", True
    if capabilities.reasoning or capabilities.context is not None:
        yield "reasoning", capabilities.reasoning

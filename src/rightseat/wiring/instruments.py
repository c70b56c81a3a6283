"""Assistants with metering and tracing around their models and tools, and their fingerprints."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

import msgspec
from msgspec import structs

from rightseat.engine.loop import Assistant
from rightseat.middleware.metrics import MeteredModel
from rightseat.middleware.model_wrappers import FallbackModel, WrapModel
from rightseat.middleware.quota import BilledModel
from rightseat.middleware.tracing import TracedModel, trace_tool
from rightseat.runtime.metrics import Metrics
from rightseat.types.model import Model, ModelInfo
from rightseat.types.tools import Tool


def make_model_wrapper(meters: Metrics, *, charge: bool) -> WrapModel:
    """Return a function that adds metering and tracing to a model, once for a shared model."""
    wrapped: dict[int, Model] = {}

    def wrap(model: Model, info: ModelInfo) -> Model:
        if isinstance(model, FallbackModel):
            return model.wrap_members(get_wrapped)
        billed = BilledModel(model, info) if charge else model
        return TracedModel(MeteredModel(billed, info, meters), info)

    def get_wrapped(model: Model, info: ModelInfo) -> Model:
        if id(model) not in wrapped:
            wrapped[id(model)] = wrap(model, info)
        return wrapped[id(model)]

    return get_wrapped


def instrument_assistants(
    assistants: Iterable[Assistant], infos: Mapping[str, ModelInfo], wrap: WrapModel
) -> list[Assistant]:
    """Add metering and tracing to the assistants' models and tools; shared ones stay shared."""
    traced_tools: dict[int, Tool] = {}

    def wrap_named(model: Model, name: str) -> Model:
        return wrap(model, infos.get(name) or model.info)

    def instrument(assistant: Assistant) -> Assistant:
        models = {
            name: structs.replace(bound, model=wrap_named(bound.model, f"{assistant.name}/{name}"))
            for name, bound in assistant.models.items()
        }
        tools = tuple(traced_tools.setdefault(id(tool), trace_tool(tool)) for tool in assistant.tools)
        return replace(assistant, model=wrap_named(assistant.model, assistant.name), models=models, tools=tools)

    return [instrument(assistant) for assistant in assistants]


def fingerprint_assistant(assistant: Assistant, release: str) -> str:
    info, weights = assistant.model.info, assistant.model.weights
    model = (info.provider, info.model, weights.name if weights else "")
    return hash_values(release, assistant.name, *model, assistant.system, [tool.spec for tool in assistant.tools])


def hash_values(*values: object) -> str:
    return f"fp_{hashlib.sha256(msgspec.json.encode(values)).hexdigest()[:10]}"

"""Names and prices of models, and the base class of model wrappers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightseat.types.events import Usage
from rightseat.types.model import Model

MILLION = 1_000_000


class ModelInfo(Struct, frozen=True):
    """Provider, name and prices of a model; costs are per million tokens, None if unknown."""

    provider: str
    model: str
    input_cost: float | None = None
    output_cost: float | None = None

    def compute_cost(self, usage: Usage) -> float:
        cost = usage.input * (self.input_cost or 0) + usage.output * (self.output_cost or 0)
        return cost / MILLION


ModelWrapper = Callable[[Model, ModelInfo], Model]
"""Wraps a model, for metrics, billing and tracing."""


def describe_model(model: Model) -> ModelInfo:
    """Describe a model that was passed as an object."""
    kind = type(model).__name__.removesuffix("Model").lower() or "model"
    return ModelInfo(kind, str(getattr(model, "name", kind))[:100])


class ModelProxy:
    """Base of model wrappers. Attributes that it lacks (close, ready, …) are the inner model's."""

    def __init__(self, model: Model, info: ModelInfo) -> None:
        self.model = model
        self.info = info

    # Hidden from mypy, which would accept any misspelt attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self.model, name)

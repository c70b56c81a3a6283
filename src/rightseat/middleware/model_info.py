"""Names and prices of models, and the base class of model wrappers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightseat.types.events import Usage
from rightseat.types.model import Model

MILLION = 1_000_000


class Source(Struct, frozen=True):
    """Provider, name and prices of a model; costs are per million tokens, None if unknown."""

    provider: str
    model: str
    input_cost: float | None = None
    output_cost: float | None = None

    def price(self, usage: Usage) -> float:
        spent = usage.input * (self.input_cost or 0) + usage.output * (self.output_cost or 0)
        return spent / MILLION


Watch = Callable[[Model, Source], Model]
"""Wraps a model, for metrics, billing and tracing."""


def source_of(model: Model) -> Source:
    """Describe a model that was passed as an object."""
    kind = type(model).__name__.removesuffix("Model").lower() or "model"
    return Source(kind, str(getattr(model, "name", kind))[:100])


class Around:
    """Base of model wrappers. Attributes that it lacks (close, ready, …) are the inner model's."""

    def __init__(self, model: Model, source: Source) -> None:
        self.model = model
        self.source = source

    # Hidden from mypy, which would accept any misspelt attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self.model, name)

"""Whose model a call goes to, and what is around it: a model with something watched beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from rightseat.types.events import Usage
from rightseat.types.model import Model

MILLION = 1_000_000


class Source(Struct, frozen=True):
    """A model by the names that operators know; costs are per million tokens, None where nobody told."""

    provider: str
    model: str
    input_cost: float | None = None
    output_cost: float | None = None

    def price(self, usage: Usage) -> float:
        spent = usage.input * (self.input_cost or 0) + usage.output * (self.output_cost or 0)
        return spent / MILLION


Watch = Callable[[Model, Source], Model]
"""Puts a model under watch."""


def source_of(model: Model) -> Source:
    """What can be said of a model that was given as an object."""
    kind = type(model).__name__.lower()
    return Source(kind, str(getattr(model, "name", kind))[:100])


class Around:
    """A model around another. What it does not have itself (close, ready, …) is the inner one's."""

    def __init__(self, model: Model, source: Source) -> None:
        self.model = model
        self.source = source

    # Hidden from the checker: it would take any misspelt attribute for one of the inner model's.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return getattr(self.model, name)

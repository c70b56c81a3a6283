"""rightseat as a library: a Runtime with sensible defaults, and `mount` for an app you already have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from rightseat.continuation import Store
from rightseat.engine import Assistant
from rightseat.layers.words import words
from rightseat.prompt import Model
from rightseat.responder import Layer, Responder
from rightseat.runtime import Limits
from rightseat.runtime import Runtime as Line
from rightseat.stores.memory import Memory
from rightseat.tools import Tool


class Runtime(Line):
    """Everything that can answer: one model with tools, further assistants, and Responders of your own.

    The first of them answers whoever asks for none by name.
    """

    def __init__(
        self,
        *,
        model: Model | None = None,
        tools: Iterable[Tool | Callable[..., Any]] = (),
        system: str = "",
        assistants: Iterable[Assistant] = (),
        agents: Mapping[str, Responder] | None = None,
        layers: Iterable[Layer] = (),
        store: Store | None = None,
        limits: Limits = Limits(),
        aliases: Mapping[str, str] | None = None,
        closers: Iterable[Callable[[], Awaitable[None]]] = (),
    ) -> None:
        kept = store or Memory()
        super().__init__(
            model=model,
            tools=tools,
            system=system,
            assistants=assistants,
            agents=agents,
            layers=[words(kept), *layers],
            store=kept,
            limits=limits,
            aliases=aliases,
            closers=closers,
        )

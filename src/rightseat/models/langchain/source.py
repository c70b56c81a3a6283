"""Resolve `MODULE:NAME`: a Runnable, a factory of one, or a function that answers messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable

from rightseat.config.loading import load
from rightseat.errors import ConfigError, Misused


def found(target: str) -> Any:
    """Import and return the object; raise ConfigError if it is neither a Runnable nor callable."""
    module, colon, attribute = target.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"langchain:{target} is not of the form langchain:MODULE:NAME.")
    try:
        thing: Any = load(target)
    except ConfigError as error:
        raise ConfigError(f"langchain:{error.message}") from error
    if not isinstance(thing, Runnable) and not callable(thing):
        raise ConfigError(
            f"langchain:{target} is a {type(thing).__name__}: name a chat model, a Runnable, "
            "a function that makes one, or a function that answers messages."
        )
    return thing


class Source:
    """A target and its Runnable; a factory is called once, on first use."""

    def __init__(self, thing: Any) -> None:
        self._thing = thing
        self._made: Runnable[Any, Any] | None = thing if isinstance(thing, Runnable) else None

    @property
    def answers(self) -> Callable[..., Any] | None:
        """The target if it is a function that takes the messages, else None."""
        return None if self._made is not None or not _wants_arguments(self._thing) else self._thing

    @property
    def asks_tools(self) -> bool:
        return "tools" in inspect.signature(self._thing).parameters

    async def runnable(self) -> Runnable[Any, Any]:
        if self._made is None:
            made = self._thing()
            if inspect.isawaitable(made):
                made = await made
            if not isinstance(made, Runnable):
                raise Misused(
                    f"The LangChain factory gives {type(made).__name__}: let it return a model or a Runnable."
                )
            self._made = made
        return self._made


def _wants_arguments(thing: Any) -> bool:
    if inspect.isclass(thing):
        return False
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(one.kind in kinds and one.default is one.empty for one in parameters)

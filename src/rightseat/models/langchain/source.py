"""Resolve `MODULE:NAME`: a Runnable, a factory of one, or a function that answers messages."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from langchain_core.runnables import Runnable

from rightseat.config.loading import import_object
from rightseat.errors import ConfigError, Misused


def load_target(target: str) -> Any:
    """Import and return the object; raise ConfigError if it is neither a Runnable nor callable."""
    module, colon, attribute = target.partition(":")
    if not (module and colon and attribute):
        raise ConfigError(f"langchain:{target} is not of the form langchain:MODULE:NAME.")
    try:
        loaded: Any = import_object(target)
    except ConfigError as error:
        raise ConfigError(f"langchain:{error.message}") from error
    if not isinstance(loaded, Runnable) and not callable(loaded):
        raise ConfigError(
            f"langchain:{target} is a {type(loaded).__name__}: name a chat model, a Runnable, "
            "a function that makes one, or a function that answers messages."
        )
    return loaded


class RunnableSource:
    """A target and its Runnable; a factory is called once, on first use."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._runnable: Runnable[Any, Any] | None = target if isinstance(target, Runnable) else None

    @property
    def answer_function(self) -> Callable[..., Any] | None:
        """The target if it is a function that takes the messages, else None."""
        return None if self._runnable is not None or not _takes_arguments(self._target) else self._target

    @property
    def wants_tools(self) -> bool:
        return "tools" in inspect.signature(self._target).parameters

    async def get_runnable(self) -> Runnable[Any, Any]:
        if self._runnable is None:
            runnable = self._target()
            if inspect.isawaitable(runnable):
                runnable = await runnable
            if not isinstance(runnable, Runnable):
                raise Misused(
                    f"The LangChain factory gives {type(runnable).__name__}: let it return a model or a Runnable."
                )
            self._runnable = runnable
        return self._runnable


def _takes_arguments(target: Any) -> bool:
    if inspect.isclass(target):
        return False
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(one.kind in kinds and one.default is one.empty for one in parameters)

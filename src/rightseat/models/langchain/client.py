"""Stream a Prompt through a LangChain model, Runnable or function, named by `MODULE:NAME`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase
from msgspec.structs import replace

from rightseat.config.imports import import_object
from rightseat.errors import ConfigError, Misused
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models._vendor.thinking import ThinkingRequest
from rightseat.models.langchain import request
from rightseat.models.langchain.stream_parser import LangChainStreamParser
from rightseat.models.langchain.timed_reader import END, TimedReader, iterate_in_thread
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import COMMON_SETTINGS, Capabilities, Model, Prompt, SamplingSettings, ToolSpec
from rightseat.types.settings import select_settings


def load_target(target: str) -> Any:
    """Import and return the object; raise ConfigError if it is neither a Runnable nor callable."""
    module, _, attribute = target.partition(":")
    if not (module and attribute):
        raise ConfigError(f"langchain:{target} is not of the form langchain:MODULE:NAME.")
    try:
        loaded: Any = import_object(target)
    except ConfigError as error:
        raise ConfigError(f"langchain:{error.message}") from error
    check_target(target, loaded)
    return loaded


def check_target(name: str, target: Any) -> None:
    """Raise ConfigError for an object that is neither a Runnable nor callable."""
    if not isinstance(target, Runnable) and not callable(target):
        raise ConfigError(
            f"langchain:{name} is a {type(target).__name__}: name a chat model, a Runnable, "
            "a function that makes one, or a function that answers messages."
        )


class RunnableSource:
    """A target and its Runnable; a factory is called once, on first use."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self.is_factory = not isinstance(target, Runnable) and not _takes_arguments(target)
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
    return any(parameter.kind in kinds and parameter.default is parameter.empty for parameter in parameters)


# Field names that models use for each setting.
SETTING_FIELDS: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"),
    "seed": ("seed",),
}
# Further settings, which are bound to a field of the same name; none of them changes the form of the answer.
EXTRA_SETTINGS = frozenset(
    {"frequency_penalty", "presence_penalty", "logit_bias", "verbosity", "service_tier"}
    | {"top_k", "min_p", "typical_p", "repeat_penalty", "repeat_last_n", "mirostat", "mirostat_eta", "mirostat_tau"}
)

# Field names that models use for a request about thinking.
THINKING_SETTINGS: dict[str, tuple[str, ...]] = {
    "reasoning_effort": ("reasoning_effort", "reasoning"),
    "reasoning_budget_tokens": ("thinking_budget", "reasoning"),
    "thinking_budget_tokens": ("thinking_budget", "reasoning"),
    "enable_thinking": ("reasoning",),
    "thinking": ("reasoning",),
    "reasoning": ("reasoning",),
}


def bind_prompt(runnable: Runnable[Any, Any], prompt: Prompt) -> Runnable[Any, Any]:
    """Return the bound Runnable. Only settings that the model has a field for are bound; unsupported forced tools
    raise Misused."""
    model = unwrap_chat_model(runnable)
    settings = {} if model is None else _collect_settings(model, prompt)
    if prompt.callable_tools:
        runnable = _bind_tools(runnable, prompt)
    return runnable.bind(**settings) if settings else runnable


def unwrap_chat_model(runnable: Any) -> BaseChatModel | None:
    """Return the chat model behind a Runnable and its bindings, or None."""
    while isinstance(runnable, RunnableBindingBase):
        runnable = runnable.bound
    return runnable if isinstance(runnable, BaseChatModel) else None


def supports_tools(runnable: Any) -> bool:
    model = unwrap_chat_model(runnable)
    if model is None:
        return hasattr(runnable, "bind_tools")
    return type(model).bind_tools is not BaseChatModel.bind_tools


def declare_settings(target: Any) -> Capabilities:
    """Return capabilities whose settings are those of the target.

    A chain or function is a program of its own, as an agent is: it gets no settings. The model of a factory is
    unknown until its first use.
    """
    if (model := unwrap_chat_model(target)) is not None:
        return Capabilities(settings=list_settings(model))
    if RunnableSource(target).is_factory:
        return Capabilities(settings=COMMON_SETTINGS | EXTRA_SETTINGS)
    return Capabilities(settings=frozenset(), ignored_settings=tuple(COMMON_SETTINGS))


def list_settings(model: BaseChatModel) -> frozenset[str]:
    """Return the settings that the chat model has a field for, and `stop`, which all chat models take."""
    fields = type(model).model_fields.keys()
    named = {setting for setting, names in SETTING_FIELDS.items() if not fields.isdisjoint(names)}
    thinking = {setting for setting, names in THINKING_SETTINGS.items() if not fields.isdisjoint(names)}
    return frozenset(named | (EXTRA_SETTINGS & fields) | thinking | {"stop"})


def _collect_settings(model: BaseChatModel, prompt: Prompt) -> dict[str, Any]:
    fields = type(model).model_fields
    values: dict[str, Any] = {}
    for setting, names in SETTING_FIELDS.items():
        value = getattr(prompt.settings, setting)
        name = next((name for name in names if name in fields), None)
        if value is not None and name is not None:
            values[name] = value
    values |= {name: value for name, value in prompt.settings.extra.items() if name in EXTRA_SETTINGS & fields.keys()}
    if prompt.settings.stop:
        values["stop"] = list(prompt.settings.stop)
    return values | _collect_thinking(fields, prompt.settings)


def _collect_thinking(fields: Mapping[str, Any], settings: SamplingSettings) -> dict[str, Any]:
    """Return the request's effort in the first field that the model has for it."""
    request = ThinkingRequest.from_settings(settings)
    if request.effort is not None and "reasoning_effort" in fields:
        return {"reasoning_effort": request.effort}
    if request.budget is not None and "thinking_budget" in fields:
        return {"thinking_budget": request.budget}
    # Ollama's name of the switch.
    return {"reasoning": request.enabled} if request.enabled is not None and "reasoning" in fields else {}


def _bind_tools(runnable: Runnable[Any, Any], prompt: Prompt) -> Runnable[Any, Any]:
    if not supports_tools(runnable):
        # A chain without bind_tools runs without tools, unless a call is forced.
        if unwrap_chat_model(runnable) is None and not prompt.requires_tool_call:
            return runnable
        raise Misused(
            f"The LangChain model {type(unwrap_chat_model(runnable) or runnable).__name__} takes no tools: it has no "
            "bind_tools. Take another model, or an assistant without tools."
        )
    if isinstance(runnable, RunnableBindingBase):
        # Keep earlier bindings: bind the tools to the inner model.
        rebound: Runnable[Any, Any] = runnable.model_copy(update={"bound": _bind_tools(runnable.bound, prompt)})
        return rebound
    choice = prompt.tool_choice.name if prompt.tool_choice.mode == "named" else "any"
    forced = {"tool_choice": choice} if prompt.requires_tool_call else {}
    bind: Any = getattr(runnable, "bind_tools", None)
    bound: Runnable[Any, Any] = bind(format_tools(prompt.tools), **forced)
    return bound


def format_tools(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    out = []
    for tool in tools:
        function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        out.append({"type": "function", "function": {**function, "strict": True} if tool.strict else function})
    return out


class LangChainModel(Model):
    """A chat model, Runnable or function. `name`: its spec; `input_key`: the chain's key for messages."""

    def __init__(
        self,
        name: str,
        source: RunnableSource,
        *,
        capabilities: Capabilities,
        timeouts: Timeouts,
        input_key: str | None = None,
    ) -> None:
        self.name = name
        self.capabilities = capabilities
        self._source = source
        self._timeouts = timeouts
        self._input_key = input_key

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        parser = LangChainStreamParser(self.name)
        reader = TimedReader(self._timeouts)
        # A Runnable may yield iterators: read the innermost first.
        streams = [self._call_source(prompt)]
        try:
            while streams:
                value = await reader.read(streams[-1])
                if value is END:
                    streams.pop()
                elif (inner := _as_async_iterator(value)) is not None:
                    streams.append(inner)
                else:
                    for chunk in parser.feed(value):
                        reader.mark_started()
                        yield chunk
            for chunk in parser.finish():
                yield chunk
        finally:
            await reader.close()

    async def _call_source(self, prompt: Prompt) -> AsyncIterator[Any]:
        """Call the source and yield one value: the answer, or an iterator of it."""
        messages = request.build_messages(prompt, self.name)
        function = self._source.answer_function
        if function is not None:
            tool_arguments = {"tools": format_tools(prompt.callable_tools)} if self._source.wants_tools else {}
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                value = function(messages, **tool_arguments)
            else:
                value = await asyncio.to_thread(function, messages, **tool_arguments)
            yield await value if inspect.isawaitable(value) else value
            return
        runnable = await self._source.get_runnable()
        if self._source.is_factory:
            # Only now is it known which settings the model has.
            prompt = replace(prompt, settings=self._select_settings(runnable, prompt))
        runnable = bind_prompt(runnable, prompt)
        value = messages if self._input_key is None else {self._input_key: messages}
        # No callbacks: they would receive user messages.
        yield runnable.astream(value, config={"callbacks": []})

    def _select_settings(self, runnable: Runnable[Any, Any], prompt: Prompt) -> SamplingSettings:
        model = unwrap_chat_model(runnable)
        if model is None:
            return SamplingSettings()
        capabilities = replace(self.capabilities, settings=list_settings(model))
        return select_settings(prompt.settings, capabilities, has_tools=bool(prompt.callable_tools))


def _as_async_iterator(value: Any) -> AsyncIterator[Any] | None:
    if hasattr(value, "__aiter__"):
        iterator: AsyncIterator[Any] = aiter(value)
        return iterator
    return iterate_in_thread(value) if isinstance(value, Iterator) else None

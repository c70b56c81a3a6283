"""Bind the tools and settings of a Prompt to a Runnable."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase

from rightseat.errors import Misused
from rightseat.types.model import Prompt, ToolSpec

# Field names that models use for each setting.
_FIELDS: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"),
    "seed": ("seed",),
}


def bound(source: Runnable[Any, Any], prompt: Prompt) -> Runnable[Any, Any]:
    """Return the bound Runnable. Unsupported settings are dropped; unsupported forced tools raise Misused."""
    settings = _settings(chat_model(source), prompt)
    if prompt.callable:
        source = _with_tools(source, prompt)
    return source.bind(**settings) if settings else source


def chat_model(source: Any) -> BaseChatModel | None:
    """Return the chat model behind a Runnable and its bindings, or None."""
    while isinstance(source, RunnableBindingBase):
        source = source.bound
    return source if isinstance(source, BaseChatModel) else None


def takes_tools(source: Any) -> bool:
    model = chat_model(source)
    if model is None:
        return hasattr(source, "bind_tools")
    return type(model).bind_tools is not BaseChatModel.bind_tools


def _settings(model: BaseChatModel | None, prompt: Prompt) -> dict[str, Any]:
    if model is None:
        return {}
    fields = type(model).model_fields
    given: dict[str, Any] = {}
    for setting, names in _FIELDS.items():
        value = getattr(prompt.settings, setting)
        name = next((name for name in names if name in fields), None)
        if value is not None and name is not None:
            given[name] = value
    if prompt.settings.stop:
        given["stop"] = list(prompt.settings.stop)
    return given


def _with_tools(source: Runnable[Any, Any], prompt: Prompt) -> Runnable[Any, Any]:
    if not takes_tools(source):
        # A chain without bind_tools runs without tools, unless a call is forced.
        if chat_model(source) is None and not prompt.must:
            return source
        raise Misused(
            f"The LangChain model {type(chat_model(source) or source).__name__} takes no tools: it has no "
            "bind_tools. Take another model, or an assistant without tools."
        )
    if isinstance(source, RunnableBindingBase):
        # Keep earlier bindings: bind the tools to the inner model.
        again: Runnable[Any, Any] = source.model_copy(update={"bound": _with_tools(source.bound, prompt)})
        return again
    bind: Any = getattr(source, "bind_tools", None)
    tools = declared(prompt.tools)
    if not prompt.must:
        found: Runnable[Any, Any] = bind(tools)
        return found
    choice = prompt.tool_choice.name if prompt.tool_choice.mode == "named" else "any"
    forced: Runnable[Any, Any] = bind(tools, tool_choice=choice)
    return forced


def declared(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    return [_tool(tool) for tool in tools]


def _tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": {**function, "strict": True} if tool.strict else function}

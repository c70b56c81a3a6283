"""Bind the tools and settings of a Prompt to a Runnable."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_core.runnables.base import RunnableBindingBase

from rightseat.errors import Misused
from rightseat.types.model import Prompt, ToolSpec

# Field names that models use for each setting.
_SETTING_FIELDS: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict"),
    "seed": ("seed",),
}


def bind_prompt(runnable: Runnable[Any, Any], prompt: Prompt) -> Runnable[Any, Any]:
    """Return the bound Runnable. Unsupported settings are dropped; unsupported forced tools raise Misused."""
    settings = _collect_settings(unwrap_chat_model(runnable), prompt)
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


def _collect_settings(model: BaseChatModel | None, prompt: Prompt) -> dict[str, Any]:
    if model is None:
        return {}
    fields = type(model).model_fields
    values: dict[str, Any] = {}
    for setting, names in _SETTING_FIELDS.items():
        value = getattr(prompt.settings, setting)
        name = next((name for name in names if name in fields), None)
        if value is not None and name is not None:
            values[name] = value
    if prompt.settings.stop:
        values["stop"] = list(prompt.settings.stop)
    return values


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
        rebound: Runnable[Any, Any] = runnable.model_copy(
            update={"bound": _bind_tools(runnable.bound, prompt)}
        )
        return rebound
    bind: Any = getattr(runnable, "bind_tools", None)
    tools = format_tools(prompt.tools)
    if not prompt.requires_tool_call:
        with_tools: Runnable[Any, Any] = bind(tools)
        return with_tools
    choice = prompt.tool_choice.name if prompt.tool_choice.mode == "named" else "any"
    forced: Runnable[Any, Any] = bind(tools, tool_choice=choice)
    return forced


def format_tools(tools: tuple[ToolSpec, ...]) -> list[dict[str, Any]]:
    return [_format_tool(tool) for tool in tools]


def _format_tool(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": {**function, "strict": True} if tool.strict else function}

"""Overview for the playground: assistants, examples, doors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from rightseat.http.endpoint import Door, Request
from rightseat.server.playground.files import PLAYGROUND_DIR
from rightseat.wiring.library import Runtime

BUILTIN_MODELS = (("local", "local"), ("scripted", "demo"))
CLOCK = {"title": {"en": "A tool call", "zh": "调用工具"}, "en": "What time is it?", "zh": "现在几点？"}
CHART = {
    "title": {"en": "A flow with a chart", "zh": "带图表的流程"},
    "en": "Show the sales of this year.",
    "zh": "显示今年的销售额。",
    "assistant": "demo.sales",
}
APPROVAL = {
    "title": {"en": "An approval", "zh": "需要批准的操作"},
    "en": "Book a table for two people.",
    "zh": "预订两个人的桌子。",
}


async def describe_server(runtime: Runtime, doors: Sequence[Door], request: Request) -> dict[str, Any]:
    return {
        "version": version("rightseat"),
        "tiny": uses_builtin_model(runtime),
        "charts": (PLAYGROUND_DIR / "vendor" / "echarts.js").is_file(),
        "assistants": list(list_assistants(runtime)),
        "examples": list(list_examples(runtime)),
        "doors": [{"name": door.name, "hint": door.hint(request.base)} for door in doors],
    }


def uses_builtin_model(runtime: Runtime) -> bool:
    """Whether the default assistant uses the built-in model, or the script in its place."""
    assistant = runtime.get_assistant(None)
    source = getattr(assistant.model, "info", None) if assistant else None
    return source is not None and (source.provider, source.model) in BUILTIN_MODELS


def list_assistants(runtime: Runtime) -> Iterator[dict[str, Any]]:
    for name in runtime.responders:
        about = runtime.describe(name)
        agent = runtime.responders.find_agent(name)
        kind = "agent" if agent else "flow" if name in runtime.flows else "assistant"
        yield {
            "name": name,
            "title": about.title if about else "",
            "description": about.description if about else "",
            "kind": kind,
            "down": agent.unavailable_reason if agent else "",
            "suggestions": about.suggestions if about else (),
            "models": list(getattr(about, "models", {}) or {}),
        }


def list_examples(runtime: Runtime) -> Iterator[dict[str, Any]]:
    """Yield examples that work with the built-in model, and the plugins' suggestions."""
    assistant = runtime.get_assistant(None)
    tools = {tool.name for tool in assistant.tools} if assistant else set()
    if "demo_clock" in tools:
        yield CLOCK
    if CHART["assistant"] in runtime.responders:
        yield CHART
    if "demo_book" in tools:
        yield APPROVAL
    for question in assistant.suggestions[:3] if assistant else ():
        yield {"title": {"en": "From a plugin", "zh": "来自插件"}, "en": question, "zh": question}

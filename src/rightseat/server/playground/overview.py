"""Overview and set-up report for the playground: assistants, examples, doors, checks, snippets for clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightseat.http.auth import LOCAL_OWNER
from rightseat.http.endpoint import Door, Request
from rightseat.server.playground.abilities import describe_answering
from rightseat.server.playground.door_output import call_door
from rightseat.server.playground.front_ends import list_front_ends
from rightseat.wiring.model_notes import describe_running_model
from rightseat.wiring.runtime import Runtime

if TYPE_CHECKING:
    from rightseat.doctor.result import CheckResult

PLAYGROUND_DIR = Path(__file__).parent
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
    "kind": "approval",
}


async def describe_server(runtime: Runtime, doors: Sequence[Door], request: Request) -> dict[str, Any]:
    return {
        "version": version("rightseat"),
        "tiny": uses_builtin_model(runtime),
        "model": describe_default_model(runtime),
        "charts": has_charts(),
        "transcribes": bool(runtime.transcribers),
        "answering": describe_answering(runtime),
        "assistants": list(list_assistants(runtime)),
        "examples": list(list_examples(runtime)),
        "doors": [
            {"name": door.name, "hint": hint}
            for door in doors
            if (hint := door.make_hint(request.base, needs_key=needs_key(request)))
        ],
    }


def needs_key(request: Request) -> bool:
    """Whether this server answers only with a key: then the request had one, and so its owner has a name."""
    return request.owner != LOCAL_OWNER


def has_charts() -> bool:
    return (PLAYGROUND_DIR / "vendor" / "echarts.js").is_file()


def uses_builtin_model(runtime: Runtime) -> bool:
    """Whether the default assistant uses the built-in model, or the script in its place."""
    assistant = runtime.get_assistant(None)
    info = assistant.model.info if assistant else None
    return info is not None and (info.provider, info.model) in BUILTIN_MODELS


def describe_default_model(runtime: Runtime) -> dict[str, Any] | None:
    """Return name, notes in each language and the commands for a better model; None if no model answers."""
    assistant = runtime.get_assistant(None)
    if assistant is None:
        return None
    notes = describe_running_model(assistant.model)
    return {"name": notes.name, "lines": notes.lines, "better": " && ".join(notes.upgrade_commands)}


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


async def report_setup(runtime: Runtime, request: Request) -> dict[str, Any]:
    """Return checks that call nothing, and how each front end is connected."""
    return {
        "lines": [line.to_dict() for line in check_runtime(runtime)],
        "needs_key": needs_key(request),
        "clients": list(list_front_ends(request.base)),
    }


async def report_doors(runtime: Runtime, doors: Sequence[Door], request: Request) -> dict[str, Any]:
    """Return what `report_setup` does, with a call of every door as its client would make it (slow)."""
    report = await report_setup(runtime, request)
    called = [line.to_dict() async for line in probe_doors(runtime, doors, request)]
    return {**report, "lines": [*report["lines"], *called]}


def check_runtime(runtime: Runtime) -> Iterator[CheckResult]:
    # Lazy: the doctor's imports are heavy.
    from rightseat.doctor.result import broken, good, skipped
    from rightseat.doctor.setup import check_extras, check_python

    yield check_python()
    if runtime.ready:
        yield good("ready", "new questions are answered")
    else:
        yield broken("ready", "a model is not there yet", "look at the server's log")
    yield good("assistants", ", ".join(runtime.responders))
    for name in runtime.responders:
        agent = runtime.responders.find_agent(name)
        if agent is not None and agent.unavailable_reason:
            yield broken(f"agent {name}", agent.unavailable_reason, f"start it, or change [agents.{name}]")
    for id, loaded in runtime.plugins.loaded.items() if runtime.plugins else ():
        error = next((problem for problem in loaded.plugin.problems if problem.gravity == "error"), None)
        if error:
            yield broken(f"plugin {id}", str(error), f"rightseat plugins check {id}")
        else:
            yield good(f"plugin {id}", f"{len(loaded.tools)} tools")
    if has_charts():
        yield good("charts", "ECharts is here")
    else:
        yield skipped("charts", "ECharts is not here: charts are shown as tables", "make assets")
    yield from check_extras(None)


async def probe_doors(runtime: Runtime, doors: Sequence[Door], request: Request) -> AsyncIterator[CheckResult]:
    from rightseat.doctor.running_server import judge_reply

    for door in doors:
        for probe in door.probes:
            reply = await call_door(door, probe, request, runtime)
            yield judge_reply(f"{door.name}: {probe.name}", probe, reply, has_key=True)

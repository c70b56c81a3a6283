"""Tools for a plugin's Python scripts; each call runs in a confined process.

A class of the original SDK also receives what a flow would pass: question, context, files, previous_data.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.documents.cut import cut_middle
from rightseat.errors import CallerError
from rightseat.plugins.naming import make_tool_name
from rightseat.plugins.plugin import Plugin, PluginScript
from rightseat.plugins.problem import Problem
from rightseat.plugins.python import missing
from rightseat.plugins.python.ask import ScriptLoadError, describe_in_process
from rightseat.tools.subprocess import Confinement, ToolProcesses
from rightseat.types.events import Event
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, TextMessagePart
from rightseat.types.schema import get_validator
from rightseat.types.tools import Pause, Result, Tool, ToolContext, ToolHandler, error_result

MAX_CONCURRENT = 4
MAX_CONTEXT_CHARS = 4000
# Tokens of a result if the model's budget is unknown.
DEFAULT_BUDGET = 20_000


class PythonPolicy(Struct, frozen=True, kw_only=True):
    """Operator's limits for a plugin's Python code."""

    seconds: float = 60.0
    """Timeout of one call."""
    memory: int = 1 << 30
    """Address space of each process in bytes."""
    environment: dict[str, str] = {}
    """Environment variables, besides the few that Python needs."""
    confirm: bool = False
    """Whether every call needs the user's approval."""


def make_script_tools(plugin: Plugin, policy: PythonPolicy) -> tuple[tuple[Tool, ...], list[Problem]]:
    """Make a tool per script; returns the tools and the problems of the scripts left out."""
    tools: dict[str, Tool] = {}
    problems: list[Problem] = []
    load_failed = False
    for script in plugin.scripts:
        child = ToolProcesses(
            script_module(plugin, script), script.attribute, make_confinement(plugin, policy)
        )
        checked = check_arguments_schema(
            script if script.exact else complete_signature(script, child, load_failed)
        )
        if isinstance(checked, Problem):
            problems.append(checked)
            load_failed = load_failed or not script.exact
            continue
        name = make_tool_name(plugin.id, script.name, tools)
        tools[name] = Tool(
            name=name,
            description=tool_description(plugin, checked),
            parameters=missing.schema_for_model(checked.arguments),
            check=missing.make_partial_check(checked.arguments),
            call=make_call(child, checked),
            confirm=policy.confirm or script.dangerous,
            effect="dangerous" if script.dangerous else "writes",
            untrusted=True,
            timeout=policy.seconds,
            close=child.close,
        )
    return tuple(tools.values()), problems


def script_module(plugin: Plugin, script: PluginScript) -> str:
    names = script.file.relative_to(plugin.folder).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def make_confinement(plugin: Plugin, policy: PythonPolicy) -> Confinement:
    return Confinement(
        folder=str(plugin.folder.resolve()),
        memory=policy.memory,
        seconds=policy.seconds,
        environment=policy.environment,
    )


def tool_description(plugin: Plugin, script: PluginScript) -> str:
    return script.description or f"{script.name} of {plugin.name}"


def complete_signature(
    script: PluginScript, child: ToolProcesses, load_failed: bool
) -> PluginScript | Problem:
    """Complete the script's arguments from its process. After a load failure the others are not tried."""
    try:
        if load_failed:
            raise ScriptLoadError("Another tool of this plugin cannot be loaded, so this one was not tried.")
        signature = describe_in_process(child)
    except ScriptLoadError as error:
        fix = "Make it load on its own."
        return Problem(display_path(script), script.attribute, error.message, fix, script.line)
    arguments = signature.get("parameters")
    description = script.description or str(signature.get("description") or "")
    return msgspec.structs.replace(
        script,
        arguments=arguments if isinstance(arguments, dict) else script.arguments,
        description=description,
    )


def check_arguments_schema(script: PluginScript | Problem) -> PluginScript | Problem:
    """Return the script if its arguments are a valid JSON Schema, else a Problem."""
    if isinstance(script, Problem):
        return script
    try:
        get_validator(script.arguments)
    except CallerError as error:
        what = f"What it takes is no JSON Schema: {error.message}"
        return Problem(display_path(script), script.attribute, what, "Correct its `spec`.", script.line)
    return script


def display_path(script: PluginScript) -> str:
    return f"{script.file.parent.name}/{script.file.name}"


def make_call(child: ToolProcesses, script: PluginScript) -> ToolHandler:
    semaphore = asyncio.Semaphore(MAX_CONCURRENT)

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        inputs = flow_inputs(ctx) if script.kind == "class" else {}
        arguments = {**inputs, **missing.merge_answers(args, ctx)}
        if (pause := missing.ask_for_missing(script.name, script.arguments, arguments)) is not None:
            yield pause
            return
        async with semaphore:
            reply = await child.call(arguments)
        if reply.error:
            yield error_result("tool_failed", reply.error)
            return
        result = Result(reply.value, reply.failed)
        text = result.text
        shortened = cut_middle(text, ctx.budget or DEFAULT_BUDGET)
        yield result if shortened == text else Result(shortened, reply.failed)

    return call


def flow_inputs(ctx: ToolContext) -> dict[str, Any]:
    """Build the inputs that the original passes to each tool of a flow, from the conversation."""
    messages = (*ctx.turn.messages, *ctx.turn_messages)
    questions = [message.text for message in messages if message.role == "user" and message.text.strip()]
    results = [message.text for message in messages if message.role == "tool"]
    previous = {"type": "api", "data": {"output": results[-1], "message": ""}} if results else {}
    transcript = "\n".join(f"{message.role}: {message.text}" for message in messages if message.text)
    return {
        "question": questions[-1] if questions else "",
        "context": transcript[-MAX_CONTEXT_CHARS:],
        "background": transcript[-MAX_CONTEXT_CHARS:],
        "files": [file for message in messages for file in attached_files(message)],
        "previous_data": previous,
    }


def attached_files(message: Message) -> list[dict[str, Any]]:
    """List the message's attachments as name, type and base64 data."""
    files = []
    for part in message.parts:
        if isinstance(part, TextMessagePart):
            continue
        name, media, data = _file_parts(part)
        if data:
            files.append({"name": name, "type": media, "data": data})
    return files


def _file_parts(part: FileMessagePart | ImageMessagePart) -> tuple[str, str, str]:
    url = part.url if isinstance(part, ImageMessagePart) else part.data or ""
    head, comma, data = url.partition(",")
    media = head.removeprefix("data:").partition(";")[0] if comma else ""
    if isinstance(part, ImageMessagePart):
        return part.name or "", media, data if comma else ""
    return part.name or "", part.media_type or media, data if comma else url

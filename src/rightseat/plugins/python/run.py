"""Tools for a plugin's Python scripts; each call runs in a confined process.

A class of the original SDK also receives what a flow would pass: question, context, files, previous_data.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.documents.cut import middle
from rightseat.errors import CallerError
from rightseat.plugins.naming import named
from rightseat.plugins.plugin import Plugin, Script
from rightseat.plugins.problem import Problem
from rightseat.plugins.python import missing
from rightseat.plugins.python.ask import Unread, ask
from rightseat.tools.subprocess import Confinement, Isolated
from rightseat.types.events import Event
from rightseat.types.messages import File, Image, Message, Text
from rightseat.types.schema import checker
from rightseat.types.tools import Pause, Result, Tool, ToolCall, ToolContext, failure

AT_ONCE = 4
CONTEXT = 4000
# Tokens of a result if the model's budget is unknown.
BUDGET = 20_000


class Rules(Struct, frozen=True, kw_only=True):
    """Operator's limits for a plugin's Python code."""

    seconds: float = 60.0
    """Timeout of one call."""
    memory: int = 1 << 30
    """Address space of each process in bytes."""
    environment: dict[str, str] = {}
    """Environment variables, besides the few that Python needs."""
    confirm: bool = False
    """Whether every call needs the user's approval."""


def tools_of(plugin: Plugin, rules: Rules) -> tuple[tuple[Tool, ...], list[Problem]]:
    """Make a tool per script; returns the tools and the problems of the scripts left out."""
    made: dict[str, Tool] = {}
    problems: list[Problem] = []
    stuck = False
    for script in plugin.scripts:
        child = Isolated(module_of(plugin, script), script.attribute, confinement(plugin, rules))
        found = sound(script if script.exact else exactly(script, child, stuck))
        if isinstance(found, Problem):
            problems.append(found)
            stuck = stuck or not script.exact
            continue
        name = named(plugin.id, script.name, made)
        made[name] = Tool(
            name=name,
            description=described(plugin, found),
            parameters=missing.shown(found.arguments),
            check=missing.check(found.arguments),
            call=calling(child, found),
            confirm=rules.confirm or script.dangerous,
            effect="dangerous" if script.dangerous else "writes",
            outside=True,
            timeout=rules.seconds,
            close=child.close,
        )
    return tuple(made.values()), problems


def module_of(plugin: Plugin, script: Script) -> str:
    names = script.file.relative_to(plugin.folder).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def confinement(plugin: Plugin, rules: Rules) -> Confinement:
    return Confinement(
        folder=str(plugin.folder.resolve()),
        memory=rules.memory,
        seconds=rules.seconds,
        environment=rules.environment,
    )


def described(plugin: Plugin, script: Script) -> str:
    return script.description or f"{script.name} of {plugin.name}"


def exactly(script: Script, child: Isolated, stuck: bool) -> Script | Problem:
    """Complete the script's arguments from its process. After a load failure the others are not tried."""
    try:
        if stuck:
            raise Unread("Another tool of this plugin cannot be loaded, so this one was not tried.")
        told = ask(child)
    except Unread as error:
        fix = "Make it load on its own."
        return Problem(place_of(script), script.attribute, error.message, fix, script.line)
    arguments = told.get("parameters")
    description = script.description or str(told.get("description") or "")
    return msgspec.structs.replace(
        script,
        arguments=arguments if isinstance(arguments, dict) else script.arguments,
        description=description,
    )


def sound(script: Script | Problem) -> Script | Problem:
    """Return the script if its arguments are a valid JSON Schema, else a Problem."""
    if isinstance(script, Problem):
        return script
    try:
        checker(script.arguments)
    except CallerError as error:
        what = f"What it takes is no JSON Schema: {error.message}"
        return Problem(place_of(script), script.attribute, what, "Correct its `spec`.", script.line)
    return script


def place_of(script: Script) -> str:
    return f"{script.file.parent.name}/{script.file.name}"


def calling(child: Isolated, script: Script) -> ToolCall:
    gate = asyncio.Semaphore(AT_ONCE)

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        around = surroundings(ctx) if script.kind == "class" else {}
        given = {**around, **missing.together(args, ctx)}
        if (question := missing.question(script.name, script.arguments, given)) is not None:
            yield question
            return
        async with gate:
            reply = await child.call(given)
        if reply.error:
            yield failure("tool_failed", reply.error)
            return
        result = Result(reply.value, reply.failed)
        whole = result.text
        shown = middle(whole, ctx.budget or BUDGET)
        yield result if shown == whole else Result(shown, reply.failed)

    return call


def surroundings(ctx: ToolContext) -> dict[str, Any]:
    """Build the inputs that the original passes to each tool of a flow, from the conversation."""
    messages = (*ctx.turn.messages, *ctx.said)
    asked = [message.text for message in messages if message.role == "user" and message.text.strip()]
    results = [message.text for message in messages if message.role == "tool"]
    before = {"type": "api", "data": {"output": results[-1], "message": ""}} if results else {}
    told = "\n".join(f"{message.role}: {message.text}" for message in messages if message.text)
    return {
        "question": asked[-1] if asked else "",
        "context": told[-CONTEXT:],
        "background": told[-CONTEXT:],
        "files": [file for message in messages for file in files(message)],
        "previous_data": before,
    }


def files(message: Message) -> list[dict[str, Any]]:
    """List the message's attachments as name, type and base64 data."""
    found = []
    for part in message.parts:
        if isinstance(part, Text):
            continue
        name, media, data = _file(part)
        if data:
            found.append({"name": name, "type": media, "data": data})
    return found


def _file(part: File | Image) -> tuple[str, str, str]:
    url = part.url if isinstance(part, Image) else part.data or ""
    head, comma, data = url.partition(",")
    media = head.removeprefix("data:").partition(";")[0] if comma else ""
    if isinstance(part, Image):
        return part.name or "", media, data if comma else ""
    return part.name or "", part.media_type or media, data if comma else url

"""Actions of a remote endpoint as server tools."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.agents._peer.reach import Reach
from rightseat.errors import RightseatError, UpstreamRejected
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext, failure

log = logging.getLogger(__name__)
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TYPES = ("string", "number", "boolean", "object")


def actions(listed: Any, reach: Reach) -> Iterator[Tool]:
    for item in listed if isinstance(listed, list) else ():
        match item:
            case {"name": str(name)} if _NAME.fullmatch(name):
                told = item.get("description")
                yield action(name, told if isinstance(told, str) else "", item.get("parameters"), reach)
            case _:
                log.warning("a remote action is left out: its name is not one that a model can call")


def action(name: str, description: str, parameters: Any, reach: Reach) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        body = {"name": name, "arguments": args, "properties": ctx.turn.forwarded.properties}
        path = ("actions", "execute")
        try:
            told = await reach.json("POST", path, body, turn=ctx.turn, repeatable=False)
        except UpstreamRejected:
            yield failure(
                "tool_failed", f"The endpoint does not take this call of {name}, or has it no more."
            )
        except RightseatError as error:
            yield failure("tool_failed", error.message)
        else:
            yield Result(told.get("result") if isinstance(told, dict) else told)

    return Tool(name, description, schema(parameters), call)


def schema(parameters: Any) -> dict[str, Any]:
    """Convert CopilotKit's parameter list to JSON Schema. Parameters are required by default."""
    listed = parameters if isinstance(parameters, list) else []
    named = [item for item in listed if isinstance(item, dict) and isinstance(item.get("name"), str)]
    return {
        "type": "object",
        "properties": {item["name"]: property_of(item) for item in named},
        "required": [item["name"] for item in named if item.get("required") is not False],
    }


def property_of(item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("type") or "string"
    many = isinstance(kind, str) and kind.endswith("[]")
    one = kind.removesuffix("[]") if isinstance(kind, str) else "string"
    made: dict[str, Any] = {"type": one if one in _TYPES else "string"}
    if one == "object" and item.get("attributes"):
        made = schema(item["attributes"])
    if isinstance(item.get("enum"), list) and item["enum"]:
        made["enum"] = item["enum"]
    if many:
        made = {"type": "array", "items": made}
    if isinstance(item.get("description"), str) and item["description"]:
        made["description"] = item["description"]
    return made

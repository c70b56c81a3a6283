"""Actions of a remote endpoint as server tools."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from rightseat.agents._peer.reach import AgentClient
from rightseat.errors import RightseatError, UpstreamRejected
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext, error_result

log = logging.getLogger(__name__)
_ACTION_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_JSON_TYPES = ("string", "number", "boolean", "object")


def parse_actions(items: Any, client: AgentClient) -> Iterator[Tool]:
    for item in items if isinstance(items, list) else ():
        match item:
            case {"name": str(name)} if _ACTION_NAME.fullmatch(name):
                description = item.get("description")
                yield make_action_tool(
                    name, description if isinstance(description, str) else "", item.get("parameters"), client
                )
            case _:
                log.warning("a remote action is left out: its name is not one that a model can call")


def make_action_tool(name: str, description: str, parameters: Any, client: AgentClient) -> Tool:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        body = {"name": name, "arguments": args, "properties": ctx.turn.forwarded.properties}
        path = ("actions", "execute")
        try:
            response = await client.request_json("POST", path, body, turn=ctx.turn, idempotent=False)
        except UpstreamRejected:
            yield error_result(
                "tool_failed", f"The endpoint does not take this call of {name}, or has it no more."
            )
        except RightseatError as error:
            yield error_result("tool_failed", error.message)
        else:
            yield Result(response.get("result") if isinstance(response, dict) else response)

    return Tool(name, description, build_parameters_schema(parameters), call)


def build_parameters_schema(parameters: Any) -> dict[str, Any]:
    """Convert CopilotKit's parameter list to JSON Schema. Parameters are required by default."""
    items = parameters if isinstance(parameters, list) else []
    named = [item for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]
    return {
        "type": "object",
        "properties": {item["name"]: build_parameter_schema(item) for item in named},
        "required": [item["name"] for item in named if item.get("required") is not False],
    }


def build_parameter_schema(item: dict[str, Any]) -> dict[str, Any]:
    kind = item.get("type") or "string"
    is_array = isinstance(kind, str) and kind.endswith("[]")
    item_type = kind.removesuffix("[]") if isinstance(kind, str) else "string"
    parameter: dict[str, Any] = {"type": item_type if item_type in _JSON_TYPES else "string"}
    if item_type == "object" and item.get("attributes"):
        parameter = build_parameters_schema(item["attributes"])
    if isinstance(item.get("enum"), list) and item["enum"]:
        parameter["enum"] = item["enum"]
    if is_array:
        parameter = {"type": "array", "items": parameter}
    if isinstance(item.get("description"), str) and item["description"]:
        parameter["description"] = item["description"]
    return parameter

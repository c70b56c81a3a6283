"""List and read what the server offers: tools, flow files as resources, suggested questions as prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from rightseat.doors.mcp.wire import INVALID_PARAMS, RESOURCE_NOT_FOUND, JsonRpcError, McpRequest, make_response
from rightseat.engine.toolsets import DIRECT_CALLS
from rightseat.http.endpoint import Host
from rightseat.tools.delegate import REQUEST_SCHEMA
from rightseat.types.tools import Tool

PAGE_SIZE = 100
INVALID_CHARS = re.compile(r"[^A-Za-z0-9_-]+")
MAX_NAME_LENGTH = 64


class AskTool(Struct, frozen=True):
    """A tool `ask_NAME` that sends a text to an assistant, an agent or a flow."""

    responder: str
    title: str
    description: str


def list_ask_tools(host: Host) -> dict[str, AskTool]:
    """Return an `ask_NAME` tool for each responder. A plugin's tool of the same name takes precedence."""
    ask_tools: dict[str, AskTool] = {}
    for name in host.responders:
        described = host.describe(name)
        plain = INVALID_CHARS.sub("_", name)
        tool = f"ask_{plain}"[:MAX_NAME_LENGTH]
        # Skips flows that are already plugin tools.
        if name == DIRECT_CALLS or {tool, plain} & host.tools.keys() or tool in ask_tools:
            continue
        title = (described.title if described else "") or name
        description = (described.description if described else "") or f"Ask {title} for something, in words."
        ask_tools[tool] = AskTool(name, title, description)
    return ask_tools


def list_tools(rpc: McpRequest, host: Host) -> dict[str, Any]:
    entries = [_format_tool(tool) for tool in host.tools.values()]
    entries += [
        {"name": name, "title": tool.title, "description": tool.description, "inputSchema": REQUEST_SCHEMA}
        for name, tool in list_ask_tools(host).items()
    ]
    return make_page(rpc, "tools", entries)


def _format_tool(tool: Tool) -> dict[str, Any]:
    hints = {"readOnlyHint": tool.effect == "reads"}
    if tool.confirm or tool.effect == "dangerous":
        hints["destructiveHint"] = True
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {**tool.parameters, "type": "object"},
        "annotations": hints,
    }


def list_resources(rpc: McpRequest, host: Host) -> dict[str, Any]:
    entries = [
        {"uri": uri, "name": file.name, "description": file.description, "mimeType": file.media_type}
        for uri, file in host.resources.items()
    ]
    return make_page(rpc, "resources", entries)


def read_resource(rpc: McpRequest, host: Host) -> dict[str, Any]:
    uri = rpc.require_text("uri")
    document = host.resources.get(uri)
    # Only listed documents are read, never a path from the client.
    if document is None:
        code = INVALID_PARAMS if rpc.stateless else RESOURCE_NOT_FOUND
        raise JsonRpcError(code, f"There is no resource {uri[:200]!r}.")
    try:
        text = document.path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise JsonRpcError(RESOURCE_NOT_FOUND, f"{uri[:200]} cannot be read any more.") from None
    content = {"uri": uri, "mimeType": document.media_type, "text": text}
    return make_response(rpc, {"contents": [content]}, cacheable=True)


def list_resource_templates(rpc: McpRequest, host: Host) -> dict[str, Any]:
    return make_page(rpc, "resourceTemplates", [])


def list_prompts(rpc: McpRequest, host: Host) -> dict[str, Any]:
    entries = [{"name": name, "description": text} for name, text in host.suggested_questions.items()]
    return make_page(rpc, "prompts", entries)


def get_prompt(rpc: McpRequest, host: Host) -> dict[str, Any]:
    name = rpc.require_text("name")
    text = host.suggested_questions.get(name)
    if text is None:
        raise make_unknown_error("prompt", name, host.suggested_questions)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return make_response(rpc, {"description": text, "messages": [message]})


def make_unknown_error(kind: str, name: str, names: Iterable[str]) -> JsonRpcError:
    known = ", ".join(list(names)[:20]) or "none"
    return JsonRpcError(INVALID_PARAMS, f"There is no {kind} {name[:64]!r}. Those that exist: {known}")


def make_page(rpc: McpRequest, key: str, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Make one page of a list. The cursor is the index of the first entry."""
    cursor = rpc.params.get("cursor")
    if cursor is None:
        start = 0
    elif isinstance(cursor, str) and re.fullmatch(r"[0-9]{1,9}", cursor):
        start = int(cursor)
    else:
        raise JsonRpcError(INVALID_PARAMS, "cursor: use what an answer before gave as nextCursor.")
    result: dict[str, Any] = {key: entries[start : start + PAGE_SIZE]}
    if start + PAGE_SIZE < len(entries):
        result["nextCursor"] = str(start + PAGE_SIZE)
    return make_response(rpc, result, cacheable=True)

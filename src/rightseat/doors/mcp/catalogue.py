"""List and read what the server offers: tools, flow files as resources, suggested questions as prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from rightseat.doors.mcp.wire import INVALID_PARAMS, NO_RESOURCE, Ask, Refused, response
from rightseat.engine.toolsets import CALLED
from rightseat.http.endpoint import Host
from rightseat.tools.delegate import REQUEST
from rightseat.types.tools import Tool

PAGE = 100
OTHER = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST = 64


class Asked(Struct, frozen=True):
    """A tool `ask_NAME` that sends a text to an assistant, an agent or a flow."""

    responder: str
    title: str
    description: str


def asked(host: Host) -> dict[str, Asked]:
    """Return an `ask_NAME` tool for each responder. A plugin's tool of the same name takes precedence."""
    found: dict[str, Asked] = {}
    for name in host.responders:
        described = host.described(name)
        plain = OTHER.sub("_", name)
        tool = f"ask_{plain}"[:LONGEST]
        # Skips flows that are already plugin tools.
        if name == CALLED or {tool, plain} & host.tools.keys() or tool in found:
            continue
        title = (described.title if described else "") or name
        about = (described.description if described else "") or f"Ask {title} for something, in words."
        found[tool] = Asked(name, title, about)
    return found


def tools(ask: Ask, host: Host) -> dict[str, Any]:
    every = [*(_tool(tool) for tool in host.tools.values())]
    every += [_asked(name, one) for name, one in asked(host).items()]
    return paged(ask, "tools", every)


def _tool(tool: Tool) -> dict[str, Any]:
    hints = {"readOnlyHint": tool.effect == "reads"}
    if tool.confirm or tool.effect == "dangerous":
        hints["destructiveHint"] = True
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": {**tool.parameters, "type": "object"},
        "annotations": hints,
    }


def _asked(name: str, one: Asked) -> dict[str, Any]:
    return {"name": name, "title": one.title, "description": one.description, "inputSchema": REQUEST}


def resources(ask: Ask, host: Host) -> dict[str, Any]:
    every = [
        {"uri": uri, "name": one.name, "description": one.description, "mimeType": one.kind}
        for uri, one in host.documents.items()
    ]
    return paged(ask, "resources", every)


def resource(ask: Ask, host: Host) -> dict[str, Any]:
    uri = ask.text("uri")
    found = host.documents.get(uri)
    # Only listed documents are read, never a path from the client.
    if found is None:
        raise Refused(INVALID_PARAMS if ask.modern else NO_RESOURCE, f"There is no resource {uri[:200]!r}.")
    try:
        text = found.path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise Refused(NO_RESOURCE, f"{uri[:200]} cannot be read any more.") from None
    content = {"uri": uri, "mimeType": found.kind, "text": text}
    return response(ask, {"contents": [content]}, cached=True)


def templates(ask: Ask, host: Host) -> dict[str, Any]:
    return paged(ask, "resourceTemplates", [])


def prompts(ask: Ask, host: Host) -> dict[str, Any]:
    every = [{"name": name, "description": text} for name, text in host.questions.items()]
    return paged(ask, "prompts", every)


def prompt(ask: Ask, host: Host) -> dict[str, Any]:
    name = ask.text("name")
    text = host.questions.get(name)
    if text is None:
        raise unknown("prompt", name, host.questions)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return response(ask, {"description": text, "messages": [message]})


def unknown(kind: str, name: str, every: Mapping[str, Any] | Iterable[str]) -> Refused:
    known = ", ".join(list(every)[:20]) or "none"
    return Refused(INVALID_PARAMS, f"There is no {kind} {name[:64]!r}. Those that exist: {known}")


def paged(ask: Ask, key: str, every: list[dict[str, Any]]) -> dict[str, Any]:
    """Make one page of a list. The cursor is the index of the first entry."""
    cursor = ask.params.get("cursor")
    if cursor is None:
        start = 0
    elif isinstance(cursor, str) and re.fullmatch(r"[0-9]{1,9}", cursor):
        start = int(cursor)
    else:
        raise Refused(INVALID_PARAMS, "cursor: use what an answer before gave as nextCursor.")
    result: dict[str, Any] = {key: every[start : start + PAGE]}
    if start + PAGE < len(every):
        result["nextCursor"] = str(start + PAGE)
    return response(ask, result, cached=True)

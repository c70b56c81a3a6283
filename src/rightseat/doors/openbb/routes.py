"""OpenBB's routes: agents.json, copilots.json, the query for both client generations, and feedback."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urljoin

import msgspec

from rightseat.doors.openbb.read import read_query
from rightseat.doors.openbb.wire import OpenBBFeedback, OpenBBQuery, make_unique_name
from rightseat.doors.openbb.write import refuse, stream_answer
from rightseat.errors import RightseatError
from rightseat.http.endpoint import (
    Door,
    Host,
    Probe,
    Request,
    Route,
    decode_body,
    decode_event_stream,
    describe_error,
    is_event_stream,
    make_reply,
)
from rightseat.http.reply import Reply

log = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode
ALL_PLUGINS = "auto"
MAX_PLUGINS = 50

FEATURES = {
    "streaming": True,
    "widget-dashboard-select": True,
    "widget-dashboard-search": True,
    "widget-global-search": False,
    "file-upload": True,
    "mcp-tools": True,
    "feedback": True,
}


def get_agents_json(request: Request, host: Host) -> Reply:
    """Answer with agents.json for Workspace."""
    entries: dict[str, Any] = {}
    for id, name, about in iter_agents(host, request.base):
        endpoints = {"query": request.base + get_query_path(name), "feedback": f"{request.base}/v1/feedback"}
        entries[id] = {**about, "endpoints": endpoints, "features": {**FEATURES, **make_plugin_select(name, host)}}
    return make_reply(200, encode(entries))


def make_plugin_select(name: str, host: Host) -> dict[str, Any]:
    """Build the plugin select option; the chosen value comes back in `workspace_options`."""
    description = host.describe(name)
    groups = description.groups if description else {}
    if len(groups) < 2:
        return {}
    options = [{"label": title, "value": id} for id, title in list(groups.items())[:MAX_PLUGINS]]
    return {
        "plugins": {
            "label": "Plugin",
            "type": "select",
            "default": ALL_PLUGINS,
            "description": "The tools that an answer may use.",
            "options": [{"label": "All", "value": ALL_PLUGINS}, *options],
        }
    }


def get_copilots_json(request: Request, host: Host) -> Reply:
    """Answer with copilots.json for Terminal Pro of 2024."""
    flags = {"hasStreaming": True, "hasDocuments": False, "hasFunctionCalling": True}
    entries = {
        id.replace("-", "_"): {**about, **flags, "endpoints": {"query": request.base + get_query_path(name)}}
        for id, name, about in iter_agents(host, request.base)
    }
    return make_reply(200, encode(entries))


def iter_agents(host: Host, base: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield id, responder name and display fields of each agent. Workspace needs unique ids and names."""
    ids: set[str] = set()
    titles: set[str] = set()
    for name in host.responders:
        description = host.describe(name)
        title = (description and description.title) or ("Rightseat" if name == "default" else name)
        entry = {
            "name": make_unique_name(title, titles, separator=" "),
            "description": (description and description.description) or "An assistant on a rightseat server.",
        }
        if description and description.image:
            entry["image"] = urljoin(f"{base}/", description.image)
        slug = re.sub(r"[^a-z0-9]+", "-", f"rightseat-{name}".lower()).strip("-")
        id = make_unique_name(slug, ids, separator="-")
        ids.add(id)
        titles.add(entry["name"])
        yield id, name, entry


def get_query_path(name: str) -> str:
    return "/v1/query" if name == "default" else f"/v1/query/{quote(name)}"


LEGACY_PROBE = {"messages": [{"role": "human", "content": "Count from one to five, in words."}]}
ERROR_SUFFIX = re.compile(r" \(([a-z_]+)\)\Z")

WORKSPACE_PROBE = {**LEGACY_PROBE, "widgets": {"primary": [], "secondary": [], "extra": []}, "timezone": "UTC"}


def check_agents_json(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200:
        return describe_error(status, body, "OpenBB", "detail")
    try:
        agents = msgspec.json.decode(body, type=dict[str, dict[str, Any]])
        entries = [(entry["name"], entry["description"], entry["endpoints"]["query"]) for entry in agents.values()]
    except (msgspec.MsgspecError, KeyError, TypeError, UnicodeDecodeError):
        return "the answer is no file of agents"
    if any(entry.get("image", "-") in ("", None) for entry in agents.values()):
        return "an agent has an empty image, for which the client refuses the whole file"
    return None if entries else "the file names nobody"


def check_query(status: int, headers: Mapping[str, str], body: bytes) -> str | None:
    if status != 200:
        return describe_error(status, body, "OpenBB", "detail")
    if not is_event_stream(headers):
        return "the answer is no event stream"
    if (events := decode_event_stream(body)) is None:
        return "an event is not JSON: the client would stop there"
    text = "".join(str(event.get("delta", "")) for event in events)
    if (failed := ERROR_SUFFIX.search(text)) and failed[1] in list_error_codes(RightseatError):
        return f"the run failed: {text[-300:]}"
    if not body.startswith(b"event: "):
        return "the stream begins with something else than an event"
    return None if text or any("function" in event for event in events) else "the answer is empty"


def list_error_codes(kind: type[RightseatError]) -> set[str]:
    """List error codes, by which a failed answer's text ends: legacy clients get no other sign of failure."""
    return {kind.code}.union(*(list_error_codes(child) for child in kind.__subclasses__()))


PROBES = (
    Probe("agents.json", "GET", "/agents.json", check_agents_json),
    Probe("copilots.json", "GET", "/copilots.json", check_agents_json),
    Probe("query of 2024", "POST", "/v1/query", check_query, msgspec.json.encode(LEGACY_PROBE)),
    Probe("query of today", "POST", "/v1/query", check_query, msgspec.json.encode(WORKSPACE_PROBE)),
)

# Pages on this machine are allowed anyway; these origins send credentials.
ORIGINS = (
    "https://pro.openbb.co",
    "https://pro.openbb.dev",
    "http://localhost",
    "http://localhost:1420",
    "http://localhost:5050",
)


def post_query(request: Request, host: Host) -> Reply:
    return stream_answer(read_query(request, host), host)


def post_feedback(request: Request, host: Host) -> Reply:
    """Log a vote with the user's comment, without the rated answer."""
    body = decode_body(request.body, OpenBBFeedback)
    entry = {
        "vote": body.vote,
        "tags": body.tags or [],
        "comment": (body.user_comment or "")[:500],
        "chat": request.headers.get("x-trace-id", body.trace_id or "")[:128],
    }
    log.info("feedback: %s", encode(entry).decode())
    return make_reply(200, b'{"status":"ok"}')


door = Door(
    name="openbb",
    routes=(
        # These need a key if keys are set: the dialog sends its headers here and reports a wrong one.
        Route("GET", "/agents.json", get_agents_json, summary="Agents, for OpenBB Workspace"),
        Route("GET", "/copilots.json", get_copilots_json, summary="Copilots, for OpenBB Terminal Pro"),
        Route("POST", "/v1/query", post_query, body_type=OpenBBQuery, summary="Ask the default assistant"),
        Route(
            "POST", "/v1/query/{assistant:path}", post_query, body_type=OpenBBQuery, summary="Ask one of the assistants"
        ),
        Route("POST", "/v1/feedback", post_feedback, body_type=OpenBBFeedback, summary="A vote on an answer"),
    ),
    format_error=refuse,
    hint=lambda base: f"OpenBB Workspace, Add Agent: {base}",
    probes=PROBES,
    origins=ORIGINS,
)

"""OpenBB's routes: agents.json, copilots.json, the query for both client generations, and feedback."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

import msgspec
from msgspec.structs import replace

from rightseat.doors.openbb.messages import get_content_text
from rightseat.doors.openbb.read import read_query
from rightseat.doors.openbb.wire import OpenBBFeedback, OpenBBQuery, make_unique_name
from rightseat.doors.openbb.write import refuse, refuse_for, stream_answer
from rightseat.errors import ConfigError, RightseatError
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
    make_full_response,
    make_reply,
)
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import Reply
from rightseat.types.agent_card import NO_CARD, PLUGINS_OPTION, AgentCard, CardEndpoints
from rightseat.types.streams import closing
from rightseat.types.turn import Feedback

log = logging.getLogger(__name__)
encode = msgspec.json.Encoder().encode
ALL_PLUGINS = "auto"
MAX_PLUGINS = 50
QUERY_PATH = "/v1/query"
FEEDBACK_PATH = "/v1/feedback"
LARGE_BODY = 256 << 10
"""Bytes of a query from which on it is read in a thread: a dashboard may have thousands of options."""
DEFAULT_IMAGE = "/playground/icon.svg"
"""Path of our own icon, for agents whose author gave no picture."""

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
        card = get_card(host, name)
        features = {**FEATURES, **make_plugin_select(name, host), **card.features}
        endpoints = make_endpoints(card.endpoints, get_query_path(host, name), request.base)
        if not features["feedback"]:
            endpoints.pop("feedback")
        entries[id] = {**about, "endpoints": endpoints, "features": features}
    return make_reply(200, encode(entries))


def make_endpoints(own: CardEndpoints, usual_path: str, base: str) -> dict[str, str]:
    """Make an agent's endpoints as its author wrote them, else whole URLs. Workspace resolves a path from the root, so
    one below a prefix of this server needs the whole URL too."""
    prefix = "" if own.query.startswith("/") and not urlsplit(base).path else base
    paths = {"query": own.query or usual_path, "feedback": own.feedback or FEEDBACK_PATH}
    return {key: path if "://" in path else prefix + path for key, path in paths.items()}


def get_card(host: Host, name: str) -> AgentCard:
    description = host.describe(name)
    return description.card if description else NO_CARD


def make_plugin_select(name: str, host: Host) -> dict[str, Any]:
    """Build the plugin select option; the chosen value comes back in `workspace_options`."""
    description = host.describe(name)
    groups = description.groups if description else {}
    if len(groups) < 2:
        return {}
    options = [{"label": title, "value": id} for id, title in list(groups.items())[:MAX_PLUGINS]]
    return {
        PLUGINS_OPTION: {
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
    entries = {}
    for id, name, about in iter_agents(host, request.base):
        card = get_card(host, name)
        path = card.endpoints.query or get_query_path(host, name)
        # Terminal Pro takes whole URLs only.
        url = path if "://" in path else request.base + path
        entries[card.id or id.replace("-", "_")] = {**about, **flags, "endpoints": {"query": url}}
    return make_reply(200, encode(entries))


def iter_agents(host: Host, base: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield id, responder name and display fields of each agent. Workspace needs unique ids and names."""
    cards = list_cards(host)
    ids = {card.id for card in cards.values()}
    titles: set[str] = set()
    for name, card in cards.items():
        description = host.describe(name)
        title = (description and description.title) or ("Rightseat" if name == "default" else name)
        entry = {
            "name": make_unique_name(title, titles, separator=" "),
            "description": (description and description.description) or "An assistant on a rightseat server.",
        }
        image = description.image if description else ""
        entry["image"] = urljoin(f"{base}/", image) if image else base + DEFAULT_IMAGE
        slug = re.sub(r"[^a-z0-9]+", "-", f"rightseat-{name}".lower()).strip("-")
        id = card.id or make_unique_name(slug, ids, separator="-")
        ids.add(id)
        titles.add(entry["name"])
        yield id, name, entry


def list_cards(host: Host) -> dict[str, AgentCard]:
    """List the agents' cards by name. The default is left out where it is another assistant by a second name."""
    cards = {name: get_card(host, name) for name in host.responders}
    default = cards.get("default", NO_CARD)
    is_copy = default != NO_CARD and any(card is default for name, card in cards.items() if name != "default")
    return {name: card for name, card in cards.items() if name != "default" or not is_copy}


def get_query_path(host: Host, name: str) -> str:
    """Return the path of an assistant without one of its own. Another may have taken that of the default."""
    is_taken = any(card.endpoints.query == QUERY_PATH for card in list_cards(host).values())
    return QUERY_PATH if name == "default" and not is_taken else f"{QUERY_PATH}/{quote(name)}"


def make_own_routes(host: Host) -> tuple[Route, ...]:
    """Make the routes of assistants whose author gave them paths of their own. Raises ConfigError for an id or a path
    that two have."""
    routes: dict[str, Route] = {}
    cards = list_cards(host)
    ids = [card.id for card in cards.values() if card.id]
    if len(set(ids)) < len(ids):
        raise ConfigError(f"Two assistants have one id: {', '.join(sorted(ids))}. Give each its own.")
    for name, card in cards.items():
        endpoints = card.endpoints
        other_paths = {f"{QUERY_PATH}/{quote(other)}" for other in host.responders if other != name}
        if endpoints.query in routes or endpoints.query in other_paths:
            raise ConfigError(f"Two assistants have the path {endpoints.query!r} for questions. Give each its own.")
        if endpoints.query.startswith("/"):
            summary = f"Ask the assistant {name}"
            route = Route("POST", endpoints.query, partial(post_query_to, name), body_type=OpenBBQuery, summary=summary)
            routes[endpoints.query] = route
    feedback_paths = {FEEDBACK_PATH, *(card.endpoints.feedback for card in cards.values())}
    for path in sorted(path for path in feedback_paths if path.startswith("/")):
        if path in routes:
            raise ConfigError(f"The path {path!r} is for questions and for votes. Give each its own.")
        if path != FEEDBACK_PATH:
            routes[path] = Route("POST", path, post_feedback, body_type=OpenBBFeedback, summary="A vote on an answer")
    return tuple(routes.values())


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
    if len(request.body) > LARGE_BODY:
        return read_and_stream(request, host)
    return stream_answer(read_query(request, host), host)


async def read_and_stream(request: Request, host: Host) -> Reply:
    """Read a large query in a thread, so that it does not delay other answers, then stream the answer."""
    try:
        query = await asyncio.to_thread(read_query, request, host)
    except RightseatError as error:
        report_refusal(error)
        reply = refuse(error)
    else:
        reply = stream_answer(query, host)
    async with closing(reply):
        async for part in reply:
            yield part


def post_query_to(name: str, request: Request, host: Host) -> Reply:
    return post_query(replace(request, params={"assistant": name}), host)


def post_feedback(request: Request, host: Host) -> Reply:
    """Log a vote with the user's comment, without the rated answer, and give it to the operator's hook."""
    body = decode_body(request.body, OpenBBFeedback)
    chat = request.headers.get("x-trace-id", body.trace_id or "")[:128]
    entry = {"vote": body.vote, "tags": body.tags or [], "comment": (body.user_comment or "")[:500], "chat": chat}
    log.info("feedback: %s", encode(entry).decode())
    feedback = Feedback(
        vote=body.vote,
        tags=tuple(body.tags or ()),
        comment=body.user_comment or "",
        question=get_content_text(body.user_prompt),
        answer=get_content_text(body.ai_response),
        conversation=chat,
        owner=request.owner.name,
    )
    return send_feedback(feedback, host)


async def send_feedback(feedback: Feedback, host: Host) -> Reply:
    """Answer a vote once the hook has it."""
    try:
        await host.report_feedback(feedback)
    except RightseatError as error:
        report_refusal(error)
        async for part in refuse(error):
            yield part
        return
    yield make_full_response(200, b'{"status":"ok"}')


door = Door(
    name="openbb",
    routes=(
        # These need a key if keys are set: the dialog sends its headers here and reports a wrong one.
        Route("GET", "/agents.json", get_agents_json, summary="Agents, for OpenBB Workspace"),
        Route("GET", "/copilots.json", get_copilots_json, summary="Copilots, for OpenBB Terminal Pro"),
        Route("POST", QUERY_PATH, post_query, body_type=OpenBBQuery, summary="Ask the default assistant"),
        Route(
            "POST",
            f"{QUERY_PATH}/{{assistant:path}}",
            post_query,
            body_type=OpenBBQuery,
            summary="Ask one of the assistants",
        ),
        Route("POST", FEEDBACK_PATH, post_feedback, body_type=OpenBBFeedback, summary="A vote on an answer"),
    ),
    format_error=refuse,
    format_error_for=refuse_for,
    make_routes=make_own_routes,
    hint=lambda base: f"OpenBB Workspace, Add Agent: {base}",
    keyed_hint=lambda base: f"OpenBB Workspace, Add Agent: {base}   with the header X-API-KEY: the key",
    probes=PROBES,
    origins=ORIGINS,
)

"""Decode a query, legacy or current, without I/O; `turn` reads files and pages while streaming."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.doors.openbb.client_results import parse_parts
from rightseat.doors.openbb.messages import (
    ConversationItem,
    PostedText,
    RoundTripBatch,
    find_artifact_names,
    parse_conversation,
)
from rightseat.doors.openbb.wire import (
    WORKSPACE_FIELDS,
    EchoedState,
    OpenBBQuery,
    PendingClientCall,
    SelectedSkill,
    as_dict,
    as_list,
    as_text,
    make_unique_name,
    to_json,
)
from rightseat.doors.openbb.workspace_tools import (
    ToolsByName,
    WorkspaceTool,
    collect_tools,
    estimate_tool_tokens,
    is_legacy_query,
)
from rightseat.errors import CallerError, NotFound
from rightseat.http.endpoint import ID_PATTERN, AssistantInfo, Host, Request, decode_body, parse_plugins_header
from rightseat.types.language import Language, find_language
from rightseat.types.messages import FileMessagePart, text_message
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import ForwardedProps, Turn, TurnClient

MAX_URLS = 4
MAX_CONTEXT_ITEMS = 64
MAX_LABEL = 600


class AddedContext(Struct, frozen=True):
    """One context item, to be rendered before the model is called."""

    label: str
    raw: Any
    facts: dict[str, str]
    """Name, description and metadata."""


def parse_context(query: OpenBBQuery) -> list[AddedContext]:
    posted = query.context
    if isinstance(posted, str):
        return [parse_context_item({"data": posted})] if posted.strip() else []
    raw_items = [posted] if isinstance(posted, dict) else as_list(posted)
    return [parse_context_item(as_dict(item) or {"data": item}) for item in raw_items[:MAX_CONTEXT_ITEMS] if item]


def parse_context_item(item: dict[str, Any]) -> AddedContext:
    """Parse a widget's data or one of our own artifacts, which have the same shape."""
    name = as_text(item.get("name")) or "Added by the user"
    description = as_text(item.get("description"))
    metadata = as_dict(item.get("metadata"))
    facts = {key: format_metadata(key, value) for key, value in metadata.items() if value not in (None, "", [], {})}
    details = [description] if description and description != name else []
    details += [f"{key}: {value}" for key, value in facts.items()]
    label = f"{name} ({'; '.join(details)})" if details else name
    facts |= {"name": name} | ({"description": description} if description else {})
    data = item.get("data")
    return AddedContext(label[:MAX_LABEL], item.get("content") if data is None else data, facts)


def format_metadata(key: str, value: Any) -> str:
    """Format a metadata value; `lastUpdated` milliseconds become an ISO time."""
    if key == "lastUpdated" and isinstance(value, int | float) and 1e11 < value < 1e13:
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="seconds")
    return value if isinstance(value, str) else to_json(value)


def carry_state(query: OpenBBQuery, previous: EchoedState | None) -> EchoedState:
    """Build the state from this request, or for fields that are sent once from the previous state."""
    previous = previous or EchoedState(calls=())
    urls = tuple(url for url in as_list(query.urls) if isinstance(url, str) and 0 < len(url) <= 2000)[:MAX_URLS]
    return EchoedState(
        calls=(),
        seen=previous.seen,
        timezone=as_text(query.timezone)[:64] or previous.timezone,
        urls=urls or previous.urls,
        skills=parse_skills(query.selected_skills) or previous.skills,
    )


def parse_skills(posted: Any) -> tuple[SelectedSkill, ...]:
    skills: list[SelectedSkill] = []
    for item in as_list(posted)[:8]:
        try:
            skills.append(msgspec.convert(item, SelectedSkill))
        except (msgspec.ValidationError, RecursionError):
            continue
    return tuple(skills)


def iter_instructions(query: OpenBBQuery, state: EchoedState) -> Iterator[tuple[str, str]]:
    """Yield short instructions as (label, value): time zone, current dashboard, selected skills."""
    if state.timezone:
        yield "The user's time zone", state.timezone
    dashboard = as_dict(as_dict(query.workspace_state).get("current_dashboard_info"))
    if name := as_text(dashboard.get("name")):
        yield "The dashboard that the user looks at", describe_dashboard(name, dashboard)
    for skill in state.skills:
        yield f"Skill {skill.slug!r}, chosen by the user: follow it", skill.content or skill.description


def describe_dashboard(name: str, dashboard: dict[str, Any]) -> str:
    tabs = []
    for tab in map(as_dict, as_list(dashboard.get("tabs"))[:32]):
        names = [as_text(as_dict(widget).get("name")) for widget in as_list(tab.get("widgets"))]
        tabs.append(f"tab {as_text(tab.get('tab_id')) or '?'} with {', '.join(filter(None, names)) or 'nothing'}")
    current = as_text(dashboard.get("current_tab_id"))
    parts = [name, *tabs, *([f"the current tab is {current}"] if current else [])]
    return "; ".join(parts)[:2000]


NO_MESSAGES = "messages list cannot be empty."
MAX_DATA_TOKENS = 20_000
MIN_DATA_TOKENS = 200
MAX_ROUND_TRIPS = 16
SMALL_CONTEXT = 8192
"""Context window in tokens up to which a model counts as small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSource:
    """Data that the answer uses, for its citation."""

    tool: WorkspaceTool | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    citation: dict[str, Any] | None = None
    """The citation that came with the data."""


@dataclass(slots=True, kw_only=True)
class OpenBBRequest:
    """A decoded query before its data is read; `turn` adds sources, files and notices."""

    turn: Turn
    tools: dict[str, WorkspaceTool]
    items: list[ConversationItem]
    added_context: list[AddedContext]
    instructions: list[tuple[str, str]]
    """Short instructions as (label, value)."""
    state: EchoedState
    seen_calls: set[str]
    pending_calls: tuple[PendingClientCall, ...]
    """Waiting calls of an earlier answer: they are sent before the model is called again."""
    budget: int
    legacy: bool
    """The client is of 2024: calls name only a widget's UUID."""
    shows_events: bool
    """The client shows status, artifacts and citations, not only text and calls."""
    trace_id: str
    artifact_names: set[str]
    """Names of the chat's artifacts."""
    context_window: int | None = None
    """The model's context window in tokens, if known."""
    added_data_tool: str = ""
    """Tool name under which a small model gets added data as results; empty: added data is an instruction."""
    supports_images: bool = False
    """The model takes images as such."""
    passes_files: bool = False
    """Files are attached for tools."""
    sources: list[CitedSource] = field(default_factory=list)
    files: list[FileMessagePart] = field(default_factory=list)
    unread_notices: list[str] = field(default_factory=list)
    """Sentences for the user about data that could not be read."""

    @property
    def language(self) -> Language:
        """Language of the person, by the texts of the conversation."""
        return find_language(text_message(item.role, item.text) for item in self.items if isinstance(item, PostedText))

    @property
    def has_small_context(self) -> bool:
        return is_small_context(self.context_window)

    @property
    def slow_parts(self) -> int:
        """Number of files and pages to read before the model is called."""
        raws = [item.raw for item in self.added_context]
        raws += [raw for batch in self.current_batches for trip in batch.round_trips for raw in trip.results]
        part_lists = [parts for raw in raws if isinstance(parts := parse_parts(raw), list)]
        return len(self.state.urls) + sum(part.is_slow for parts in part_lists for part in parts)

    @property
    def current_batches(self) -> list[RoundTripBatch]:
        """The batches since the last user message."""
        return find_current_batches(self.items)


def read_query(request: Request, host: Host) -> OpenBBRequest:
    name = get_assistant_name(request, host)
    query = decode_body(request.body, OpenBBQuery)
    if not query.messages:
        raise CallerError(NO_MESSAGES, param="messages")
    description = describe_assistant(host, name)
    context_window = description.context_window if description else None
    server_tools = description.server_tools if description else ()
    tools = collect_tools(query, server_tools, None if context_window is None else context_window // 3)
    items = parse_conversation(query.messages, tools)
    items += parse_empty_question(query.messages, description)
    round_trips = [trip for batch in find_current_batches(items) for trip in batch.round_trips]
    previous = next((trip.state for trip in reversed(round_trips) if trip.state), None)
    state = carry_state(query, previous)
    trace_id = request.headers.get("x-trace-id", "")
    trace_id = trace_id if ID_PATTERN.fullmatch(trace_id) else ""
    shows_events = not is_legacy_query(query) and (bool(trace_id) or is_workspace_query(query))
    waiting = latest.later_calls if items and isinstance(latest := items[-1], RoundTripBatch) else ()
    return OpenBBRequest(
        turn=Turn(
            messages=(),
            assistant=host.resolve_responder(name),
            tools=() if len(round_trips) >= MAX_ROUND_TRIPS else tuple(offer.spec for offer in tools.values()),
            plugins=parse_plugins_header(request),
            client=TurnClient(
                forwarded=ForwardedProps(as_dict(query.workspace_options)),
                headers=request.forwarded_headers,
                is_workspace=True,
                shows_interrupts=False,
                shows_artifacts=shows_events,
                base_url=request.base,
                returns_call_ids=not is_legacy_query(query) or previous is not None,
            ),
            owner=request.owner,
            run=request.id,
            conversation=trace_id or None,
        ),
        tools=tools,
        items=items,
        added_context=parse_context(query),
        instructions=list(iter_instructions(query, state)),
        state=state,
        seen_calls={call.digest for trip in round_trips for call in trip.client_calls} | set(state.seen),
        pending_calls=tuple(due for due in waiting if due.name in tools),
        budget=compute_data_budget(context_window, tools, items, limited=not (description and description.context)),
        legacy=is_legacy_query(query),
        shows_events=shows_events,
        trace_id=trace_id,
        artifact_names=find_artifact_names(query.messages)
        | ({as_text(as_dict(item).get("name")) for item in as_list(query.context)} - {""}),
        context_window=context_window,
        added_data_tool=name_added_data_tool(context_window, tools, server_tools),
        supports_images=bool(description and description.supports_images),
        passes_files=bool(description and description.has_file_tools),
    )


def get_assistant_name(request: Request, host: Host) -> str | None:
    name = request.params.get("assistant")
    if name is not None and name not in host.responders:
        known = ", ".join(host.responders)
        raise NotFound(f"There is no assistant {name[:64]!r}. Those that exist: {known}")
    return name


def describe_assistant(host: Host, name: str | None) -> AssistantInfo | None:
    """Return the description of the answering assistant; None for an agent of another kind."""
    if name is None and "default" not in host.responders:
        name = next(iter(host.responders), None)
    return host.describe(name or "default")


def parse_empty_question(messages: list[Any], description: AssistantInfo | None) -> list[PostedText]:
    """Return an empty last user message if it may stand for a plugin's suggested question, else nothing."""
    last = as_dict(messages[-1])
    has_text = as_text(last.get("role")) not in ("human", "user") or bool(as_text(last.get("content")).strip())
    return [] if has_text or description is None or not description.suggestions else [PostedText("user", "")]


def is_workspace_query(query: OpenBBQuery) -> bool:
    if isinstance(query.widgets, dict) or any(getattr(query, name) is not None for name in WORKSPACE_FIELDS):
        return True
    messages = map(as_dict, query.messages)
    return any(message.get("extra_state") or message.get("agent_id") for message in messages)


def is_small_context(context_window: int | None) -> bool:
    return context_window is not None and context_window <= SMALL_CONTEXT


def name_added_data_tool(context_window: int | None, tools: ToolsByName, server_tools: Container[str]) -> str:
    """Name the tool under which a small model gets added data; "" if added data is an instruction.

    A small model that has widgets calls one, even if the instructions hold the data (ten of ten answers of
    our embedded model), but it reads the result of a call. Larger models need no such call, and some vendors
    refuse calls that their model did not make. See `matches_added_data`."""
    needed = is_small_context(context_window) and bool(tools)
    return make_unique_name("get_added_data", tools, server_tools) if needed else ""


def find_last_user_index(items: list[ConversationItem]) -> int:
    """Return the index of the last user message, or -1."""
    places = (n for n, item in enumerate(items) if isinstance(item, PostedText) and item.role == "user")
    return max(places, default=-1)


def find_current_batches(items: list[ConversationItem]) -> list[RoundTripBatch]:
    return [item for item in items[find_last_user_index(items) + 1 :] if isinstance(item, RoundTripBatch)]


def compute_data_budget(
    context_window: int | None, tools: ToolsByName, items: list[ConversationItem], *, limited: bool
) -> int:
    """Compute the tokens for data: what the context window has left beside answer, tools and question."""
    if context_window is None:
        return MAX_DATA_TOKENS
    tool_tokens = sum(estimate_tool_tokens(offer.spec) for offer in tools.values())
    last = find_last_user_index(items)
    question = items[last] if last >= 0 else None
    question_tokens = estimate_tokens(question.text) if isinstance(question, PostedText) else 0
    remaining = max((context_window * 3 // 4 - tool_tokens - question_tokens) * 2 // 3, MIN_DATA_TOKENS)
    return min(remaining, MAX_DATA_TOKENS) if limited else remaining

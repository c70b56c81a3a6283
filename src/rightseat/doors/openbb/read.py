"""Decode a query, legacy or current, without I/O; `turn` reads files and pages while streaming."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.doors.openbb.client_results import parse_parts
from rightseat.doors.openbb.messages import (
    ConversationItem,
    PostedText,
    RoundTripBatch,
    find_artifact_names,
    parse_conversation,
)
from rightseat.doors.openbb.skills import exclude_skills, find_active_skills, iter_skill_instructions, parse_skills
from rightseat.doors.openbb.tool_selection import (
    OfferedShare,
    WorkspaceToolSelection,
    estimate_tool_tokens,
    select_tools,
)
from rightseat.doors.openbb.wire import (
    ECHOED_ARGUMENTS_KEY,
    WORKSPACE_FIELDS,
    EchoedState,
    OpenBBQuery,
    PendingClientCall,
    SelectedSkill,
    as_dict,
    as_list,
    as_text,
    make_unique_name,
    parse_state,
    to_json,
)
from rightseat.doors.openbb.workspace_tools import (
    ToolsByName,
    WorkspaceTool,
    collect_tools,
    convert_arguments,
    format_values,
    group_widgets,
    is_legacy_query,
)
from rightseat.doors.openbb.zones import find_now, find_zone
from rightseat.errors import CallerError, NotFound
from rightseat.http.endpoint import ID_PATTERN, AssistantInfo, Host, Request, decode_body, parse_plugins_header
from rightseat.http.fetch import AddressRules
from rightseat.types.agent_card import NO_CARD, describe_options, resolve_options
from rightseat.types.language import Language, find_language
from rightseat.types.messages import FileMessagePart, text_message
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import ForwardedProps, Turn, TurnClient

MAX_URLS = 4
MAX_CONTEXT_ITEMS = 64
MAX_LABEL = 600
OPTIONS_LABEL = "Settings of this assistant, as the user has set them"
CHART_KINDS = ("line", "bar", "scatter", "pie", "donut")
"""Kinds of charts that Workspace draws."""
MAX_CHOSEN_WIDGETS = 20


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


def count_added(query: OpenBBQuery) -> tuple[OfferedShare, ...]:
    """Count the added items and pages of a query: those that are read and all."""
    items, urls = as_list(query.context), as_list(query.urls)
    return (
        OfferedShare("items", min(len(items), MAX_CONTEXT_ITEMS), len(items)),
        OfferedShare("pages", min(len(urls), MAX_URLS), len(urls)),
    )


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
        timezone=find_timezone(query),
        urls=urls or previous.urls,
        skills=parse_skills(query.selected_skills) or previous.skills,
    )


def find_timezone(query: OpenBBQuery) -> str:
    """Return the name of the user's time zone, from this request or from the state of an earlier call; "" if there is
    no such zone."""
    states = (parse_state(as_dict(message).get("extra_state")) for message in reversed(query.messages))
    names = (as_text(query.timezone)[:64], *(state.timezone for state in states if state))
    return next((name for name in names if name and find_zone(name)), "")


def iter_instructions(
    query: OpenBBQuery,
    selection: WorkspaceToolSelection,
    context_window: int | None,
    options: str,
    skills: Iterable[SelectedSkill],
) -> Iterator[tuple[str, str]]:
    """Yield short instructions as (label, value): chosen widgets, what is left out, current dashboard, the agent's
    options, active skills."""
    chosen = [tool for tool in selection.tools.values() if tool.group == "primary"][:MAX_CHOSEN_WIDGETS]
    # A small model takes such a line for data. The widgets' descriptions say it too.
    if chosen and not is_small_context(context_window):
        yield "The widgets that the user has chosen; prefer them", "; ".join(map(describe_values, chosen))
    if selection.left_out:
        counts = ", ".join(f"{share.offered} of {share.total} {share.kind}" for share in selection.left_out)
        yield (
            "Not all of the user's widgets and tools fit here",
            f"you have {counts}, those closest to the question. If you need another one, ask the user to name it",
        )
    dashboard = as_dict(as_dict(query.workspace_state).get("current_dashboard_info"))
    if name := as_text(dashboard.get("name")):
        yield "The dashboard that the user looks at", describe_dashboard(name, dashboard)
    if options:
        yield OPTIONS_LABEL, options
    yield from iter_skill_instructions(skills)


def describe_values(tool: WorkspaceTool) -> str:
    """Describe a widget by its tool, title and current values."""
    values = format_values(tool.current_values) if tool.current_values else ""
    details = ": ".join(filter(None, (tool.title, values)))
    return f"{tool.spec.name} ({details})" if details else tool.spec.name


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


class ReadNotice(Struct, frozen=True):
    """A sentence for the user about what was left out."""

    text: str
    failed: bool = False
    is_new: bool = True
    """Whether an earlier request of this turn has not told it already."""


@dataclass(slots=True, kw_only=True)
class OpenBBRequest:
    """A decoded query before its data is read; `turn` adds sources, files and notices."""

    turn: Turn
    tools: dict[str, WorkspaceTool]
    items: list[ConversationItem]
    added_context: list[AddedContext]
    instructions: list[tuple[str, str]]
    """Short instructions as (label, value)."""
    now: datetime
    """The present time in the user's time zone."""
    unread: tuple[OfferedShare, ...]
    """Added items and pages that are not all read."""
    left_out: tuple[OfferedShare, ...]
    """Widgets, tools and skills that are not all offered to the model."""
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
    reads_comments: bool
    """The client is a page, or asks for an event stream by its name: it skips comments."""
    artifact_names: set[str]
    """Names of the chat's artifacts."""
    fetch_rules: AddressRules
    """Addresses from which files and pages may be fetched."""
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
    notices: list[ReadNotice] = field(default_factory=list)
    """What the user is told about data that could not be read, or only in part."""

    @property
    def language(self) -> Language:
        """Language of the person, by the texts of the conversation."""
        return find_language(text_message(item.role, item.text) for item in self.items if isinstance(item, PostedText))

    def convert_arguments(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Convert the arguments of a call to one of the client's tools; raise CallerError for what must be mended."""
        return convert_arguments(self.tools, self.now, name, arguments)

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
    query, skills = decode_query(request)
    description = describe_assistant(host, name)
    card = description.card if description else NO_CARD
    options = resolve_options(card, query.workspace_options)
    context_window = description.context_window if description else None
    server_tools = description.server_tools if description else ()
    now = find_now(find_timezone(query))
    all_tools = collect_tools(query, now, server_tools)
    items = parse_conversation(query.messages, all_tools)
    items += parse_empty_question(query.messages, description)
    selection = offer_tools(query, all_tools, items, server_tools, context_window)
    tools = selection.tools
    round_trips = [trip for batch in find_current_batches(items) for trip in batch.round_trips]
    previous = next((trip.state for trip in reversed(round_trips) if trip.state), None)
    state = carry_state(query, previous)
    trace_id = get_trace_id(request)
    shows_events = bool(trace_id) or not is_terminal_pro_query(query)
    client = replace(
        make_client(request, query, options, shows_events=shows_events),
        returns_call_ids=not is_legacy_query(query) or previous is not None,
        convert_arguments=partial(convert_arguments, tools, now),
    )
    return OpenBBRequest(
        turn=Turn(
            messages=(),
            assistant=host.resolve_responder(name),
            tools=() if len(round_trips) >= MAX_ROUND_TRIPS else tuple(offer.spec for offer in tools.values()),
            plugins=parse_plugins_header(request),
            client=client,
            owner=request.owner,
            run=request.id,
            conversation=trace_id or None,
        ),
        tools=tools,
        items=items,
        added_context=parse_context(query),
        instructions=list(iter_instructions(query, selection, context_window, describe_options(card, options), skills)),
        now=now,
        unread=tuple(share for share in count_added(query) if share.offered < share.total),
        left_out=selection.left_out,
        state=state,
        seen_calls={call.digest for trip in round_trips for call in trip.client_calls} | set(state.seen),
        pending_calls=tuple(due for due in find_waiting_calls(items) if due.name in tools),
        budget=compute_data_budget(context_window, tools, items, limited=not (description and description.context)),
        legacy=is_legacy_query(query),
        shows_events=shows_events,
        trace_id=trace_id,
        reads_comments=reads_comments(request),
        artifact_names=find_artifact_names(query.messages) | list_context_names(query),
        fetch_rules=request.fetch_rules,
        context_window=context_window,
        added_data_tool=name_added_data_tool(context_window, tools, server_tools),
        supports_images=bool(description and description.supports_images),
        passes_files=bool(description and description.has_file_tools),
    )


def decode_query(request: Request) -> tuple[OpenBBQuery, tuple[SelectedSkill, ...]]:
    """Return the query, with only the skills that are not active yet on offer, and the active ones."""
    query = decode_body(request.body, OpenBBQuery)
    if not query.messages:
        raise CallerError(NO_MESSAGES, param="messages")
    skills = find_active_skills(query)
    return replace(query, skills_catalog=exclude_skills(query.skills_catalog, skills)), skills


def reads_comments(request: Request) -> bool:
    """Whether the client is known to skip comments of a stream. A page in a browser has an origin, and Workspace asks
    for no media type by name."""
    return "origin" in request.headers or "text/event-stream" in request.headers.get("accept", "")


def make_client(request: Request, query: OpenBBQuery, options: dict[str, Any], *, shows_events: bool) -> TurnClient:
    return TurnClient(
        forwarded=ForwardedProps(options),
        headers=request.forwarded_headers,
        is_workspace=True,
        workspace={"widgets": group_widgets(query.widgets), "state": as_dict(query.workspace_state)},
        shows_interrupts=False,
        shows_artifacts=shows_events,
        chart_kinds=CHART_KINDS if shows_events else None,
        base_url=request.base,
    )


def offer_tools(
    query: OpenBBQuery,
    tools: ToolsByName,
    items: list[ConversationItem],
    reserved: Container[str],
    context_window: int | None,
) -> WorkspaceToolSelection:
    """Select the tools of this turn, which take at most a third of the model's context window."""
    current = list_called_tools(find_current_batches(items))
    return select_tools(
        query,
        tools,
        questions=list_questions(items),
        called=list_called_tools(items),
        waiting={*current, *(due.name for due in find_waiting_calls(items))},
        reserved=reserved,
        max_tokens=None if context_window is None else context_window // 3,
    )


def find_waiting_calls(items: list[ConversationItem]) -> tuple[PendingClientCall, ...]:
    """Find the calls of the newest answer that are not sent yet."""
    latest = items[-1] if items else None
    return latest.later_calls if isinstance(latest, RoundTripBatch) else ()


def get_trace_id(request: Request) -> str:
    """Return the chat's id; "" if there is none that may be sent back."""
    trace_id = request.headers.get("x-trace-id", "")
    return trace_id if ID_PATTERN.fullmatch(trace_id) else ""


def list_context_names(query: OpenBBQuery) -> set[str]:
    """List the names of the added items. The client sends our artifacts back among them."""
    return {as_text(as_dict(item).get("name")) for item in as_list(query.context)} - {""}


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


def is_terminal_pro_query(query: OpenBBQuery) -> bool:
    """Whether the client is Terminal Pro of 2024, which shows text only: a field has the form of 2024, and none is one
    that only Workspace sends. A body with nothing but messages has no such field: it is one of today's."""
    if is_legacy_query(query):
        return True
    messages = [as_dict(message) for message in query.messages]
    if isinstance(query.widgets, dict) or any(getattr(query, name) is not None for name in WORKSPACE_FIELDS):
        return False
    if any(message.get("extra_state") or message.get("agent_id") for message in messages):
        return False
    contents = [as_dict(as_dict(item).get("data")) for item in as_list(query.context)]
    return (
        query.use_docs is not None
        or isinstance(query.context, str)
        or any("content" in data and "items" not in data for data in contents)
        or any(is_legacy_message(message) for message in messages)
    )


def is_legacy_message(message: dict[str, Any]) -> bool:
    """Whether a message has the form of 2024: a result that is no list, or a call with what only that client echoes."""
    if message.get("role") == "tool":
        return not isinstance(message.get("data"), list)
    content = message.get("content")
    return message.get("role") == "ai" and isinstance(content, str) and f'"{ECHOED_ARGUMENTS_KEY}"' in content


def is_small_context(context_window: int | None) -> bool:
    return context_window is not None and context_window <= SMALL_CONTEXT


def name_added_data_tool(context_window: int | None, tools: ToolsByName, server_tools: Container[str]) -> str:
    """Name the tool under which a small model gets added data; "" if added data is an instruction.

    A small model that has widgets calls one, even if the instructions hold the data (ten of ten answers of
    our embedded model), but it reads the result of a call. Larger models need no such call, and some vendors
    refuse calls that their model did not make. See `matches_added_data`."""
    needed = is_small_context(context_window) and bool(tools)
    return make_unique_name("get_added_data", tools, server_tools) if needed else ""


def list_questions(items: list[ConversationItem]) -> list[str]:
    """List the user's last two questions, the newest first."""
    texts = [item.text for item in items if isinstance(item, PostedText) and item.role == "user" and item.text.strip()]
    return texts[:-3:-1]


def list_called_tools(items: Sequence[ConversationItem]) -> list[str]:
    """List the names of the tools called in these items, the newest first."""
    batches = [item for item in items if isinstance(item, RoundTripBatch)]
    calls = [call for batch in batches for trip in batch.round_trips for call in trip.client_calls]
    return list(dict.fromkeys(call.name for call in reversed(calls)))


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

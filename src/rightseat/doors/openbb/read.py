"""Decode a query, legacy or current, without I/O; `gather` reads files and pages while streaming."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Any

from rightseat.doors.openbb.context import Added, added, carried, surroundings
from rightseat.doors.openbb.messages import Batch, Item, Said, artifact_names, conversation
from rightseat.doors.openbb.results import pieces
from rightseat.doors.openbb.widgets import Offer, old, unique
from rightseat.doors.openbb.wire import TODAY, Due, Query, State, listed, table, text
from rightseat.doors.openbb.workspace import offers, size
from rightseat.errors import CallerError, NotFound
from rightseat.http.endpoint import NAME, Described, Host, Request, decode, pinned
from rightseat.types.messages import File
from rightseat.types.tokens import estimate
from rightseat.types.turn import Forwarded, Turn

EMPTY = "messages list cannot be empty."
DATA_TOKENS = 20_000
LEAST_TOKENS = 200
MAX_TRIPS = 16
SMALL = 8192
"""Context window in tokens up to which a model counts as small."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Data that the answer uses, for its citation."""

    offer: Offer | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    url: str = ""
    given: dict[str, Any] | None = None
    """The citation that came with the data."""


@dataclass(slots=True, kw_only=True)
class Asked:
    """A decoded query before its data is read; `gather` adds sources, files and notices."""

    turn: Turn
    offers: dict[str, Offer]
    items: list[Item]
    added: list[Added]
    around: list[tuple[str, str]]
    """Short instructions as (label, value)."""
    state: State
    seen: set[str]
    due: tuple[Due, ...]
    """Waiting calls of an earlier answer: they are sent before the model is called again."""
    budget: int
    old: bool
    """The client is of 2024: calls name only a widget's UUID."""
    today: bool
    """The client shows status, artifacts and citations, not only text and calls."""
    trace: str
    names: set[str]
    """Names of the chat's artifacts."""
    room: int | None = None
    """The model's context window in tokens, if known."""
    handed: str = ""
    """Tool name under which a small model gets added data as results; empty: added data is an instruction."""
    sees: bool = False
    """The model takes images as such."""
    equipped: bool = False
    """Files are attached for tools."""
    sources: list[Source] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    """Sentences for the user about data that could not be read."""

    @property
    def small(self) -> bool:
        """Whether the model's context window is small."""
        return small(self.room)

    @property
    def slow(self) -> int:
        """Number of files and pages to read before the model is called."""
        raws = [one.raw for one in self.added]
        raws += [raw for batch in self.current for trip in batch.trips for raw in trip.results]
        found = [made for raw in raws if isinstance(made := pieces(raw), list)]
        return len(self.state.urls) + sum(piece.slow for made in found for piece in made)

    @property
    def current(self) -> list[Batch]:
        """The batches since the last user message."""
        return [item for item in self.items[last_said(self.items) + 1 :] if isinstance(item, Batch)]


def read(request: Request, host: Host) -> Asked:
    name = named(request, host)
    query = decode(request.body, Query)
    if not query.messages:
        raise CallerError(EMPTY, param="messages")
    about = described(host, name)
    context = about.room if about else None
    found = offers(query, about.server if about else (), None if context is None else context // 3)
    items = conversation(query.messages, found)
    items += silence(query.messages, about)
    batches = [item for item in items[last_said(items) + 1 :] if isinstance(item, Batch)]
    trips = [trip for batch in batches for trip in batch.trips]
    before = next((trip.state for trip in reversed(trips) if trip.state), None)
    state = carried(query, before)
    trace = chat_of(request)
    today = not old(query) and (bool(trace) or modern(query))
    waiting = latest.later if items and isinstance(latest := items[-1], Batch) else ()
    return Asked(
        turn=Turn(
            messages=(),
            assistant=host.resolve(name),
            tools=() if len(trips) >= MAX_TRIPS else tuple(offer.spec for offer in found.values()),
            plugins=pinned(request),
            forwarded=Forwarded(table(query.workspace_options)),
            owner=request.owner,
            headers=request.passed,
            run=request.id,
            shows_interrupts=False,
            shows_artifacts=today,
            base=request.base,
            echoes=not old(query) or before is not None,
            conversation=trace or None,
        ),
        offers=found,
        items=items,
        added=added(query),
        around=list(surroundings(query, state)),
        state=state,
        seen={made.digest for trip in trips for made in trip.made} | set(before.seen if before else ()),
        due=tuple(due for due in waiting if due.name in found),
        budget=room(context, found, items, most=None if about and about.context else DATA_TOKENS),
        old=old(query),
        today=today,
        trace=trace,
        names=artifact_names(query.messages) | context_names(query),
        room=context,
        handed=handed(found, about.server if about else ()) if small(context) and found else "",
        sees=bool(about and about.sees),
        equipped=bool(about and about.equipped),
    )


def chat_of(request: Request) -> str:
    trace = request.headers.get("x-trace-id", "")
    return trace if NAME.fullmatch(trace) else ""


def named(request: Request, host: Host) -> str | None:
    name = request.params.get("assistant")
    if name is not None and name not in host.responders:
        known = ", ".join(host.responders)
        raise NotFound(f"There is no assistant {name[:64]!r}. Those that exist: {known}")
    return name


def described(host: Host, name: str | None) -> Described | None:
    """Return the description of the answering assistant; None for an agent of another kind."""
    if name is None and "default" not in host.responders:
        name = next(iter(host.responders), None)
    return host.described(name or "default")


def silence(messages: list[Any], about: Described | None) -> list[Said]:
    """Return an empty last user message if it may stand for a plugin's suggested question, else nothing."""
    last = table(messages[-1])
    spoke = text(last.get("role")) not in ("human", "user") or bool(text(last.get("content")).strip())
    return [] if spoke or about is None or not about.suggestions else [Said("user", "")]


def modern(query: Query) -> bool:
    if isinstance(query.widgets, dict) or any(getattr(query, name) is not None for name in TODAY):
        return True
    messages = map(table, query.messages)
    return any(message.get("extra_state") or message.get("agent_id") for message in messages)


def context_names(query: Query) -> set[str]:
    return {text(table(item).get("name")) for item in listed(query.context)} - {""}


def small(context: int | None) -> bool:
    return context is not None and context <= SMALL


def handed(found: dict[str, Offer], server: Container[str]) -> str:
    """Name the tool under which a small model gets added data.

    A small model that has widgets calls one, even if the instructions hold the data (ten of ten answers of
    our embedded model), but it reads the result of a call. Larger models need no such call, and some vendors
    refuse calls that their model did not make. See `matches_added_data`."""
    return unique("get_added_data", found, server)


def last_said(items: list[Item]) -> int:
    """Return the index of the last user message, or -1."""
    places = (n for n, item in enumerate(items) if isinstance(item, Said) and item.role == "user")
    return max(places, default=-1)


def room(context: int | None, found: dict[str, Offer], items: list[Item], *, most: int | None) -> int:
    """Compute the tokens for data: what the context window has left beside answer, tools and question, at
    most `limit`."""
    if context is None:
        return DATA_TOKENS
    tools = sum(size(offer.spec) for offer in found.values())
    last = last_said(items)
    question = items[last] if last >= 0 else None
    asked = estimate(question.text) if isinstance(question, Said) else 0
    left = max((context * 3 // 4 - tools - asked) * 2 // 3, LEAST_TOKENS)
    return left if most is None else min(left, most)

"""Request shapes of OpenBB's clients, and the state that the client echoes.

Decoding is tolerant on purpose: the client is looser than its official models, and users do not see a
refusal. Only `messages` has a checked type; its items are checked one by one.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from rightseat.types.messages import MAX_MESSAGES

STATE_KEY = "rightseat"
"""Key of our state in `extra_state`, or in the call that a legacy client echoes."""
ECHOED_ARGUMENTS_KEY = "copilot_function_call_arguments"
WORKSPACE_FIELDS = (
    "timezone",
    "workspace_state",
    "workspace_options",
    "tools",
    "api_keys",
    "urls",
    "model",
    "force_web_search",
    "skills_catalog",
    "selected_skills",
    "semantic_views",
    "available_semantic_views",
)
"""Fields that no legacy client sends."""


class OpenBBQuery(Struct, kw_only=True):
    """What POST /v1/query takes, in the form of 2024 and in today's."""

    messages: Annotated[list[Any], Meta(max_length=MAX_MESSAGES)]
    context: Any = None
    widgets: Any = None
    urls: Any = None
    timezone: Any = None
    tools: Any = None
    workspace_state: Any = None
    workspace_options: Any = None
    selected_skills: Any = None
    skills_catalog: Any = None
    semantic_views: Any = None
    available_semantic_views: Any = None
    api_keys: Any = None
    force_web_search: Any = None
    model: Any = None
    use_docs: Any = None


class OpenBBFeedback(Struct, kw_only=True):
    vote: Literal["thumbs_up", "thumbs_down"]
    tags: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=50)] | None = None
    user_comment: str | None = None
    ai_response: Any = None
    user_prompt: Any = None
    trace_id: str | None = None


class QuoteBox(Struct, frozen=True):
    """A box around quoted text on a page of a PDF, in points from the page's top left."""

    text: str
    page: int
    x0: float
    top: float
    x1: float
    bottom: float


SafeId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:@-]{1,128}\Z")]


class PendingClientCall(Struct, frozen=True):
    """A model's call that the client carries out; `id` is the engine's call id."""

    id: SafeId
    name: SafeId
    arguments: dict[str, Any]


class SelectedSkill(Struct, frozen=True, rename={"content": "contentMarkdown"}):
    slug: Annotated[str, Meta(max_length=200)]
    content: Annotated[str, Meta(max_length=20_000)] = ""
    description: Annotated[str, Meta(max_length=2_000)] = ""


class EchoedState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """State sent with a function call and echoed with its result. The browser can read and change it, so it
    holds no tool result and is trusted only for which calls are meant."""

    calls: Annotated[tuple[PendingClientCall, ...], Meta(max_length=64)]
    later: Annotated[tuple[PendingClientCall, ...], Meta(max_length=64)] = ()
    """Calls of the same answer that are sent after this call's result."""
    seen: Annotated[tuple[Annotated[str, Meta(max_length=32)], ...], Meta(max_length=256)] = ()
    """Digests of this turn's calls, so that none is made twice."""
    timezone: Annotated[str, Meta(max_length=64)] = ""
    urls: Annotated[tuple[Annotated[str, Meta(max_length=2_000)], ...], Meta(max_length=4)] = ()
    skills: Annotated[tuple[SelectedSkill, ...], Meta(max_length=8)] = ()


def parse_state(holder: Any) -> EchoedState | None:
    """Parse our state from an echoed object; None if it is missing or malformed."""
    if not isinstance(holder, dict) or STATE_KEY not in holder:
        return None
    try:
        return msgspec.convert(holder[STATE_KEY], EchoedState)
    except (msgspec.ValidationError, RecursionError):
        return None


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def make_unique_name(name: str, *reserved: Container[str], separator: str = "_") -> str:
    """Return the name, with a number from 2 on if it is reserved."""
    number, candidate = 1, name
    while any(candidate in names for names in reserved):
        number += 1
        candidate = f"{name}{separator}{number}"
    return candidate


def to_json(value: Any) -> str:
    """Encode a value as compact JSON, or as a placeholder if it cannot be encoded."""
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, UnicodeEncodeError):
        return '"(a value that cannot be written as JSON)"'

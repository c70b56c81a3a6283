"""OpenBB's requests as both eras send them, and what travels through the client and back to us.

The reader is tolerant on purpose: the client is loose where its official models are strict, and a person sees
nothing of a refusal. Only `messages` is held to its type; what is inside is judged piece by piece.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

OURS = "rightseat"
"""Under this key our state is found in `extra_state`, or in what 2024's client echoes of a call."""
SMUGGLED = "copilot_function_call_arguments"
TODAY = (
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
"""Fields that no client of 2024 sends."""


class Query(Struct, kw_only=True):
    """What POST /v1/query takes, in the form of 2024 and in today's."""

    messages: list[Any]
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


class Feedback(Struct, kw_only=True):
    vote: Literal["thumbs_up", "thumbs_down"]
    tags: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=50)] | None = None
    user_comment: str | None = None
    ai_response: Any = None
    user_prompt: Any = None
    trace_id: str | None = None


Word = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:@-]{1,128}\Z")]


class Due(Struct, frozen=True):
    """A call of the model's that the client is to carry out, by the id that the engine knows it by."""

    id: Word
    name: Word
    arguments: dict[str, Any]


class Skill(Struct, frozen=True, rename={"content": "contentMarkdown"}):
    slug: Annotated[str, Meta(max_length=200)]
    content: Annotated[str, Meta(max_length=20_000)] = ""
    description: Annotated[str, Meta(max_length=2_000)] = ""


class State(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What goes with a function call and comes back with its result. A browser echoes it, so it is believed
    in nothing but this: which calls are meant. It holds no result of any tool, for it is not secret."""

    calls: Annotated[tuple[Due, ...], Meta(max_length=64)]
    later: Annotated[tuple[Due, ...], Meta(max_length=64)] = ()
    """The same answer's calls whose turn comes when this one's result is there."""
    seen: Annotated[tuple[Annotated[str, Meta(max_length=32)], ...], Meta(max_length=256)] = ()
    """Digests of the calls of this turn, so that none is made twice."""
    timezone: Annotated[str, Meta(max_length=64)] = ""
    urls: Annotated[tuple[Annotated[str, Meta(max_length=2_000)], ...], Meta(max_length=4)] = ()
    skills: Annotated[tuple[Skill, ...], Meta(max_length=8)] = ()


def state_of(holder: Any) -> State | None:
    """Our state in something that a client sent back; anything that is not exactly that is no state."""
    if not isinstance(holder, dict) or OURS not in holder:
        return None
    try:
        return msgspec.convert(holder[OURS], State)
    except (msgspec.ValidationError, RecursionError):
        return None


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def written(value: Any) -> str:
    """A value as compact JSON; what is nested too deeply for that is said to be."""
    try:
        return msgspec.json.encode(value).decode()
    except (RecursionError, UnicodeEncodeError):
        return '"(a value that cannot be written as JSON)"'

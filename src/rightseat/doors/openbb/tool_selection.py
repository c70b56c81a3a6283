"""Choose the client's tools that are offered to the model, where not all of them fit.

Tools called in the conversation stay, then come the widgets that the user has chosen, then those closest to the
question. Half of the room is reserved for MCP tools and skills, as far as they need it. The order is that of the query,
so that the same choice gives the same prompt.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.documents.document import take_head
from rightseat.doors.openbb.skills import GET_SKILL
from rightseat.doors.openbb.wire import OpenBBQuery, as_dict, as_list, as_text, make_unique_name, to_json
from rightseat.doors.openbb.workspace_tools import (
    EMPTY_SCHEMA,
    GET_OPTIONS,
    MAX_CANDIDATES,
    ToolsByName,
    WorkspaceTool,
    format_values,
    iter_widgets,
    with_valid_schema,
)
from rightseat.tools.word_search import SearchField, SearchIndex
from rightseat.types.model import ToolSpec
from rightseat.types.text import estimate_tokens

MAX_TOOLS = 96
MAX_TOOL_TOKENS = 1 << 30
"""Tokens of all tools where the model's context window is not known."""
MAX_SKILL_TOKENS = 1000
SKILL_DESCRIPTION = "Get the instructions of a skill before doing what it is for. Skills: "
SKILL_OVERHEAD = 72
TITLE_WEIGHT, DESCRIPTION_WEIGHT = 3.0, 1.0


class OfferedShare(Struct, frozen=True):
    """How many widgets, tools or skills of a query are offered to the model."""

    kind: str
    offered: int
    total: int


class WorkspaceToolSelection(Struct, frozen=True):
    tools: dict[str, WorkspaceTool]
    """The tools that are offered, by name."""
    left_out: tuple[OfferedShare, ...] = ()
    """The kinds of which some are not offered."""


class ToolRoom:
    """Room for tools: a number and tokens."""

    def __init__(self, count: int, tokens: int) -> None:
        self.count = count
        self.tokens = tokens

    def take(self, tool: WorkspaceTool, *, always: bool = False) -> bool:
        """Take the room that a tool needs; return whether there is enough, or `always`."""
        tokens = estimate_tool_tokens(tool.spec)
        if not always and (self.count < 1 or tokens > self.tokens):
            return False
        self.count -= 1
        self.tokens -= tokens
        return True


def estimate_tool_tokens(spec: ToolSpec) -> int:
    return estimate_tokens(spec.name + spec.description + to_json(spec.parameters))


def select_tools(
    query: OpenBBQuery,
    tools: ToolsByName,
    *,
    questions: Sequence[str] = (),
    called: Sequence[str] = (),
    waiting: Collection[str] = (),
    reserved: Container[str] = (),
    max_tokens: int | None = None,
) -> WorkspaceToolSelection:
    """Select the tools that fit into `max_tokens`. `questions`: the user's, newest first; `called`: names of tools
    called in the conversation, newest first; `waiting`: those of them whose results the model waits for."""
    tokens = MAX_TOOL_TOKENS if max_tokens is None else max_tokens
    widgets = {name: tool for name, tool in tools.items() if tool.is_widget}
    others = {name: tool for name, tool in tools.items() if not tool.is_widget}
    widget_tokens = sum(estimate_tool_tokens(tool.spec) for tool in widgets.values())
    room = ToolRoom(max(MAX_TOOLS // 2, MAX_TOOLS - len(widgets) - 1), max(tokens // 2, tokens - widget_tokens))
    skills = make_skill_tool(query.skills_catalog, questions, min(MAX_SKILL_TOKENS, tokens // 4))
    if skills is not None and not room.take(skills):
        skills = None
    chosen = choose_names(others, room, questions, called, waiting)
    used = [others[name] for name in chosen] + ([skills] if skills else [])
    # One place is kept for the tool that lists a parameter's values.
    left = tokens - sum(estimate_tool_tokens(tool.spec) for tool in used)
    room = ToolRoom(MAX_TOOLS - len(used) - 1, left - min(left // 8, MAX_SKILL_TOKENS))
    chosen |= choose_names(widgets, room, questions, called, waiting, at_least_one=True)
    selected = {name: with_valid_schema(tool) for name, tool in tools.items() if name in chosen}
    left = tokens - sum(estimate_tool_tokens(tool.spec) for tool in (*selected.values(), *filter(None, [skills])))
    for tool in filter(None, (skills, make_options_tool(query, selected, left))):
        name = make_unique_name(tool.spec.name, reserved, tools)
        selected[name] = replace(tool, spec=replace(tool.spec, name=name))
    shares = (
        OfferedShare("widgets", len(chosen & widgets.keys()), max(len(widgets), count_beyond(query.widgets))),
        OfferedShare("tools", len(chosen & others.keys()), max(len(others), count_beyond(query.tools))),
        OfferedShare("skills", count_skills(skills), len(parse_skill_catalog(query.skills_catalog))),
    )
    return WorkspaceToolSelection(selected, tuple(share for share in shares if share.offered < share.total))


def count_beyond(posted: Any) -> int:
    """Count the widgets or tools of a query that has more than are looked at; else 0."""
    groups = posted.values() if isinstance(posted, dict) else [posted]
    count = sum(len(as_list(group)) for group in groups)
    return count if count > MAX_CANDIDATES else 0


def choose_names(
    tools: ToolsByName,
    room: ToolRoom,
    questions: Sequence[str],
    called: Sequence[str],
    waiting: Collection[str],
    *,
    at_least_one: bool = False,
) -> set[str]:
    """Choose the tools that fit into the room, by their rank."""
    if len(tools) <= room.count and sum(estimate_tool_tokens(tool.spec) for tool in tools.values()) <= room.tokens:
        for tool in tools.values():
            room.take(tool)
        return set(tools)
    chosen: set[str] = set()
    ranked = rank_client_tools(tools, questions)
    for name in dict.fromkeys((*waiting, *called, *ranked)):
        if name in tools and room.take(tools[name], always=name in waiting or (at_least_one and not chosen)):
            chosen.add(name)
    return chosen


def rank_client_tools(tools: ToolsByName, questions: Sequence[str]) -> list[str]:
    """Rank tools: widgets that the user has chosen, then by the words of the questions, then as they were sent."""
    names = list(tools)
    ranked = rank_texts([list_fields(tool) for tool in tools.values()], questions)
    return sorted((names[number] for number in ranked), key=lambda name: tools[name].group != "primary")


def rank_texts(texts: Sequence[Sequence[SearchField]], questions: Iterable[str]) -> list[int]:
    """Return the numbers of all texts: those with words of the questions first, then in their order."""
    index = SearchIndex(texts)
    matches = (number for question in questions for number in index.search(question))
    return list(dict.fromkeys((*matches, *range(len(texts)))))


def list_fields(tool: WorkspaceTool) -> tuple[SearchField, ...]:
    values = format_values(tool.current_values) if tool.current_values else ""
    return (
        SearchField(tool.title or tool.spec.name.replace("_", " "), TITLE_WEIGHT),
        SearchField(f"{tool.spec.description} {values}", DESCRIPTION_WEIGHT),
    )


def parse_skill_catalog(posted: Any) -> dict[str, str]:
    """Parse the user's skills: slug → description."""
    items = (as_dict(item) for item in as_list(posted))
    return {slug: as_text(item.get("description")) for item in items if (slug := as_text(item.get("slug")))}


def make_skill_tool(posted: Any, questions: Sequence[str], max_tokens: int) -> WorkspaceTool | None:
    """Make the tool that fetches the text of one of the user's skills. Descriptions are shortened before a skill is
    left out."""
    skills = parse_skill_catalog(posted)
    slugs = list(skills)
    texts = [(SearchField(slug, TITLE_WEIGHT), SearchField(skills[slug], DESCRIPTION_WEIGHT)) for slug in slugs]
    room = max_tokens - SKILL_OVERHEAD
    kept: set[str] = set()
    for number in rank_texts(texts, questions):
        # A slug stands in the description and in the schema.
        cost = 2 * estimate_tokens(slugs[number]) + 4
        if cost <= room:
            room -= cost
            kept.add(slugs[number])
    if not kept:
        return None
    shown = {slug: take_head(text, room // len(kept)) for slug, text in skills.items() if slug in kept}
    lines = "; ".join(f"{slug}: {text}" for slug, text in shown.items())
    reason = {"type": "string", "description": "Why this skill is needed, in one sentence."}
    schema = {"slug": {"type": "string", "enum": list(shown)}, "reason": reason}
    parameters = {**EMPTY_SCHEMA, "properties": schema, "required": ["slug"]}
    spec = ToolSpec(GET_SKILL, SKILL_DESCRIPTION + lines, parameters)
    return WorkspaceTool(spec=spec, function=GET_SKILL, keys=(), target={})


def count_skills(tool: WorkspaceTool | None) -> int:
    return len(tool.spec.parameters["properties"]["slug"]["enum"]) if tool else 0


def make_options_tool(query: OpenBBQuery, tools: ToolsByName, max_tokens: int) -> WorkspaceTool | None:
    """Make the tool that lists a parameter's values, for parameters whose options only the widget's server knows."""
    queries: dict[str, Any] = {}
    by_key = {key: name for name, offer in tools.items() if offer.is_widget for key in offer.keys}
    room = max_tokens - SKILL_OVERHEAD
    for item, _ in iter_widgets(query.widgets):
        origin, id = as_text(item.get("origin")), as_text(item.get("widget_id"))
        tool_name = by_key.get((as_text(item.get("uuid")),)) or by_key.get((origin, id))
        for param in map(as_dict, as_list(item.get("params"))):
            name = as_text(param.get("name"))
            key = f"{tool_name}.{name}"
            if not (tool_name and name and param.get("get_options") is True):
                continue
            room -= estimate_tokens(key) + 2
            if room >= 0:
                arguments = {"options_endpoint_input_args": inherit_values(param, tools[tool_name].current_values)}
                queries[key] = {"origin": origin, "id": id, "param": name, **arguments}
    if not queries:
        return None
    description = "List the values that a parameter of a widget may take. Ask before using one that was not named."
    schema = {"parameter": {"type": "string", "enum": list(queries)}}
    parameters = {**EMPTY_SCHEMA, "properties": schema, "required": ["parameter"]}
    spec = ToolSpec("get_parameter_options", description, parameters)
    return WorkspaceTool(spec=spec, function=GET_OPTIONS, keys=(), target=queries)


def inherit_values(param: Mapping[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of the options endpoint, inherited from current values of other parameters."""
    inherited_values: dict[str, Any] = {}
    for option in map(as_dict, as_list(param.get("options_params"))):
        name, source = as_text(option.get("name")), as_text(option.get("inherit_value_from"))
        if name and source in values:
            inherited_values[name] = values[source]
        elif name and option.get("value") is not None:
            inherited_values[name] = option["value"]
    return inherited_values

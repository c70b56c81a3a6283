"""Select the plugin tools shown to the model in a turn: in a stable order, and tools are only added.

The selection depends on the turn's messages alone, so that a resumed turn has the same tools, also after a
restart; where a model chooses plugins, the tools that were called are added all the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.plugins.catalog import FIND_TOOLS, CatalogEntry, PluginCatalog
from rightseat.plugins.plugin_choice import ListedPlugin, PluginChooser
from rightseat.plugins.search import fuse_rankings
from rightseat.types.events import Event
from rightseat.types.messages import Message, TextMessagePart, text_message
from rightseat.types.text import sample_text
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import Turn

MAX_FOUND = 8
MIN_TOOLS = 3
AUTO = "auto"
FIND_DESCRIPTION = (
    "Search for further tools by what they do. Use it when none of the tools that you have fits; "
    "what it finds can be called from then on."
)
FIND_PARAMETERS = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1, "description": "What the tool should do."}},
    "required": ["query"],
}


class ToolSelection:
    """The Toolset of one assistant: at most `max_tools` tools, within a third of the context."""

    def __init__(
        self,
        catalog: PluginCatalog,
        *,
        max_tools: int = 16,
        context: int | None = None,
        chooser: PluginChooser | None = None,
    ) -> None:
        self.catalog = catalog
        self.chooser = chooser
        self.max_tools = max_tools
        self.token_budget = None if context is None else context // 3
        self.shows_all = len(catalog.entries) <= max_tools and self.fits_budget(catalog.entries)
        # Build the cached indexes now rather than in the first turn.
        if not self.shows_all:
            _ = catalog.index, catalog.interleaved

    def __contains__(self, name: object) -> bool:
        return name in self.catalog.by_name or (name == FIND_TOOLS and not self.shows_all)

    @property
    def suggestions(self) -> tuple[str, ...]:
        return self.catalog.questions

    @property
    def groups(self) -> dict[str, str]:
        return {id: one.plugin.name for id, one in self.catalog.loaded.items() if self.catalog.by_plugin[id]}

    async def wait_for_tools(self, names: Collection[str]) -> None:
        """Plugins are there from the start."""

    def fingerprint(self, names: Iterable[str]) -> str:
        return self.catalog.digest(names)

    def with_default_question(self, turn: Turn) -> Turn:
        blank_positions = [place for place in range(len(turn.messages)) if _is_blank_question(turn.messages, place)]
        is_empty = not turn.messages and not turn.answers
        question = self.get_default_question(turn) if blank_positions or is_empty else ""
        if not question:
            return turn
        if is_empty:
            return replace(turn, messages=(text_message("user", question),))
        messages = list(turn.messages)
        for place in blank_positions:
            kept = (part for part in messages[place].parts if not isinstance(part, TextMessagePart))
            messages[place] = replace(messages[place], parts=(TextMessagePart(question), *kept))
        return replace(turn, messages=tuple(messages))

    def get_default_question(self, turn: Turn) -> str:
        """Return the question for an empty message: of the one pinned plugin, or the only one there is."""
        pinned = self.get_pinned_plugins(turn)
        if len(pinned) == 1:
            return self.catalog.loaded[pinned[0]].plugin.question.strip()
        return self.suggestions[0] if not pinned and len(self.suggestions) == 1 else ""

    def get_pinned_plugins(self, turn: Turn) -> tuple[str, ...]:
        """Return the ids of the plugins that this request is limited to; empty means all."""
        names = turn.plugins or parse_plugin_names(turn.client.forwarded.properties.get("plugins"))
        return tuple(dict.fromkeys(self.catalog.resolve_plugin_id(name) for name in names if name != AUTO))

    async def add_tools(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message]) -> None:
        pinned = self.get_pinned_plugins(turn)
        among = tuple(chain(*(self.catalog.by_plugin[id] for id in pinned))) if pinned else self.catalog.entries
        if len(among) <= self.max_tools and self.fits_budget(among):
            add_tools(tools, among)
            return
        messages = (*turn.messages, *said)
        numbers = {entry.number for entry in among} if pinned else None
        ranking = await self.rank_for_questions(messages, numbers)
        entries = self.choose_entries(messages, ranking, numbers)
        add_tools(tools, sorted(entries, key=lambda entry: entry.number))
        tools.setdefault(FIND_TOOLS, make_find_tool(self.catalog, tools, numbers))
        for query in iter_past_queries(messages):
            add_tools(tools, await search_tools(self.catalog, query, numbers))

    def fits_budget(self, entries: Iterable[CatalogEntry]) -> bool:
        return self.token_budget is None or sum(entry.tokens for entry in entries) <= self.token_budget

    def choose_entries(
        self, messages: Sequence[Message], ranking: Iterable[int], allowed: set[int] | None
    ) -> set[CatalogEntry]:
        """Return the tools called before and the best ranked ones, within the token budget."""
        called = {call.name for message in messages for call in message.calls} & self.catalog.by_name.keys()
        before = {self.catalog.by_name[name] for name in called}
        chosen = {entry for entry in before if allowed is None or entry.number in allowed}
        budget = None if self.token_budget is None else self.token_budget - sum(entry.tokens for entry in chosen)
        spread = (entry for entry in self.catalog.interleaved if allowed is None or entry.number in allowed)
        fresh = 0
        for entry in chain((self.catalog.entries[number] for number in ranking), spread):
            if fresh >= self.max_tools:
                break
            if entry in chosen or (budget is not None and entry.tokens > budget and fresh >= MIN_TOOLS):
                continue
            chosen.add(entry)
            fresh += 1
            budget = None if budget is None else budget - entry.tokens
        return chosen

    async def rank_for_questions(self, messages: Sequence[Message], allowed: set[int] | None) -> list[int]:
        """Rank tools by the last user message, then by the one before."""
        questions = [message.text for message in messages if message.role == "user" and message.text.strip()]
        numbers: list[int] = []
        for question in questions[-1:-3:-1]:
            if len(numbers) < self.max_tools:
                numbers += await rank_tools(self.catalog, question, allowed)
        if self.chooser is None or allowed is not None or not questions:
            return numbers
        return await self.rank_chosen_first(self.chooser, questions[-1], numbers)

    async def rank_chosen_first(self, chooser: PluginChooser, question: str, numbers: list[int]) -> list[int]:
        """Rank the tools of the plugins that a model has chosen before all others."""
        ranked = dict.fromkeys(self.catalog.entries[number].loaded.plugin.id for number in numbers)
        ids = [*ranked, *(id for id in self.catalog.by_plugin if id not in ranked and self.catalog.by_plugin[id])]
        loaded = (self.catalog.loaded[id].plugin for id in ids)
        chosen = await chooser.choose(question, [ListedPlugin(one.id, one.name, one.description) for one in loaded])
        place = {number: position for position, number in enumerate(numbers)}
        first = [
            entry.number
            for id in chosen
            for entry in sorted(self.catalog.by_plugin[id], key=lambda entry: place.get(entry.number, len(place)))
        ]
        return list(dict.fromkeys((*first, *numbers)))


async def rank_tools(catalog: PluginCatalog, question: str, allowed: set[int] | None) -> list[int]:
    """Rank tools by words, fused with embeddings where there are any. A long question is ranked by its ends."""
    question = sample_text(question)
    by_words = catalog.index.search(question, allowed)
    if catalog.vectors is None:
        return by_words
    return fuse_rankings(by_words, await catalog.vectors.search(question, allowed))


def add_tools(tools: dict[str, Tool], entries: Iterable[CatalogEntry]) -> list[CatalogEntry]:
    """Add tools whose names are free; return the entries added."""
    added = [entry for entry in entries if entry.tool.name not in tools]
    tools |= {entry.tool.name: entry.tool for entry in added}
    return added


async def search_tools(catalog: PluginCatalog, query: str, among: set[int] | None) -> list[CatalogEntry]:
    return [catalog.entries[number] for number in (await rank_tools(catalog, query, among))[:MAX_FOUND]]


def make_find_tool(catalog: PluginCatalog, tools: dict[str, Tool], among: set[int] | None) -> Tool:
    """Return the find_tools tool, which adds what it finds to `tools` of the running turn."""

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        entries = await search_tools(catalog, args["query"], among)
        add_tools(tools, entries)
        summaries = [
            {"name": entry.tool.name, "description": entry.tool.description[:200]}
            for entry in entries
            if tools.get(entry.tool.name) is entry.tool
        ]
        yield Result({"tools": summaries} if summaries else {"tools": [], "note": "Nothing fits. Try other words."})

    return Tool(FIND_TOOLS, FIND_DESCRIPTION, FIND_PARAMETERS, call, effect="reads")


def iter_past_queries(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the queries of earlier find_tools calls, in order."""
    for message in messages:
        for call in message.calls:
            if call.name != FIND_TOOLS:
                continue
            try:
                yield msgspec.json.decode(call.arguments, type=dict[str, str])["query"]
            except (msgspec.DecodeError, KeyError, RecursionError):
                continue


def parse_plugin_names(value: Any) -> tuple[str, ...]:
    """Parse plugin names: a list, comma-separated text, or the original's objects."""
    if isinstance(value, str):
        return tuple(name.strip() for name in value.split(",") if name.strip())
    names = []
    for item in value if isinstance(value, list) else ():
        match item:
            case str(name) | {"plugin_id": str(name)} | {"id": str(name)}:
                names.append(name)
            case _:
                pass
    return tuple(names)


def _is_blank_question(messages: Sequence[Message], position: int) -> bool:
    """Whether a user message has no text. Images after a tool result belong to the tool."""
    message = messages[position]
    after_tool = position > 0 and messages[position - 1].role == "tool"
    return message.role == "user" and not after_tool and not message.text.strip()

"""Select the plugin tools shown to the model in a turn: in a stable order, and tools are only added.

The selection depends on the turn's messages alone, so that a resumed turn has the same tools, also after a
restart.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.plugins.shelf import FIND, Entry, Shelf
from rightseat.plugins.vectors import fused
from rightseat.types.events import Event
from rightseat.types.messages import Message, Text
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import Turn

FOUND = 8
LEAST = 3
AUTO = "auto"
ABOUT = (
    "Search for further tools by what they do. Use it when none of the tools that you have fits; "
    "what it finds can be called from then on."
)
QUERY = {
    "type": "object",
    "properties": {"query": {"type": "string", "minLength": 1, "description": "What the tool should do."}},
    "required": ["query"],
}


class Selection:
    """The ToolSource of one assistant: at most `max_tools` tools, within a third of the context."""

    def __init__(self, shelf: Shelf, *, shown: int = 16, context: int | None = None) -> None:
        self.shelf = shelf
        self.shown = shown
        self.room = None if context is None else context // 3
        self.whole = len(shelf.entries) <= shown and self.fits(shelf.entries)
        # Build the cached indexes now rather than in the first turn.
        if not self.whole:
            _ = shelf.index, shelf.spread

    def __contains__(self, name: object) -> bool:
        return name in self.shelf.by_name or (name == FIND and not self.whole)

    @property
    def questions(self) -> tuple[str, ...]:
        return self.shelf.questions

    @property
    def groups(self) -> dict[str, str]:
        return {id: one.plugin.name for id, one in self.shelf.loaded.items() if self.shelf.by_plugin[id]}

    def digest(self, names: Iterable[str]) -> str:
        return self.shelf.digest(names)

    def asked(self, turn: Turn) -> Turn:
        blank = [place for place in range(len(turn.messages)) if _blank(turn.messages, place)]
        question = self.question(turn) if blank else ""
        if not question:
            return turn
        messages = list(turn.messages)
        for place in blank:
            kept = (part for part in messages[place].parts if not isinstance(part, Text))
            messages[place] = replace(messages[place], parts=(Text(question), *kept))
        return replace(turn, messages=tuple(messages))

    def question(self, turn: Turn) -> str:
        """Return the question for an empty message: of the one pinned plugin, or the only one there is."""
        pinned = self.pinned(turn)
        if len(pinned) == 1:
            return self.shelf.loaded[pinned[0]].plugin.question.strip()
        return self.questions[0] if not pinned and len(self.questions) == 1 else ""

    def pinned(self, turn: Turn) -> tuple[str, ...]:
        """Return the ids of the plugins that this request is limited to; empty means all."""
        named = turn.plugins or names_of(turn.forwarded.properties.get("plugins"))
        return tuple(dict.fromkeys(self.shelf.resolve(name) for name in named if name != AUTO))

    async def offer(self, tools: dict[str, Tool], turn: Turn, said: Sequence[Message]) -> None:
        pinned = self.pinned(turn)
        among = tuple(chain(*(self.shelf.by_plugin[id] for id in pinned))) if pinned else self.shelf.entries
        if len(among) <= self.shown and self.fits(among):
            add(tools, among)
            return
        messages = (*turn.messages, *said)
        numbers = {entry.number for entry in among} if pinned else None
        asked = await self.asked_for(messages, numbers)
        chosen = self.chosen(messages, asked, numbers)
        add(tools, sorted(chosen, key=lambda entry: entry.number))
        tools.setdefault(FIND, finder(self.shelf, tools, numbers))
        for query in searched(messages):
            add(tools, await found(self.shelf, query, numbers))

    def fits(self, entries: Iterable[Entry]) -> bool:
        return self.room is None or sum(entry.tokens for entry in entries) <= self.room

    def chosen(
        self, messages: Sequence[Message], asked: Iterable[int], allowed: set[int] | None
    ) -> set[Entry]:
        """Return the tools called before and the best ranked ones, within the token budget."""
        called = {call.name for message in messages for call in message.calls} & self.shelf.by_name.keys()
        before = {self.shelf.by_name[name] for name in called}
        chosen = {entry for entry in before if allowed is None or entry.number in allowed}
        room = None if self.room is None else self.room - sum(entry.tokens for entry in chosen)
        spread = (entry for entry in self.shelf.spread if allowed is None or entry.number in allowed)
        fresh = 0
        for entry in chain((self.shelf.entries[number] for number in asked), spread):
            if fresh >= self.shown:
                break
            if entry in chosen or (room is not None and entry.tokens > room and fresh >= LEAST):
                continue
            chosen.add(entry)
            fresh += 1
            room = None if room is None else room - entry.tokens
        return chosen

    async def asked_for(self, messages: Sequence[Message], allowed: set[int] | None) -> list[int]:
        """Rank tools by the last user message, then by the one before."""
        asked = [message.text for message in messages if message.role == "user" and message.text.strip()]
        numbers: list[int] = []
        for question in asked[-1:-3:-1]:
            if len(numbers) < self.shown:
                numbers += await ranked(self.shelf, question, allowed)
        return numbers


async def ranked(shelf: Shelf, question: str, allowed: set[int] | None) -> list[int]:
    """Rank tools by words, fused with embeddings where there are any."""
    by_words = shelf.index.search(question, allowed)
    if shelf.vectors is None:
        return by_words
    return fused(by_words, await shelf.vectors.search(question, allowed))


def add(tools: dict[str, Tool], entries: Iterable[Entry]) -> list[Entry]:
    """Add tools whose names are free; return the entries added."""
    fresh = [entry for entry in entries if entry.tool.name not in tools]
    tools |= {entry.tool.name: entry.tool for entry in fresh}
    return fresh


async def found(shelf: Shelf, query: str, among: set[int] | None) -> list[Entry]:
    return [shelf.entries[number] for number in (await ranked(shelf, query, among))[:FOUND]]


def finder(shelf: Shelf, tools: dict[str, Tool], among: set[int] | None) -> Tool:
    """Return the find_tools tool, which adds what it finds to `tools` of the running turn."""

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        entries = await found(shelf, args["query"], among)
        add(tools, entries)
        told = [
            {"name": entry.tool.name, "description": entry.tool.description[:200]}
            for entry in entries
            if tools.get(entry.tool.name) is entry.tool
        ]
        yield Result({"tools": told} if told else {"tools": [], "note": "Nothing fits. Try other words."})

    return Tool(FIND, ABOUT, QUERY, call, effect="reads")


def searched(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the queries of earlier find_tools calls, in order."""
    for message in messages:
        for call in message.calls:
            if call.name != FIND:
                continue
            try:
                yield msgspec.json.decode(call.arguments, type=dict[str, str])["query"]
            except (msgspec.DecodeError, KeyError, RecursionError):
                continue


def names_of(given: Any) -> tuple[str, ...]:
    """Parse plugin names: a list, comma-separated text, or the original's objects."""
    if isinstance(given, str):
        return tuple(name.strip() for name in given.split(",") if name.strip())
    found = []
    for item in given if isinstance(given, list) else ():
        match item:
            case str(name) | {"plugin_id": str(name)} | {"id": str(name)}:
                found.append(name)
            case _:
                pass
    return tuple(found)


def _blank(messages: Sequence[Message], place: int) -> bool:
    """Whether a user message has no text. Images after a tool result belong to the tool."""
    message = messages[place]
    after_tool = place > 0 and messages[place - 1].role == "tool"
    return message.role == "user" and not after_tool and not message.text.strip()

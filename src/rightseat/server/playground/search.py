"""Search in an owner's conversations: titles, what was asked and what was answered. The newest come first.

It reads through the store as any reader does, so that it is the same for every store, and stops after a time: what it
has found by then is the answer.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.types.events import TextDelta
from rightseat.types.threads import Thread, ThreadStore, UserInput
from rightseat.types.turn import Owner
from rightseat.types.workers import PIECE_CHARS, run_sized

SEARCH_SECONDS = 2.0
MAX_THREADS = 2000
MAX_HITS = 50
MAX_TEXT = 200
BEFORE, AFTER = 30, 90


class SearchForm(Struct, frozen=True, forbid_unknown_fields=True):
    """What the page posts. It is no query of an address: what people look for belongs in no log."""

    text: str
    archived: bool = False


class SearchHit(Struct, frozen=True):
    """A conversation in which the text is. `snippet` is the text around it; empty where only the title has it."""

    id: str
    name: str
    agentId: str
    archived: bool
    updatedAt: str
    snippet: str


async def search_threads(
    store: ThreadStore, owner: Owner, form: SearchForm, seconds: float = SEARCH_SECONDS
) -> dict[str, Any]:
    """Return the hits, and whether all conversations were looked through."""
    text = form.text.strip()
    if not text or len(text) > MAX_TEXT:
        raise CallerError(f"text: give one of at most {MAX_TEXT} characters.", param="text")
    # Not `lower()`: it changes the length of some texts, and then the places.
    pattern = re.compile(re.escape(text), re.IGNORECASE)
    hits: list[SearchHit] = []
    threads = await store.list_threads(owner, archived=form.archived, limit=MAX_THREADS)
    complete = len(threads) < MAX_THREADS
    deadline = time.monotonic() + seconds
    for thread in threads:
        if len(hits) == MAX_HITS or time.monotonic() > deadline:
            complete = False
            break
        snippet = await find_snippet(store, owner, thread.id, pattern, deadline)
        if snippet or pattern.search(thread.name):
            hits.append(make_hit(thread, snippet))
    return {"threads": hits, "complete": complete}


def make_hit(thread: Thread, snippet: str) -> SearchHit:
    updated = datetime.fromtimestamp(thread.updated, UTC).isoformat(timespec="milliseconds")
    return SearchHit(thread.id, thread.name, thread.assistant, thread.archived, updated, snippet)


async def find_snippet(store: ThreadStore, owner: Owner, thread: str, pattern: re.Pattern[str], deadline: float) -> str:
    """Return the text around the first place; empty where nothing that was said until the deadline has it."""
    answers: dict[str, list[str]] = {}
    after = 0
    while time.monotonic() < deadline and (page := await store.read_entries(owner, thread, after)):
        after = page[-1][0]
        for _, entry in page:
            if isinstance(entry, UserInput):
                for message in entry.messages:
                    if message.role == "user" and (snippet := await search_text(message.text, pattern)):
                        return snippet
            elif isinstance(entry, TextDelta):
                # A word may come in two parts.
                answers.setdefault(entry.id, []).append(entry.text)
    for text in map("".join, answers.values()):
        if snippet := await search_text(text, pattern):
            return snippet
    return ""


async def search_text(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text around the first place; a long text is searched beside the event loop."""
    match = await run_sized(len(text), find_match, text, pattern)
    return cut_snippet(text, match) if match else ""


def find_match(text: str, pattern: re.Pattern[str]) -> re.Match[str] | None:
    """Find the first place, in pieces that overlap by the longest text that is searched for."""
    starts = range(0, len(text), PIECE_CHARS)
    return next(filter(None, (pattern.search(text, at, at + PIECE_CHARS + MAX_TEXT) for at in starts)), None)


def cut_snippet(text: str, match: re.Match[str]) -> str:
    start, end = max(0, match.start() - BEFORE), match.end() + AFTER
    cut = " ".join(text[start:end].split())
    return f"{'…' if start else ''}{cut}{'…' if end < len(text) else ''}"

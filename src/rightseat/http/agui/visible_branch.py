"""The visible branch of a thread.

A client that regenerates an answer or edits a question posts a truncated history. The entries after the
truncation are hidden from replay but stay in the store and in exports. Where a posted history shares nothing
with the thread, nothing is hidden: such a client sends only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from rightseat.types.events import (
    CallEnd,
    CallResult,
    CallStart,
    ReasoningEnd,
    ReasoningStart,
    RunFinished,
    RunStarted,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import Message
from rightseat.types.threads import NumberedEntry, ThreadEntry, ThreadStore, UserInput, is_delta, is_run_end
from rightseat.types.turn import Owner

# Clients send these with every question, under the same id.
SYSTEM_ROLES = ("system", "developer")


class HiddenRange(Struct, frozen=True):
    """Entries hidden by a truncation: from `start` (an entry's number, the index of one of its messages) up to
    `until`, the entry that continues the thread (exclusive)."""

    start: tuple[int, int]
    until: int


class BranchBuilder:
    """Collects the visible messages of a thread in order, and the hidden ranges."""

    def __init__(self) -> None:
        self.hidden_ranges: list[HiddenRange] = []
        self.positions: list[tuple[int, int]] = []
        self.index_by_key: dict[str, int] = {}
        self.results: set[int] = set()
        self.run_offset = 0
        """Messages before this run: an agent may reuse message ids in every run."""
        self.reasoning_start = 0
        """The entry where the reasoning before the next message began; 0: none."""

    def add_entries(self, numbered: Iterable[NumberedEntry]) -> None:
        for number, entry in numbered:
            self.add_entry(number, entry)

    def add_entry(self, number: int, entry: ThreadEntry) -> None:
        match entry:
            case UserInput(messages):
                self.hide_after_shared(number, entry)
                self.run_offset = 0
                for place, message in enumerate(messages):
                    if message.role not in SYSTEM_ROLES:
                        self.add_message(message_keys(message), number, place)
            case ReasoningStart():
                self.reasoning_start = self.reasoning_start or number
            case TextStart(id):
                self.add_message((id,), self.reasoning_start or number)
            case CallStart(id, _, message):
                self.add_message((message, id), self.reasoning_start or number)
            case CallResult(id):
                self.results.add(self.add_message((f"result-{id}",), number))
            case RunStarted():
                self.run_offset, self.reasoning_start = len(self.positions), 0
            case _:
                pass

    def add_message(self, message_keys: tuple[str, ...], number: int, message_index: int = 0) -> int:
        self.reasoning_start = 0
        known = (self.index_by_key.get(name, -1) for name in message_keys)
        index = next((index for index in known if index >= self.run_offset), len(self.positions))
        if index == len(self.positions):
            self.positions.append((number, message_index))
        self.index_by_key.update(dict.fromkeys(message_keys, index))
        return index

    def hide_after_shared(self, number: int, user_input: UserInput) -> None:
        end = self.count_shared(user_input)
        if end >= len(self.positions):
            return
        start = self.positions[end]
        while self.hidden_ranges and start <= self.hidden_ranges[-1].start:
            self.hidden_ranges.pop()
        self.hidden_ranges.append(HiddenRange(start, number))
        del self.positions[end:]
        self.results = {index for index in self.results if index < end}
        self.index_by_key = {name: index for name, index in self.index_by_key.items() if index < end}

    def count_shared(self, user_input: UserInput) -> int:
        """Return how many visible messages precede the new input. A re-posted question is not counted, since
        it may be edited; a tool result keeps the call that it answers."""
        if user_input.resumed:
            return len(self.positions)
        results = (name for m in user_input.messages if m.call_id for name in (*message_keys(m), m.call_id))
        before = [self.index_by_key[name] for name in (*user_input.after, *results) if name in self.index_by_key]
        if before:
            end = max(before) + 1
            # Results of server tools for the same message stay visible with it.
            while end in self.results:
                end += 1
            return end
        spoken = (name for m in user_input.messages if m.role not in SYSTEM_ROLES for name in message_keys(m))
        return min(
            (self.index_by_key[name] for name in spoken if name in self.index_by_key), default=len(self.positions)
        )


def message_keys(message: Message) -> tuple[str, ...]:
    """Return the ids by which a message is recognized when it is posted again."""
    own = (message.id,) if message.id else ()
    result = (f"result-{message.call_id}",) if message.call_id else ()
    return (*own, *result, *(call.id for call in message.calls))


class BranchFilter:
    """Drops hidden entries, but keeps the end events of what was opened before the hidden range."""

    def __init__(self, hidden_ranges: list[HiddenRange]) -> None:
        self.hidden_ranges = hidden_ranges[::-1]
        self.open_ids: set[str] = set()
        self.running = False

    def filter_entries(self, numbered: Iterable[NumberedEntry]) -> list[NumberedEntry]:
        filtered = ((number, self.filter_entry(number, entry)) for number, entry in numbered)
        return [(number, entry) for number, entry in filtered if entry is not None]

    def filter_entry(self, number: int, entry: ThreadEntry) -> ThreadEntry | None:
        while self.hidden_ranges and number >= self.hidden_ranges[-1].until:
            self.hidden_ranges.pop()
        first, message_index = self.hidden_ranges[-1].start if self.hidden_ranges else (number + 1, 0)
        if number < first:
            self.track(entry)
            return entry
        if number == first and isinstance(entry, UserInput):
            return replace(entry, messages=entry.messages[:message_index]) if message_index else None
        return self.filter_hidden(entry)

    def track(self, entry: ThreadEntry) -> None:
        match entry:
            case TextStart(id) | ReasoningStart(id) | CallStart(id):
                self.open_ids.add(id)
            case TextEnd(id) | ReasoningEnd(id) | CallEnd(id) | CallResult(id):
                self.open_ids.discard(id)
            case _:
                self.running = isinstance(entry, RunStarted) or (self.running and not is_run_end(entry))

    def filter_hidden(self, entry: ThreadEntry) -> ThreadEntry | None:
        if is_delta(entry) or isinstance(entry, TextEnd | ReasoningEnd | CallEnd):
            if entry.id not in self.open_ids:
                return None
            self.track(entry)
            return entry
        if isinstance(entry, CallResult) and entry.id in self.open_ids:
            # Of a call that proved invalid only the result is hidden.
            self.track(entry)
            return CallEnd(entry.id)
        if not (self.running and is_run_end(entry)):
            return None
        self.running = False
        # Its pending calls and questions are hidden with it.
        return RunFinished("stop") if isinstance(entry, RunFinished) else entry


def visible_branch(numbered: list[NumberedEntry]) -> list[ThreadEntry]:
    """Return the visible entries of a complete thread."""
    builder = BranchBuilder()
    builder.add_entries(numbered)
    return [entry for _, entry in BranchFilter(builder.hidden_ranges).filter_entries(numbered)]


async def load_entries(store: ThreadStore, owner: Owner, thread: str) -> list[NumberedEntry]:
    """Load all entries of a thread."""
    entries: list[NumberedEntry] = []
    while page := await store.read_entries(owner, thread, entries[-1][0] if entries else 0):
        entries += page
    return entries


class ReplayedPrefix(Struct, frozen=True):
    """The visible entries up to the end of the last hidden range; all later entries are visible."""

    entries: list[NumberedEntry] = []
    last: int = 0
    continuations: frozenset[int] = frozenset()
    """Numbers of the entries that continue the thread after a truncation."""


async def replayed_prefix(
    store: ThreadStore, owner: Owner, thread: str, seen: int = 0, part: int = 0
) -> ReplayedPrefix:
    """Load the prefix for a client that has seen all entries up to `seen` and a `part` of the next one; empty
    if the client's position is inside a range hidden since: it gets the rest of that range.

    The thread is read twice, because a truncation comes after what it hides: most threads have none and are
    never held in memory as a whole."""
    builder = BranchBuilder()
    after = 0
    while page := await store.read_entries(owner, thread, after):
        builder.add_entries(page)
        after = page[-1][0]
    newest = seen + 1 if part else seen
    if not builder.hidden_ranges or any(cut.start[0] <= newest < cut.until for cut in builder.hidden_ranges):
        return ReplayedPrefix()
    last = builder.hidden_ranges[-1].until - 1
    branch_filter = BranchFilter(builder.hidden_ranges)
    entries: list[NumberedEntry] = []
    after = 0
    for until in (seen, last):
        # Seen entries are not sent again, but later ones may close them.
        entries.clear()
        while after < until and (page := await store.read_entries(owner, thread, after, until)):
            entries += branch_filter.filter_entries(page)
            after = page[-1][0]
    return ReplayedPrefix(entries, last, frozenset(cut.until for cut in builder.hidden_ranges))

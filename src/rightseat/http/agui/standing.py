"""The visible branch of a thread.

A client that regenerates an answer or edits a question posts a truncated history. The entries after the
truncation are hidden from replay but stay in the store and in exports. Where a posted history shares nothing
with the thread, nothing is hidden: such a client sends only what is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
from rightseat.types.threads import Entry, Journal, Numbered, Posted, ends, is_delta
from rightseat.types.turn import Owner

# Clients send these with every question, under the same id.
ASIDE = ("system", "developer")


class Cut(Struct, frozen=True):
    """Entries hidden by a truncation: from message `message_index` of entry `first` up to `until`, the entry
    that continues the thread (exclusive)."""

    first: int
    place: int
    until: int


class Outline:
    """Collects the visible messages of a thread in order, and the hidden ranges."""

    def __init__(self) -> None:
        self.cuts: list[Cut] = []
        self.places: list[tuple[int, int]] = []
        self.known: dict[str, int] = {}
        self.results: set[int] = set()
        self.begun = 0
        """Messages before this run: an agent may reuse message ids in every run."""
        self.thought = 0
        """The entry where the reasoning before the next message began; 0: none."""

    def see(self, number: int, entry: Entry) -> None:
        match entry:
            case Posted(messages):
                self.cut(number, entry)
                self.begun = 0
                for place, message in enumerate(messages):
                    if message.role not in ASIDE:
                        self.add(keys(message), number, place)
            case ReasoningStart():
                self.thought = self.thought or number
            case TextStart(id):
                self.add((id,), self.thought or number)
            case CallStart(id, _, message):
                self.add((message, id), self.thought or number)
            case CallResult(id):
                self.results.add(self.add((f"result-{id}",), number))
            case RunStarted():
                self.begun, self.thought = len(self.places), 0
            case _:
                pass

    def add(self, names: tuple[str, ...], number: int, place: int = 0) -> int:
        self.thought = 0
        known = (self.known.get(name, -1) for name in names)
        index = next((index for index in known if index >= self.begun), len(self.places))
        if index == len(self.places):
            self.places.append((number, place))
        self.known.update(dict.fromkeys(names, index))
        return index

    def cut(self, number: int, said: Posted) -> None:
        end = self.shared(said)
        if end >= len(self.places):
            return
        first, place = self.places[end]
        while self.cuts and (first, place) <= (self.cuts[-1].first, self.cuts[-1].place):
            self.cuts.pop()
        self.cuts.append(Cut(first, place, number))
        del self.places[end:]
        self.results = {index for index in self.results if index < end}
        self.known = {name: index for name, index in self.known.items() if index < end}

    def shared(self, said: Posted) -> int:
        """Return how many visible messages precede the new input. A re-posted question is not counted, since
        it may be edited; a tool result keeps the call that it answers."""
        if said.resumed:
            return len(self.places)
        results = (name for m in said.messages if m.call_id for name in (*keys(m), m.call_id))
        before = [self.known[name] for name in (*said.after, *results) if name in self.known]
        if before:
            end = max(before) + 1
            # Results of server tools for the same message stay visible with it.
            while end in self.results:
                end += 1
            return end
        spoken = (name for m in said.messages if m.role not in ASIDE for name in keys(m))
        return min((self.known[name] for name in spoken if name in self.known), default=len(self.places))


def keys(message: Message) -> tuple[str, ...]:
    """Return the ids by which a message is recognized when it is posted again."""
    own = (message.id,) if message.id else ()
    result = (f"result-{message.call_id}",) if message.call_id else ()
    return (*own, *result, *(call.id for call in message.calls))


class Sieve:
    """Drops hidden entries, but keeps the end events of what was opened before the hidden range."""

    def __init__(self, cuts: list[Cut]) -> None:
        self.cuts = cuts[::-1]
        self.open: set[str] = set()
        self.running = False

    def take(self, number: int, entry: Entry) -> Entry | None:
        while self.cuts and number >= self.cuts[-1].until:
            self.cuts.pop()
        cut = self.cuts[-1] if self.cuts else None
        if cut is None or number < cut.first:
            self.note(entry)
            return entry
        if number == cut.first and isinstance(entry, Posted):
            return replace(entry, messages=entry.messages[: cut.place]) if cut.place else None
        return self.close(entry)

    def note(self, entry: Entry) -> None:
        match entry:
            case TextStart(id) | ReasoningStart(id) | CallStart(id):
                self.open.add(id)
            case TextEnd(id) | ReasoningEnd(id) | CallEnd(id):
                self.open.discard(id)
            case _:
                self.running = isinstance(entry, RunStarted) or (self.running and not ends(entry))

    def close(self, entry: Entry) -> Entry | None:
        if is_delta(entry) or isinstance(entry, TextEnd | ReasoningEnd | CallEnd):
            if entry.id not in self.open:
                return None
            self.note(entry)
            return entry
        if not (self.running and ends(entry)):
            return None
        self.running = False
        # Its pending calls and questions are hidden with it.
        return RunFinished("stop") if isinstance(entry, RunFinished) else entry


def sifted(numbered: Iterable[Numbered], cuts: list[Cut]) -> Iterator[Numbered]:
    sieve = Sieve(cuts)
    for number, entry in numbered:
        if (kept := sieve.take(number, entry)) is not None:
            yield number, kept


def standing(numbered: list[Numbered]) -> list[Entry]:
    """Return the visible entries of a complete thread."""
    outline = Outline()
    for number, entry in numbered:
        outline.see(number, entry)
    return [entry for _, entry in sifted(numbered, outline.cuts)]


class Prologue(Struct, frozen=True):
    """The visible entries up to the end of the last hidden range; all later entries are visible."""

    entries: list[Numbered] = []
    last: int = 0
    cuts: frozenset[int] = frozenset()
    """Numbers of the entries that continue the thread after a truncation."""


async def prologue(journal: Journal, owner: Owner, thread: str, seen: int = 0, part: int = 0) -> Prologue:
    """Load the prefix for a client that has seen all entries up to `seen` and a `part` of the next one; empty
    if the client's position is inside a range hidden since: it gets the rest of that range.

    The thread is read twice, because a truncation comes after what it hides: most threads have none and are
    never held in memory as a whole."""
    outline = Outline()
    after = 0
    while page := await journal.read(owner, thread, after):
        for number, entry in page:
            outline.see(number, entry)
        after = page[-1][0]
    newest = seen + 1 if part else seen
    if not outline.cuts or any(cut.first <= newest < cut.until for cut in outline.cuts):
        return Prologue()
    last = outline.cuts[-1].until - 1
    sieve = Sieve(outline.cuts)
    found: list[Numbered] = []
    after = 0
    for until in (seen, last):
        # Seen entries are not sent again, but later ones may close them.
        found.clear()
        while after < until and (page := await journal.read(owner, thread, after, until)):
            found += [(n, kept) for n, entry in page if (kept := sieve.take(n, entry)) is not None]
            after = page[-1][0]
    return Prologue(found, last, frozenset(cut.until for cut in outline.cuts))

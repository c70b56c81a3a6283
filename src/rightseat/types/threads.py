"""What a thread is made of, and the Journal that keeps threads: all that was said, numbered across its runs.

A thread's log holds events and, before each run, what its client posted. Adjacent deltas may be kept as one
row: it remembers where each of its numbers ended, so that a reader may come in at any of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any, Protocol, TypeGuard, runtime_checkable

import msgspec
from msgspec import Struct

from rightseat.types.events import CallArgs, Event, ReasoningDelta, RunFailed, RunFinished, TextDelta
from rightseat.types.messages import Message
from rightseat.types.turn import Owner, Turn

NAME_LENGTH = 80
PAGE_BYTES = 1 << 20
RESTARTED = RunFailed(
    "restarted", "The server was restarted in the middle of this answer. Ask again.", 503, retry_after=2
)


class Posted(Struct, frozen=True, tag=True):
    """What the client said for the run that follows."""

    messages: tuple[Message, ...]
    state: Any = None
    """The agent's, as the client has it: what the run changes is changed from here."""
    assistant: str = ""
    """Who was asked. One thread may have several."""
    after: tuple[str, ...] = ()
    """What the client had before these, by its ids: the answer that they follow. What else follows it in the
    thread was cut off (`http/agui/standing.py`)."""
    resumed: bool = False
    """It answers a question of the thread: it goes on, whatever of the talk is posted with it."""


Entry = Event | Posted
Numbered = tuple[int, Entry]
Delta = TextDelta | ReasoningDelta | CallArgs


class Thread(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    assistant: str
    created: float
    updated: float
    last: int = 0
    """The number of its newest entry."""
    size: int = 0
    archived: bool = False
    run: str = ""
    """The run that is under way."""


class Keep(Struct, frozen=True):
    """How much is kept. What is over it goes, the oldest first; a running thread never does."""

    days: float = 0
    """Days without use; 0 is for ever."""
    threads: int = 1000
    """For each owner."""
    thread_bytes: int = 16 << 20
    bytes: int = 1 << 30


@runtime_checkable
class Journal(Protocol):
    """Keeps threads. The owner is the first part of every key: another owner's thread does not exist."""

    def keeps(self, owner: Owner, thread: str) -> bool: ...

    async def begin(self, owner: Owner, thread: str, run: str, *, assistant: str, name: str) -> int:
        """Lease the thread to a run, and say which number its entries come after. Conflict when another run
        has it. A thread that is not there is made, and called `name`."""
        ...

    def append(self, owner: Owner, thread: str, first: int, entries: Sequence[Entry]) -> None:
        """Keep entries from number `first` on. The one that ends the run ends the lease too. Nothing is
        raised: an answer goes on although it cannot be kept."""
        ...

    async def read(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[Numbered]:
        """The next of them, all that was appended by now included; none at the end."""
        ...

    async def opening(self, owner: Owner, thread: str, number: int) -> int:
        """The number before the first entry of the run that `number` belongs to."""
        ...

    async def find(self, owner: Owner, thread: str) -> Thread | None: ...

    async def threads(
        self,
        owner: Owner,
        *,
        assistant: str | None = None,
        archived: bool = False,
        limit: int = 100,
        skip: int = 0,
    ) -> list[Thread]:
        """The newest first."""
        ...

    async def change(
        self, owner: Owner, thread: str, *, name: str | None = None, archived: bool | None = None
    ) -> Thread | None: ...

    async def delete(self, owner: Owner, thread: str) -> bool:
        """With all that is the thread's: what waits for an answer, and what its tools gave."""
        ...

    async def close(self) -> None: ...


_DELTAS = (TextDelta, ReasoningDelta, CallArgs)
_ENDS = (RunFinished, RunFailed)


def is_delta(entry: Entry) -> TypeGuard[Delta]:
    return isinstance(entry, _DELTAS)


def ends(entry: Entry) -> bool:
    """Whether it is the last of a run."""
    return isinstance(entry, _ENDS)


def words(entry: Delta) -> str:
    return entry.json if isinstance(entry, CallArgs) else entry.text


def saying(entry: Delta, text: str) -> Delta:
    """The same delta with other words."""
    if isinstance(entry, CallArgs):
        return msgspec.structs.replace(entry, json=text)
    return msgspec.structs.replace(entry, text=text)


class Row(Struct, frozen=True):
    """One entry, or several deltas as one: `cuts` are then the lengths up to each of its numbers."""

    first: int
    last: int
    entry: Entry
    cuts: tuple[int, ...] = ()

    def between(self, after: int, until: int | None = None) -> Numbered | None:
        """Of this row what comes after one number and not after another."""
        last = self.last if until is None else min(self.last, until)
        if last <= after or last < self.first:
            return None
        if not self.cuts or not is_delta(self.entry):
            return last, self.entry
        start = self.cuts[after - self.first] if after >= self.first else 0
        return last, saying(self.entry, words(self.entry)[start : self.cuts[last - self.first]])


def rows(numbered: Iterable[Numbered]) -> list[Row]:
    """Entries in their order as rows, adjacent deltas of the same thing merged."""
    found: list[Row] = []
    group: list[Numbered] = []
    for number, entry in numbered:
        if group and not _adjoins(group[-1], number, entry):
            found.append(_row(group))
            group = []
        group.append((number, entry))
    if group:
        found.append(_row(group))
    return found


def _adjoins(before: Numbered, number: int, entry: Entry) -> bool:
    last, earlier = before
    if type(entry) is TextDelta and type(earlier) is TextDelta:
        # Nearly all are, and there are many of them.
        same = entry.id == earlier.id and number == last + 1
        return same and entry.logprobs is None and earlier.logprobs is None
    if number != last + 1 or type(entry) is not type(earlier) or not is_delta(entry):
        return False
    if not is_delta(earlier) or entry.id != earlier.id:
        return False
    # A text's likelihoods belong to its own words.
    return getattr(entry, "logprobs", None) is None and getattr(earlier, "logprobs", None) is None


def _row(group: list[Numbered]) -> Row:
    (first, entry), (last, _) = group[0], group[-1]
    if len(group) == 1 or not is_delta(entry):
        return Row(first, last, entry)
    pieces = [one.text for _, one in group if type(one) is TextDelta]
    pieces = pieces or [words(one) for _, one in group if is_delta(one)]
    return Row(first, last, saying(entry, "".join(pieces)), tuple(accumulate(map(len, pieces))))


def posted(turn: Turn, *, new: bool, results: bool = False) -> Posted:
    """Of the posted history what this thread has not seen: all of it if it is new, else what follows the
    assistant's last message. Results that we gave are in the log already, under the same ids; with `results`
    they are there twice, because such a client gives its own calls' results ids like ours."""
    messages = turn.messages
    start = 0
    if not new:
        said = [number for number, message in enumerate(messages) if message.role == "assistant"]
        start = said[-1] + 1 if said else 0
    every = new or results
    before = [name for m in messages[start - 1 : start] for name in (m.id, *(c.id for c in m.calls)) if name]
    mine: list[Message] = []
    for m in messages[start:]:
        if every or m.id is None or m.id != f"result-{m.call_id}":
            mine.append(m)
        else:
            before.append(m.id)
    return Posted(tuple(mine), turn.state, turn.assistant or "", tuple(before), bool(turn.answers))


def title(messages: Sequence[Message]) -> str:
    """A thread's first name: how its user began."""
    first = next((message.text for message in messages if message.role == "user"), "")
    line = " ".join(first.split())
    return line if len(line) <= NAME_LENGTH else f"{line[: NAME_LENGTH - 1]}…"

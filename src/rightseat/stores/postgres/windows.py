"""Windows of entries as rows: what one statement of the writer has.

A token is a row of its own while its text is being written, because it is in the log before it is shown. The window
that ends the text, or makes it long, replaces those rows by one row of the same numbers, under the same fence: readers
may begin at any number of it, as `EntryRow.slice` tells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from msgspec import Struct

from rightseat.stores.encoding import encode_entry
from rightseat.stores.postgres.lease_log import LeaseLog, OpenText
from rightseat.types.events import ReasoningStart, RunStarted, TextDelta, TextStart
from rightseat.types.threads import (
    ANY_FENCE,
    EntryRow,
    NumberedEntry,
    UserInput,
    is_adjacent,
    is_delta,
    is_run_end,
    merge_group,
    merge_rows,
)

Window = Sequence[tuple[LeaseLog, Sequence[NumberedEntry]]]
MAX_ROW_ENTRIES = 512
"""Entries of a text that become one row although it goes on."""
BEGINNINGS = (RunStarted, TextStart, ReasoningStart)


class LeaseRow(Struct, frozen=True, omit_defaults=True):
    """A run's part of a window, as APPEND_ENTRIES reads it."""

    k: int
    o: str
    t: str
    f: int
    n: int
    """Number of its last entry."""
    s: int
    """Bytes by which the thread grows; fewer than 0 if rows become one."""
    u: bool = False
    """Whether it has more than deltas."""
    e: bool = False
    """Whether the run ends."""
    b: str | None = None
    """Its only entry, which has the number `n`; the rows of longer parts are WindowRows."""
    r: str | None = None
    """Key of the run's record, which is deleted with the run's end."""


class WindowRow(Struct, frozen=True, omit_defaults=True):
    """A row of entries, as APPEND_ENTRIES reads it."""

    k: int
    a: int
    z: int
    c: tuple[int, ...]
    b: str
    d: bool = False
    """Whether it replaces the rows of its numbers."""


class EncodedWindow:
    """Window as APPEND_ENTRIES reads it, and what becomes of open texts when the database has it. Until then they stay
    as they are: a window that is written again is the same."""

    def __init__(self, window: Window) -> None:
        self.leases: list[LeaseRow] = []
        self.rows: list[WindowRow] = []
        self.extended: list[tuple[OpenText, Sequence[NumberedEntry], int]] = []
        self.replaced: list[tuple[LeaseLog, OpenText | None]] = []
        self.ended: list[LeaseLog] = []
        """Those that nothing is known of afterwards: their runs end with this window, or they have no run."""
        for index, (log, numbered) in enumerate(window):
            text = log.text
            # Fast path: nearly all. A window is shorter than the time between two tokens of a model.
            if text is not None and len(numbered) == 1 and self.add_delta(index, log, numbered, text):
                continue
            if len(numbered) > 1 or (text is not None and not is_continued(text, numbered)):
                self.add_part(index, log, numbered, text)
            else:
                self.add_entry(index, log, numbered, text)

    def add_delta(self, index: int, log: LeaseLog, numbered: Sequence[NumberedEntry], text: OpenText) -> bool:
        """Add a delta of a text; return False if it does not continue this one."""
        number, entry = numbered[0]
        # As `is_adjacent` tells, without a call for each token.
        if type(entry) is not TextDelta or entry.id != text.id or number != text.last + 1:
            return False
        if entry.logprobs is not None or len(text.entries) + 1 >= MAX_ROW_ENTRIES:
            return False
        body = encode_entry(entry)
        if body is None:
            return False
        size = len(body)
        owner, thread = log.names
        self.leases.append(LeaseRow(index, owner, thread, log.fence, number, size, False, False, body.decode()))
        self.extended.append((text, numbered, size))
        return True

    def add_entry(self, index: int, log: LeaseLog, numbered: Sequence[NumberedEntry], text: OpenText | None) -> None:
        """Add a part of one entry that ends no text."""
        ((number, entry),) = numbered
        body = encode_entry(entry)
        size, row = (0, None) if body is None else (len(body), body.decode())
        is_used = not is_delta(entry)
        is_end = is_used and is_run_end(entry)
        if is_end or log.fence == ANY_FENCE:
            self.ended.append(log)
        record = log.record if is_end else None
        self.leases.append(LeaseRow(index, *log.names, log.fence, number, size, is_used, is_end, row, record))
        if text is not None:
            if body is None:
                self.replaced.append((log, None))
            else:
                self.extended.append((text, numbered, size))
        elif body is not None and not is_used and log.fence != ANY_FENCE:
            self.replaced.append((log, OpenText(list(numbered), size)))

    def add_part(self, index: int, log: LeaseLog, numbered: Sequence[NumberedEntry], text: OpenText | None) -> None:
        """Add a part of several entries, or one that ends a text."""
        size = self.add_folded(index, numbered, text) if text is not None else None
        new = numbered if size is None or text is None else list_after(self.rows[-1].z, numbered)
        size, last_size = size or 0, 0
        rows = merge_rows(new)
        for row in rows:
            body = encode_entry(row.entry)
            last_size = 0 if body is None else len(body)
            if body is not None:
                size += last_size
                self.rows.append(WindowRow(index, row.first, row.last, row.offsets, body.decode()))
        others = [entry for _, entry in numbered if not is_delta(entry)]
        is_end = any(map(is_run_end, others))
        if is_end or log.fence == ANY_FENCE:
            self.ended.append(log)
        record = log.record if is_end else None
        last = numbered[-1][0]
        self.leases.append(LeaseRow(index, *log.names, log.fence, last, size, bool(others), is_end, None, record))
        is_open = bool(last_size) and is_delta(numbered[-1][1]) and log.fence != ANY_FENCE
        if text is not None and is_open and len(rows) == 1 and is_continued(text, numbered):
            self.extended.append((text, numbered, size))
        else:
            opened = list_after(rows[-1].first - 1, numbered) if is_open else []
            self.replaced.append((log, OpenText(opened, last_size) if opened else None))

    def add_folded(self, index: int, numbered: Sequence[NumberedEntry], text: OpenText) -> int | None:
        """Add the row that a text and what follows it become; return by how many bytes the thread grows. None if the
        text goes on, or is one row already, or cannot be encoded."""
        if is_continued(text, numbered):
            return None
        row = merge_group([*text.entries, *list_continuing(text.entries[-1], numbered)])
        body = encode_entry(row.entry)
        if body is None or (text.rows == 1 and row.last == text.entries[-1][0]):
            return None
        self.rows.append(WindowRow(index, row.first, row.last, row.offsets, body.decode(), True))
        return len(body) - text.size

    def note_written(self, lost: Collection[LeaseLog]) -> None:
        """Note that the database has the window, but the parts of leases that are lost."""
        for text, numbered, size in self.extended:
            text.entries += numbered
            text.last = numbered[-1][0]
            text.rows += 1
            text.size += size
        for log, opened in self.replaced:
            log.text = opened
        for log in lost:
            log.text = None


def is_continued(text: OpenText, numbered: Sequence[NumberedEntry]) -> bool:
    """Whether all of a part continue a text that stays short enough."""
    if len(text.entries) + len(numbered) >= MAX_ROW_ENTRIES or not is_adjacent(text.entries[-1], numbered[0]):
        return False
    return len(numbered) == 1 or all(is_adjacent(before, after) for before, after in pairwise(numbered))


def list_continuing(last: NumberedEntry, numbered: Sequence[NumberedEntry]) -> list[NumberedEntry]:
    """Return the first entries of a part, as many as continue the text before it."""
    found = [last]
    for item in numbered:
        if not is_adjacent(found[-1], item):
            break
        found.append(item)
    return found[1:]


def fold_rows(rows: Iterable[EntryRow]) -> list[list[EntryRow]]:
    """Return the rows of each text that may become one row, as `merge_row_group` makes it; others are left out."""
    groups: list[list[EntryRow]] = []
    for row in rows:
        group = groups[-1] if groups else []
        is_short = bool(group) and row.last - group[0].first < MAX_ROW_ENTRIES
        if is_short and is_adjacent((group[-1].last, group[-1].entry), (row.first, row.entry)):
            group.append(row)
        else:
            groups.append([row])
    return [group for group in groups if len(group) > 1]


def merge_row_group(group: Sequence[EntryRow]) -> EntryRow:
    """Make the row that holds the entries of all rows of a text."""
    parts = (row.slice(number - 1, number) for row in group for number in range(row.first, row.last + 1))
    return merge_rows(part for part in parts if part is not None)[0]


def list_after(number: int, numbered: Sequence[NumberedEntry]) -> list[NumberedEntry]:
    return [item for item in numbered if item[0] > number]


def has_lasting_entry(window: Window) -> bool:
    """Whether a window has more than parts of texts: it waits for the database's disk. The beginning of a text does
    not, nor does the input of a run whose record has it, so that the first token waits for no disk but the lease's:
    what is written after it is lost with it."""
    return any(
        not isinstance(entry, BEGINNINGS)
        and not is_delta(entry)
        and not (isinstance(entry, UserInput) and log.record is not None)
        for log, numbered in window
        for _, entry in numbered
    )

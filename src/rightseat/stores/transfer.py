"""Transfer of all rows of one store to another, whichever kinds they are.

The source is read three times. The first pass counts its rows and finds damaged ones, the second writes batches, the
third compares every row with what the target has. A batch is one transaction of the target, together with the place
that was reached: a transfer that is stopped at any moment goes on there, and nothing is written twice.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import astuple, replace

from rightseat.stores.encoding import LOST_RUN, continuation_decoder, decode_record, encode_json
from rightseat.types.text import escape_invisible
from rightseat.types.threads import RUN_NUMBERS

RowKind = Literal["thread", "entry", "run", "continuation", "question", "result", "note"]
RECORD_KINDS: tuple[RowKind, ...] = ("continuation", "question", "result", "note")
ROW_KINDS: tuple[RowKind, ...] = ("thread", "entry", "run", *RECORD_KINDS)
KIND_LABELS: dict[RowKind, str] = {
    "thread": "threads",
    "entry": "events",
    "run": "run ids",
    "continuation": "open questions",
    "question": "pending questions",
    "result": "tool results and files",
    "note": "checkpoints and accounts",
}
KEY_NAMES = {
    "thread": ("thread", ("owner", "thread")),
    "entry": ("event", ("owner", "thread", "number")),
    "run": ("run id", ("owner", "thread", "run", "digest")),
}
QUESTION_KINDS = ("continuation", "question")
BATCH_ROWS = 500
BATCH_BYTES = 4 << 20
Place = list[Any]
"""Where a row stands in the order of its kind, as JSON values."""
RowKey = tuple[Any, ...]


class StoredThread(Struct, frozen=True):
    owner: str
    id: str
    name: str
    assistant: str
    created: float
    updated: float
    archived: bool
    last: int
    fence: int
    size: int
    run: str = ""
    """Id of the run that a process had when it ended; "" for none."""
    before: int = 0
    """Number of the entry before that run."""

    @property
    def key(self) -> RowKey:
        return (self.owner, self.id)


class StoredEntry(Struct, frozen=True):
    owner: str
    thread: str
    first: int
    last: int
    run: int
    cuts: bytes
    body: bytes

    @property
    def key(self) -> RowKey:
        return (self.owner, self.thread, self.last)


class StoredRun(Struct, frozen=True):
    owner: str
    thread: str
    id: str
    digest: str
    number: int

    @property
    def key(self) -> RowKey:
        return (self.owner, self.thread, self.id, self.digest)


class StoredRecord(Struct, frozen=True):
    owner: str
    kind: str
    key_text: str
    expires: float
    body: bytes

    @property
    def key(self) -> RowKey:
        return (self.owner, self.kind, self.key_text)


StoredRow = StoredThread | StoredEntry | StoredRun | StoredRecord


class SourceItem(Struct, frozen=True):
    """A row of the source with its place, or what is wrong with it."""

    place: Place
    row: StoredRow | None
    problem: str = ""
    key: RowKey = ()
    """Key of a damaged row, as far as it can be read."""


class RowSource(Protocol):
    @property
    def name(self) -> str:
        """What is moved, by an address without a password."""
        ...

    @property
    def clock_offset(self) -> float:
        """Seconds by which the store's clock is ahead of this machine's."""
        ...

    def read(self, kind: RowKind, after: Place | None = None) -> Iterator[SourceItem]:
        """Yield the rows of a kind after a place, in an order that does not change."""
        ...

    def find_stray_rows(self) -> list[str]:
        """Describe rows that belong to no kind."""
        ...


class TransferState(Struct, kw_only=True):
    """How far a transfer is, kept by the target with the rows."""

    source: str
    fingerprint: str
    """Checksum of all rows of the source when the transfer began."""
    clock_shift: float
    """Seconds that are added to times of expiry: the clocks of both stores may differ."""
    is_into_existing: bool = False
    kind: int = 0
    """Index of the kind that is being written."""
    place: Place | None = None
    kept_rows: list[tuple[str, list[Any]]] = []
    """Kinds and keys of threads and records that the target had before: they stay as they are."""
    is_finished: bool = False


class RowTarget(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def clock_offset(self) -> float: ...

    def load_state(self) -> TransferState | None:
        """Return the state of a transfer into this target; None if there was none."""
        ...

    def has_rows(self) -> bool: ...

    def save_state(self, state: TransferState) -> None: ...

    def write(self, kind: RowKind, rows: Sequence[StoredRow], state: TransferState) -> None:
        """Write a batch and the state in one transaction."""
        ...

    def fetch(self, kind: RowKind, rows: Sequence[StoredRow]) -> dict[RowKey, StoredRow]:
        """Return what the target has under the keys of these rows."""
        ...

    def count(self, kind: RowKind) -> int: ...

    def find_obstacle(self, row: StoredRow) -> str:
        """Return why this store cannot hold a row; "" if it can."""
        ...

    def finish(self, state: TransferState) -> None: ...


@dataclass
class SourceSummary:
    """What the first pass over the source has found."""

    counts: Counter[str] = field(default_factory=Counter)
    fingerprint: int = 0
    problems: list[str] = field(default_factory=list)
    threads: set[RowKey] = field(default_factory=set)
    incomplete_threads: set[RowKey] = field(default_factory=set)
    """Threads of which an entry is damaged."""
    has_damaged_records: bool = False

    @property
    def fingerprint_text(self) -> str:
        return f"{self.fingerprint:016x}"

    @property
    def row_count(self) -> int:
        return sum(self.counts[kind] for kind in ROW_KINDS)


@dataclass
class KindComparison:
    """Rows of one kind in the source and in the target after a transfer."""

    kind: RowKind
    count: int = 0
    checksum: int = 0
    target_count: int = 0
    target_checksum: int = 0
    differing: list[str] = field(default_factory=list)

    @property
    def is_equal(self) -> bool:
        sums = (self.count, self.checksum) == (self.target_count, self.target_checksum)
        return sums and not self.differing


def checksum_stored(row: StoredRow) -> int:
    """Return a number of 64 bits for a row. The sum over rows does not depend on their order."""
    digest = hashlib.blake2b(digest_size=8)
    for value in astuple(row):
        content = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return int.from_bytes(digest.digest(), "big")


def describe_key(kind: str, key: RowKey) -> str:
    label, names = KEY_NAMES.get(kind, ("record", ("owner", "kind", "key")))
    parts = [f"{name} {escape_invisible(str(value))[:200]}" for name, value in zip(names, key, strict=False) if value]
    return f"{label} ({', '.join(parts)})"


def summarize_source(source: RowSource) -> SourceSummary:
    """Read the whole source: count its rows, and find those that are damaged."""
    summary = SourceSummary()
    for kind in ROW_KINDS:
        for item in source.read(kind):
            if item.problem:
                note_damage(summary, kind, item)
            if item.row is None:
                continue
            row = item.row
            summary.counts[kind] += 1
            summary.fingerprint = (summary.fingerprint + checksum_stored(row)) % (1 << 64)
            if isinstance(row, StoredThread):
                summary.threads.add(row.key)
            elif isinstance(row, StoredEntry | StoredRun) and row.key[:2] not in summary.threads:
                summary.problems.append(f"The {describe_key(kind, row.key)} belongs to no readable thread.")
    summary.problems += source.find_stray_rows()
    return summary


def note_damage(summary: SourceSummary, kind: RowKind, item: SourceItem) -> None:
    summary.problems.append(f"The {describe_key(kind, item.key)} {item.problem}.")
    if kind == "entry":
        summary.incomplete_threads.add(item.key[:2])
    elif kind in RECORD_KINDS:
        summary.has_damaged_records = True


class Transfer:
    """Writes what a source has to a target, and compares both."""

    def __init__(
        self,
        source: RowSource,
        target: RowTarget,
        summary: SourceSummary,
        state: TransferState,
        batch: int = BATCH_ROWS,
    ) -> None:
        self.source = source
        self.target = target
        self.summary = summary
        self.state = state
        self.batch = batch
        self.kept: dict[str, set[RowKey]] = defaultdict(set)
        self.note_kept_rows()

    def note_kept_rows(self) -> None:
        for kind, key in self.state.kept_rows:
            self.kept[kind].add(tuple(key))

    # Rows as the target gets them

    def adapt(self, kind: RowKind, row: StoredRow) -> StoredRow | None:
        """Return the row as the target shall have it; None if it shall not."""
        match row:
            case StoredThread() | StoredEntry() | StoredRun():
                key = row.key[:2]
                if key in self.kept["thread"] or key not in self.summary.threads:
                    return None
                is_incomplete = key in self.summary.incomplete_threads
                if isinstance(row, StoredThread) and is_incomplete:
                    # Clients may have seen the numbers of lost entries: none is used again.
                    row = replace(row, last=row.last + RUN_NUMBERS)
                elif isinstance(row, StoredRun) and is_incomplete:
                    # It cannot be replayed, and must not run again.
                    row = replace(row, number=LOST_RUN)
            case StoredRecord():
                if row.key in self.kept[kind] or (kind in QUESTION_KINDS and self.summary.has_damaged_records):
                    return None
                row = replace(row, expires=row.expires + self.state.clock_shift, body=free_claim(kind, row.body))
        return None if self.target.find_obstacle(row) else row

    def read_batches(self, kind: RowKind, after: Place | None) -> Iterator[tuple[list[StoredRow], Place, int]]:
        """Yield rows for the target, with the place of the last one and how many of the source they stand for."""
        rows: list[StoredRow] = []
        place, count, size = after, 0, 0
        for item in self.source.read(kind, after):
            place = item.place
            if item.row is not None:
                count += 1
                if (row := self.adapt(kind, item.row)) is not None:
                    rows.append(row)
                    size += len(row.body) if isinstance(row, StoredEntry | StoredRecord) else 0
            if count >= self.batch or size >= BATCH_BYTES:
                yield rows, place, count
                rows, count, size = [], 0, 0
        if place is not None and count:
            yield rows, place, count

    # Passes

    def find_kept_rows(self) -> None:
        """Note the threads and records that the target has of its own: they stay as they are."""
        self.state.kept_rows = []
        kinds: tuple[RowKind, ...] = ("thread", *RECORD_KINDS)
        for kind in kinds:
            for rows, _, _ in self.read_batches(kind, None):
                keys = self.target.fetch(kind, rows)
                self.state.kept_rows += [(kind, list(key)) for key in keys]
        self.note_kept_rows()

    def write(self, report: Callable[[int, int], None]) -> None:
        """Write what the target does not have yet, from the place on that the last transfer reached."""
        state, total = self.state, self.summary.row_count
        written = sum(self.summary.counts[kind] for kind in ROW_KINDS[: state.kind])
        for index, kind in enumerate(ROW_KINDS):
            if index < state.kind:
                continue
            for rows, place, count in self.read_batches(kind, state.place):
                state.place = place
                self.target.write(kind, rows, state)
                written = min(written + count, total)
                report(written, total)
            state.kind, state.place = index + 1, None
        report(total, total)

    def compare(self, report: Callable[[int, int], None]) -> list[KindComparison]:
        """Compare each row of the source with what the target has under its key."""
        comparisons = []
        done, total = 0, self.summary.row_count
        for kind in ROW_KINDS:
            comparison = KindComparison(kind)
            for rows, _, count in self.read_batches(kind, None):
                stored = self.target.fetch(kind, rows)
                for row in rows:
                    add_comparison(comparison, row, stored.get(row.key))
                done = min(done + count, total)
                report(done, total)
            self.check_count(comparison)
            comparisons.append(comparison)
        return comparisons

    def check_count(self, comparison: KindComparison) -> None:
        count = self.target.count(comparison.kind)
        if not self.state.is_into_existing and count != comparison.count:
            comparison.differing.append(f"the target has {count} {KIND_LABELS[comparison.kind]} in all")

    def list_skipped(self) -> Iterator[str]:
        """Describe what the source has and the target does not get."""
        yield from self.summary.problems
        for kind, key in self.state.kept_rows:
            yield f"The {describe_key(kind, tuple(key))} is in the target already, which keeps its own."
        for kind in ROW_KINDS:
            for item in self.source.read(kind):
                if item.row is not None and (reason := self.target.find_obstacle(item.row)):
                    yield f"The {describe_key(kind, item.row.key)} {reason}."
        questions = sum(self.summary.counts[kind] for kind in QUESTION_KINDS)
        if self.summary.has_damaged_records and questions:
            yield (
                f"Not moved: {questions} open or pending questions. A damaged record may be the answer to one of them, "
                "which must not take effect twice."
            )


def add_comparison(comparison: KindComparison, row: StoredRow, stored: StoredRow | None) -> None:
    checksum = checksum_stored(row)
    comparison.count += 1
    comparison.checksum = (comparison.checksum + checksum) % (1 << 64)
    if stored is None:
        comparison.differing.append(f"{describe_key(comparison.kind, row.key)} is not in the target")
        return
    stored_checksum = checksum_stored(stored)
    comparison.target_count += 1
    comparison.target_checksum = (comparison.target_checksum + stored_checksum) % (1 << 64)
    if stored_checksum != checksum:
        comparison.differing.append(f"{describe_key(comparison.kind, row.key)} differs")


def free_claim(kind: RowKind, body: bytes) -> bytes:
    """Return the body of a continuation without the claim of a process that has ended; any other as it is."""
    continuation = decode_record(body, continuation_decoder) if kind == "continuation" else None
    return body if continuation is None else encode_json(replace(continuation, claimed_by=""))

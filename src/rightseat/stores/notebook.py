"""MemoryThreadStore: bounded threads in memory, gone with the process."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from rightseat.errors import Conflict
from rightseat.types.events import TextDelta
from rightseat.types.threads import PAGE_BYTES, Entry, Keep, Numbered, Row, Thread, ends, rows
from rightseat.types.turn import Owner

BUSY = "Thread already running. Wait for its answer or stop it."


class Line(Struct, frozen=True):
    run: int
    size: int
    row: Row


class Page:
    """Log of one thread. Counters that change with every entry are kept outside the frozen Thread value."""

    def __init__(self, thread: Thread) -> None:
        self.about = thread
        self.updated = thread.created
        self.last = 0
        self.size = 0
        self.run = ""
        self.lines: list[Line] = []
        self.runs = 0

    @property
    def thread(self) -> Thread:
        now = {"updated": self.updated, "last": self.last, "size": self.size, "run": self.run}
        return msgspec.structs.replace(self.about, **now)

    def add(self, row: Row) -> None:
        size = len(row.entry.text) + 48 if isinstance(row.entry, TextDelta) else weight(row.entry)
        self.lines.append(Line(self.runs, size, row))
        self.last = row.last
        self.size += size


def weight(entry: Entry) -> int:
    return len(msgspec.json.encode(entry, enc_hook=str))


class Notebook:
    """ThreadStore that lives as long as the process."""

    def __init__(self, keep: Keep = Keep(), clock: Callable[[], float] = time.time) -> None:
        self.keep = keep
        self.clock = clock
        self.pages: OrderedDict[tuple[str, str], Page] = OrderedDict()

    def keeps(self, owner: Owner, thread: str) -> bool:
        return (owner.name, thread) in self.pages

    async def begin(self, owner: Owner, thread: str, run: str, *, assistant: str, name: str) -> int:
        now = self.clock()
        key = (owner.name, thread)
        page = self.pages.get(key)
        if page is None:
            fresh = Thread(id=thread, name=name, assistant=assistant, created=now, updated=now)
            page = self.pages[key] = Page(fresh)
        elif page.run:
            raise Conflict(BUSY)
        page.run, page.updated = run, now
        page.runs += 1
        self.pages.move_to_end(key)
        self.shorten(page)
        self.tidy(owner)
        return page.last

    def append(self, owner: Owner, thread: str, first: int, entries: Sequence[Entry]) -> None:
        page = self.pages.get((owner.name, thread))
        if page is None:
            return
        for row in rows(enumerate(entries, first)) if len(entries) > 1 else (Row(first, first, entries[0]),):
            page.add(row)
        page.updated = self.clock()
        if ends(entries[-1]):
            page.run = ""

    async def read(
        self, owner: Owner, thread: str, after: int = 0, until: int | None = None
    ) -> list[Numbered]:
        page = self.pages.get((owner.name, thread))
        found: list[Numbered] = []
        size = 0
        lines = page.lines if page else []
        for place in range(bisect_right(lines, after, key=lambda line: line.row.last), len(lines)):
            numbered = lines[place].row.between(after, until)
            if numbered is None or size >= PAGE_BYTES:
                break
            found.append(numbered)
            size += lines[place].size
        return found

    async def opening(self, owner: Owner, thread: str, number: int) -> int:
        page = self.pages.get((owner.name, thread))
        lines = [line for line in page.lines if line.row.first <= number] if page else []
        return next(line.row.first for line in lines if line.run == lines[-1].run) - 1 if lines else 0

    async def find(self, owner: Owner, thread: str) -> Thread | None:
        page = self.pages.get((owner.name, thread))
        return page.thread if page else None

    async def threads(
        self,
        owner: Owner,
        *,
        assistant: str | None = None,
        archived: bool = False,
        limit: int = 100,
        skip: int = 0,
    ) -> list[Thread]:
        mine = [
            page.thread
            for (name, _), page in self.pages.items()
            if name == owner.name
            and (archived or not page.about.archived)
            and assistant in (None, page.about.assistant)
        ]
        mine.sort(key=lambda thread: (-thread.updated, thread.id))
        return mine[skip : skip + limit]

    async def change(
        self, owner: Owner, thread: str, *, name: str | None = None, archived: bool | None = None
    ) -> Thread | None:
        page = self.pages.get((owner.name, thread))
        if page is None:
            return None
        if name is not None:
            page.about = msgspec.structs.replace(page.about, name=name)
        if archived is not None:
            page.about = msgspec.structs.replace(page.about, archived=archived)
        return page.thread

    async def delete(self, owner: Owner, thread: str) -> bool:
        return self.pages.pop((owner.name, thread), None) is not None

    def shorten(self, page: Page) -> None:
        """Drop the oldest runs of a thread that is over its size; the newest run always stays."""
        while page.size > self.keep.thread_bytes and page.lines and page.lines[0].run < page.runs - 1:
            oldest = page.lines[0].run
            gone = sum(line.size for line in page.lines if line.run == oldest)
            page.lines = [line for line in page.lines if line.run != oldest]
            page.size -= gone

    def tidy(self, owner: Owner) -> None:
        """Delete the least recently used threads beyond the retention limits."""
        idle = [key for key, page in self.pages.items() if not page.run]
        mine = sum(name == owner.name for name, _ in self.pages)
        size = sum(page.size for page in self.pages.values())
        since = self.clock() - self.keep.days * 86400 if self.keep.days else float("-inf")
        for key in idle:
            page = self.pages[key]
            crowded = key[0] == owner.name and mine > self.keep.threads
            if crowded or size > self.keep.bytes or page.updated < since:
                mine -= key[0] == owner.name
                size -= page.size
                del self.pages[key]

    async def close(self) -> None:
        return None

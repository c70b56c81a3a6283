"""Replay of a stored thread as AG-UI: every frame has an id, and a client resumes after its Last-Event-ID.

A frame's id is the number of its entry. Where an entry becomes several frames, all but the last get a part
number (`12.1`), so that a client that saw some of them is resumed inside the entry.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import Conflict
from rightseat.http.agui.read import command, older
from rightseat.http.agui.standing import Prologue, prologue
from rightseat.http.agui.wire import RunAgentInput
from rightseat.http.agui.write import Frames, encode, framed, refuse
from rightseat.http.endpoint import SSE, Request, Threads
from rightseat.http.reply import Feed, Head, Reply
from rightseat.http.sse import COMMENT
from rightseat.types.events import Interrupt, RunFailed, RunFinished, RunStarted, TextDelta
from rightseat.types.responder import Responder
from rightseat.types.streams import Offered, closing
from rightseat.types.threads import Entry, Numbered, Posted
from rightseat.types.turn import Owner, Turn

Opening = Callable[[], Awaitable[AsyncIterator[Numbered]]]
_ID = re.compile(r"(\d{1,15})(?:\.(\d{1,6}))?")


class Place(Struct, frozen=True):
    """All entries up to `number`, and `frames` frames of the next one."""

    number: int = 0
    frames: int = 0


def last_seen(request: Request) -> Place | None:
    """Return the position of Last-Event-ID; None for a first connection."""
    found = _ID.fullmatch(request.headers.get("last-event-id", "").strip())
    if found is None:
        return None
    number, part = int(found[1]), found[2]
    return Place(number) if part is None else Place(number - 1, int(part))


class Script:
    """Encodes the entries of a thread as AG-UI frames, run after run."""

    def __init__(self, thread: str, knows_outcomes: bool = True, skip: int = 0) -> None:
        self.thread = thread
        self.knows_outcomes = knows_outcomes
        self.skip = skip
        """Frames of the first entry that the client has seen."""
        self.frames = Frames(thread, "", knows_outcomes)
        self.posted: Posted | None = None
        self.state: Any = None
        self.failed: tuple[int, RunFailed] | None = None
        """The last run's failure, held back: older clients accept RUN_ERROR only at the end of a thread."""
        self.prologue = Prologue()
        """The visible entries before the last truncation; encoded first."""

    def text(self, number: int, entry: TextDelta) -> bytes:
        frames = self.frames
        if entry.id != frames.text_id:
            frames.enter(entry.id)
        return b"id: %d\n%b%b}\n\n" % (number, frames.before, encode(entry.text))

    def heard(self, feed: Feed, number: int, entry: TextDelta) -> bool:
        """Write a text delta to the client at once; false where it must come as a part."""
        try:
            return feed.write(self.text(number, entry))
        except UnicodeEncodeError:
            # A failure of this reader, not of the run that produces the text.
            return False

    def take(self, number: int, entry: Entry) -> list[bytes]:
        if type(entry) is TextDelta:
            return [self.text(number, entry)]
        before = self.past() if isinstance(entry, Posted | RunStarted) else []
        match entry:
            case Posted():
                self.hear(number, entry)
                return before
            case RunStarted(thread, run):
                self.frames = Frames(thread, run, self.knows_outcomes)
                self.frames.posted = self.posted.messages if self.posted else ()
                self.frames.state, self.state = self.state, None
                self.posted = None
            case RunFailed(code) if code != "stopped":
                self.failed = (number, entry)
                return []
            case _:
                pass
        items = self.frames.stopped() if isinstance(entry, RunFailed) else self.frames.write(entry)
        return [*before, *self.numbered(number, items)]

    def hear(self, number: int, entry: Posted) -> None:
        """Set the user input of the next run, after the visible messages of an input whose run was hidden.
        After a truncation the client's state counts: the run that produced the stored one is hidden."""
        if self.posted is not None:
            said = {message.id for message in entry.messages}
            before = (m for m in self.posted.messages if m.id is None or m.id not in said)
            entry = replace(entry, messages=(*before, *entry.messages))
        self.posted = entry
        self.state = entry.state if number in self.prologue.cuts else None

    def begin(self) -> Iterator[bytes]:
        for number, entry in self.prologue.entries:
            yield from self.told(number, entry)

    def told(self, number: int, entry: Entry) -> list[bytes]:
        skip, self.skip = self.skip, 0
        return self.take(number, entry)[skip:]

    def past(self) -> list[bytes]:
        """Return the frames of a held-back failure that another run follows: it ends as cancelled."""
        if self.failed is None:
            return []
        number, _ = self.failed
        self.failed = None
        return self.numbered(number, self.frames.stopped())

    def end(self) -> list[bytes]:
        if self.failed is None:
            return []
        number, failed = self.failed
        return self.numbered(number, self.frames.write(failed))

    def numbered(self, number: int, items: list[dict[str, Any]]) -> list[bytes]:
        last = len(items)
        ids = (f"{number}.{part}" if part < last else str(number) for part in range(1, last + 1))
        return [framed(item, self.knows_outcomes, id) for item, id in zip(items, ids, strict=True)]

    def recall(self, entries: list[Entry]) -> None:
        """Update the encoder with entries that the client has seen, without sending them."""
        for entry in entries:
            self.take(0, entry)
        self.failed = None


async def play(opening: Opening, script: Script) -> Reply:
    """Stream a thread as a reply. One generator, because every token would pay for a second."""
    try:
        items = await opening()
    except Conflict as error:
        # Only now is it known that another run holds the thread; CopilotKit's clients understand a 409.
        async with closing(refuse(error)) as reply:
            async for part in reply:
                yield part
        return
    feed = Feed()

    def taken(item: Numbered) -> bool:
        number, entry = item
        return type(entry) is TextDelta and not script.skip and script.heard(feed, number, entry)

    if isinstance(items, Offered):
        items.taken = taken
    async with closing(items):
        yield Head(200, SSE, COMMENT, feed=feed)
        for piece in script.begin():
            yield piece
        async for number, entry in items:
            if type(entry) is TextDelta and not script.skip:
                yield script.text(number, entry)
                continue
            for piece in script.told(number, entry):
                yield piece
        for piece in script.end():
            yield piece


def run(turn: Turn, given: RunAgentInput, threads: Threads, respond: Responder) -> Reply:
    """Start a run on a stored thread and stream it; the run continues when its client leaves."""

    async def started() -> AsyncIterator[Numbered]:
        told = command(given)
        if told is not None and not turn.answers and (question := await last_question(turn, threads)):
            answer = older(question.id, told["resume"], words=question.kind != "confirm")
            return await threads.start(replace(turn, answers=(answer,)), respond)
        return await threads.start(turn, respond)

    return play(started, Script(turn.thread, given.knows_outcomes))


async def last_question(turn: Turn, threads: Threads) -> Interrupt | None:
    """Return the first open question of the thread's last run: the one that a client without outcomes was
    shown, and that its unnamed answer is for."""
    thread = await threads.journal.find(turn.owner, turn.thread)
    entries = await threads.earlier(turn.owner, turn.thread, thread.last) if thread else []
    waits = bool(entries) and isinstance(entries[-1], RunFinished)
    return next((entry for entry in entries if isinstance(entry, Interrupt)), None) if waits else None


def connect(
    owner: Owner,
    thread: str,
    threads: Threads,
    seen: Place | None,
    knows_outcomes: bool = True,
    whole: bool = False,
) -> Reply:
    """Stream a thread from the client's position, then its active run. A first connection gets the visible
    branch, or with `include_hidden` every entry."""
    place = seen or Place()
    script = Script(thread, knows_outcomes, place.frames)

    async def followed() -> AsyncIterator[Numbered]:
        if place.number:
            script.recall(await threads.earlier(owner, thread, place.number))
        if not whole:
            # A client that lost its connection inside the prefix gets the rest of the prefix.
            given = (place.number, place.frames)
            script.prologue = await prologue(threads.journal, owner, thread, *given)
        return threads.follow(owner, thread, max(place.number, script.prologue.last))

    return play(followed, script)

"""A kept thread as AG-UI: every frame has an id, and a client that comes back goes on behind the last it saw.

An id is the entry's number. One entry may be several frames: all but the last then have a place besides,
`12.1`, so that half of them is never taken for all.
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
    """All entries up to a number, and of the next one some frames."""

    number: int = 0
    frames: int = 0


def last_seen(request: Request) -> Place | None:
    """Where a client that comes back was; None for one that comes for the first time."""
    found = _ID.fullmatch(request.headers.get("last-event-id", "").strip())
    if found is None:
        return None
    number, part = int(found[1]), found[2]
    return Place(number) if part is None else Place(number - 1, int(part))


class Script:
    """A thread's frames, run after run."""

    def __init__(self, thread: str, knows_outcomes: bool = True, skip: int = 0) -> None:
        self.thread = thread
        self.knows_outcomes = knows_outcomes
        self.skip = skip
        """How many frames of the first entry the client has seen."""
        self.frames = Frames(thread, "", knows_outcomes)
        self.posted: Posted | None = None
        self.state: Any = None
        self.failed: tuple[int, RunFailed] | None = None
        """The last run's failure. Only a thread's end may be one: older clients take nothing after it."""
        self.prologue = Prologue()
        """What stands of a thread that was cut back; it comes first."""

    def text(self, number: int, entry: TextDelta) -> bytes:
        frames = self.frames
        if entry.id != frames.text_id:
            frames.enter(entry.id)
        return b"id: %d\n%b%b}\n\n" % (number, frames.before, encode(entry.text))

    def heard(self, feed: Feed, number: int, entry: TextDelta) -> bool:
        """Words as they are said, if the client takes them at once."""
        try:
            return feed.write(self.text(number, entry))
        except UnicodeEncodeError:
            # Of this reader's making, and no failure of the run that speaks.
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
        """What is said for the next run, after what still stands of what was said for one that was cut off.
        Its state is the client's: what made it was cut off too."""
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
        """A failure that another run followed."""
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
        """What the client has seen already: it is not said again, but what follows may close it."""
        for entry in entries:
            self.take(0, entry)
        self.failed = None


async def play(opening: Opening, script: Script) -> Reply:
    """Entries as a reply. All of it is one generator, because every token would pay for a second."""
    try:
        items = await opening()
    except Conflict as error:
        # Only now is it known that another run has the thread. By a 409 CopilotKit's clients know it too.
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
    """A run on a kept thread: it goes on when its client leaves."""

    async def started() -> AsyncIterator[Numbered]:
        told = command(given)
        if told is not None and not turn.answers and (question := await last_question(turn, threads)):
            answer = older(question.id, told["resume"], words=question.kind != "confirm")
            return await threads.start(replace(turn, answers=(answer,)), respond)
        return await threads.start(turn, respond)

    return play(started, Script(turn.thread, given.knows_outcomes))


async def last_question(turn: Turn, threads: Threads) -> Interrupt | None:
    """What the thread's last run asked, and an answer without a name is for: of several the one that such a
    client was shown."""
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
    """The thread from where the client was, then the run that is under way. Who comes for the first time is
    told what stands of it, or with `whole` all that was said."""
    place = seen or Place()
    script = Script(thread, knows_outcomes, place.frames)

    async def followed() -> AsyncIterator[Numbered]:
        if place.number:
            script.recall(await threads.earlier(owner, thread, place.number))
        if not whole:
            # Who was cut off while it was told what stands is told the rest of that.
            given = (place.number, place.frames)
            script.prologue = await prologue(threads.journal, owner, thread, *given)
        return threads.follow(owner, thread, max(place.number, script.prologue.last))

    return play(followed, script)

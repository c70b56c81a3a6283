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
from rightseat.http.agui.read import RunAgentInput, parse_legacy_answer, parse_resume_command
from rightseat.http.agui.visible_branch import ReplayedPrefix, replayed_prefix
from rightseat.http.agui.write import FAILURE_FRAME, AguiEncoder, encode_frame, make_error_reply
from rightseat.http.endpoint import SSE_HEADERS, Request, ThreadService
from rightseat.http.refusals import report_refusal
from rightseat.http.reply import DirectWriter, Reply, ResponseStart
from rightseat.http.sse import KEEP_ALIVE_COMMENT
from rightseat.types.agents import Responder
from rightseat.types.events import Interrupt, RunFailed, RunFinished, RunStarted, TextDelta
from rightseat.types.streams import PushStream, closing
from rightseat.types.threads import NumberedEntry, ThreadEntry, UserInput
from rightseat.types.turn import Owner, Turn

OpenStream = Callable[[], Awaitable[AsyncIterator[NumberedEntry]]]
_ID = re.compile(r"(\d{1,15})(?:\.(\d{1,6}))?")


class ReplayPosition(Struct, frozen=True):
    """All entries up to `number`, and `frames` frames of the next one."""

    number: int = 0
    frames: int = 0


START = ReplayPosition()


def parse_last_event_id(request: Request) -> ReplayPosition | None:
    """Return the position of Last-Event-ID; None for a first connection."""
    match = _ID.fullmatch(request.headers.get("last-event-id", "").strip())
    if match is None:
        return None
    number, part = int(match[1]), match[2]
    return ReplayPosition(number) if part is None else ReplayPosition(number - 1, int(part))


class ThreadReplay:
    """Encodes the entries of a thread as AG-UI frames, run after run."""

    def __init__(self, thread: str, supports_outcomes: bool = True, seen: ReplayPosition = START) -> None:
        self.supports_outcomes = supports_outcomes
        self.seen = seen
        self.skip = seen.frames
        """Frames of the first entry that the client has seen, until it has come."""
        self.encoder = AguiEncoder(thread, "", supports_outcomes)
        self.user_input: UserInput | None = None
        self.state: Any = None
        self.failure: tuple[int, RunFailed] | None = None
        """The last run's failure, held back: older clients accept RUN_ERROR only at the end of a thread."""
        self.prefix = ReplayedPrefix()
        """The visible entries before the last truncation; encoded first."""

    def encode_text(self, number: int, entry: TextDelta) -> bytes:
        return b"id: %d\n%b" % (number, self.encoder.encode_text(entry))

    def try_push_text(self, writer: DirectWriter, number: int, entry: TextDelta) -> bool:
        """Write a text delta to the client at once; false where it must come as a part."""
        try:
            return writer.write(self.encode_text(number, entry))
        except UnicodeEncodeError:
            # A failure of this reader, not of the run that produces the text.
            return False

    def encode_entry(self, number: int, entry: ThreadEntry) -> list[bytes]:
        if type(entry) is TextDelta:
            return [self.encode_text(number, entry)]
        before = self.encode_failure(is_last=False) if isinstance(entry, UserInput | RunStarted) else []
        match entry:
            case UserInput():
                self.add_user_input(number, entry)
                return before
            case RunStarted(thread, run):
                self.encoder = AguiEncoder(thread, run, self.supports_outcomes)
                self.encoder.input_messages = self.user_input.messages if self.user_input else ()
                self.encoder.state, self.state = self.state, None
                self.user_input = None
            case RunFailed(code) if code != "stopped":
                self.failure = (number, entry)
                return []
            case _:
                pass
        items = self.encoder.make_cancelled_end() if isinstance(entry, RunFailed) else self.encoder.convert(entry)
        return [*before, *self.encode_numbered(number, items)]

    def add_user_input(self, number: int, entry: UserInput) -> None:
        """Set the user input of the next run, after the visible messages of an input whose run was hidden.
        After a truncation the client's state counts: the run that produced the stored one is hidden."""
        if self.user_input is not None:
            ids = {message.id for message in entry.messages}
            before = (m for m in self.user_input.messages if m.id is None or m.id not in ids)
            entry = replace(entry, messages=(*before, *entry.messages))
        self.user_input = entry
        self.state = entry.state if number in self.prefix.continuations else None

    def encode_prefix(self) -> Iterator[bytes]:
        for number, entry in self.prefix.entries:
            yield from self.encode_unseen(number, entry)

    def encode_unseen(self, number: int, entry: ThreadEntry) -> list[bytes]:
        # After a crash the entry that the client has seen in part may be missing.
        skip, self.skip = self.skip if number == self.seen.number + 1 else 0, 0
        return self.encode_entry(number, entry)[skip:]

    def encode_failure(self, *, is_last: bool) -> list[bytes]:
        """Return the frames of a held-back failure; one that another run follows ends as cancelled."""
        if self.failure is None:
            return []
        (number, failed), self.failure = self.failure, None
        items = self.encoder.convert(failed) if is_last else self.encoder.make_cancelled_end()
        return self.encode_numbered(number, items)

    def encode_numbered(self, number: int, items: list[dict[str, Any]]) -> list[bytes]:
        last = len(items)
        ids = (f"{number}.{part}" if part < last else str(number) for part in range(1, last + 1))
        return [encode_frame(item, self.supports_outcomes, id) for item, id in zip(items, ids, strict=True)]

    def skip_seen(self, entries: list[ThreadEntry]) -> None:
        """Update the encoder with entries that the client has seen, without sending them."""
        for entry in entries:
            self.encode_entry(0, entry)
        self.failure = None


async def stream_thread(open_stream: OpenStream, replay: ThreadReplay) -> Reply:
    """Stream a thread as a reply. One generator, because every token would pay for a second."""
    try:
        items = await open_stream()
    except Conflict as error:
        report_refusal(error)
        # Only now is it known that another run holds the thread; CopilotKit's clients understand a 409.
        async with closing(make_error_reply(error)) as reply:
            async for part in reply:
                yield part
        return
    writer = DirectWriter()

    def on_item(item: NumberedEntry) -> bool:
        number, entry = item
        return type(entry) is TextDelta and not replay.skip and replay.try_push_text(writer, number, entry)

    if isinstance(items, PushStream):
        items.on_item = on_item
    async with closing(items):
        yield ResponseStart(200, SSE_HEADERS, KEEP_ALIVE_COMMENT, direct_writer=writer, failure=FAILURE_FRAME)
        for piece in replay.encode_prefix():
            yield piece
        async for number, entry in items:
            if type(entry) is TextDelta and not replay.skip:
                yield replay.encode_text(number, entry)
                continue
            for piece in replay.encode_unseen(number, entry):
                yield piece
        for piece in replay.encode_failure(is_last=True):
            yield piece


def start_run(turn: Turn, run_input: RunAgentInput, threads: ThreadService, respond: Responder) -> Reply:
    """Start a run on a stored thread and stream it; the run continues when its client leaves."""

    async def open_stream() -> AsyncIterator[NumberedEntry]:
        resume_command = parse_resume_command(run_input)
        if resume_command is not None and not turn.answers and (question := await find_open_question(turn, threads)):
            answer = parse_legacy_answer(question.id, resume_command["resume"], is_text=question.kind != "confirm")
            return await threads.start(replace(turn, answers=(answer,)), respond)
        return await threads.start(turn, respond)

    return stream_thread(open_stream, ThreadReplay(turn.thread, run_input.supports_outcomes))


async def find_open_question(turn: Turn, threads: ThreadService) -> Interrupt | None:
    """Return the first open question of the thread's last run: the one that a client without outcomes was
    shown, and that its unnamed answer is for."""
    thread = await threads.store.get_thread(turn.owner, turn.thread)
    entries = await threads.read_run_until(turn.owner, turn.thread, thread.last) if thread else []
    waits = bool(entries) and isinstance(entries[-1], RunFinished)
    return next((entry for entry in entries if isinstance(entry, Interrupt)), None) if waits else None


def connect_thread(
    owner: Owner,
    thread: str,
    threads: ThreadService,
    position: ReplayPosition | None,
    supports_outcomes: bool = True,
    include_hidden: bool = False,
) -> Reply:
    """Stream a thread from the client's position, then its active run. A first connection gets the visible
    branch, or with `include_hidden` every entry."""
    start = position or START
    replay = ThreadReplay(thread, supports_outcomes, start)

    async def open_stream() -> AsyncIterator[NumberedEntry]:
        if start.number:
            replay.skip_seen(await threads.read_run_until(owner, thread, start.number))
        if not include_hidden:
            # A client that lost its connection inside the prefix gets the rest of the prefix.
            replay.prefix = await replayed_prefix(threads.store, owner, thread, start.number, start.frames)
        return threads.follow(owner, thread, max(start.number, replay.prefix.last))

    return stream_thread(open_stream, replay)

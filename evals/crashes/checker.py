"""The checker of the crash drill: compares all that clients saw with the log and with the effects."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.crashes.client import OrderClient, Session
from evals.crashes.shop import EFFECTS, WORDS
from rightseat.http.agui.replay import ThreadReplay
from rightseat.stores.sqlite.threads import decode_row
from rightseat.types.events import RunStarted, TextDelta
from rightseat.types.threads import RUN_RESTARTED, TAKE_OVER_NUMBERS, EntryRow, is_run_end
from tests.kit.client import SseFrame, parse_frame


@dataclass
class LogCopy:
    """Log of one thread as its file has it."""

    rows: list[EntryRow]
    frames: dict[str, list[Any]] = field(default_factory=dict)
    """The frames of entries by their ids. A failure has two faces: the last of a thread, or followed by a run."""
    pieces: dict[int, str] = field(default_factory=dict)
    """The text of each delta by its number."""

    def __post_init__(self) -> None:
        replay = ThreadReplay("")
        for row in self.rows:
            if isinstance(row.entry, TextDelta):
                for number in range(row.first, row.last + 1):
                    part = row.slice(number - 1, number)
                    assert part is not None
                    assert isinstance(part[1], TextDelta)
                    self.pieces[number] = part[1].text
                continue
            encoded = replay.encode_entry(row.last, row.entry)
            if replay.failure is not None:
                failure = replay.failure
                encoded += replay.encode_failure(is_last=True)
                replay.failure = failure
                encoded += replay.encode_failure(is_last=False)
            for data in encoded:
                frame = parse_frame(data.decode().strip())
                self.frames.setdefault(frame.id or "", []).append(frame.json)


def read_log(folder: Path, thread: str) -> LogCopy:
    query = "SELECT owner, first, last, cuts, body, checksum FROM entries WHERE thread = ? ORDER BY last"
    with contextlib.closing(sqlite3.connect(f"file:{folder}/rightseat.db?mode=ro", uri=True)) as file:
        lines = file.execute(query, (thread,)).fetchall()
    rows = (decode_row((owner, thread), *columns) for owner, *columns in lines)
    return LogCopy([row for row in rows if row])


@dataclass
class Verdict:
    problems: list[str] = field(default_factory=list)
    frames: int = 0
    lost_deltas: int = 0
    """Frames of text that clients saw and the log does not have."""
    continued: int = 0
    """Runs that lost a worker and went on to an end of their own."""


def check_client(client: OrderClient, log: LogCopy) -> Verdict:
    """Compare a client's sessions with the log of its thread, and the effects with one each."""
    verdict = Verdict([f"{client.thread}: {problem}" for problem in client.problems])
    verdict.continued = count_continued(log)
    problems = [*check_effects(client), *check_runs(log)]
    for session in client.sessions:
        verdict.frames += len(session.frames)
        problems += check_session(session, log, verdict)
    verdict.problems += [f"{client.thread}: {problem}" for problem in problems]
    return verdict


def check_effects(client: OrderClient) -> Iterator[str]:
    for path in EFFECTS:
        count = client.api.effects[client.customer, path]
        if count != 1:
            yield f"{path} happened {count} times"
    text = "".join(frame.json.get("delta", "") for frame in client.sessions[-1].frames)
    if client.is_done and not text.endswith("".join(WORDS)) and not "".join(WORDS).endswith(text):
        yield f"the answer ended with {text[-40:]!r}"


def check_runs(log: LogCopy) -> Iterator[str]:
    """Every run that began has one end, and numbers grow."""
    running = False
    last = 0
    for row in log.rows:
        if row.first <= last:
            yield f"number {row.first} comes after {last}"
        last = row.last
        if isinstance(row.entry, RunStarted):
            if running:
                yield f"a run began at {row.first} before the end of another"
            running = True
        elif is_run_end(row.entry):
            if not running:
                yield f"a run ended twice at {row.first}"
            running = False
    if running:
        yield "a run has no end"


def count_continued(log: LogCopy) -> int:
    """Count the runs in which numbers leap, as they do with a take-over, and which did not end as `restarted`."""
    continued = 0
    last, has_leapt = 0, False
    for row in log.rows:
        if isinstance(row.entry, RunStarted):
            has_leapt = False
        elif row.first - last > TAKE_OVER_NUMBERS // 2:
            has_leapt = True
        last = row.last
        if is_run_end(row.entry):
            continued += has_leapt and row.entry != RUN_RESTARTED
            has_leapt = False
    return continued


def check_session(session: Session, log: LogCopy, verdict: Verdict) -> Iterator[str]:
    """Every frame has an id above the last one, and what it shows is in the log, or text that the log lacks."""
    before = parse_id(session.after) if session.after else (0, 0)
    for frame in session.frames:
        if frame.id is None:
            yield f"a frame without an id: {frame.data}"
            continue
        position = parse_id(frame.id)
        if position <= before:
            yield f"frame {frame.id} comes after {before}"
        if frame.json["type"] == "TEXT_MESSAGE_CONTENT":
            yield from check_text(frame, before[0], position[0], log, verdict)
        elif frame.json not in log.frames.get(frame.id, []):
            yield f"frame {frame.id} shows {frame.data}, the log {json.dumps(log.frames.get(frame.id))}"
        before = position


def check_text(frame: SseFrame, after: int, number: int, log: LogCopy, verdict: Verdict) -> Iterator[str]:
    numbers = range(max(after, number - len(WORDS)) + 1, number + 1)
    stored = "".join(log.pieces.get(each, "") for each in numbers)
    if number in log.pieces:
        if not stored.endswith(frame.json["delta"]):
            yield f"frame {frame.id} shows {frame.json['delta']!r}, the log {stored!r}"
    elif str(number) in log.frames:
        yield f"frame {frame.id} shows text, the log {json.dumps(log.frames[str(number)])}"
    else:
        verdict.lost_deltas += 1
        if not frame.json["delta"].startswith(stored):
            yield f"frame {frame.id} shows {frame.json['delta']!r}, the log begins with {stored!r}"


def parse_id(id: str) -> tuple[int, int]:
    """Return the id as it is ordered: the parts of an entry come before its last frame."""
    number, _, part = id.partition(".")
    return int(number), int(part or 1 << 20)

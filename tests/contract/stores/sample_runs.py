"""Runs as tests write them, and how they are read back."""

from typing import Any

from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Custom,
    Interrupt,
    ReasoningDelta,
    RunFinished,
    RunStarted,
    StateSnapshot,
    TextDelta,
    TextEnd,
    TextStart,
    Usage,
)
from rightseat.types.messages import ImageMessagePart, Message, text_message
from rightseat.types.threads import NumberedEntry, ThreadEntry, ThreadStore, UserInput, delta_text
from rightseat.types.turn import Owner

ME, YOU = Owner("me"), Owner("you")
RUN_ENTRIES: list[ThreadEntry] = [
    UserInput((text_message("user", "hi", id="u1"), Message("user", (ImageMessagePart("data:,x"),), id="u2"))),
    RunStarted("t", "r"),
    TextStart("m1"),
    *(TextDelta("m1", text) for text in ("Hel", "lo ", "", "wörld 漢😀")),
    TextDelta("m1", "!", [{"token": "!"}]),
    TextEnd("m1"),
    ReasoningDelta("m2", "a"),
    ReasoningDelta("m2", "b"),
    CallStart("c1", "f", "m1"),
    CallArgs("c1", '{"a":'),
    CallArgs("c1", "1}"),
    CallArgs("c2", "{}"),
    CallEnd("c1"),
    CallResult("c1", "7"),
    StateSnapshot({"n": [1, None]}),
    Interrupt("ask_1", "form", "?", {"type": "integer"}, "c1"),
    Custom("x", {"deep": [1.5]}),
    RunFinished("stop", Usage(1, 2), ("c9",)),
]


class TickingClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


async def append_run(
    store: ThreadStore, entries: list[ThreadEntry], thread: str = "t", owner: Owner = ME, name: str = "n", step: int = 1
) -> int:
    """A whole run, appended in steps; gives the number that it came after."""
    before = (await store.begin_run(owner, thread, "r", assistant="a", name=name)).before
    for offset in range(0, len(entries), step):
        store.append_entries(owner, thread, before + offset + 1, entries[offset : offset + step])
    return before


async def read_all_entries(
    store: ThreadStore, thread: str = "t", owner: Owner = ME, after: int = 0
) -> list[NumberedEntry]:
    entries: list[NumberedEntry] = []
    while page := await store.read_entries(owner, thread, entries[-1][0] if entries else after):
        entries += page
    return entries


def join_deltas(numbered: list[NumberedEntry]) -> list[Any]:
    """What was said whatever way it was cut: words joined, everything else as it is."""
    joined: list[Any] = []
    for _, entry in numbered:
        if isinstance(entry, TextDelta | ReasoningDelta | CallArgs):
            head = (type(entry), entry.id)
            if joined and isinstance(joined[-1], list) and joined[-1][0] == head:
                joined[-1][1] += delta_text(entry)
            else:
                joined.append([head, delta_text(entry)])
        else:
            joined.append(entry)
    return joined


NUMBERED_ENTRIES = list(enumerate(RUN_ENTRIES, 1))

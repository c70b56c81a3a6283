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
ANSWER: list[ThreadEntry] = [
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


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now


async def run(
    journal: ThreadStore,
    entries: list[ThreadEntry],
    thread: str = "t",
    owner: Owner = ME,
    name: str = "n",
    step: int = 1,
) -> int:
    """A whole run, appended in steps; gives the number that it came after."""
    before = await journal.begin_run(owner, thread, "r", assistant="a", name=name)
    for place in range(0, len(entries), step):
        journal.append_entries(owner, thread, before + place + 1, entries[place : place + step])
    return before


async def every(journal: ThreadStore, thread: str = "t", owner: Owner = ME, after: int = 0) -> list[NumberedEntry]:
    found: list[NumberedEntry] = []
    while page := await journal.read_entries(owner, thread, found[-1][0] if found else after):
        found += page
    return found


def exact(numbered: list[NumberedEntry]) -> list[Any]:
    """What was said whatever way it was cut: words joined, everything else as it is."""
    told: list[Any] = []
    for _, entry in numbered:
        if isinstance(entry, TextDelta | ReasoningDelta | CallArgs):
            head = (type(entry), entry.id)
            if told and isinstance(told[-1], list) and told[-1][0] == head:
                told[-1][1] += delta_text(entry)
            else:
                told.append([head, delta_text(entry)])
        else:
            told.append(entry)
    return told


ALL = list(enumerate(ANSWER, 1))

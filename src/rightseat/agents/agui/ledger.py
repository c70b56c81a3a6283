"""Open texts, reasoning, calls and steps of a run, by the peer's ids: each is started once and ended once.

A peer may omit a start or an end, or use an id twice. The events stay well-formed: a used id gets a number,
and an empty text is never started.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallResult,
    CallStart,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    StepEnd,
    StepStart,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.messages import Call, Message, said


class Begun(Struct):
    """A tool call of the peer's run."""

    id: str
    name: str
    client: bool
    message: str
    arguments: list[str]
    open: bool = True
    torn: bool = False
    """The arguments do not begin with `{`: the peer lost their first piece."""
    ending: bool = False
    answered: bool = False
    result: str = ""


class Ledger:
    """Open items of one run. `tools` names the client's tools: the client runs calls to them."""

    def __init__(self, tools: Collection[str]) -> None:
        self.tools = tools
        self.calls: dict[str, Begun] = {}
        """By the peer's id; the latest if an id was used twice."""
        self.texts: dict[str, str] = {}
        self.words: dict[str, list[str]] = {}
        """Pieces of each text of this run by the peer's id, because a snapshot may repeat it."""
        self.thoughts: dict[str, str] = {}
        self.steps: list[str] = []
        self.used: set[str] = set()

    def fresh(self, id: str) -> str:
        name, number = id or "text", 1
        while name in self.used:
            number += 1
            name = f"{id}-{number}"
        self.used.add(name)
        return name

    # Texts and reasoning.

    def say(self, id: str, text: str) -> list[Event]:
        found: list[Event] = []
        if not text:
            return found
        ours = self.texts.get(id)
        if ours is None:
            ours = self.texts[id] = self.fresh(id)
            self.words.setdefault(id, [])
            found.append(TextStart(ours))
        self.words[id].append(text)
        found.append(TextDelta(ours, text))
        return found

    def end_text(self, id: str) -> list[Event]:
        ours = self.texts.pop(id, None)
        return [] if ours is None else [TextEnd(ours)]

    def think(self, id: str, text: str) -> list[Event]:
        if not text:
            return []
        ours = self.thoughts.get(id)
        if ours is not None:
            return [ReasoningDelta(ours, text)]
        ours = self.thoughts[id] = self.fresh(id)
        return [ReasoningStart(ours), ReasoningDelta(ours, text)]

    def end_thought(self, id: str) -> list[Event]:
        ours = self.thoughts.pop(id, None)
        return [] if ours is None else [ReasoningEnd(ours)]

    # Calls.

    def begin_call(self, id: str, name: str, message: str) -> list[Event]:
        known = self.calls.get(id)
        if known is not None and known.open:
            return []
        ours = self.fresh(id)
        call = self.calls[id] = Begun(ours, name, name in self.tools, message or ours, [])
        return [CallStart(call.id, name, call.message, call.client)]

    def argue(self, id: str, json: str) -> list[Event]:
        call = self.calls.get(id)
        if call is None or not call.open or call.ending or not json:
            return []
        call.torn = call.torn or not (call.arguments or json.lstrip().startswith("{"))
        call.arguments.append(json)
        return [] if call.torn else [CallArgs(call.id, json)]

    def end_call(self, id: str, *, now: bool = False) -> list[Event]:
        """End a call. Some peers lose arguments that arrive in one piece with the call's name, and send them
        in a snapshot at the end of the run: a call without arguments stays open for them unless `force`."""
        call = self.calls.get(id)
        if call is None or not call.open:
            return []
        call.ending = True
        if (call.torn or not call.arguments) and not now:
            return []
        if call.client and not whole("".join(call.arguments)):
            # The client must not run a truncated call. A call of the peer itself is passed on as it is.
            return []
        call.open = False
        return [*([CallArgs(call.id, "{}")] if call.torn or not call.arguments else []), CallEnd(call.id)]

    def mend(self, id: str, arguments: str) -> list[Event]:
        """Set the complete arguments of a call that waits for them, and end it."""
        call = self.calls[id]
        if not (call.open and call.ending and whole(arguments)):
            return []
        call.open = False
        return [CallArgs(call.id, arguments or "{}"), CallEnd(call.id)]

    def answer(self, id: str, content: str, failed: bool = False) -> list[Event]:
        """Add a call's result, ending the call first. An unknown call was started by an earlier run."""
        call = self.calls.get(id)
        if call is None:
            return [CallResult(id, content, failed)]
        if call.answered:
            return []
        ended = self.end_call(id, now=True)
        call.answered, call.result = True, content
        return [*ended, CallResult(call.id, content, failed)]

    @property
    def messages(self) -> list[Message]:
        """The run's texts, calls and results as a client would post them again."""
        made = {id: said("assistant", "".join(words), id=id) for id, words in self.words.items()}
        results: dict[str, list[Message]] = {}
        for call in self.calls.values():
            before = made.get(call.message) or Message("assistant", id=call.message)
            one = Call(call.id, call.name, "".join(call.arguments) or "{}")
            made[call.message] = replace(before, calls=(*before.calls, one))
            if call.answered:
                result = said("tool", call.result, call_id=call.id, id=f"result-{call.id}")
                results.setdefault(call.message, []).append(result)
        return [each for id, message in made.items() for each in (message, *results.get(id, ()))]

    @property
    def waiting(self) -> tuple[str, ...]:
        """Ids of the client's calls without a result."""
        calls = self.calls.values()
        return tuple(call.id for call in calls if call.client and not call.open and not call.answered)

    # Steps and the end.

    def begin_step(self, name: str) -> list[Event]:
        if not name:
            return []
        self.steps.append(name)
        return [StepStart(name)]

    def end_step(self, name: str) -> list[Event]:
        if name not in self.steps:
            return []
        self.steps.remove(name)
        return [StepEnd(name)]

    def close(self, later: Collection[str]) -> list[Event]:
        """End everything that the peer left open, except truncated calls. The peer's own calls without a
        result get an empty one, except those in `continued`, which go on in another run."""
        found: list[Event] = []
        for id in list(self.texts):
            found += self.end_text(id)
        for id in list(self.thoughts):
            found += self.end_thought(id)
        for id, call in self.calls.items():
            if call.open and (call.ending or whole("".join(call.arguments))):
                found += self.end_call(id, now=True)
            if not (call.open or call.client or call.answered or id in later):
                found += self.answer(id, "")
        for name in reversed(self.steps):
            found.append(StepEnd(name))
        self.steps.clear()
        return found


def whole(arguments: str) -> bool:
    try:
        return isinstance(msgspec.json.decode(arguments or "{}"), dict)
    except (msgspec.DecodeError, RecursionError):
        return False

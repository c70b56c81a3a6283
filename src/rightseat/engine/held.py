"""SchemaBufferedAssembler: buffers an answer until it is validated against the output schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightseat.engine.assembler import Answered, Assembly, spoken
from rightseat.types.chunks import Fragment
from rightseat.types.events import Event, TextDelta, TextEnd, TextStart
from rightseat.types.messages import Message, said
from rightseat.types.schema import checker
from rightseat.types.stores import Ids

_FENCED = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*", re.DOTALL)


class Held(Assembly):
    """Buffers text events; all others pass at once. The schema applies to the final answer only, not to text
    beside tool calls."""

    def __init__(self, ids: Ids, clients: Mapping[str, bool], schema: dict[str, Any]) -> None:
        super().__init__(ids, clients)
        self.check = checker(schema)
        self.events: list[Event] = []

    def take(self, fragment: Fragment) -> list[Event]:
        return self.hold(super().take(fragment))

    def end(self) -> list[Event]:
        return self.hold(super().end())

    def hold(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            (self.events if isinstance(event, TextStart | TextDelta | TextEnd) else out).append(event)
        return out

    def problem(self, answered: Answered) -> str | None:
        """Describe what is wrong with the final answer; a truncated or refused answer is not checked."""
        if answered.message.calls or answered.reason != "stop" or self.refused:
            return None
        found = _FENCED.fullmatch(answered.message.text)
        text = found[1] if found else answered.message.text
        try:
            problem = self.check.problem(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError) as error:
            return f"it is not JSON ({error})"
        if problem is None and found:
            # The code fence is not part of the value.
            self.events = spoken(answered.message.id or "", text)
        return problem

    @property
    def refused(self) -> bool:
        return any(isinstance(event, TextStart) and event.refusal for event in self.events)


def repair(answered: Answered, problem: str) -> list[Message]:
    """Return the messages that ask the model to correct its answer."""
    ask = f"That answer does not fit the JSON Schema that was asked for: {problem}. Answer again, JSON only."
    return [answered.message, said("user", ask)]

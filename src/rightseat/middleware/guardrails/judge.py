"""Topic check by a model, which answers yes or no for each topic."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from rightseat.engine.structured import structured
from rightseat.errors import UpstreamError
from rightseat.middleware.guardrails.checks import failed
from rightseat.middleware.guardrails.rules import sentence
from rightseat.middleware.guardrails.verdict import Direction, Failing, Refuse, Verdict
from rightseat.middleware.model_info import Source, Watch
from rightseat.types.model import Model
from rightseat.types.turn import Turn

Topics = Mapping[str, tuple[str, ...]]
MOST = 8000
"""Characters of a message that the model sees: its beginning and its end."""
PROMPT = Path(__file__).with_name("judge.txt")


class Judge:
    """A check by a judge model. `deny` and `allow` are topics by name, each with example words."""

    topical = True
    directions: tuple[Direction, ...] = ("input",)

    def __init__(
        self,
        model: Model,
        source: Source,
        *,
        deny: Topics,
        allow: Topics,
        seconds: float,
        failing: Failing = "refuse",
    ) -> None:
        self.model = model
        self.source = source
        self.deny = dict(deny)
        self.allow = dict(allow)
        self.seconds = seconds
        self.failing = failing

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        # The client's topics count too: they can only make the rules stricter.
        deny = {**self.deny, **named(turn.topics.deny)}
        wanted = [self.allow, named(turn.topics.allow)]
        every = {**deny, **wanted[0], **wanted[1]}
        if not every:
            return None
        try:
            async with asyncio.timeout(self.seconds):
                found = await structured(self.model, question(every, text), schema(every))
        except (UpstreamError, TimeoutError) as error:
            return failed("judge", self.failing, type(error).__name__)
        if any(found[name] for name in deny):
            return Refuse(sentence("input", "topic"))
        if any(allowed and not any(found[name] for name in allowed) for allowed in wanted):
            return Refuse(sentence("input", "off_topic"))
        return None

    def watched(self, watch: Watch) -> Judge:
        """Return a copy with a wrapped model, so that its calls are metered and billed."""
        found = copy(self)
        found.model = watch(self.model, self.source)
        return found

    async def close(self) -> None:
        # The model may belong to no assistant; closing it twice is harmless.
        if (close := getattr(self.model, "close", None)) is not None:
            await close()


@cache
def prompt() -> str:
    return PROMPT.read_text("utf-8")


def named(names: Iterable[str]) -> Topics:
    return dict.fromkeys(names, ())


def question(topics: Topics, text: str) -> str:
    lines = (
        f"- {name}" + (f" (such as: {', '.join(words)})" if words else "") for name, words in topics.items()
    )
    shown = text if len(text) <= MOST else f"{text[: MOST // 2]}\n…\n{text[-MOST // 2 :]}"
    # As JSON, so that the message cannot fake its own end.
    return prompt().format(topics="\n".join(lines), message=msgspec.json.encode(shown).decode())


def schema(topics: Topics) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in topics},
        "required": list(topics),
        "additionalProperties": False,
    }

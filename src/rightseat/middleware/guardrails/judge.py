"""Topic check by a model, which answers yes or no for each topic."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from rightseat.engine.structured import generate_structured
from rightseat.errors import UpstreamError
from rightseat.middleware.guardrails.checks import handle_check_failure
from rightseat.middleware.guardrails.rules import format_refusal
from rightseat.middleware.guardrails.verdict import Direction, FailureMode, Refuse, Verdict
from rightseat.middleware.model_info import ModelInfo, ModelWrapper
from rightseat.types.model import Model
from rightseat.types.turn import Turn

TopicWords = Mapping[str, tuple[str, ...]]
MAX_SHOWN_CHARS = 8000
"""Characters of a message that the model sees: its beginning and its end."""
PROMPT_FILE = Path(__file__).with_name("judge.txt")


class TopicJudge:
    """A check by a judge model. `deny` and `allow` are topics by name, each with example words."""

    topical = True
    directions: tuple[Direction, ...] = ("input",)

    def __init__(
        self,
        model: Model,
        info: ModelInfo,
        *,
        deny: TopicWords,
        allow: TopicWords,
        seconds: float,
        on_failure: FailureMode = "refuse",
    ) -> None:
        self.model = model
        self.info = info
        self.deny = dict(deny)
        self.allow = dict(allow)
        self.seconds = seconds
        self.on_failure = on_failure

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        # The client's topics count too: they can only make the rules stricter.
        deny = {**self.deny, **make_topics(turn.topics.deny)}
        allow = [self.allow, make_topics(turn.topics.allow)]
        topics = {**deny, **allow[0], **allow[1]}
        if not topics:
            return None
        try:
            async with asyncio.timeout(self.seconds):
                answers = await generate_structured(
                    self.model, build_question(topics, text), build_answer_schema(topics)
                )
        except (UpstreamError, TimeoutError) as error:
            return handle_check_failure("judge", self.on_failure, type(error).__name__)
        if any(answers[name] for name in deny):
            return Refuse(format_refusal("input", "topic"))
        if any(allowed and not any(answers[name] for name in allowed) for allowed in allow):
            return Refuse(format_refusal("input", "off_topic"))
        return None

    def with_wrapped_model(self, wrap: ModelWrapper) -> TopicJudge:
        """Return a copy with a wrapped model, so that its calls are metered and billed."""
        judge = copy(self)
        judge.model = wrap(self.model, self.info)
        return judge

    async def close(self) -> None:
        # The model may belong to no assistant; closing it twice is harmless.
        if (close := getattr(self.model, "close", None)) is not None:
            await close()


@cache
def load_prompt() -> str:
    return PROMPT_FILE.read_text("utf-8")


def make_topics(names: Iterable[str]) -> TopicWords:
    return dict.fromkeys(names, ())


def build_question(topics: TopicWords, text: str) -> str:
    lines = (
        f"- {name}" + (f" (such as: {', '.join(words)})" if words else "") for name, words in topics.items()
    )
    shown = (
        text
        if len(text) <= MAX_SHOWN_CHARS
        else f"{text[: MAX_SHOWN_CHARS // 2]}\n…\n{text[-MAX_SHOWN_CHARS // 2 :]}"
    )
    # As JSON, so that the message cannot fake its own end.
    return load_prompt().format(topics="\n".join(lines), message=msgspec.json.encode(shown).decode())


def build_answer_schema(topics: TopicWords) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in topics},
        "required": list(topics),
        "additionalProperties": False,
    }

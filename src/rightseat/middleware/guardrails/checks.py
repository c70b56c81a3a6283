"""Checks by an operator's function, by an HTTP service, or by a model that answers yes or no for each topic."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from yarl import URL

from rightseat.config.secret import Secret
from rightseat.engine.structured import generate_structured
from rightseat.errors import UpstreamError
from rightseat.http.client import HttpClient, format_request_head
from rightseat.middleware.guardrails.rules import (
    UNCHECKED,
    Check,
    Direction,
    FailureMode,
    Refuse,
    Replace,
    Verdict,
    format_refusal,
)
from rightseat.middleware.hooks import call_function
from rightseat.middleware.model_wrappers import WrapModel
from rightseat.tools.function import ToolThreadRunner
from rightseat.types.model import ModelInfo, ModelLike, adapt_model
from rightseat.types.turn import Turn

log = logging.getLogger(__name__)
MAX_ANSWER = 64 << 10
MAX_REASON = 500
DEFAULT_SECONDS = 5.0
Validator = Callable[[str, Direction, Turn], Verdict | Awaitable[Verdict]]
KEY_HEADER = "X-CopilotCloud-Public-API-Key"
TopicWords = Mapping[str, tuple[str, ...]]
MAX_SHOWN_CHARS = 8000
"""Characters of a message that the model sees: its beginning and its end."""


def handle_check_failure(name: str, on_failure: FailureMode, why: str) -> Verdict:
    log.warning("the guardrail %s could not be asked (%s): what it should check is %s", name, why, on_failure)
    return UNCHECKED if on_failure == "refuse" else None


@dataclass(eq=False)
class FunctionCheck(Check):
    """A check by a function `(text, direction, turn)` that returns None, Refuse or Replace. A plain function
    runs in a thread."""

    name: str
    validator: Validator
    directions: tuple[Direction, ...] = ("input",)
    seconds: float = DEFAULT_SECONDS
    on_failure: FailureMode = "refuse"
    threads: ToolThreadRunner = field(default_factory=ToolThreadRunner, init=False)

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        # A task, so that any exception of the function can be handled.
        task = asyncio.ensure_future(call_function(self.threads, self.validator, text, direction, turn))
        try:
            done, _ = await asyncio.wait([task], timeout=self.seconds)
        finally:
            if not task.done():
                task.cancel()
        if not done:
            return handle_check_failure(self.name, self.on_failure, f"it took longer than {self.seconds:g} s")
        if (error := task.exception()) is not None:
            return handle_check_failure(self.name, self.on_failure, type(error).__name__)
        result = task.result()
        if result is None or isinstance(result, Refuse | Replace):
            return result
        return handle_check_failure(self.name, self.on_failure, f"it gave a {type(result).__name__}")


class ValidationResponse(Struct):
    """Response of CopilotKit cloud's validation service."""

    status: str
    reason: str | None = None


@dataclass(eq=False)
class RemoteCheck(Check):
    """A check by a service with CopilotKit cloud's contract: POST text and topics to `/guardrails/validate`;
    the response is `allowed`, or `denied` with a reason. `topics` are the valid and the invalid ones."""

    name: str
    url: str
    directions: tuple[Direction, ...] = ("input",)
    seconds: float = DEFAULT_SECONDS
    on_failure: FailureMode = "refuse"
    key: Secret | None = None
    topics: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    topical = True

    def __post_init__(self) -> None:
        self.address = URL(self.url)
        self.client = HttpClient(self.address, connect_timeout=self.seconds)

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        try:
            async with asyncio.timeout(self.seconds):
                response = await self.post(self.build_body(text, direction, turn), turn.client.public_key)
        except (OSError, TimeoutError, msgspec.MsgspecError) as error:
            return handle_check_failure(self.name, self.on_failure, type(error).__name__)
        if response is None or response.status not in ("allowed", "denied"):
            return handle_check_failure(self.name, self.on_failure, "its answer is not one of this contract")
        return None if response.status == "allowed" else Refuse((response.reason or "")[:MAX_REASON])

    def build_body(self, text: str, direction: Direction, turn: Turn) -> bytes:
        history = [m for m in turn.messages if m.role in ("user", "assistant") and m.text]
        if direction == "input" and history and history[-1].text == text:
            history = history[:-1]
        valid_topics, invalid_topics = self.topics
        body = {
            "input": text,
            "direction": direction,
            "validTopics": [*valid_topics, *turn.client.topics.allow],
            "invalidTopics": [*invalid_topics, *turn.client.topics.deny],
            "messages": [{"role": m.role, "content": m.text} for m in history],
        }
        return msgspec.json.encode(body)

    async def post(self, body: bytes, public_key: str) -> ValidationResponse | None:
        """Ask the service with the operator's key, else with the page's."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key := self.key.reveal() if self.key is not None else public_key:
            headers[KEY_HEADER] = key
        deadline = asyncio.get_running_loop().time() + self.seconds
        response = await self.client.send(format_request_head("POST", self.address, headers), body, deadline)
        try:
            await response.wait_for_head()
            if response.status != 200:
                return None
            return msgspec.json.decode(await response.read_body(MAX_ANSWER), type=ValidationResponse)
        finally:
            response.close()

    async def close(self) -> None:
        self.client.close()


class TopicJudge(Check):
    """A check by a judge model. `deny` and `allow` are topics by name, each with example words."""

    topical = True

    def __init__(
        self,
        model: ModelLike,
        info: ModelInfo,
        *,
        deny: TopicWords,
        allow: TopicWords,
        seconds: float,
        on_failure: FailureMode = "refuse",
    ) -> None:
        self.model = adapt_model(model)
        self.info = info
        self.deny, self.allow = deny, allow
        self.seconds = seconds
        self.on_failure = on_failure

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        # The client's topics count too: they can only make the rules stricter.
        deny = {**self.deny, **make_topics(turn.client.topics.deny)}
        allow = [self.allow, make_topics(turn.client.topics.allow)]
        topics = {**deny, **allow[0], **allow[1]}
        if not topics:
            return None
        question, schema = build_question(topics, text), build_answer_schema(topics)
        try:
            async with asyncio.timeout(self.seconds):
                answers = await generate_structured(self.model, question, schema)
        except (UpstreamError, TimeoutError) as error:
            return handle_check_failure("judge", self.on_failure, type(error).__name__)
        if any(answers[name] for name in deny):
            return Refuse(format_refusal("input", "topic", turn.get_language()))
        if any(allowed and not any(answers[name] for name in allowed) for allowed in allow):
            return Refuse(format_refusal("input", "off_topic", turn.get_language()))
        return None

    def with_wrapped_model(self, wrap: WrapModel) -> TopicJudge:
        """Return a copy with a wrapped model, so that its calls are metered and billed."""
        judge = copy(self)
        judge.model = wrap(self.model, self.info)
        return judge

    async def close(self) -> None:
        # The model may belong to no assistant; closing it twice is harmless.
        await self.model.close()


@cache
def load_prompt() -> str:
    return Path(__file__).with_name("judge.txt").read_text("utf-8")


def make_topics(names: Iterable[str]) -> TopicWords:
    return dict.fromkeys(names, ())


def build_question(topics: TopicWords, text: str) -> str:
    lines = (f"- {name}" + (f" (such as: {', '.join(words)})" if words else "") for name, words in topics.items())
    if len(text) > MAX_SHOWN_CHARS:
        text = f"{text[: MAX_SHOWN_CHARS // 2]}\n…\n{text[-MAX_SHOWN_CHARS // 2 :]}"
    # As JSON, so that the message cannot fake its own end.
    return load_prompt().format(topics="\n".join(lines), message=msgspec.json.encode(text).decode())


def build_answer_schema(topics: TopicWords) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "boolean"} for name in topics},
        "required": list(topics),
        "additionalProperties": False,
    }

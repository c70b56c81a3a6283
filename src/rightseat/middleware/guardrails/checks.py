"""Checks by an operator's function or by an HTTP service.

Topic check by a model, which answers yes or no for each topic.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from copy import copy
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
    Direction,
    FailureMode,
    Refuse,
    Replace,
    Verdict,
    format_refusal,
)
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


def handle_check_failure(name: str, on_failure: FailureMode, why: str) -> Verdict:
    log.warning("the guardrail %s could not be asked (%s): what it should check is %s", name, why, on_failure)
    return UNCHECKED if on_failure == "refuse" else None


class FunctionCheck:
    """A check by a function `(text, direction, turn)` that returns None, Refuse or Replace. A plain function
    runs in a thread."""

    topical = False

    def __init__(
        self,
        name: str,
        validator: Validator,
        *,
        directions: tuple[Direction, ...] = ("input",),
        seconds: float = DEFAULT_SECONDS,
        on_failure: FailureMode = "refuse",
    ) -> None:
        self.name = name
        self.validator = validator
        self.directions = directions
        self.seconds = seconds
        self.on_failure = on_failure
        self.threads = ToolThreadRunner()

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        # A task, so that any exception of the function can be handled.
        task = asyncio.ensure_future(self.call_validator(text, direction, turn))
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

    async def call_validator(self, text: str, direction: Direction, turn: Turn) -> Any:
        if inspect.iscoroutinefunction(self.validator):
            return await self.validator(text, direction, turn)
        result = await self.threads.run(lambda: self.validator(text, direction, turn))
        return await result if inspect.isawaitable(result) else result

    async def close(self) -> None:
        """Do nothing: there are no resources."""


class ValidationResponse(Struct):
    """Response of CopilotKit cloud's validation service."""

    status: str
    reason: str | None = None


class RemoteCheck:
    """A check by a service with CopilotKit cloud's contract: POST text and topics to `/guardrails/validate`;
    the response is `allowed`, or `denied` with a reason."""

    topical = True

    def __init__(
        self,
        name: str,
        url: str,
        *,
        key: Secret | None = None,
        topics: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
        directions: tuple[Direction, ...] = ("input",),
        seconds: float = DEFAULT_SECONDS,
        on_failure: FailureMode = "refuse",
    ) -> None:
        self.name = name
        self.url = URL(url)
        self.key = key
        self.valid_topics, self.invalid_topics = topics
        self.directions = directions
        self.seconds = seconds
        self.on_failure = on_failure
        self.client = HttpClient(self.url, connect_timeout=seconds)

    async def verdict(self, text: str, direction: Direction, turn: Turn) -> Verdict:
        try:
            async with asyncio.timeout(self.seconds):
                response = await self.post(self.build_body(text, direction, turn))
        except (OSError, TimeoutError, msgspec.MsgspecError) as error:
            return handle_check_failure(self.name, self.on_failure, type(error).__name__)
        if response is None or response.status not in ("allowed", "denied"):
            return handle_check_failure(self.name, self.on_failure, "its answer is not one of this contract")
        return None if response.status == "allowed" else Refuse((response.reason or "")[:MAX_REASON])

    def build_body(self, text: str, direction: Direction, turn: Turn) -> bytes:
        history = [m for m in turn.messages if m.role in ("user", "assistant") and m.text]
        if direction == "input" and history and history[-1].text == text:
            history = history[:-1]
        return msgspec.json.encode(
            {
                "input": text,
                "direction": direction,
                "validTopics": [*self.valid_topics, *turn.topics.allow],
                "invalidTopics": [*self.invalid_topics, *turn.topics.deny],
                "messages": [{"role": m.role, "content": m.text} for m in history],
            }
        )

    async def post(self, body: bytes) -> ValidationResponse | None:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self.key is not None:
            headers[KEY_HEADER] = self.key.reveal()
        deadline = asyncio.get_running_loop().time() + self.seconds
        response = await self.client.send(format_request_head("POST", self.url, headers), body, deadline)
        try:
            await response.wait_for_head()
            if response.status != 200:
                return None
            return msgspec.json.decode(await response.read_body(MAX_ANSWER), type=ValidationResponse)
        finally:
            response.close()

    async def close(self) -> None:
        self.client.close()


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
    return PROMPT_FILE.read_text("utf-8")


def make_topics(names: Iterable[str]) -> TopicWords:
    return dict.fromkeys(names, ())


def build_question(topics: TopicWords, text: str) -> str:
    lines = (f"- {name}" + (f" (such as: {', '.join(words)})" if words else "") for name, words in topics.items())
    shown = (
        text if len(text) <= MAX_SHOWN_CHARS else f"{text[: MAX_SHOWN_CHARS // 2]}\n…\n{text[-MAX_SHOWN_CHARS // 2 :]}"
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

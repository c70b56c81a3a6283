"""The chat completions and responses APIs: path, request body, stream parser."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from rightseat.models.openai import request, responses_body
from rightseat.models.openai.answer import ChatStreamParser
from rightseat.models.openai.request import Dialect
from rightseat.models.openai.responses_answer import ResponsesStreamParser
from rightseat.types.chunks import ModelChunk
from rightseat.types.model import Prompt

ReasoningSummary = Literal["auto", "concise", "detailed"]
ApiPath = tuple[str, ...]


class StreamParser(Protocol):
    """Parses the payloads of one answer into ModelChunks."""

    done: bool
    last_was_text: bool

    @property
    def finished(self) -> bool: ...
    def feed(self, payload: bytes, /) -> list[ModelChunk]: ...
    def feed_tail(self, payload: bytes, /) -> list[ModelChunk]: ...
    def finish(self) -> list[ModelChunk]: ...


class OpenAIApi(Protocol):
    @property
    def path(self) -> ApiPath: ...
    def build_body(self, model: str, prompt: Prompt, /) -> dict[str, Any]: ...
    def make_parser(self, prompt: Prompt, /) -> StreamParser: ...


class ChatCompletionsApi:
    path = ("chat", "completions")

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def build_body(self, model: str, prompt: Prompt, /) -> dict[str, Any]:
        return request.build_chat_body(model, prompt, self._dialect)

    def make_parser(self, prompt: Prompt, /) -> StreamParser:
        return ChatStreamParser(find_enforced_tools(prompt, self._dialect))


class ResponsesApi:
    """The responses API. `summary`: the length of the reasoning summary to request."""

    path = ("responses",)

    def __init__(
        self, dialect: Dialect, *, supports_reasoning: bool, summary: ReasoningSummary | None
    ) -> None:
        self._dialect = dialect
        self._supports_reasoning = supports_reasoning
        self._summary = summary if supports_reasoning else None

    def build_body(self, model: str, prompt: Prompt, /) -> dict[str, Any]:
        return responses_body.build_responses_body(
            model, prompt, self._dialect, supports_reasoning=self._supports_reasoning, summary=self._summary
        )

    def make_parser(self, prompt: Prompt, /) -> StreamParser:
        return ResponsesStreamParser(find_enforced_tools(prompt, self._dialect))


def find_enforced_tools(prompt: Prompt, dialect: Dialect) -> frozenset[str]:
    """Return the names of tools whose schema the server enforces."""
    strict = prompt.tools if dialect.strict_tools else ()
    return frozenset(tool.name for tool in strict)

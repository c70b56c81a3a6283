"""The chat completions and responses APIs: path, request body, stream parser."""

from __future__ import annotations

from typing import Any, Literal, Protocol

from rightseat.models.openai import request, responses_body
from rightseat.models.openai.answer import Answer
from rightseat.models.openai.request import Dialect
from rightseat.models.openai.responses_answer import ResponsesAnswer
from rightseat.types.chunks import Fragment
from rightseat.types.model import Prompt

Summary = Literal["auto", "concise", "detailed"]
Path = tuple[str, ...]


class Reading(Protocol):
    """Parses the payloads of one answer into ModelChunks."""

    done: bool
    plain: bool

    @property
    def finished(self) -> bool: ...
    def feed(self, payload: bytes, /) -> list[Fragment]: ...
    def tail(self, payload: bytes, /) -> list[Fragment]: ...
    def end(self) -> list[Fragment]: ...


class Api(Protocol):
    @property
    def path(self) -> Path: ...
    def body(self, model: str, prompt: Prompt, /) -> dict[str, Any]: ...
    def reading(self, prompt: Prompt, /) -> Reading: ...


class Chat:
    path = ("chat", "completions")

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def body(self, model: str, prompt: Prompt, /) -> dict[str, Any]:
        return request.body(model, prompt, self._dialect)

    def reading(self, prompt: Prompt, /) -> Reading:
        return Answer(enforced(prompt, self._dialect))


class Responses:
    """The responses API. `summary`: the length of the reasoning summary to request."""

    path = ("responses",)

    def __init__(self, dialect: Dialect, *, reasons: bool, summary: Summary | None) -> None:
        self._dialect = dialect
        self._reasons = reasons
        self._summary = summary if reasons else None

    def body(self, model: str, prompt: Prompt, /) -> dict[str, Any]:
        return responses_body.body(model, prompt, self._dialect, reasons=self._reasons, summary=self._summary)

    def reading(self, prompt: Prompt, /) -> Reading:
        return ResponsesAnswer(enforced(prompt, self._dialect))


def enforced(prompt: Prompt, dialect: Dialect) -> frozenset[str]:
    """Return the names of tools whose schema the server enforces."""
    strict = prompt.tools if dialect.strict_tools else ()
    return frozenset(tool.name for tool in strict)

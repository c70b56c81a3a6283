"""Values that a Runnable yields → ModelChunks, without I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage

from rightseat.errors import Misused
from rightseat.models.langchain import faults
from rightseat.models.langchain.calls import Calls
from rightseat.models.langchain.thoughts import KINDS, PROVIDER, Thoughts
from rightseat.types.chunks import Finish, Fragment, Opaque, Reasoning, Refusal, Text, Used
from rightseat.types.events import Usage

Reason = Literal["stop", "length", "content_filter"]

# Metadata fields that hold the finish reason; unknown reasons count as a normal end.
_FIELDS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
# Providers that always report a finish reason and name themselves in each chunk.
_TELLING = ("openai", "anthropic")
_REASONS: dict[str, Reason] = {
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(
        ("content_filter", "refusal", "safety", "blocklist", "prohibited_content"), "content_filter"
    ),
    **dict.fromkeys(("spii", "recitation", "guardrail_intervened", "content_filtered"), "content_filter"),
}
_TEXTS = ("content", "text", "output", "answer", "result")


class Answer:
    """Parses one answer: `feed` each value, then `finish`. `model` labels the signed thinking blocks."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._calls = Calls()
        self._thoughts = Thoughts()
        self._usage: Usage | None = None
        self._reason: Reason = "stop"
        self._provider: object = None
        self._told = False

    def take(self, value: Any) -> list[Fragment]:
        if isinstance(value, AIMessage):
            return self._message(value)
        if isinstance(value, str):
            return [Text(_whole(value))] if value else []
        if value is None or isinstance(value, BaseMessage):
            # A chain may also yield its input or results of its own tools.
            return []
        message = getattr(value, "message", None)
        if isinstance(message, AIMessage):
            return self._message(message)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list | tuple):
            return self.take(value[-1]) if value else []
        raise Misused(
            f"The Runnable yields {type(value).__name__}, which is no answer: let it yield messages or text."
        )

    def end(self) -> list[Fragment]:
        if self._provider in _TELLING and not self._told:
            # Their clients do not notice a stream that is cut between two chunks.
            raise faults.incomplete()
        if self._calls.nameless:
            raise faults.garbled("a call without a name")
        out: list[Fragment] = []
        if (blob := self._thoughts.blob(self._model)) is not None:
            out.append(Opaque(PROVIDER, blob))
        if self._usage is not None:
            out.append(Used(self._usage))
        out.append(Finish("calls" if self._reason == "stop" and self._calls else self._reason))
        return out

    def _mapping(self, value: Mapping[Any, Any]) -> list[Fragment]:
        if isinstance(messages := value.get("messages"), list | tuple):
            return self.take(messages)
        for key in _TEXTS:
            found = value.get(key)
            if isinstance(found, str | BaseMessage):
                return self.take(found)
        return []

    def _message(self, message: AIMessage) -> list[Fragment]:
        out: list[Fragment] = []
        more = message.additional_kwargs
        if isinstance(thought := more.get("reasoning_content"), str) and thought:
            out.append(Reasoning(_whole(thought)))
        content = message.content
        if isinstance(content, str):
            out += [Text(_whole(content))] if content else []
        else:
            for block in content:
                out += self._block(block)
        if isinstance(refusal := more.get("refusal"), str) and refusal:
            out.append(Refusal(_whole(refusal)))
        for piece in _pieces(message):
            out += self._calls.take(piece)
        if message.usage_metadata:
            self._count(message.usage_metadata)
        if message.response_metadata:
            self._ended(message.response_metadata)
        return out

    def _block(self, block: Any) -> list[Fragment]:
        if isinstance(block, str):
            return [Text(_whole(block))] if block else []
        kind = block.get("type")
        if kind in KINDS:
            thought = self._thoughts.take(block)
            return [Reasoning(_whole(thought))] if thought else []
        if kind == "refusal":
            return [Refusal(_whole(block["refusal"]))] if block.get("refusal") else []
        said = block.get("text") if kind in ("text", "text_delta", "output_text") else None
        return [Text(_whole(said))] if isinstance(said, str) and said else []

    def _count(self, found: Mapping[str, Any]) -> None:
        """Add the usage of a chunk; LangChain counts per chunk, not cumulatively."""
        details = found.get("input_token_details") or {}
        used = Usage(
            found.get("input_tokens") or 0, found.get("output_tokens") or 0, details.get("cache_read") or 0
        )
        self._usage = used if self._usage is None else self._usage + used

    def _ended(self, metadata: Mapping[str, Any]) -> None:
        self._provider = metadata.get("model_provider", self._provider)
        for field in _FIELDS:
            found = metadata.get(field)
            self._told = self._told or found is not None
            if isinstance(found, str) and found.lower() in _REASONS:
                self._reason = _REASONS[found.lower()]


def _pieces(message: AIMessage) -> list[Mapping[str, Any]]:
    if isinstance(message, AIMessageChunk):
        return list(message.tool_call_chunks)
    whole = [{**call, "args": json.dumps(call["args"], ensure_ascii=False)} for call in message.tool_calls]
    return [*whole, *message.invalid_tool_calls]


def _whole(text: str) -> str:
    """Return the text; raise UpstreamGarbled if it has a lone surrogate, which cannot be encoded."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise faults.garbled("half a character") from None
    return text

"""Chat models of LangChain that say what a test tells them: real ones, with `_astream` or only `_stream`."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import Field

from tests.kit.chunks import Json
from tests.kit.patience import STUCK

USAGE = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}


class RateLimitError(Exception):
    """As the vendors' clients name it."""

    status_code = 429


class RemoteProtocolError(ConnectionError):
    """As httpx names a connection that ends too early."""


class Said(BaseChatModel):
    """Yields its `chunks`; an exception among them is raised. Keeps what it was asked in `heard`."""

    # LangChain writes a model down as text before it asks it.
    chunks: Sequence[Any] = Field(default=(), repr=False)
    pace: float = 0
    heard: list[tuple[list[BaseMessage], dict[str, Any]]] = Field(default_factory=list)
    ended: list[str] = Field(default_factory=list)
    temperature: float | None = None
    max_output_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return "kit"

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=tools, tool_choice=tool_choice, **kwargs)

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.heard.append((messages, {"stop": stop, **kwargs}))
        try:
            for chunk in self.chunks:
                await asyncio.sleep(self.pace)
                if isinstance(chunk, Exception):
                    raise chunk
                yield ChatGenerationChunk(message=chunk.model_copy(deep=True))
        finally:
            self.ended.append(threading.current_thread().name)


class Slow(BaseChatModel):
    """Only a sync `_stream`, which waits for `go` before each word."""

    words: Sequence[str] = ()
    go: Any = None
    begun: Any = Field(default_factory=threading.Event)
    threads: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "kit"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        for word in self.words:
            self.threads.append(threading.current_thread().name)
            self.begun.set()
            self.go.wait(STUCK)
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


class Whole(BaseChatModel):
    """Neither streams: one message."""

    message: AIMessage

    @property
    def _llm_type(self) -> str:
        return "kit"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.message)])


def piece(index: Any = None, id: str | None = None, name: str | None = None, args: str | None = None) -> Any:
    """One of `tool_call_chunks`."""
    return {"type": "tool_call_chunk", "index": index, "id": id, "name": name, "args": args}


def chunk(content: Any = "", *pieces: Any, **more: Any) -> AIMessageChunk:
    return AIMessageChunk(content=content, tool_call_chunks=list(pieces), **more)


def of_turn(turn: Json) -> Said:
    """What a case of the contract suite says, its calls in pieces of four letters."""
    finish = turn.get("finish", "stop")
    if finish == "raise:upstream_busy":
        return Said(chunks=[RateLimitError("kit")])
    said = turn.get("say", [])
    chunks = [chunk(additional_kwargs={"reasoning_content": turn["reason"]})] if "reason" in turn else []
    chunks += [chunk(text) for text in ([said] if isinstance(said, str) else said)]
    if "refuse" in turn:
        chunks.append(chunk([{"type": "refusal", "refusal": turn["refuse"]}]))
    for number, call in enumerate(turn.get("calls", ())):
        text = call["arguments"]
        chunks.append(chunk("", piece(number, f"up_{number}", call["name"], "")))
        chunks += [chunk("", piece(number, args=text[at : at + 4])) for at in range(0, len(text), 4)]
    if finish == "cut":
        return Said(chunks=[*chunks, RemoteProtocolError("kit")])
    chunks.append(chunk(usage_metadata=USAGE, response_metadata={"finish_reason": finish}))
    return Said(chunks=chunks, pace=turn.get("pace_ms", 0) / 1000)

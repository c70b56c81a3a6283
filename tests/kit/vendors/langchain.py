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
from tests.kit.timeouts import HANG_TIMEOUT

USAGE = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}


class RateLimitError(Exception):
    """As the vendors' clients name it."""

    status_code = 429


class RemoteProtocolError(ConnectionError):
    """As httpx names a connection that ends too early."""


class FakeChatModel(BaseChatModel):
    """Yields its `chunks`; an exception among them is raised. Keeps what it was asked in `heard`."""

    # LangChain writes a model down as text before it asks it.
    chunks: Sequence[Any] = Field(default=(), repr=False)
    delay: float = 0
    requests: list[tuple[list[BaseMessage], dict[str, Any]]] = Field(default_factory=list)
    ended_threads: list[str] = Field(default_factory=list)
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
        self.requests.append((messages, {"stop": stop, **kwargs}))
        try:
            for chunk in self.chunks:
                await asyncio.sleep(self.delay)
                if isinstance(chunk, Exception):
                    raise chunk
                yield ChatGenerationChunk(message=chunk.model_copy(deep=True))
        finally:
            self.ended_threads.append(threading.current_thread().name)


class BlockingChatModel(BaseChatModel):
    """Only a sync `_stream`, which waits for `go` before each word."""

    words: Sequence[str] = ()
    release: Any = None
    started: Any = Field(default_factory=threading.Event)
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
            self.started.set()
            self.release.wait(HANG_TIMEOUT)
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))


class NonStreamingChatModel(BaseChatModel):
    """Neither streams: one message."""

    message: AIMessage

    @property
    def _llm_type(self) -> str:
        return "kit"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.message)])


def make_call_chunk(index: Any = None, id: str | None = None, name: str | None = None, args: str | None = None) -> Any:
    """One of `tool_call_chunks`."""
    return {"type": "tool_call_chunk", "index": index, "id": id, "name": name, "args": args}


def make_message_chunk(content: Any = "", *pieces: Any, **more: Any) -> AIMessageChunk:
    return AIMessageChunk(content=content, tool_call_chunks=list(pieces), **more)


def answer_turn(turn: Json) -> FakeChatModel:
    """What a case of the contract suite says, its calls in pieces of four letters."""
    finish = turn.get("finish", "stop")
    if finish == "raise:upstream_busy":
        return FakeChatModel(chunks=[RateLimitError("kit")])
    say = turn.get("say", [])
    chunks = [make_message_chunk(additional_kwargs={"reasoning_content": turn["reason"]})] if "reason" in turn else []
    chunks += [make_message_chunk(text) for text in ([say] if isinstance(say, str) else say)]
    if "refuse" in turn:
        chunks.append(make_message_chunk([{"type": "refusal", "refusal": turn["refuse"]}]))
    for number, call in enumerate(turn.get("calls", ())):
        text = call["arguments"]
        chunks.append(make_message_chunk("", make_call_chunk(number, f"up_{number}", call["name"], "")))
        chunks += [
            make_message_chunk("", make_call_chunk(number, args=text[at : at + 4])) for at in range(0, len(text), 4)
        ]
    if finish == "cut":
        return FakeChatModel(chunks=[*chunks, RemoteProtocolError("kit")])
    chunks.append(make_message_chunk(usage_metadata=USAGE, response_metadata={"finish_reason": finish}))
    return FakeChatModel(chunks=chunks, delay=turn.get("pace_ms", 0) / 1000)

"""Well-formed answers: text, tool calls in every shape seen on the wire, reasoning, refusal, usage."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tests.kit.chunks import (
    DONE,
    Json,
    encode_frame,
    encode_json,
    make_call_delta,
    make_chunk,
    make_completion,
    make_text_chunks,
    make_tool_call,
    make_usage_chunk,
    make_words,
)
from tests.kit.connection import Connection, ReceivedRequest

UpstreamReply = Callable[[Connection, ReceivedRequest], Awaitable[None]]
"""Writes one answer: everything from the status line to the last byte."""

SSE_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"}


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The same answer as a stream of chunks and as one whole body, whichever the request asks for."""

    chunks: Sequence[Json]
    message: Json
    finish_reason: str | None = "stop"
    rate: float = 0
    """Chunks per second; 0 is full speed."""
    sends_done: bool = True
    sends_usage: bool = field(default=False, kw_only=True)

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        if request.stream:
            await self._stream(connection, request)
        else:
            await asyncio.sleep(len(self.chunks) / self.rate if self.rate else 0)
            await write_json(connection, 200, make_completion(self.message, self.finish_reason))

    async def _stream(self, connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for frame_ in self.encode_frames(request):
            await connection.write_chunk(frame_)
            if self.rate:
                await asyncio.sleep(1 / self.rate)
        await connection.write_chunk(b"")

    def encode_frames(self, request: ReceivedRequest | None = None) -> list[bytes]:
        usage_requested = (
            request is not None and (request.json.get("stream_options") or {}).get("include_usage") is True
        )
        frames = [encode_frame(c) for c in self.chunks]
        if self.finish_reason is not None:
            frames.append(encode_frame(make_chunk({}, self.finish_reason)))
        if self.sends_usage or usage_requested:
            frames.append(encode_frame(make_usage_chunk()))
        return [*frames, DONE] if self.sends_done else frames


async def write_json(connection: Connection, status: int, value: object, **headers: str) -> None:
    body = encode_json(value)
    await connection.write_head(
        status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    )
    await connection.write(body)


def answer_tokens(tokens: Sequence[str], rate: float = 0) -> ChatReply:
    return ChatReply(make_text_chunks(tokens), {"content": "".join(tokens)}, rate=rate)


class WordGate:
    """Answer of a model's server, whose words come as the test releases them."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.released = 0
        self.changed = asyncio.Condition()

    async def release(self, count: int) -> None:
        async with self.changed:
            self.released = count
            self.changed.notify_all()

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, SSE_HEADERS)
        for number, frame in enumerate(answer_tokens(self.words).encode_frames(request)):
            async with self.changed:
                while number >= self.released:
                    await self.changed.wait()
            await connection.write_chunk(frame)
        await connection.write_chunk(b"")


def answer_text(count: int = 3, rate: float = 0) -> ChatReply:
    return answer_tokens(make_words(count), rate)


def answer_without_done(count: int = 3) -> ChatReply:
    return replace(answer_text(count), sends_done=False)


def answer_with_usage(count: int = 3) -> ChatReply:
    """A usage chunk with empty choices, asked for or not."""
    return replace(answer_text(count), sends_usage=True)


def answer_at_length_limit(count: int = 3) -> ChatReply:
    return replace(answer_text(count), finish_reason="length")


def answer_truncated_call(*calls_before: tuple[str, str]) -> ChatReply:
    """`length` in the middle of a call's arguments, after the given calls."""
    return replace(answer_tool_calls(*calls_before, CUT_CALL), finish_reason="length")


def _make_calls_chunk(*deltas: Json) -> Json:
    return make_chunk({"tool_calls": list(deltas)})


def _answer_calls(chunks: Sequence[Json], calls: Sequence[Json]) -> ChatReply:
    start = make_chunk({"role": "assistant", "content": None})
    return ChatReply([start, *chunks], {"content": None, "tool_calls": list(calls)}, "tool_calls")


def answer_tool_call(
    name: str = "add", arguments: str = '{"a": 2, "b": 3}', id: str = "up_1", preface: str = ""
) -> ChatReply:
    """One call, its arguments in pieces of four characters; `preface` is text before it."""
    pieces = [arguments[i : i + 4] for i in range(0, len(arguments), 4)]
    opening = [make_chunk({"content": preface})] if preface else []
    head = _make_calls_chunk(make_call_delta(0, id=id, name=name, arguments=""))
    body = [_make_calls_chunk(make_call_delta(0, arguments=p)) for p in pieces]
    answer = _answer_calls([*opening, head, *body], [make_tool_call(id, name, arguments)])
    return replace(answer, message={**answer.message, "content": preface or None})


def answer_tool_calls(*calls: tuple[str, str]) -> ChatReply:
    """(name, arguments) pairs, one after the other by index, ids `up_1`, `up_2`, …"""
    rows = [(i, f"up_{i + 1}", *c) for i, c in enumerate(calls or TWO_CALLS)]
    chunks = [_make_calls_chunk(make_call_delta(i, id=id, name=n, arguments=a)) for i, id, n, a in rows]
    return _answer_calls(chunks, [make_tool_call(id, n, a) for _, id, n, a in rows])


CUT_CALL = ("add", '{"a": 2, "b')
TWO_CALLS = (("add", '{"a": 2, "b": 3}'), ("add", '{"a": 40, "b": 2}'))


def answer_calls_in_one_chunk() -> ChatReply:
    (n1, a1), (n2, a2) = TWO_CALLS
    both = _make_calls_chunk(
        make_call_delta(0, id="up_1", name=n1, arguments=a1), make_call_delta(1, id="up_2", name=n2, arguments=a2)
    )
    return _answer_calls([both], cast(list[Json], answer_tool_calls().message["tool_calls"]))


def answer_interleaved_calls() -> ChatReply:
    """The arguments of two calls in turns, both in one chunk and each in its own."""
    (n1, a1), (n2, a2) = TWO_CALLS
    chunks = [
        _make_calls_chunk(make_call_delta(0, id="up_1", name=n1, arguments="")),
        _make_calls_chunk(make_call_delta(1, id="up_2", name=n2, arguments="")),
        _make_calls_chunk(make_call_delta(1, arguments=a2[:5]), make_call_delta(0, arguments=a1[:3])),
        _make_calls_chunk(make_call_delta(0, arguments=a1[3:])),
        _make_calls_chunk(make_call_delta(1, arguments=a2[5:])),
    ]
    return _answer_calls(chunks, cast(list[Json], answer_tool_calls().message["tool_calls"]))


def answer_call_repeating_name() -> ChatReply:
    """Some servers send id and name again with every piece of the arguments."""
    name, arguments = TWO_CALLS[0]
    chunks = [
        _make_calls_chunk(make_call_delta(0, id="up_1", name=name, arguments=a)) for a in (arguments[:6], arguments[6:])
    ]
    return _answer_calls(chunks, [make_tool_call("up_1", name, arguments)])


def answer_call_arguments_first() -> ChatReply:
    name, arguments = TWO_CALLS[0]
    chunks = [
        _make_calls_chunk(make_call_delta(0, arguments=arguments[:6])),
        _make_calls_chunk(make_call_delta(0, id="up_1", name=name)),
    ]
    return _answer_calls(
        [*chunks, _make_calls_chunk(make_call_delta(0, arguments=arguments[6:]))],
        [make_tool_call("up_1", name, arguments)],
    )


def answer_call_without_id() -> ChatReply:
    """Call without id, without index, finish `stop`: seen from small local servers."""
    name, arguments = TWO_CALLS[0]
    part = {"function": {"name": name, "arguments": arguments}}
    return ChatReply([make_chunk({"tool_calls": [part]})], {"content": None, "tool_calls": [part]}, "stop")


def answer_function_call() -> ChatReply:
    """The call of 2023, before tools."""
    name, arguments = TWO_CALLS[0]
    chunks = [
        make_chunk({"role": "assistant", "content": None, "function_call": {"name": name, "arguments": ""}}),
        make_chunk({"function_call": {"arguments": arguments[:6]}}),
        make_chunk({"function_call": {"arguments": arguments[6:]}}),
    ]
    message = {"content": None, "function_call": {"name": name, "arguments": arguments}}
    return ChatReply(chunks, message, "function_call")


def answer_invalid_call(arguments: str = '{"a": 2, "b": ') -> ChatReply:
    """A finished call whose arguments are not JSON."""
    return answer_tool_call(arguments=arguments)


def answer_reasoning(key: str = "reasoning_content") -> ChatReply:
    thought = [make_chunk({key: t}) for t in ("first ", "think")]
    answer = answer_text()
    return replace(answer, chunks=[*thought, *answer.chunks], message={**answer.message, key: "first think"})


def answer_short_reasoning() -> ChatReply:
    return answer_reasoning("reasoning")


def answer_refusal() -> ChatReply:
    chunks = [
        make_chunk({"role": "assistant", "content": None}),
        make_chunk({"refusal": "I will "}),
        make_chunk({"refusal": "not."}),
    ]
    return ChatReply(chunks, {"content": None, "refusal": "I will not."})

"""Well-formed answers: text, tool calls in every shape seen on the wire, reasoning, refusal, usage."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tests.kit.chunks import DONE, Json, call, call_delta, chunk, dump, frame, text_chunks, usage_chunk, whole, words
from tests.kit.connection import Connection, Received

Reply = Callable[[Connection, Received], Awaitable[None]]
"""Writes one answer: everything from the status line to the last byte."""

SSE = {"Content-Type": "text/event-stream; charset=utf-8", "Transfer-Encoding": "chunked"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The same answer as a stream of chunks and as one whole body, whichever the request asks for."""

    chunks: Sequence[Json]
    message: Json
    finish: str | None = "stop"
    rate: float = 0
    """Chunks per second; 0 is full speed."""
    done: bool = True
    usage: bool = field(default=False, kw_only=True)

    async def __call__(self, connection: Connection, request: Received) -> None:
        if request.stream:
            await self._stream(connection, request)
        else:
            await asyncio.sleep(len(self.chunks) / self.rate if self.rate else 0)
            await write_json(connection, 200, whole(self.message, self.finish))

    async def _stream(self, connection: Connection, request: Received) -> None:
        await connection.head(200, SSE)
        for frame_ in self.frames(request):
            await connection.chunk(frame_)
            if self.rate:
                await asyncio.sleep(1 / self.rate)
        await connection.chunk(b"")

    def frames(self, request: Received | None = None) -> list[bytes]:
        asked = request is not None and (request.json.get("stream_options") or {}).get("include_usage") is True
        frames = [frame(c) for c in self.chunks]
        if self.finish is not None:
            frames.append(frame(chunk({}, self.finish)))
        if self.usage or asked:
            frames.append(frame(usage_chunk()))
        return [*frames, DONE] if self.done else frames


async def write_json(connection: Connection, status: int, value: object, **headers: str) -> None:
    body = dump(value)
    await connection.head(status, {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers})
    await connection.write(body)


def say(tokens: Sequence[str], rate: float = 0) -> Answer:
    return Answer(text_chunks(tokens), {"content": "".join(tokens)}, rate=rate)


def text(count: int = 3, rate: float = 0) -> Answer:
    return say(words(count), rate)


def no_done(count: int = 3) -> Answer:
    return replace(text(count), done=False)


def with_usage(count: int = 3) -> Answer:
    """A usage chunk with empty choices, asked for or not."""
    return replace(text(count), usage=True)


def out_of_length(count: int = 3) -> Answer:
    return replace(text(count), finish="length")


def cut_call() -> Answer:
    """`length` in the middle of a call's arguments."""
    chunks = [_calls(call_delta(0, id="up_1", name="add", arguments='{"a": 2, "b'))]
    return Answer(chunks, {"content": None, "tool_calls": [call("up_1", "add", '{"a": 2, "b')]}, "length")


def _calls(*deltas: Json) -> Json:
    return chunk({"tool_calls": list(deltas)})


def _answer(chunks: Sequence[Json], calls: Sequence[Json]) -> Answer:
    start = chunk({"role": "assistant", "content": None})
    return Answer([start, *chunks], {"content": None, "tool_calls": list(calls)}, "tool_calls")


def tool(name: str = "add", arguments: str = '{"a": 2, "b": 3}', id: str = "up_1", preface: str = "") -> Answer:
    """One call, its arguments in pieces of four characters; `preface` is text before it."""
    pieces = [arguments[i : i + 4] for i in range(0, len(arguments), 4)]
    opening = [chunk({"content": preface})] if preface else []
    head = _calls(call_delta(0, id=id, name=name, arguments=""))
    body = [_calls(call_delta(0, arguments=p)) for p in pieces]
    answer = _answer([*opening, head, *body], [call(id, name, arguments)])
    return replace(answer, message={**answer.message, "content": preface or None})


def tools(*calls: tuple[str, str]) -> Answer:
    """(name, arguments) pairs, one after the other by index, ids `up_1`, `up_2`, …"""
    rows = [(i, f"up_{i + 1}", *c) for i, c in enumerate(calls or TWO)]
    chunks = [_calls(call_delta(i, id=id, name=n, arguments=a)) for i, id, n, a in rows]
    return _answer(chunks, [call(id, n, a) for _, id, n, a in rows])


TWO = (("add", '{"a": 2, "b": 3}'), ("add", '{"a": 40, "b": 2}'))


def tools_one_chunk() -> Answer:
    (n1, a1), (n2, a2) = TWO
    both = _calls(call_delta(0, id="up_1", name=n1, arguments=a1), call_delta(1, id="up_2", name=n2, arguments=a2))
    return _answer([both], cast(list[Json], tools().message["tool_calls"]))


def tools_interleaved() -> Answer:
    """The arguments of two calls in turns, both in one chunk and each in its own."""
    (n1, a1), (n2, a2) = TWO
    chunks = [
        _calls(call_delta(0, id="up_1", name=n1, arguments="")),
        _calls(call_delta(1, id="up_2", name=n2, arguments="")),
        _calls(call_delta(1, arguments=a2[:5]), call_delta(0, arguments=a1[:3])),
        _calls(call_delta(0, arguments=a1[3:])),
        _calls(call_delta(1, arguments=a2[5:])),
    ]
    return _answer(chunks, cast(list[Json], tools().message["tool_calls"]))


def tool_repeated_name() -> Answer:
    """Some servers send id and name again with every piece of the arguments."""
    name, arguments = TWO[0]
    chunks = [_calls(call_delta(0, id="up_1", name=name, arguments=a)) for a in (arguments[:6], arguments[6:])]
    return _answer(chunks, [call("up_1", name, arguments)])


def tool_args_first() -> Answer:
    name, arguments = TWO[0]
    chunks = [_calls(call_delta(0, arguments=arguments[:6])), _calls(call_delta(0, id="up_1", name=name))]
    return _answer([*chunks, _calls(call_delta(0, arguments=arguments[6:]))], [call("up_1", name, arguments)])


def tool_whole_object() -> Answer:
    """Call without id, without index, finish `stop`: seen from small local servers."""
    name, arguments = TWO[0]
    part = {"function": {"name": name, "arguments": arguments}}
    return Answer([chunk({"tool_calls": [part]})], {"content": None, "tool_calls": [part]}, "stop")


def function_call() -> Answer:
    """The call of 2023, before tools."""
    name, arguments = TWO[0]
    chunks = [
        chunk({"role": "assistant", "content": None, "function_call": {"name": name, "arguments": ""}}),
        chunk({"function_call": {"arguments": arguments[:6]}}),
        chunk({"function_call": {"arguments": arguments[6:]}}),
    ]
    message = {"content": None, "function_call": {"name": name, "arguments": arguments}}
    return Answer(chunks, message, "function_call")


def bad_call(arguments: str = '{"a": 2, "b": ') -> Answer:
    """A finished call whose arguments are not JSON."""
    return tool(arguments=arguments)


def reasoning(key: str = "reasoning_content") -> Answer:
    thought = [chunk({key: t}) for t in ("first ", "think")]
    answer = text()
    return replace(answer, chunks=[*thought, *answer.chunks], message={**answer.message, key: "first think"})


def reasoning_short() -> Answer:
    return reasoning("reasoning")


def refusal() -> Answer:
    chunks = [chunk({"role": "assistant", "content": None}), chunk({"refusal": "I will "}), chunk({"refusal": "not."})]
    return Answer(chunks, {"content": None, "refusal": "I will not."})

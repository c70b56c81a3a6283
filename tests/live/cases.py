"""What a real vendor is asked: the part of the model contract that does not depend on a script."""

import asyncio
import base64
import json
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

from rightseat.engine.assembler import EventAssembler
from rightseat.errors import RightseatError, UpstreamError
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallStart, UsageChunk
from rightseat.types.messages import ImageMessagePart, Message, TextMessagePart, text_message
from rightseat.types.model import Model, Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.stores import IdGenerator
from rightseat.types.streams import closing
from tests.kit.patience import STUCK

Case = Callable[[Model], Awaitable[None]]

NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
FORM = {"type": "object", "properties": NUMBERS, "required": ["a", "b"], "additionalProperties": False}
ADD = ToolSpec("add", "Adds two numbers.", FORM)
SHORT = SamplingSettings(max_tokens=2000)


class Unfit(AssertionError):
    """The vendor's answer is not what the contract wants."""


def need(true: object, what: str) -> None:
    if not true:
        raise Unfit(what)


async def heard(model: Model, *messages: Message, **more: Any) -> list[ModelChunk]:
    prompt = Prompt(messages=messages, settings=SHORT, **more)
    async with closing(model.stream(prompt)) as fragments:
        return [fragment async for fragment in fragments]


def words(fragments: list[ModelChunk]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextChunk))


def message(fragments: list[ModelChunk]) -> Message:
    desk = EventAssembler(IdGenerator(), {"add": False})
    for fragment in fragments:
        desk.push(fragment)
    desk.finish()
    return desk.build_answer().message


async def text(model: Model) -> None:
    found = await heard(
        model, text_message("system", "Answer in one word."), text_message("user", "What is the capital of France?")
    )
    need("paris" in words(found).lower(), "no Paris")
    need(found[-1] == FinishChunk("stop"), "no end")
    usage = [fragment.usage for fragment in found if isinstance(fragment, UsageChunk)]
    need(usage and usage[-1].input > 0 and usage[-1].output > 0, "no usage")


async def calls(model: Model) -> None:
    """One and many calls, and what comes of their results."""
    ask = text_message("user", "Use the tool to add 2 and 3, and to add 40 and 2. Then tell me both sums.")
    talk = [ask]
    answer = await heard(model, ask, tools=(ADD,), tool_choice=ToolChoice("required"))
    for _ in range(4):
        called = message(answer)
        if not called.calls:
            break
        talk.append(called)
        for call in called.calls:
            given = json.loads(call.arguments)
            need({"a", "b"} <= given.keys(), "arguments that do not fit")
            talk.append(text_message("tool", str(given["a"] + given["b"]), call_id=call.id))
        answer = await heard(model, *talk, tools=(ADD,))
    need(any(m.calls for m in talk), "no call")
    need("42" in words(answer), "the result was not read")


async def named(model: Model) -> None:
    choice = ToolChoice("named", "add")
    found = await heard(model, text_message("user", "2 and 3"), tools=(ADD,), tool_choice=choice)
    need([f.name for f in found if isinstance(f, ToolCallStart)] == ["add"], "the named tool was not called")


async def form(model: Model) -> None:
    found = await heard(model, text_message("user", "a is 2, b is 3. Answer as JSON."), output_schema=FORM)
    need(json.loads(words(found)) == {"a": 2, "b": 3}, "not in the form")


async def picture(model: Model) -> None:
    if not model.capabilities.images:
        return
    ask = Message("user", (TextMessagePart("Which colour is this? One word."), ImageMessagePart(red())))
    need("red" in words(await heard(model, ask)).lower(), "the picture was not seen")


async def leaving(model: Model) -> None:
    """Whoever leaves in the middle has left, and does not wait for the rest."""
    prompt = Prompt(messages=(text_message("user", "Count from 1 to 500, one number a line."),), settings=SHORT)
    async with asyncio.timeout(STUCK):
        stream = model.stream(prompt)
        await anext(stream)
    async with asyncio.timeout(STUCK), closing(stream):
        pass


async def length(model: Model) -> None:
    prompt = Prompt(messages=(text_message("user", "Count from 1 to 500."),), settings=SamplingSettings(max_tokens=20))
    async with closing(model.stream(prompt)) as fragments:
        found = [fragment async for fragment in fragments]
    need(found[-1] == FinishChunk("length"), "no end by length")


CASES: dict[str, Case] = {
    "text and usage": text,
    "calls and results": calls,
    "a named call": named,
    "an output schema": form,
    "a picture": picture,
    "leaving": leaving,
    "length": length,
}


async def unknown(model: Model) -> None:
    """A model that does not exist is an error of ours that says what to do, not a vendor's."""
    try:
        await heard(model, text_message("user", "Hello"))
    except UpstreamError as error:
        need(error.message, "an error without a word")
        return
    raise Unfit("a model that does not exist has answered")


async def tried(case: Case, model: Model) -> str:
    """Empty if it went well, else what went wrong."""
    try:
        async with asyncio.timeout(5 * STUCK):
            await case(model)
    except Unfit as error:
        return str(error)
    except RightseatError as error:
        return f"{error.code}: {error.message}"
    except (TimeoutError, ValueError, KeyError, TypeError) as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def red() -> str:
    """A red square as a `data:` URL."""
    row = b"\x00" + b"\xff\x00\x00" * 32

    def block(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)
    parts = block(b"IHDR", head) + block(b"IDAT", zlib.compress(row * 32)) + block(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()

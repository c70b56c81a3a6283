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
from tests.kit.timeouts import HANG_TIMEOUT

Case = Callable[[Model], Awaitable[None]]

NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
NUMBERS_SCHEMA = {"type": "object", "properties": NUMBERS, "required": ["a", "b"], "additionalProperties": False}
ADD_TOOL = ToolSpec("add", "Adds two numbers.", NUMBERS_SCHEMA)
SHORT_ANSWER = SamplingSettings(max_tokens=2000)


class ContractViolation(AssertionError):
    """The vendor's answer is not what the contract wants."""


def require(condition: object, problem: str) -> None:
    if not condition:
        raise ContractViolation(problem)


async def collect_chunks(model: Model, *messages: Message, **more: Any) -> list[ModelChunk]:
    prompt = Prompt(messages=messages, settings=SHORT_ANSWER, **more)
    async with closing(model.stream(prompt)) as chunks:
        return [chunk async for chunk in chunks]


def join_text(chunks: list[ModelChunk]) -> str:
    return "".join(fragment.text for fragment in chunks if isinstance(fragment, TextChunk))


def build_message(chunks: list[ModelChunk]) -> Message:
    assembler = EventAssembler(IdGenerator(), {"add": False})
    for fragment in chunks:
        assembler.push(fragment)
    assembler.finish()
    return assembler.build_answer().message


async def check_text(model: Model) -> None:
    chunks = await collect_chunks(
        model, text_message("system", "Answer in one word."), text_message("user", "What is the capital of France?")
    )
    require("paris" in join_text(chunks).lower(), "no Paris")
    require(chunks[-1] == FinishChunk("stop"), "no end")
    usage = [fragment.usage for fragment in chunks if isinstance(fragment, UsageChunk)]
    require(usage and usage[-1].input > 0 and usage[-1].output > 0, "no usage")


async def check_calls(model: Model) -> None:
    """One and many calls, and what comes of their results."""
    ask = text_message("user", "Use the tool to add 2 and 3, and to add 40 and 2. Then tell me both sums.")
    messages = [ask]
    answer = await collect_chunks(model, ask, tools=(ADD_TOOL,), tool_choice=ToolChoice("required"))
    for _ in range(4):
        called = build_message(answer)
        if not called.calls:
            break
        messages.append(called)
        for call in called.calls:
            arguments = json.loads(call.arguments)
            require({"a", "b"} <= arguments.keys(), "arguments that do not fit")
            messages.append(text_message("tool", str(arguments["a"] + arguments["b"]), call_id=call.id))
        answer = await collect_chunks(model, *messages, tools=(ADD_TOOL,))
    require(any(m.calls for m in messages), "no call")
    require("42" in join_text(answer), "the result was not read")


async def check_named_call(model: Model) -> None:
    choice = ToolChoice("named", "add")
    chunks = await collect_chunks(model, text_message("user", "2 and 3"), tools=(ADD_TOOL,), tool_choice=choice)
    require([f.name for f in chunks if isinstance(f, ToolCallStart)] == ["add"], "the named tool was not called")


async def check_output_schema(model: Model) -> None:
    chunks = await collect_chunks(
        model, text_message("user", "a is 2, b is 3. Answer as JSON."), output_schema=NUMBERS_SCHEMA
    )
    require(json.loads(join_text(chunks)) == {"a": 2, "b": 3}, "not in the form")


async def check_image(model: Model) -> None:
    if not model.capabilities.images:
        return
    ask = Message("user", (TextMessagePart("Which colour is this? One word."), ImageMessagePart(make_red_square())))
    require("red" in join_text(await collect_chunks(model, ask)).lower(), "the picture was not seen")


async def check_leaving(model: Model) -> None:
    """Whoever leaves in the middle has left, and does not wait for the rest."""
    prompt = Prompt(messages=(text_message("user", "Count from 1 to 500, one number a line."),), settings=SHORT_ANSWER)
    async with asyncio.timeout(HANG_TIMEOUT):
        stream = model.stream(prompt)
        await anext(stream)
    async with asyncio.timeout(HANG_TIMEOUT), closing(stream):
        pass


async def check_length_limit(model: Model) -> None:
    prompt = Prompt(messages=(text_message("user", "Count from 1 to 500."),), settings=SamplingSettings(max_tokens=20))
    async with closing(model.stream(prompt)) as fragments:
        chunks = [fragment async for fragment in fragments]
    require(chunks[-1] == FinishChunk("length"), "no end by length")


CASES: dict[str, Case] = {
    "text and usage": check_text,
    "calls and results": check_calls,
    "a named call": check_named_call,
    "an output schema": check_output_schema,
    "a picture": check_image,
    "leaving": check_leaving,
    "length": check_length_limit,
}


async def check_unknown_model(model: Model) -> None:
    """A model that does not exist is an error of ours that says what to do, not a vendor's."""
    try:
        await collect_chunks(model, text_message("user", "Hello"))
    except UpstreamError as error:
        require(error.message, "an error without a word")
        return
    raise ContractViolation("a model that does not exist has answered")


async def run_case(case: Case, model: Model) -> str:
    """Empty if it went well, else what went wrong."""
    try:
        async with asyncio.timeout(5 * HANG_TIMEOUT):
            await case(model)
    except ContractViolation as error:
        return str(error)
    except RightseatError as error:
        return f"{error.code}: {error.message}"
    except (TimeoutError, ValueError, KeyError, TypeError) as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def make_red_square() -> str:
    """A red square as a `data:` URL."""
    row = b"\x00" + b"\xff\x00\x00" * 32

    def make_block(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 32, 32, 8, 2, 0, 0, 0)
    parts = make_block(b"IHDR", head) + make_block(b"IDAT", zlib.compress(row * 32)) + make_block(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()

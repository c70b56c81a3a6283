"""Trial of a model by real calls with short limits: it is reached, answers, calls a tool, takes an image."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Literal

from msgspec import Struct, structs

from rightseat.config.settings import Config, ModelSettings
from rightseat.errors import ConfigError, RightseatError
from rightseat.models.llamacpp import gguf
from rightseat.types.chunks import FinishChunk, ModelChunk, ReasoningChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.messages import ImageMessagePart, Message, TextMessagePart, text_message
from rightseat.types.model import Model, Prompt, SamplingSettings, ToolSpec
from rightseat.types.streams import closing
from rightseat.wiring.lookup import LOCAL, split_spec
from rightseat.wiring.models import make_configured_model

CheckName = Literal["reached", "answers", "tool", "images"]
CHECKS: tuple[CheckName, ...] = ("reached", "answers", "tool", "images")
# A server that loads a model from disk takes its time before the first word.
SECONDS: dict[CheckName, float] = {"reached": 5, "answers": 60, "tool": 45, "images": 30}
START_SECONDS = 120.0
LIMITS = {"connect_timeout": 5, "first_token_timeout": 60, "idle_timeout": 20, "tries": 1}
TOOL = ToolSpec(
    "get_time",
    "Tell the time in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
# Eight by eight pixels, all red.
RED_SQUARE = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/wc53yE8AAAAA"
    "SUVORK5CYII="
)


class TrialLine(Struct, frozen=True, kw_only=True):
    """What one check found. `code` is a word that the page says in each language; `text` says it in English."""

    check: CheckName
    state: Literal["good", "broken", "skipped"]
    ms: int = 0
    code: str = ""
    text: str = ""


async def try_model(settings: ModelSettings, config: Config) -> AsyncIterator[TrialLine]:
    """Yield a line for each check as it ends. After a failed one that the others need, the others are skipped."""
    try:
        model = make_configured_model(with_short_limits(settings), config)
    except ConfigError as error:
        yield TrialLine(check="reached", state="broken", code=error.code, text=error.message)
        for line in skip_checks(CHECKS[1:]):
            yield line
        return
    calls: dict[CheckName, Callable[[Model], Awaitable[TrialLine]]] = {
        "reached": try_address,
        "answers": try_answer,
        "tool": try_tool_call,
        "images": try_image,
    }
    try:
        for number, (name, call) in enumerate(calls.items()):
            line = await run_check(name, call, model)
            yield line
            if line.state == "broken" and name in ("reached", "answers"):
                for skipped in skip_checks(CHECKS[number + 1 :]):
                    yield skipped
                return
    finally:
        await model.close()


def with_short_limits(settings: ModelSettings) -> ModelSettings:
    limits = {} if split_spec(settings.spec)[0] == LOCAL else LIMITS
    return structs.replace(settings, fallbacks=(), options={**settings.options, **limits})


def skip_checks(names: tuple[CheckName, ...]) -> list[TrialLine]:
    return [TrialLine(check=name, state="skipped", code="not_tried", text="not tried") for name in names]


async def run_check(name: CheckName, call: Callable[[Model], Awaitable[TrialLine]], model: Model) -> TrialLine:
    """Run one check. Whatever happens, it ends within its limit and with a line."""
    started_at = time.monotonic()
    seconds = START_SECONDS if model.weights is not None and name == "reached" else SECONDS[name]
    try:
        async with asyncio.timeout(seconds):
            line = await call(model)
    except TimeoutError:
        text = f"no answer within {seconds:g} s"
        line = TrialLine(check=name, state="broken", code="timeout", text=text)
    except RightseatError as error:
        line = TrialLine(check=name, state="broken", code=error.code, text=error.message)
    return line if line.ms else structs.replace(line, ms=max(1, round((time.monotonic() - started_at) * 1000)))


async def try_address(model: Model) -> TrialLine:
    """Reach the model's server without its key, or load a model of this machine."""
    if model.weights is not None:
        await asyncio.to_thread(gguf.read_header, model.weights)
        await model.start()
        return TrialLine(check="reached", state="good", code="loaded", text="loaded")
    if model.address is None:
        return TrialLine(check="reached", state="skipped", code="no_address", text="it has no address")
    # Lazy: the doctor's imports are heavy.
    from rightseat.doctor.client import ProbeClient, Unreachable

    client = ProbeClient(model.address.partition("?")[0])
    try:
        reply = await client.send("GET", "/models", seconds=SECONDS["reached"])
    except Unreachable as error:
        return TrialLine(check="reached", state="broken", code="unreachable", text=str(error))
    finally:
        client.close()
    if 300 <= reply.status < 400:
        text = f"HTTP {reply.status}: it sends clients to another address. Name that one; redirects are not followed"
        return TrialLine(check="reached", state="broken", code="redirect", text=text)
    if reply.status >= 500:
        return TrialLine(check="reached", state="broken", code="server_error", text=f"it answers HTTP {reply.status}")
    return TrialLine(check="reached", state="good", code="reached", text="reached")


async def try_answer(model: Model) -> TrialLine:
    """Ask for one word, and stop after the first."""
    prompt = Prompt(
        messages=(text_message("user", "Answer with the word OK."),), settings=SamplingSettings(max_tokens=64)
    )
    async with closing(model.stream(prompt)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, TextChunk | ReasoningChunk | FinishChunk):
                return TrialLine(check="answers", state="good", code="first_word", text="to the first word")
    return TrialLine(check="answers", state="broken", code="empty", text="the answer is empty")


async def try_tool_call(model: Model) -> TrialLine:
    if not model.capabilities.tools:
        return TrialLine(check="tool", state="skipped", code="no", text="no")
    question = "What time is it in Paris? Call the tool get_time with the city."
    settings = SamplingSettings(max_tokens=512)
    prompt = Prompt(messages=(text_message("user", question),), tools=(TOOL,), settings=settings)
    async with closing(model.stream(prompt)) as chunks:
        name, arguments = await read_call(chunks)
    if not name:
        return TrialLine(check="tool", state="broken", code="no_call", text="it answers with text and calls nothing")
    if name != TOOL.name or not has_city(arguments):
        return TrialLine(check="tool", state="broken", code="invalid_call", text="the call is not valid")
    return TrialLine(check="tool", state="good", code="valid", text="valid")


async def read_call(chunks: AsyncIterator[ModelChunk]) -> tuple[str, str]:
    """Return name and arguments of the first call; empty where there is none."""
    name = arguments = ""
    async for chunk in chunks:
        if isinstance(chunk, ToolCallStart) and chunk.index == 0:
            name = chunk.name
        elif isinstance(chunk, ToolCallArgs) and chunk.index == 0:
            arguments += chunk.json
    return name, arguments


def has_city(arguments: str) -> bool:
    try:
        parsed = json.loads(arguments)
    except ValueError:
        return False
    return isinstance(parsed, dict) and isinstance(parsed.get("city"), str)


async def try_image(model: Model) -> TrialLine:
    if not model.capabilities.images or model.capabilities.text_only:
        return TrialLine(check="images", state="skipped", code="no", text="no")
    parts = (TextMessagePart("Which colour is this? One word."), ImageMessagePart(RED_SQUARE))
    prompt = Prompt(messages=(Message("user", parts),), settings=SamplingSettings(max_tokens=64))
    # Most models take none: an error is no fault here.
    with contextlib.suppress(RightseatError):
        async with closing(model.stream(prompt)) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextChunk | ReasoningChunk | FinishChunk):
                    return TrialLine(check="images", state="good", code="yes", text="yes")
    return TrialLine(check="images", state="skipped", code="no", text="no")

"""Ask each model for one token. Nothing else shows whether its key and its name are right, and it may cost money: it is
done where `--call` asks for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping

from rightseat.config.secret import mask
from rightseat.doctor.result import CheckResult, broken, good, untried
from rightseat.errors import RightseatError, UpstreamRejected
from rightseat.types.messages import Message, TextMessagePart
from rightseat.types.model import Model, Prompt, SamplingSettings
from rightseat.types.streams import closing

CALL_SECONDS = 120.0
QUESTION = Message("user", (TextMessagePart("Hi"),))
TOKENS, MORE_TOKENS = 1, 64
"""Tokens that are asked for; some models that reason first refuse so few of them."""
CALL_FIX = "rightseat doctor --call asks it for one token"


def format_subject(name: str) -> str:
    return f"model {name}, key and name"


async def call_models(models: Mapping[str, Model], *, call: bool) -> AsyncIterator[CheckResult]:
    """Call each model once; without `call` yield a line for each remote model, whose key is not tried."""
    for name, model in sorted(models.items()):
        if call:
            yield await call_model(name, model)
        elif model.address is not None:
            yield untried(format_subject(name), "not tried", CALL_FIX)


async def call_model(name: str, model: Model) -> CheckResult:
    """Ask one model for a token; its error says what its server says of the key."""
    what, started = format_subject(name), time.monotonic()
    try:
        async with asyncio.timeout(CALL_SECONDS):
            await model.start()
            try:
                await ask_for_tokens(model, TOKENS)
            except UpstreamRejected:
                await ask_for_tokens(model, MORE_TOKENS)
    except TimeoutError:
        return broken(what, f"no answer within {CALL_SECONDS:g} s", "look at the log of the model's server")
    except RightseatError as error:
        return broken(what, f"{mask(error.message)} ({error.code})", error.hint)
    finally:
        await model.close()
    return good(what, f"a call was answered in {time.monotonic() - started:.2f} s")


async def ask_for_tokens(model: Model, count: int) -> None:
    prompt = Prompt(messages=(QUESTION,), settings=SamplingSettings(max_tokens=count))
    async with closing(model.stream(prompt)) as chunks:
        async for _ in chunks:
            pass

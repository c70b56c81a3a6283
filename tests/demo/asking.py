"""The demo as `serve` shows it without any settings: the embedded model and a clock."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import aiohttp

from rightseat.models.llamacpp import weights
from tests.kit.server import Server


@asynccontextmanager
async def demo() -> AsyncIterator[str]:
    """Its address."""
    # Empty: else the kit names a script, and that would answer.
    env = {"RIGHTSEAT_CACHE": str(weights.cache_folder()), "RIGHTSEAT_MODEL": ""}
    async with Server(env=env, patience=120) as running:
        yield running.url


async def answer(url: str, wording: str) -> str:
    asked = {"messages": [{"role": "user", "content": wording}], "temperature": 0, "max_tokens": 120}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/chat/completions", json=asked) as response,
    ):
        told = await response.json()
        assert response.status == 200, told
        return str(told["choices"][0]["message"]["content"] or "")


def tells_the_time(text: str) -> bool:
    """Only the clock knows the day: an answer that names it has called it."""
    return f"{datetime.now(UTC):%Y-%m-%d}" in text and ":" in text

"""Our adapters and the servers that they are measured against, each in a process of its own.

`python -m bench.adapters serve` speaks every vendor's wire, paced, and prints its URL;
`python -m bench.adapters NAME URL` prints what a token costs that adapter, in µs of CPU.
"""

import asyncio
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from bench.official import RATE, TOKENS, ReadStream, measure_cost
from rightseat.models.anthropic import model as make_anthropic
from rightseat.models.google import model as make_google
from rightseat.models.langchain import model as make_langchain
from rightseat.models.openai import model as make_openai
from rightseat.types.chunks import TextChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Model, Prompt
from rightseat.types.streams import closing
from tests.kit import answers
from tests.kit.chunks import make_words
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import anthropic, google, langchain, responses

TURN: dict[str, Any] = {"say": make_words(TOKENS), "pace_ms": 1000 / RATE}
HELLO = Prompt(messages=(text_message("user", "Hello"),))


async def reply_in_wire_format(connection: Connection, request: ReceivedRequest) -> None:
    """The same words in whichever wire was asked for."""
    path = request.target.partition("?")[0]
    if path.endswith("/responses"):
        reply = responses.answer_turn(TURN)
    elif path.endswith("/messages"):
        reply = anthropic.answer_turn(TURN)
    elif path.endswith("/chat/completions"):
        reply = answers.answer_text(TOKENS, RATE)
    else:
        reply = google.answer_turn(TURN)
    await reply(connection, request)


async def serve() -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = reply_in_wire_format
        print(upstream.origin, flush=True)
        # Until whoever started it is gone.
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def make_langchain_model(url: str) -> Model:
    with patch.object(langchain, "MODEL", langchain.answer_turn(TURN), create=True):
        return make_langchain("tests.kit.vendors.langchain:MODEL", {})


ADAPTERS: dict[str, Callable[[str], Any]] = {
    "openai": lambda url: make_openai("gpt-4o", {"base_url": f"{url}/v1"}),
    "openai by responses": lambda url: make_openai("gpt-4o", {"base_url": f"{url}/v1", "api": "responses"}),
    "anthropic": lambda url: make_anthropic("claude-opus-5-5", {"base_url": url, "api_key": "k"}),
    "google": lambda url: make_google("gemini-kit", {"base_url": url, "api_key": "k"}),
    "langchain": make_langchain_model,
}


def make_stream_reader(model: Model) -> ReadStream:
    async def ask() -> int:
        async with closing(model.stream(HELLO)) as fragments:
            return sum([f.text.count("w") async for f in fragments if isinstance(f, TextChunk)])

    return ask


async def print_cost(name: str, url: str) -> None:
    model = ADAPTERS[name](url)
    try:
        print(await measure_cost(make_stream_reader(model)))
    finally:
        if hasattr(model, "close"):
            await model.close()


if __name__ == "__main__":
    asyncio.run(serve() if sys.argv[1] == "serve" else print_cost(sys.argv[1], sys.argv[2]))

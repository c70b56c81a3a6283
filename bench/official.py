"""A vendor's own SDK alone, reading the same streams as our adapters do: `python -m bench.official NAME URL`.

Imports nothing of the project, so that the environment of a peer can run it. Prints µs of CPU per token.
"""

import asyncio
import importlib
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

STREAMS, TOKENS, RATE = 20, 150, 50
ReadStream = Callable[[], Awaitable[int]]


async def measure_cost(ask: ReadStream) -> float:
    """`ask` reads one stream and tells how many words came; they are `w0`, ` w1` and so on."""
    # What is done once in a process is not what a token costs.
    await ask()
    before = time.process_time()
    counts = await asyncio.gather(*(ask() for _ in range(STREAMS)))
    spent = time.process_time() - before
    if any(count != TOKENS for count in counts):
        raise SystemExit(f"expected {TOKENS} words in each stream: {counts}")
    return spent * 1e6 / (STREAMS * TOKENS)


def make_chat_reader(url: str) -> ReadStream:
    client: Any = importlib.import_module("openai").AsyncOpenAI(base_url=f"{url}/v1", api_key="k")

    async def ask() -> int:
        asked = [{"role": "user", "content": "Hello"}]
        stream = await client.chat.completions.create(model="gpt-4o", messages=asked, stream=True)
        return sum([(f.choices[0].delta.content or "").count("w") async for f in stream if f.choices])

    return ask


def make_responses_reader(url: str) -> ReadStream:
    client: Any = importlib.import_module("openai").AsyncOpenAI(base_url=f"{url}/v1", api_key="k")

    async def ask() -> int:
        asked = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}]
        stream = await client.responses.create(model="gpt-4o", input=asked, stream=True, store=False)
        kind = "response.output_text.delta"
        return sum([found.delta.count("w") async for found in stream if found.type == kind])

    return ask


def make_anthropic_reader(url: str) -> ReadStream:
    client: Any = importlib.import_module("anthropic").AsyncAnthropic(base_url=url, api_key="k")

    async def ask() -> int:
        asked = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
        stream = await client.messages.create(model="claude-opus-5-5", messages=asked, max_tokens=1000, stream=True)
        kind = "content_block_delta"
        return sum([found.delta.text.count("w") async for found in stream if found.type == kind])

    return ask


def make_google_reader(url: str) -> ReadStream:
    genai: Any = importlib.import_module("google.genai")
    client = genai.Client(api_key="k", http_options={"base_url": url})

    async def ask() -> int:
        stream = await client.aio.models.generate_content_stream(model="gemini-kit", contents="Hello")
        return sum([(found.text or "").count("w") async for found in stream])

    return ask


SDKS: dict[str, Callable[[str], ReadStream]] = {
    "openai": make_chat_reader,
    "openai by responses": make_responses_reader,
    "anthropic": make_anthropic_reader,
    "google": make_google_reader,
}

if __name__ == "__main__":
    made = SDKS[sys.argv[1]](sys.argv[2])

    async def main() -> None:
        print(await measure_cost(made))

    asyncio.run(main())

"""Drives OpenAI's Python library by its streams: see ../library_program.py."""

import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
program: Any = importlib.import_module("library_program")
# Only this peer's environment has it; the type checker's may have another.
openai: Any = importlib.import_module("openai")
Json = dict[str, Any]
client = openai.AsyncOpenAI(base_url=sys.argv[1], api_key="any", max_retries=0)


async def stream_chunks(model: str) -> Json:
    messages = [{"role": "user", "content": program.GREETING}]
    stream = await client.chat.completions.create(model=model, messages=messages, stream=True)
    async for chunk in stream:
        program.add_piece(chunk.choices[0].delta.content if chunk.choices else None)
    return {"text": "".join(program.record.pieces)}


async def stream_accumulated(model: str) -> Json:
    """By the library's own accumulator, which parses each event a second time."""
    messages = [{"role": "user", "content": program.GREETING}]
    async with client.chat.completions.stream(model=model, messages=messages) as stream:
        async for event in stream:
            if event.type == "content.delta":
                program.add_piece(event.delta)
        completion = await stream.get_final_completion()
    return {"text": completion.choices[0].message.content}


async def stream_completion(model: str) -> Json:
    stream = await client.completions.create(model=model, prompt=program.GREETING, stream=True)
    async for chunk in stream:
        program.add_piece(chunk.choices[0].text if chunk.choices else None)
    return {"text": "".join(program.record.pieces)}


program.main("openai", {"stream": stream_chunks, "accumulated": stream_accumulated, "completion": stream_completion})

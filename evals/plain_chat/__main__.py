"""`python -m evals.plain_chat [ROW …]`: sixty plain questions without tools, by each way to ask the embedded weights.

Rows: base, penalty (base with a repetition penalty and a prompt), adapter, served (as `serve` answers).
"""

import asyncio
import re
import sys
import time
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

from rightseat.models.llamacpp.embedded import plain_chat
from rightseat.models.llamacpp.embedded.model import EmbeddedModel
from rightseat.models.llamacpp.options import make_unchecked_model
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, SamplingSettings
from rightseat.types.sentences import SENTENCES

QUESTIONS = Path(__file__).parent / "questions.toml"
ROWS = ("base", "penalty", "adapter", "served")
LOOP = re.compile(r"(\w[\s\S]{5,80}?)\1{3,}")
SETTINGS = SamplingSettings(temperature=0, max_tokens=160)


def stream_answer(model: EmbeddedModel, row: str, question: str) -> AsyncIterator[ModelChunk]:
    prompt = Prompt(messages=(text_message("user", question),), settings=SETTINGS)
    if row == "base":
        return model.weights_model.stream(prompt)
    if row == "adapter":
        return model.weights_model.stream_chat(prompt, uses_adapter=True)
    if row == "penalty":
        plain = plain_chat.make_plain_prompt(prompt, question)
        settings = plain_chat.make_plain_settings(SETTINGS, again=False)
        return model.weights_model.stream(Prompt(messages=plain.messages, settings=settings))
    return model.stream(prompt)


async def is_answered(model: EmbeddedModel, row: str, question: str, expected: str) -> bool:
    """Tell whether the answer is complete, has what is expected, and is neither a loop nor a decline."""
    text, finish = "", ""
    async for chunk in stream_answer(model, row, question):
        if isinstance(chunk, TextChunk):
            text += chunk.text
        elif isinstance(chunk, FinishChunk):
            finish = chunk.reason
    unsure = any(sentence in text for sentence in SENTENCES["embedded_unsure"].values())
    right = bool(text.strip()) and re.search(expected, text, re.IGNORECASE) is not None
    return (
        right and finish == "stop" and not unsure and not LOOP.search(text) and not plain_chat.declines(text, question)
    )


async def main(rows: list[str]) -> None:
    questions = tomllib.loads(QUESTIONS.read_text("utf-8"))
    model = EmbeddedModel(make_unchecked_model("", {}))
    print("| | English | Chinese | s |\n|---|---|---|---|", flush=True)
    try:
        for row in rows:
            began = time.monotonic()
            cells = []
            for asked in questions.values():
                right = [await is_answered(model, row, question, expected) for question, expected in asked.items()]
                cells.append(f"{sum(right)}/{len(right)}")
            print(f"| {row} | {' | '.join(cells)} | {time.monotonic() - began:.0f} |", flush=True)
    finally:
        await model.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or list(ROWS)))

"""`make eval`: how often the embedded model asks the right operation of a plugin, and answers by it."""

import asyncio
import sys
import time
from pathlib import Path

from evals.plugins.runs import PluginAnswer, ask_question, serve_plugins
from evals.plugins.sample_api import QUESTIONS, Question

PAGE = Path(__file__).resolve().parents[2] / "evals" / "plugins.md"
HEADINGS = ("question", "requests", "right operation", "and argument", "in the answer", "s", "answer")
ABOUT = """# The embedded model with plugins

SmolLM2-135M-Instruct behind OpenAI's door, temperature 0, two plugins with three operations over a real API.
These are rates of this model, no promise; that every request fits its document is one.
"""


def judge_answer(question: Question, seen: PluginAnswer) -> tuple[bool, bool, bool]:
    return seen.has_right_operation(question), seen.has_exact_request(question), seen.has_expected_text(question)


async def run() -> int:
    rows: list[tuple[str, ...]] = []
    found: list[tuple[bool, bool, bool]] = []
    async with serve_plugins() as (server, api):
        for question in QUESTIONS:
            begun = time.monotonic()
            seen = await ask_question(server, api, question)
            found.append(judge_answer(question, seen))
            words = ("yes" if one else "no" for one in found[-1])
            said = " ".join(seen.text.split())[:120].replace("|", "/")
            seconds = f"{time.monotonic() - begun:.1f}"
            rows.append((question.text, ", ".join(seen.requests) or "none", *words, seconds, said))
    right, exact, answered = (sum(column) for column in zip(*found, strict=True))
    rates = (
        f"Of {len(found)} questions: {right} asked the right operation, {exact} with the right argument; "
        f"{answered} answers hold what it said."
    )
    lines = [f"| {' | '.join(row)} |" for row in (HEADINGS, ("---",) * len(HEADINGS), *rows)]
    text = "\n".join([ABOUT, rates, "", *lines]) + "\n"
    PAGE.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))

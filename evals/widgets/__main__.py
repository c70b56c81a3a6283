"""`make eval`: the embedded model over the widgets of a dashboard, as a table in evals/widgets.md."""

import asyncio
import sys
import time
from pathlib import Path

from evals.widgets.asking import Seen, ask, ask_over, says, server
from evals.widgets.dashboard import ADDED, QUESTIONS, Question

PAGE = Path(__file__).resolve().parents[2] / "evals" / "widgets.md"
HEADINGS = ("question", "widget", "calls", "right one", "number", "it alone", "s", "answer")
ABOUT = """# The embedded model over OpenBB's widgets

SmolLM2-135M-Instruct behind the OpenBB door, temperature 0, a dashboard of three tables. Every function call
was held against the client's rules. Whether the answer holds the number is a rate of this model, no promise.
"""


def verdict(question: Question, seen: Seen) -> tuple[bool, bool, bool]:
    return seen.right(question), seen.numbered(question), seen.alone(question)


def cells(question: Question, seen: Seen, seconds: float) -> tuple[str, ...]:
    said = " ".join(seen.text.split())[:120].replace("|", "/")
    marks = ["yes" if one else "no" for one in verdict(question, seen)]
    return (question.text, question.widget, str(seen.calls), *marks, f"{seconds:.1f}", said)


async def added(url: str) -> list[str]:
    """The questions over data that the person has added: the same dashboard is there, and is not needed."""
    found = []
    rows = ["| question | added | calls | number | answer |", "| --- | --- | --- | --- | --- |"]
    for one in ADDED:
        seen = await ask_over(url, one)
        found.append((seen.calls, says(seen.text, one.number)))
        said = " ".join(seen.text.split())[:120].replace("|", "/")
        rows.append(f"| {one.text} | {one.name} | {seen.calls} | {'yes' if found[-1][1] else 'no'} | {said} |")
    rates = (
        f"Of {len(found)} questions over data that was added to them: {sum(calls for calls, _ in found)} "
        f"made a function call, {sum(right for _, right in found)} answers hold the number."
    )
    return ["## Added data", "", rates, "", *rows]


async def run() -> int:
    rows = []
    found: list[tuple[Question, Seen]] = []
    async with server() as running:
        for question in QUESTIONS:
            begun = time.monotonic()
            found.append((question, await ask(running.url, question)))
            rows.append(cells(*found[-1], time.monotonic() - begun))
        over = await added(running.url)
    lines = [f"| {' | '.join(row)} |" for row in (HEADINGS, ("---",) * len(HEADINGS), *rows)]
    called = sum(seen.calls > 0 for _, seen in found)
    right, number, alone = (sum(marks) for marks in zip(*(verdict(*one) for one in found), strict=True))
    rates = (
        f"Of {len(found)} questions: {called} asked for a widget, {right} for the right one; "
        f"{number} answers hold the number, {alone} of them no other number of the table."
    )
    text = "\n".join([ABOUT, rates, "", *lines, "", *over]) + "\n"
    PAGE.write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))

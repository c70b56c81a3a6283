"""`make eval`: the embedded model over the widgets of a dashboard, as a table in evals/widgets.md."""

import asyncio
import sys
import time
from pathlib import Path

from evals.widgets.dashboard import ADDED_DATA_QUESTIONS, QUESTIONS, Question
from evals.widgets.runs import WidgetAnswer, ask_over_added_data, ask_question, contains_number, serve_model

PAGE = Path(__file__).resolve().parents[2] / "evals" / "widgets.md"
HEADINGS = ("question", "widget", "calls", "right one", "number", "it alone", "s", "answer")
ABOUT = """# The embedded model over OpenBB's widgets

SmolLM2-135M-Instruct behind the OpenBB door, temperature 0, a dashboard of three tables. Every function call
was held against the client's rules. Whether the answer holds the number is a rate of this model, no promise.
"""


def judge_answer(question: Question, seen: WidgetAnswer) -> tuple[bool, bool, bool]:
    return seen.has_right_widget(question), seen.has_number(question), seen.has_only_number(question)


def format_cells(question: Question, seen: WidgetAnswer, seconds: float) -> tuple[str, ...]:
    said = " ".join(seen.text.split())[:120].replace("|", "/")
    marks = ["yes" if one else "no" for one in judge_answer(question, seen)]
    return (question.text, question.widget, str(seen.calls), *marks, f"{seconds:.1f}", said)


async def run_added_data(url: str) -> list[str]:
    """The questions over data that the person has added: the same dashboard is there, and is not needed."""
    found = []
    rows = ["| question | added | calls | number | answer |", "| --- | --- | --- | --- | --- |"]
    for one in ADDED_DATA_QUESTIONS:
        seen = await ask_over_added_data(url, one)
        found.append((seen.calls, contains_number(seen.text, one.number)))
        said = " ".join(seen.text.split())[:120].replace("|", "/")
        rows.append(f"| {one.text} | {one.name} | {seen.calls} | {'yes' if found[-1][1] else 'no'} | {said} |")
    rates = (
        f"Of {len(found)} questions over data that was added to them: {sum(calls for calls, _ in found)} "
        f"made a function call, {sum(right for _, right in found)} answers hold the number."
    )
    return ["## Added data", "", rates, "", *rows]


async def run() -> int:
    rows = []
    found: list[tuple[Question, WidgetAnswer]] = []
    async with serve_model() as running:
        for question in QUESTIONS:
            begun = time.monotonic()
            found.append((question, await ask_question(running.url, question)))
            rows.append(format_cells(*found[-1], time.monotonic() - begun))
        over = await run_added_data(running.url)
    lines = [f"| {' | '.join(row)} |" for row in (HEADINGS, ("---",) * len(HEADINGS), *rows)]
    called = sum(seen.calls > 0 for _, seen in found)
    right, number, alone = (sum(marks) for marks in zip(*(judge_answer(*one) for one in found), strict=True))
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

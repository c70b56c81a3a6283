"""`python -m evals.widget_questions --set seen`: the embedded model over dashboards of small tables.

Starts the real server, acts as OpenBB Workspace and judges each answer: the widget, its arguments, the patterns that
the answer must and must not have, and numbers that stand neither in the question nor in the data. `--set` takes the
name of a file in this folder or a path. The exit status is 1 below the pass mark or with an invented number.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from evals.widget_questions.asking import JudgedAnswer, ask_all, load_set

PASS_MARK = 0.75


def format_answer(answer: JudgedAnswer) -> str:
    question = answer.question
    mark = "·" if answer.is_right else "✗"
    calls = "; ".join(f"{widget} {arguments}" for widget, arguments in answer.calls) or "no call"
    lines = [f"{mark} {question['id']} {question['text']!r} → {answer.text!r} [{calls}] {answer.seconds:.1f} s"]
    lines += [f"    {problem}" for problem in answer.problems]
    return "\n".join(lines)


def summarize(name: str, answers: Sequence[JudgedAnswer]) -> str:
    right = sum(answer.is_right for answer in answers)
    invented = sum(bool(answer.invented) for answer in answers)
    kinds: dict[str, list[bool]] = {}
    for answer in answers:
        kinds.setdefault(answer.question.get("kind") or "other", []).append(answer.is_right)
    rows = [f"| {kind} | {sum(marks)} of {len(marks)} |" for kind, marks in sorted(kinds.items())]
    share = 100 * right / max(len(answers), 1)
    head = f"{name}: {right} of {len(answers)} right ({share:.0f} %), {invented} with an invented number"
    return "\n".join(["", "| kind | right |", "| --- | --- |", *rows, "", head])


async def main(name: str, only: str) -> int:
    questions = load_set(name)
    answers = []
    async for answer in ask_all(questions, only):
        print(format_answer(answer), flush=True)
        answers.append(answer)
    print(summarize(name, answers))
    right = sum(answer.is_right for answer in answers)
    return int(right < PASS_MARK * len(answers) or any(answer.invented for answer in answers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="seen", help="name of a set in this folder, or the path of a JSON file")
    parser.add_argument("--only", default="", help="part of the ids")
    arguments = parser.parse_args()
    sys.exit(asyncio.run(main(arguments.set, arguments.only)))

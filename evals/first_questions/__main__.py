"""`python -m evals.first_questions seen`: ask a set of first questions, print and record the answers.

The mechanical rules are checked here; the verdicts by the rubric are a person's, in verdicts.toml.
"""

import argparse
import asyncio

from evals.demo.cases import serve_demo
from evals.first_questions.asking import DOORS, FOLDER, ask_question, load_questions, write_answers


async def main(name: str, doors: list[str], only: str) -> None:
    questions = [question for question in load_questions(name) if only in question.id]
    answers = []
    async with serve_demo() as url:
        for question in questions:
            for door in DOORS:
                if door not in doors:
                    continue
                answer = await ask_question(url, door, question)
                answers.append(answer)
                mark = "✗" if answer.problems else "·"
                print(
                    f"{mark} {question.id} {door} {question.text!r} → {answer.text!r} {answer.calls} {answer.artifacts}"
                )
                print("".join(f"    {problem}\n" for problem in answer.problems), end="", flush=True)
    broken = sum(bool(answer.problems) for answer in answers)
    print(f"{name}: {len(answers)} answers, {broken} break a mechanical rule")
    if not only:
        write_answers(FOLDER / f"answers-{name}.jsonl", answers)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("set", choices=["seen", "unseen", "fresh", "held_out", "last", "sixth", "seventh"])
    parser.add_argument("--door", action="append", choices=DOORS)
    parser.add_argument("--only", default="", help="part of the ids")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.set, arguments.door or list(DOORS), arguments.only))

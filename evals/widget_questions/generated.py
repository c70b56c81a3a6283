"""`python -m evals.widget_questions.generated`: the rules for tables alone, over generated tables.

Each table is made in three styles of column names (snake_case, Title Case, Chinese) and asked in English and Chinese;
what is right is computed from its rows. Prints the share by class and the wrong answers; exits with 1 below the mark.
"""

import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from evals.widget_questions.asking import LISTED_ROW, NUMBER
from evals.widget_questions.generated_tables import TABLES, Row, Spec
from rightseat.tools.tables.answer import answer_from_table, format_table
from rightseat.tools.tables.ask import read_ask
from rightseat.tools.tables.rows import read_rows
from rightseat.tools.tables.wording import TableSource
from rightseat.types.language import detect_language

PASS_MARK = 0.9
STYLES: dict[str, Callable[[str, str], str]] = {
    "snake": lambda name, han: name,
    "camel": lambda name, han: re.sub(r"_(\w)", lambda match: match[1].upper(), name),
    "title": lambda name, han: name.replace("_", " ").title(),
    "chinese": lambda name, han: han,
}
ABSENT = re.compile(r"\bno\b|\bnot\b|没有|缺")


class Checked(NamedTuple):
    kind: str
    style: str
    question: str
    text: str
    expected: tuple[Any, ...]
    is_right: bool


def ask_table(spec: Spec, style: str, seed: int) -> Iterator[Checked]:
    rows = spec.make(random.Random(seed))
    names = {name: STYLES[style](name, han) for name, han in spec.columns.items()}
    table = read_rows([{names[name]: cell for name, cell in row.items()} for row in rows])
    assert table is not None
    source = TableSource(title=spec.title)
    for kind, question, find in spec.questions:
        name = rows[1][spec.label] if spec.label else ""
        text = question.format(name=name, other=rows[0][spec.label] if spec.label else "")
        expected = find(rows)
        expected = expected if isinstance(expected, tuple) else (expected,)
        language = detect_language(text)
        answer = answer_from_table(read_ask(text), table, source, language) or format_table(table, source, language)
        yield Checked(kind, style, text, answer, expected, is_right(kind, answer, expected, rows, spec))


def is_right(kind: str, text: str, expected: Sequence[Any], rows: Sequence[Row], spec: Spec) -> bool:
    """Whether an answer has all that is expected, and lists no rows where one is asked for."""
    if kind == "absent":
        return ABSENT.search(text) is not None and not LISTED_ROW.search(text)
    if kind == "filter":
        others = {str(row[spec.label]) for row in rows} - set(map(str, expected))
        return all(str(name) in text for name in expected) and not any(name in text for name in others)
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    return len(LISTED_ROW.findall(text)) < 2 and all(
        value in text
        if isinstance(value, str)
        else any(abs(abs(value) - number) <= max(0.006, abs(value) * 1e-4) for number in numbers)
        for value in expected
    )


def main() -> int:
    answers = [
        answer
        for seed, spec in enumerate(TABLES)
        for style in STYLES
        for answer in ask_table(spec, style, seed * 10 + 1)
    ]
    kinds: dict[str, list[bool]] = {}
    for answer in answers:
        kinds.setdefault(answer.kind, []).append(answer.is_right)
        if not answer.is_right:
            print(f"✗ {answer.kind} {answer.style} {answer.question!r} {answer.expected} → {answer.text[:300]!r}")
    for kind, marks in sorted(kinds.items()):
        print(f"| {kind} | {sum(marks)} of {len(marks)} |")
    right = sum(answer.is_right for answer in answers)
    print(f"{right} of {len(answers)} right ({100 * right / len(answers):.0f} %), {len(TABLES) * len(STYLES)} tables")
    return int(right < PASS_MARK * len(answers))


if __name__ == "__main__":
    sys.exit(main())

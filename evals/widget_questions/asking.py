"""Questions of a set, asked as OpenBB Workspace asks them, and judged."""

import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

from evals.widgets.runs import PatientChat, serve_model
from rightseat.doors.openbb.table_rules import read_text_rows
from tests.unit.doors.openbb.client import make_result_item

FOLDER = Path(__file__).resolve().parent
MAX_CALLS = 4
MAX_NUMBERS = 400
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
TOLERANCE = 0.006
SCALES = (1.0, 1e3, 1e4, 1e6, 1e8, 1e9)
LISTED_ROW = re.compile(r"^- ", re.MULTILINE)
ASKS_LIST = re.compile(
    r"^list\b|\b(?:(?:please|and|pls) list|list (?:all|the|every)|show (?:me )?all|all the|what are the|each|every|"
    r"top (?:\d+|three|four|five|ten))\b|哪些|哪几|列出|前[\d一二三四五六七八九十]|分别",
    re.IGNORECASE,
)
ASKS_SOME = re.compile(
    r"\bwho\b|\bwhich (?:(?:of|the) )*\w+s\b|\bwhich (?:\w+ ){0,5}(?:are|were|have|did|do)\b|\bonly\b|谁", re.IGNORECASE
)


class QuestionSet(NamedTuple):
    dashboards: dict[str, Any]
    questions: list[dict[str, Any]]


class JudgedAnswer(NamedTuple):
    question: dict[str, Any]
    calls: tuple[tuple[str, dict[str, Any]], ...]
    """Widgets that were asked for, with their arguments."""
    text: str
    problems: tuple[str, ...]
    invented: tuple[str, ...]
    seconds: float

    @property
    def is_right(self) -> bool:
        return not self.problems


def load_set(name: str) -> QuestionSet:
    path = Path(name) if name.endswith(".json") else FOLDER / f"{name}.json"
    posted = json.loads(path.read_text(encoding="utf-8"))
    return QuestionSet(posted["dashboards"], posted["questions"])


async def ask_all(questions: QuestionSet, only: str = "") -> AsyncIterator[JudgedAnswer]:
    async with serve_model() as running:
        for question in questions.questions:
            if only in question["id"]:
                yield await ask_question(running.url, questions.dashboards[question["dashboard"]], question)


async def ask_question(url: str, dashboard: dict[str, Any], question: dict[str, Any]) -> JudgedAnswer:
    """Ask one question, post the tables that the answer asks for, until there are words; judge them."""
    begun = time.monotonic()
    groups = {group: dashboard.get(group) or [] for group in ("primary", "secondary", "extra")}
    fields: dict[str, Any] = {"widgets": groups, "timezone": "UTC"}
    if question.get("added"):
        fields["context"] = [make_context(question["added"])]
    chat = PatientChat(url, **fields)
    answer = await chat.send_text(question["text"])
    calls: list[tuple[str, dict[str, Any]]] = []
    shown: list[Any] = [read_added(question["added"]["data"])] if question.get("added") else []
    while answer.call is not None and len(calls) < MAX_CALLS:
        tables = []
        for source in answer.sources:
            calls.append((source["id"], source["input_args"]))
            tables.append(find_table(dashboard, source["id"], source["input_args"]))
        shown += tables
        items = [make_result_item(table, data_type="object", parse_as="table") for table in tables]
        answer = await chat.send_result(answer.call, *items)
    text = answer.text.strip()
    invented = tuple(list_invented(text, question["text"], shown, dashboard, calls))
    problems = (
        *list_problems(question, text, calls),
        *list_dumps(question["text"], text, shown),
        *(f"invented: {number}" for number in invented),
    )
    return JudgedAnswer(question, tuple(calls), text, problems, invented, time.monotonic() - begun)


def make_context(added: dict[str, Any]) -> dict[str, Any]:
    data = added["data"]
    text = data if isinstance(data, str) else json.dumps(data)
    form = {"data_type": "object", "parse_as": "text" if isinstance(data, str) else "table"}
    return {
        "uuid": "8b2e5f79-3a1d-4c9e-b6f8-1e7d2a9c0b3d",
        "name": added.get("name", ""),
        "description": added.get("description", ""),
        "data": {"items": [{"content": text, "data_format": form}]},
        "metadata": added.get("metadata"),
    }


def read_added(data: Any) -> Any:
    """Return the rows of added data, with the numbers of a text's table as numbers; a text without a table as it is."""
    rows = read_text_rows(data) if isinstance(data, str) else None
    if rows is None:
        return data
    is_number = re.compile(r"-?\d+(?:\.\d+)?").fullmatch
    return [{name: float(cell) if is_number(str(cell)) else cell for name, cell in row.items()} for row in rows]


def find_table(dashboard: dict[str, Any], widget: str, arguments: dict[str, Any]) -> Any:
    """Return the rows of a widget for these arguments: its own table unless a value has another one."""
    for key, table in (dashboard.get("tables_by_value") or {}).get(widget, {}).items():
        name, _, value = key.partition("=")
        if str(arguments.get(name)) == value:
            return table
    return dashboard["tables"][widget]


def list_problems(question: dict[str, Any], text: str, calls: list[tuple[str, dict[str, Any]]]) -> Iterator[str]:
    widget = question.get("widget")
    if widget is None and calls:
        yield f"called {calls[0][0]} where no widget is needed"
    if widget is not None:
        if not calls or calls[-1][0] != widget:
            yield f"the widget is not {widget}"
        else:
            for name, value in (question.get("arguments") or {}).items():
                if str(calls[-1][1].get(name)) != str(value):
                    yield f"{name} is {calls[-1][1].get(name)!r}, not {value!r}"
    if not text:
        yield "no answer"
    yield from (f"lacks /{pattern[:80]}/" for pattern in question.get("must") or () if not re.search(pattern, text))
    yield from (f"has /{pattern[:80]}/" for pattern in question.get("must_not") or () if re.search(pattern, text))


def list_dumps(question: str, text: str, tables: list[Any]) -> Iterator[str]:
    """Yield the problem of an answer that lists rows where the question asks for one, or all rows where it asks for
    some of them."""
    listed = len(LISTED_ROW.findall(text))
    if listed < 2 or ASKS_LIST.search(question):
        return
    sizes = [len(rows) for rows in tables if isinstance(rows, list)]
    if not ASKS_SOME.search(question) or listed >= min(max(sizes, default=0), 10):
        yield f"lists {listed} rows and picks none"


def list_invented(
    text: str, question: str, tables: list[Any], dashboard: dict[str, Any], calls: list[tuple[str, dict[str, Any]]]
) -> Iterator[str]:
    """Yield the numbers of an answer that stand neither in the question, the data nor the arguments, and that no sum,
    mean, difference, ratio or count of the data is."""
    sources = [question, json.dumps(tables), json.dumps([arguments for _, arguments in calls])]
    sources += [json.dumps([dashboard.get(group) for group in ("primary", "secondary", "extra")])] if not calls else []
    known = {parse_number(number) for source in sources for number in NUMBER.findall(source)}
    known |= {float(digits) for source in sources for digits in re.findall(r"\d+", source)}
    unknown = [number for number in NUMBER.findall(text) if not is_near(parse_number(number), known)]
    if not unknown:
        return
    computed = compute_figures(tables)
    yield from (number for number in unknown if not is_near(parse_number(number), computed))


def parse_number(text: str) -> float:
    return abs(float(text.replace(",", "")))


def is_near(number: float, values: set[float]) -> bool:
    return any(abs(number - value / scale) <= TOLERANCE for value in values for scale in SCALES)


def compute_figures(tables: list[Any]) -> set[float]:
    """Return what may truly be computed: counts, sums and means of rows that belong together, differences, ratios."""
    figures: set[float] = set()
    for rows in tables:
        if isinstance(rows, list):
            figures.update(float(count) for count in range(len(rows) + 1))
            for group in list_groups(rows):
                figures |= compute_aggregates(group)
            figures |= compute_pairs(rows)
    return figures


def list_numbers(rows: list[dict[str, Any]], name: str) -> list[float]:
    cells = (row.get(name) for row in rows)
    return [float(cell) for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]


def list_groups(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return all rows, the rows with the same text in a column, and neighbouring rows."""
    texts = {(name, str(cell)) for row in rows for name, cell in row.items() if not isinstance(cell, int | float)}
    groups = [[row for row in rows if str(row.get(name)) == cell] for name, cell in sorted(texts)]
    size = min(len(rows), 40)
    return [rows, *groups, *(rows[start:end] for start in range(size) for end in range(start + 2, size + 1))]


def compute_aggregates(rows: list[dict[str, Any]]) -> set[float]:
    figures: set[float] = set()
    for name in rows[0] if rows else ():
        values = sorted(list_numbers(rows, name))
        if values:
            total = abs(sum(values))
            figures |= {abs(value) / total * 100 for value in values if total}
            figures |= {total, abs(sum(values) / len(values)), abs(values[len(values) // 2])}
    return figures


def compute_pairs(rows: list[dict[str, Any]]) -> set[float]:
    columns = [list_numbers(rows, name) for name in (rows[0] if rows else ())]
    figures: set[float] = set()
    for values in (*columns, [value for column in columns for value in column][:MAX_NUMBERS]):
        for one, two in permutations(values[:60], 2):
            figures.add(abs(one - two))
            if two:
                figures |= {abs((one - two) / two * 100), abs(one / two * 100)}
    return figures

"""Values of Python tools that JSON lacks, through every door: shown, or said to be not shown; no stream is cut."""

import datetime
import decimal
import enum
import json
import pathlib
import re
import threading
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from rightseat import Result, Runtime, tool
from rightseat.engine import artifacts, result_text
from rightseat.types.events import (
    Artifact,
    Citations,
    Custom,
    Event,
    RunFinished,
    StateSnapshot,
    TextDelta,
    TextEnd,
    TextStart,
    text_events,
)
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn
from tests.contract.doors.members import ASKING_MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", ASKING_MEMBERS)]
ARTIFACT_MEMBERS = ("agui", "copilotkit-single", "copilotkit-routes", "openbb-today")
"""Those whose clients draw tables; the others get them as text."""


@dataclass
class Trade:
    day: datetime.date
    price: decimal.Decimal


class Company(pydantic.BaseModel):
    name: str
    founded: datetime.date


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


DAY = datetime.date(2026, 11, 16)
ROWS: list[dict[Any, Any]] = [
    {"when": datetime.datetime(2026, 11, 16, 9, 30, tzinfo=datetime.UTC), "price": decimal.Decimal("101.25")},
    {"when": DAY, "price": float("nan")},
    {"when": None, "price": decimal.Decimal("NaN"), ("high", 1): 3, None: 4},
    {"when": "\ud83d", "price": Trade(DAY, decimal.Decimal(7)), "company": Company(name="Acme", founded=DAY)},
]


@tool
async def trades() -> AsyncIterator[Event | Result | Pause]:
    """The trades of today."""
    yield Artifact("t1", "table", "Trades", ROWS)
    yield Artifact("c1", "chart", "Prices", {"data": ROWS[:2], "chart": {"type": "line", "x": "when", "y": ["price"]}})
    yield StateSnapshot({"rows": ROWS})
    yield Custom("rows", ROWS)
    yield Result(ROWS)


@tool
async def unprintable() -> AsyncIterator[Event | Result | Pause]:
    """A table that cannot be encoded."""
    yield Artifact("t1", "table", "Trades", [{"price": Unprintable()}])
    yield Result("done")


@pytest.mark.demand("openbb.values_json_lacks")
async def test_values_that_json_lacks_reach_the_client_and_the_model(member: str) -> None:
    model = FakeModel(reply_calls(("trades", "{}")), reply_text("Here."))
    async with serve_runtime(Runtime(model=model, tools=[trades])) as home:
        seen = await ASKING_MEMBERS[member](home.url).send_message("the trades, please")
    assert seen.error is None
    assert seen.text.endswith("Here.")
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert '"when":"2026-11-16T09:30:00Z","price":101.25' in result
    assert '"price":null' in result
    assert '"high 1":3' in result
    assert '{"name":"Acme","founded":"2026-11-16"}' in result


@pytest.mark.demand("openbb.values_json_lacks")
async def test_what_cannot_be_encoded_is_said_to_the_model_and_the_person(member: str) -> None:
    model = FakeModel(reply_calls(("unprintable", "{}")), reply_text("Here."))
    async with serve_runtime(Runtime(model=model, tools=[unprintable])) as home:
        seen = await ASKING_MEMBERS[member](home.url).send_message("the trades, please")
    assert seen.error is None
    assert "(Trades could not be shown.)" in seen.text
    assert seen.text.endswith("Here.")
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert result.startswith("done\n\nTrades was not shown, because it has no JSON form")


class Color(enum.Enum):
    RED = "red"


class Figure:
    """A drawing of another library, without a JSON form and without a text."""


CYCLE: list[Any] = []
CYCLE.append(CYCLE)
DEEP: list[Any] = []
for _ in range(50_000):
    DEEP = [DEEP]
STRANGE_VALUES: dict[str, tuple[Any, str]] = {
    "not_a_number_as_key": ({float("nan"): 1, None: 2}, '{"nan":1,"None":2}'),
    "cycle": (CYCLE, "it contains itself, or is nested too deeply"),
    "deep": (DEEP, "it contains itself, or is nested too deeply"),
    "set": ({"a"}, '["a"]'),
    "enum": ([Color.RED], '["red"]'),
    "decimal": ([decimal.Decimal("1e500")], "[1E+500]"),
    "integer": ([10**400], "[1000"),
    "path": ([pathlib.PurePosixPath("a/b")], '["a/b"]'),
    "uuid": ([uuid.UUID(int=1)], '["00000000-0000-0000-0000-000000000001"]'),
    "bytes": ([b"\xff"], '["/w=="]'),
    "figure": ([Figure()], f'["<{__name__}.Figure object>"]'),
    "iterator": ({"rows": iter([1])}, "a list_iterator has no values yet: return a list"),
    "range": (range(10**9), "more than 10000000 items: return a part of it"),
    "lock": ([threading.Lock()], '["<unlocked _thread.lock object'),
    "unprintable": ([Unprintable()], "RuntimeError: no text"),
    "long_cell": ([{"text": "x" * 1_000_000, "n": 1}], "the middle left out"),
    "wide_row": ([{f"c{number}": number for number in range(5000)}], '[{"c0":0,'),
}


@tool
async def strange(kind: str) -> AsyncIterator[Event | Result | Pause]:
    """Show a strange value, and return it."""
    value, _ = STRANGE_VALUES[kind]
    yield Artifact(f"a-{kind}", "table", f"Table of {kind}", value)
    yield Artifact(f"o-{kind}", "chart", f"Chart of {kind}", {"data": value, "chart": {"type": "line"}})
    yield Custom("strange", value)
    yield StateSnapshot({"value": value})
    yield Result(value)


@pytest.mark.demand("openbb.values_json_lacks")
async def test_strange_values_are_shown_or_said_to_be_not_shown(member: str) -> None:
    calls = [("strange", json.dumps({"kind": kind})) for kind in STRANGE_VALUES]
    model = FakeModel(reply_calls(*calls), reply_text("Here."))
    async with serve_runtime(Runtime(model=model, tools=[strange])) as home:
        seen = await ASKING_MEMBERS[member](home.url).send_message("the values, please")
    assert seen.error is None
    assert seen.text.endswith("Here.")
    results = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    for (kind, (_, expected)), result in zip(STRANGE_VALUES.items(), results, strict=True):
        assert expected in result, kind
    for kind in ("cycle", "deep", "iterator", "unprintable"):
        assert f"(Table of {kind} could not be shown.)" in seen.text
        assert f"(Chart of {kind} could not be shown.)" in seen.text


@tool
async def prices() -> AsyncIterator[Event | Result | Pause]:
    """The prices of all days."""
    rows = [{"day": DAY + datetime.timedelta(number), "price": number / 4} for number in range(5000)]
    yield Artifact("t1", "table", "Prices", rows)
    yield Artifact("c1", "chart", "Curve", {"data": rows, "chart": {"type": "line", "x": "day", "y": ["price"]}})
    yield Result(rows)


@pytest.mark.demand("openbb.large_tables")
async def test_of_a_large_table_the_rows_that_are_left_out_are_counted(
    member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artifacts, "MAX_ARTIFACT_BYTES", 100_000)
    monkeypatch.setattr(result_text, "DEFAULT_TOKENS", 1000)
    model = FakeModel(reply_calls(("prices", "{}")), reply_text("Here."))
    async with serve_runtime(Runtime(model=model, tools=[prices])) as home:
        seen = await ASKING_MEMBERS[member](home.url).send_message("the prices, please")
    assert seen.error is None
    assert seen.text.endswith("Here.")
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert result.startswith('{"columns":["day","price"],"rows":[["2026-11-16",0.0],["2026-11-17",0.25],')
    assert '["2040-07-24",1249.75]]}\n\n[' in result
    assert " of 5000 rows are shown: the first " in result
    if member not in ARTIFACT_MEMBERS:
        assert "(20 of 5000 rows)" in seen.text
        assert "Prices: Of its rows the person sees the first 20 of 5000 rows." in result
    else:
        assert re.search(r"\(Prices: the first 2,\d\d\d of 5,000 rows are shown\.\)", seen.text)
        assert re.search(r"\(Curve: the first 2,\d\d\d of 5,000 rows are shown\.\)", seen.text)
        assert re.search(r"Of Prices only the first 2,\d\d\d of 5,000 rows were shown\.", result)
    if member == "openbb-today":
        assert any(re.fullmatch(r"\d+ of 5,000 rows of prices were read", step) for step in seen.steps)


async def emit_unencodable_text(turn: Turn) -> AsyncIterator[Event]:
    yield TextStart("m1")
    yield TextDelta("m1", "So far.")
    yield TextDelta("m1", Unprintable())  # type: ignore[arg-type]
    yield TextEnd("m1")
    yield RunFinished("stop")


@pytest.mark.demand("openbb.writer_error_ends_stream")
async def test_an_exception_of_a_writer_ends_the_stream_by_the_doors_own_error(
    member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("unused")))) as home:
        monkeypatch.setattr(home.app.runtime.runs, "respond", emit_unencodable_text)
        door_client = ASKING_MEMBERS[member](home.url)
        door_client.history.append({"id": "1", "role": "user", "content": "hello"})
        path, body = door_client.build_request()
        async with RawHttpClient(home.url) as client:
            await client.post_json(path, body)
            await client.read_head()
            said = (await client.read_body()).decode()
    assert "Something went wrong in the server. Its log has the details." in said


STRANGE_CITATIONS: list[Any] = [
    {"title": "Filing", "details": [{"day": DAY, ("page", 1): complex(1, 2)}], "metadata": {"when": DAY}},
    "not an object",
]


@tool
async def cite() -> AsyncIterator[Event | Result | Pause]:
    """Cite a source, and show a table whose name is half of a character."""
    yield Citations(STRANGE_CITATIONS)
    yield Artifact("t1", "table", "Trades \ud83d", [{"n": 1}], "of \ud83d")
    yield Result("done")


async def cite_as_agent(turn: Turn) -> AsyncIterator[Event]:
    yield Citations(STRANGE_CITATIONS)
    yield Custom("progress", {"message": "Reading", "details": [{("page", 1): complex(1, 2)}]})
    yield Artifact("t1", "table", "Trades \ud83d", [{"n": 1}], "of \ud83d")
    for event in text_events("m1", "Here."):
        yield event
    yield RunFinished("stop")


@pytest.mark.demand("openbb.values_json_lacks")
@pytest.mark.parametrize("source", ["tool", "agent"])
async def test_citations_and_names_of_any_values_fail_no_answer(member: str, source: str) -> None:
    model = FakeModel(reply_calls(("cite", "{}")), reply_text("Here."))
    runtime = Runtime(model=model, tools=[cite]) if source == "tool" else Runtime(agents={"default": cite_as_agent})
    async with serve_runtime(runtime) as home:
        seen = await ASKING_MEMBERS[member](home.url).send_message("the sources, please")
    assert seen.error is None
    assert seen.text.endswith("Here.")

"""Values of Python tools that JSON lacks, through every door: shown, or said to be not shown; no stream is cut."""

import datetime
import decimal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from rightseat import Result, Runtime, tool
from rightseat.types.events import Artifact, Custom, Event, RunFinished, StateSnapshot, TextDelta, TextEnd, TextStart
from rightseat.types.tools import Pause
from rightseat.types.turn import Turn
from tests.contract.doors.members import MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]


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
        seen = await MEMBERS[member](home.url).send_message("the trades, please")
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
        seen = await MEMBERS[member](home.url).send_message("the trades, please")
    assert seen.error is None
    assert "(Trades could not be shown.)" in seen.text
    assert seen.text.endswith("Here.")
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert result.startswith("done\n\nTrades was not shown, because it has no JSON form")


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
        door_client = MEMBERS[member](home.url)
        door_client.history.append({"id": "1", "role": "user", "content": "hello"})
        path, body = door_client.build_request()
        async with RawHttpClient(home.url) as client:
            await client.post_json(path, body)
            await client.read_head()
            said = (await client.read_body()).decode()
    assert "Something went wrong in the server. Its log has the details." in said

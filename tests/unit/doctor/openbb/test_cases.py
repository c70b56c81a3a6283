"""Finance data that once broke the stream or vanished: each case against a real server, as a person sees it.

The numbers are those of the demands: values, files, chosen widgets, what is left out, the first byte, eras, agents, and
dates, limits and approvals.
"""

import asyncio
import base64
import datetime
import decimal
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pydantic
import pytest

from rightseat import Artifact, Assistant, Citations, Event, Prompt, Result, Runtime, Suggestions, status_update, tool
from rightseat.config.settings import ServerSettings
from rightseat.doctor.client import ReplyBuffer
from rightseat.doctor.openbb.ask import OpenBBQuestion, ask_agent
from rightseat.doctor.openbb.reply import ExaminedReply
from rightseat.doctor.openbb.simulated_client import make_fields, make_table_item, make_widget
from rightseat.errors import UpstreamRefused
from rightseat.types.chunks import ModelChunk
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.documents.pdf_producers import make_latex_pdf, make_scanned_pdf

pytestmark = pytest.mark.io

Json = dict[str, Any]
DAY = datetime.datetime(2026, 11, 16, 9, 30, tzinfo=datetime.UTC)
SHARE_CHART = {"type": "line", "x": "when", "y": ["price"]}


class Company(pydantic.BaseModel):
    name: str
    founded: datetime.date


@dataclass
class Trade:
    price: decimal.Decimal


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


ROWS: list[Json] = [
    {"when": DAY, "price": decimal.Decimal("101.25"), "company": Company(name="Acme", founded=DAY.date())},
    {"when": DAY.date(), "price": float("nan"), "company": Trade(decimal.Decimal(7))},
]


@tool
async def trades() -> AsyncIterator[Event | Result]:
    """Show the trades."""
    yield Artifact("t", "table", "Trades", ROWS)
    yield Artifact("c", "chart", "Prices", {"data": ROWS, "chart": SHARE_CHART})
    yield Result(ROWS)


@tool
async def long_table() -> AsyncIterator[Event | Result]:
    """Show a table of 100,000 rows."""
    yield Artifact("t", "table", "Ledger", [{"n": n, "text": "x" * 100} for n in range(100_000)])
    yield Result("done")


@tool
async def unprintable() -> AsyncIterator[Event | Result]:
    """Show what has no JSON form."""
    yield Artifact("t", "table", "Trades", [{"price": Unprintable()}])
    yield Result("done")


@tool
async def report() -> AsyncIterator[Event | Result]:
    """Show all that an agent may show."""
    yield status_update("Reading", details=[{"year": 2026}, "two files"])
    yield Artifact("h", "html", "Card", "<h1>Sales</h1><p>Up</p>", description="A card")
    box = {"text": "Sales grew", "page": 3, "x0": 1, "top": 2, "x1": 3, "bottom": 4}
    yield Citations([{"title": "Report", "quote_bounding_boxes": [[box]]}])
    yield Suggestions(("And Rome?",))
    yield Result("done")


@tool(confirm=True)
def sell(symbol: str) -> str:
    """Sell all shares."""
    return f"sold {symbol}"


def call_tool(name: str, arguments: str = "{}") -> FakeModel:
    return FakeModel(reply_calls((name, arguments)), reply_text("Here."))


def make_date_widget() -> Json:
    day = {"name": "day", "type": "date", "description": "The day"}
    return {**make_widget(), "params": [*make_widget()["params"], day]}


def make_body(*widgets: Json, **more: Any) -> Json:
    fields = {**make_fields(old=False), "widgets": {"primary": list(widgets), "secondary": [], "extra": []}}
    return {**fields, **more}


def make_pdf_item(data: bytes) -> Json:
    form = {"data_type": "pdf", "filename": "report.pdf"}
    return {"content": base64.b64encode(data).decode(), "data_format": form, "citable": True}


MANY = [{**make_widget(), "uuid": f"00000000-0000-4000-8000-{n:012}", "widget_id": f"w{n}"} for n in range(300)]
LONG_TABLE = make_table_item([{"day": n, "close": n / 4} for n in range(60_000)])
NOTE = {"uuid": "c1", "name": "Note", "description": "", "data": {"items": [{"content": "x" * 20_000}]}}


@dataclass
class ScreenCase:
    """One case: what the model does, what is asked, and what a person sees and does not see."""

    make_model: Callable[[], FakeModel]
    question: OpenBBQuestion
    seen: tuple[str, ...]
    unseen: tuple[str, ...] = ("[error]", "[not shown]")
    tools: tuple[Any, ...] = ()
    context: int | None = None
    settings: ServerSettings | None = None
    prompted: tuple[str, ...] = ()
    """What the model reads in its last prompt."""
    more_assistants: tuple[str, ...] = field(default=())


ASK = OpenBBQuestion(text="The trades, please")
CASES: dict[str, ScreenCase] = {
    "1 values that JSON lacks": ScreenCase(
        lambda: call_tool("trades"),
        ASK,
        ("[table] Trades: 2 rows", "2026-11-16T09:30:00Z  101.25", "[chart] Prices: line, 2 points", "Here."),
        tools=(trades,),
        prompted=('"price":101.25', '"price":null', '{"name":"Acme","founded":"2026-11-16"}'),
    ),
    "1 a value without a JSON form": ScreenCase(
        lambda: call_tool("unprintable"),
        ASK,
        ("(Trades could not be shown.)", "Here."),
        ("[error]", "[table]"),
        tools=(unprintable,),
        prompted=("Trades was not shown",),
    ),
    "1 a table of 100,000 rows": ScreenCase(
        lambda: call_tool("long_table"),
        ASK,
        ("[table] Ledger: ", "more rows", "(Ledger: the first ", " of 100,000 rows are shown.)", "Here."),
        tools=(long_table,),
        prompted=("of 100,000 rows were shown",),
    ),
    "2 a PDF": ScreenCase(
        lambda: call_tool("share_prices"),
        OpenBBQuestion(text="Sum it up", items={"share_prices": make_pdf_item(make_latex_pdf())}),
        ("[call] get_widget_data", "Here.", "[citation] Share prices (widget)"),
        prompted=("Following the success",),
    ),
    "2 a scanned PDF": ScreenCase(
        lambda: call_tool("share_prices"),
        OpenBBQuestion(text="Sum it up", items={"share_prices": make_pdf_item(make_scanned_pdf())}),
        ("[warning] Share prices: report.pdf could not be read", "Here."),
        ("[error]", "[citation]"),
        prompted=("it may be scanned",),
    ),
    "3 the chosen widget": ScreenCase(
        lambda: call_tool("share_prices"),
        OpenBBQuestion(text="The price?"),
        ("[call] get_widget_data\n    share_prices (symbol: ACME)", "Here."),
        prompted=("which the user has chosen", "It shows symbol ACME"),
    ),
    "4 more widgets than fit": ScreenCase(
        lambda: FakeModel(reply_text("Here.")),
        OpenBBQuestion(text="Hello", body=make_body(*MANY)),
        ("[step] The model was given ", " of 300 widgets"),
    ),
    "4 more rows than fit": ScreenCase(
        lambda: call_tool("share_prices"),
        OpenBBQuestion(text="The price?", items={"share_prices": LONG_TABLE}),
        (" of 60,000 rows were read", "Here."),
        context=8000,
    ),
    "6 only messages": ScreenCase(
        lambda: call_tool("trades"),
        OpenBBQuestion(body={"messages": [{"role": "human", "content": "The trades"}]}),
        ("[chart] Prices: line",),
        tools=(trades,),
    ),
    "6 a client of 2024": ScreenCase(
        lambda: call_tool("trades"),
        OpenBBQuestion(text="The trades", body={"widgets": []}),
        ("| 2026-11-16T09:30:00Z | 101.25 |", "Here."),
        ("[step]", "[table]", "[chart]", "[not shown]"),
        tools=(trades,),
        prompted=("does not draw it",),
    ),
    "7 what an agent shows": ScreenCase(
        lambda: call_tool("report"),
        ASK,
        (
            "[step] Reading\n    year: 2026\n    two files",
            "[html] Card (A card)\n    # Sales\n    Up",
            "[citation] Report (direct retrieval)\n    highlighted on page 3: Sales grew",
            "[suggestion] And Rome?",
        ),
        tools=(report,),
    ),
    "7 another agent": ScreenCase(
        lambda: FakeModel(reply_text("I am the second.")),
        OpenBBQuestion(text="Who are you?", agent="rightseat-second"),
        ("I am the second.",),
        more_assistants=("second",),
    ),
    "8 a day in words": ScreenCase(
        lambda: call_tool("share_prices", '{"symbol": "ACME", "day": "yesterday"}'),
        OpenBBQuestion(text="The price?", body=make_body(make_date_widget(), timezone="Europe/Oslo")),
        ("share_prices (symbol: ACME, day: 20", "Here."),
        ("[error]", "yesterday"),
        prompted=("Today's date", "Europe/Oslo"),
    ),
    "8 a body over the limit": ScreenCase(
        lambda: FakeModel(reply_text("unused")),
        OpenBBQuestion(text="Hello", body=make_body(context=[NOTE])),
        ("too_large",),
        settings=ServerSettings(port=0, max_body_mb=0.01),
    ),
    "8 an approval": ScreenCase(
        lambda: call_tool("sell", '{"symbol": "ACME"}'),
        OpenBBQuestion(text="Sell ACME"),
        ("sell", "?"),
        ("[error]", "[not shown]", "sold ACME"),
        tools=(sell,),
    ),
}


async def play_case(case: ScreenCase) -> tuple[str, list[ExaminedReply], FakeModel]:
    """The screen, its answers and the model that was asked."""
    model = case.make_model()
    default = FakeModel() if case.more_assistants else model
    assistants = [Assistant("default", default, tools=case.tools, context=case.context)]
    assistants += [Assistant(name, model) for name in case.more_assistants]
    async with serve_runtime(Runtime(assistants=assistants), case.settings) as server:
        answers = [answer async for answer in ask_agent(server.url, {}, case.question)]
    return "\n".join(part.format_text() for answer in answers for part in answer.parts), answers, model


@pytest.mark.demand("doctor.openbb_screen_cases")
@pytest.mark.parametrize("name", CASES)
async def test_a_person_sees_what_is_there(name: str) -> None:
    case = CASES[name]
    screen, answers, model = await play_case(case)
    assert [fault.why for answer in answers for fault in answer.faults] == []
    for text in case.seen:
        assert text in screen, screen
    for text in case.unseen:
        assert text not in screen, screen
    prompt = get_prompt_text(model.prompts[-1]) if model.prompts else ""
    for text in case.prompted:
        assert text in prompt


def get_prompt_text(prompt: Prompt) -> str:
    return "\n".join([message.text for message in prompt.messages] + [tool.description for tool in prompt.tools])


@pytest.mark.demand("doctor.openbb_screen_cases")
@pytest.mark.parametrize(
    ("error", "expected"),
    [(None, "Here."), (UpstreamRefused("The model is busy."), "[warning] The answer failed\n")],
    ids=["answer", "failure"],
)
async def test_5_a_silent_model_sends_a_byte_before_it_speaks(
    error: UpstreamRefused | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived = asyncio.Event()
    add = ReplyBuffer.add

    def add_and_tell(buffer: ReplyBuffer, piece: bytes) -> None:
        add(buffer, piece)
        if piece.startswith(b":"):
            arrived.set()

    async def answer_late(prompt: Prompt) -> AsyncIterator[ModelChunk]:
        await asyncio.wait_for(arrived.wait(), HANG_TIMEOUT)
        if error is not None:
            raise error
        for chunk in reply_text("Here."):
            yield chunk

    monkeypatch.setattr(ReplyBuffer, "add", add_and_tell)
    settings = ServerSettings(port=0, first_byte=0.02)
    screen, answers, _ = await play_case(ScreenCase(lambda: FakeModel(answer_late), ASK, (), settings=settings))
    assert screen.startswith(expected)
    assert error is None or "The model is busy." in screen
    assert [fault.why for answer in answers for fault in answer.faults] == []

"""Events of tools whose fields have other types than declared, at every door: read as meant, or named."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from rightseat import Result, Runtime, tool
from rightseat.types.events import Artifact, Citations, Event, StepEnd, StepStart, Suggestions
from rightseat.types.tools import Pause
from tests.contract.doors.members import ASKING_MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io
NUMBER: Any = 5
NOTHING: Any = None
TEXT: Any = "Ledger"
ROWS = [{"city": "Oslo", "sold": 3}]
EVENTS: dict[str, Callable[[], Any]] = {
    "name": lambda: Artifact(NUMBER, "table", NUMBER, ROWS, description=NOTHING),
    "kind": lambda: Artifact("a", NOTHING, "Sales", ROWS),
    "citation_texts": lambda: Citations([TEXT, NOTHING, NUMBER]),
    "citation_text": lambda: Citations(TEXT),
    "citation_object": lambda: Citations({"title": "Ledger"}),  # type: ignore[arg-type]
    "suggestion": lambda: Suggestions(TEXT),
    "suggestions": lambda: Suggestions(("Why?", "Why?", "", NOTHING, NUMBER)),
    "no_suggestions": lambda: Suggestions(NOTHING),
    "step": lambda: StepStart(NOTHING),
    "file_of_text": lambda: Artifact("f", "file", "sales.csv", "city,sold\n"),
    "file_of_bytes": lambda: Artifact("f", "file", "sales.csv", b"city,sold\n"),
    "file_of_buffer": lambda: Artifact("f", "file", "sales.csv", {"data": bytearray(b"city,sold\n")}),
    "file_without_name": lambda: Artifact("f", "file", NOTHING, {"data": b"city,sold\n"}),
    "page_of_bytes": lambda: Artifact("p", "html", "Card", b"<p>Up</p>"),
}
UNUSABLE: dict[str, tuple[Callable[[], Any], str]] = {
    "file_of_rows": (
        lambda: Artifact("f", "file", "sales.csv", ROWS),
        "sales.csv was not shown: the content of a file is bytes, text, or an object with its bytes or base64 as data.",
    ),
    "file_of_set": (
        lambda: Artifact("f", "file", "sales.csv", {"data": {1}}),
        "sales.csv was not shown: the content of a file is bytes, text, or an object with its bytes or base64 as data.",
    ),
    "file_of_wrong_base64": (
        lambda: Artifact("f", "file", "sales.csv", {"data": "!!!"}),
        "sales.csv was not shown: its data is not base64. Give bytes.",
    ),
    "page_of_nothing": (
        lambda: Artifact("p", "html", "Card", None),
        "Card was not shown: the content of a page is text.",
    ),
    "table_of_nothing": (lambda: Artifact("t", "table", "Sales", None), "Sales was not shown: it has no content."),
}
SUBJECTS: dict[str, Any] = {"rows": ROWS, "text": "words", "nothing": None}


@tool
async def show(kind: str) -> AsyncIterator[Event | Result | Pause]:
    """Show one event."""
    yield EVENTS[kind]() if kind in EVENTS else UNUSABLE[kind][0]()
    if kind == "step":
        yield StepEnd(NOTHING)
    yield Result("shown")


@tool
async def yield_value(kind: str) -> AsyncIterator[Any]:
    """Yield what is no event."""
    yield SUBJECTS[kind]


async def run_calls(member: str, name: str, kinds: list[str]) -> tuple[Any, dict[str, str]]:
    calls = [(name, f'{{"kind": "{kind}"}}') for kind in kinds]
    model = FakeModel(reply_calls(*calls), reply_text("Here."))
    async with serve_runtime(Runtime(model=model, tools=[show, yield_value])) as home:
        seen = await ASKING_MEMBERS[member](home.url).send_message("show it, please")
    results = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    return seen, dict(zip(kinds, results, strict=True))


@pytest.mark.demand("openbb.events_of_other_types")
@pytest.mark.parametrize("member", ASKING_MEMBERS)
async def test_events_with_fields_of_other_types_are_read_as_they_are_meant(member: str) -> None:
    seen, results = await run_calls(member, "show", list(EVENTS))
    assert seen.error is None
    assert seen.text.endswith("Here.")
    assert all(result.startswith("shown") for result in results.values())
    assert "could not be shown" not in seen.text


@pytest.mark.demand("openbb.events_of_other_types")
@pytest.mark.parametrize("member", ASKING_MEMBERS)
async def test_an_event_that_cannot_be_used_is_named_with_the_reason(member: str) -> None:
    seen, results = await run_calls(member, "show", list(UNUSABLE))
    assert seen.error is None
    assert seen.text.endswith("Here.")
    for kind, (_, note) in UNUSABLE.items():
        assert results[kind] == f"shown\n\n{note}"
    assert seen.text.count("(sales.csv could not be shown.)") == 3
    assert "(Card could not be shown.)" in seen.text


@pytest.mark.demand("openbb.events_of_other_types")
@pytest.mark.parametrize("member", ASKING_MEMBERS)
async def test_a_tool_that_yields_no_event_is_told_how_to_give_its_result(member: str) -> None:
    seen, results = await run_calls(member, "yield_value", list(SUBJECTS))
    assert seen.error is None
    assert "yielded a list, which is no event: yield Result(value) to give the model a result" in results["rows"]
    assert "yielded a str, which is no event" in results["text"]
    assert "yielded a NoneType, which is no event" in results["nothing"]


@pytest.mark.demand("openbb.events_of_other_types")
async def test_workspace_gets_names_sources_and_prompts_as_texts() -> None:
    kinds = ("name", "citation_texts", "citation_text", "suggestion", "suggestions", "page_of_bytes", "no_suggestions")
    model = FakeModel(reply_calls(*(("show", f'{{"kind": "{kind}"}}') for kind in kinds)), reply_text("Here."))
    body = {"messages": [{"role": "human", "content": "show it"}], "timezone": "UTC"}
    async with serve_runtime(Runtime(model=model, tools=[show])) as home, RawHttpClient(home.url) as client:
        await client.post_json("/v1/query", body)
        await client.read_head()
        frames = [(frame.event, frame.json) async for frame in client.iterate_frames()]
    tables = [data for event, data in frames if event == "copilotMessageArtifact" and data["type"] == "table"]
    assert [table["name"] for table in tables] == ["5"]
    pages = [data["content"] for event, data in frames if event == "copilotMessageArtifact" and data["type"] == "html"]
    assert pages == ["<p>Up</p>"]
    sources = [data["citations"] for event, data in frames if event == "copilotCitationCollection"]
    names = [[citation["source_info"]["name"] for citation in citations] for citations in sources]
    assert names == [["Ledger", "5"], ["Ledger"]]
    prompts = [data["suggestions"] for event, data in frames if event == "copilotPromptSuggestions"]
    assert prompts == [["Ledger"], ["Why?", "5"]]

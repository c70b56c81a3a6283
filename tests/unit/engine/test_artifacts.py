"""What tools bring beside words, for doors that show it and for those that have only text."""

import base64

import pytest

from rightseat.engine import artifacts
from rightseat.engine.artifacts import FILE_OWNER, load_file, present_artifact, present_event
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Artifact, Event, TextDelta
from rightseat.types.stores import Store
from rightseat.types.turn import Turn, TurnClient

TEXT_ONLY_TURN = Turn(messages=(), client=TurnClient(shows_artifacts=False, base_url="https://seat.example"))
DRAWING_TURN = Turn(messages=(), client=TurnClient(base_url="https://seat.example"))


def make_file_artifact(name: str, data: bytes, media: str = "text/plain") -> Artifact:
    content = {"media_type": media, "size": len(data), "data": base64.b64encode(data).decode()}
    return Artifact("a", "file", name, content)


async def present(event: Artifact, turn: Turn, store: Store) -> list[Event]:
    return (await present_artifact(event, turn, store)).events


def join_text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_a_link_leads_to_the_file_and_a_guess_does_not() -> None:
    store = MemoryStore()
    said = join_text(await present(make_file_artifact("a [b](c).txt", b"hi"), TEXT_ONLY_TURN, store))
    assert said.startswith("[a \\[b\\]\\(c\\).txt](https://seat.example/files/file_")
    ticket = said.split("/")[-2]
    found = await load_file(store, ticket)
    assert found is not None
    assert (found.name, found.media_type, found.data) == ("a [b](c).txt", "text/plain", b"hi")
    assert await load_file(store, "file_" + "0" * 32) is None
    # Whatever else is kept for anyone is no file.
    await store.save_results(FILE_OWNER, {"call_1": "secret"})
    assert await load_file(store, "call_1") is None


@pytest.mark.parametrize("data", [b"abcd", b"hello world", b"\x00\xff", b""])
async def test_the_bytes_of_a_file_need_no_base64(data: bytes) -> None:
    store = MemoryStore()
    [event] = await present(Artifact("a", "file", "f", {"data": data}), DRAWING_TURN, store)
    assert isinstance(event, Artifact)
    assert base64.b64decode(event.content["data"]) == data
    file = await load_file(store, event.content["url"].split("/")[-2])
    assert file is not None
    assert file.data == data


async def test_a_small_file_comes_along_and_a_large_one_does_not() -> None:
    for size, along in ((10, True), (1 << 20, False)):
        [event] = await present(make_file_artifact("f", bytes(size)), DRAWING_TURN, MemoryStore())
        assert isinstance(event, Artifact)
        assert ("data" in event.content) is along
        assert event.content["url"].startswith("https://seat.example/files/file_")


@pytest.mark.parametrize("content", [None, "text", {"data": 7}, {"media_type": "text/csv"}])
async def test_what_is_no_file_stays_what_it_is(content: object) -> None:
    odd = Artifact("a", "file", "x", content)
    assert await present(odd, DRAWING_TURN, MemoryStore()) == [odd]
    assert await present(odd, TEXT_ONLY_TURN, MemoryStore()) == []


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([{"a": 1, "b": "x|y"}, {"b": None}], "T\n\n| a | b |\n| --- | --- |\n| 1 | x\\|y |\n|  |  |"),
        ([], ""),
        ([1, 2], ""),
        ("no table", ""),
        ([{"a": "line\nbreak " + "z" * 100}], "T\n\n| a |\n| --- |\n| line break " + "z" * 68 + "… |"),
    ],
)
async def test_a_table_in_words(content: object, said: str) -> None:
    assert join_text(await present(Artifact("t", "table", "T", content), TEXT_ONLY_TURN, MemoryStore())) == said


async def test_a_long_table_says_how_long_it_is() -> None:
    rows = [{"n": number} for number in range(50)]
    said = join_text(await present(Artifact("t", "table", "", rows), TEXT_ONLY_TURN, MemoryStore()))
    assert said.count("\n| ") == 21
    assert said.endswith("(20 of 50 rows)")


async def test_whoever_draws_gets_it_as_it_is() -> None:
    table: Event = Artifact("t", "table", "T", [{"a": 1}])
    assert isinstance(table, Artifact)
    assert await present(table, DRAWING_TURN, MemoryStore()) == [table]


SCHEMA_TURN = Turn(messages=(), output_schema={"type": "object"}, client=TurnClient(shows_artifacts=False))
OPENBB_TURN = Turn(messages=(), client=TurnClient(chart_kinds=("line",)))
TERMINAL_TURN = Turn(messages=(), client=TurnClient(shows_artifacts=False))
CHART = Artifact("c", "chart", "C", {"data": [{"x": 1, "y": 2}], "chart": {"type": "line", "x": "x", "y": "y"}})


@pytest.mark.parametrize(
    ("event", "turn", "note"),
    [
        (CHART, SCHEMA_TURN, "C was not shown, because the answer must fit a schema."),
        (CHART, DRAWING_TURN, ""),
        (CHART, OPENBB_TURN, ""),
        (CHART, TERMINAL_TURN, "C: this client does not draw it. The person sees its numbers as a table."),
        (Artifact("c", "chart", "", {}), TERMINAL_TURN, "The chart was not shown: its data cannot be read."),
        (Artifact("f", "file", "f", {"data": b"x"}), TERMINAL_TURN, "f was not shown: this client shows only text."),
        (Artifact("h", "html", "h", "<p>"), TERMINAL_TURN, "h.html was not shown: this client shows only text."),
        (Artifact("t", "table", "t", []), TERMINAL_TURN, "t was not shown: it is empty."),
    ],
)
async def test_the_note_for_the_model(event: Artifact, turn: Turn, note: str) -> None:
    assert (await present_artifact(event, turn, MemoryStore())).note == note


async def test_a_description_stands_under_the_name() -> None:
    table = Artifact("t", "table", "Sales", [{"a": 1}], "Of the shop.")
    said = join_text(await present(table, TEXT_ONLY_TURN, MemoryStore()))
    assert said == "Sales\n\nOf the shop.\n\n| a |\n| --- |\n| 1 |"


async def test_no_sentence_goes_into_an_answer_that_must_fit_a_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "MAX_ARTIFACT_BYTES", 100)
    turn = Turn(messages=(), client=TurnClient(), output_schema={"type": "object"})
    for content, note in (
        ([{"n": number} for number in range(50)], "Of T only the first"),
        (iter([1]), "T was not shown"),
    ):
        presented = await present_event(Artifact("t", "table", "T", content), turn, MemoryStore())
        assert [event for event in presented.events if not isinstance(event, Artifact)] == []
        assert presented.note.startswith(note)

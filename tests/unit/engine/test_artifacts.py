"""What tools bring beside words, for doors that show it and for those that have only text."""

import base64

import pytest

from rightseat.engine.artifacts import FILE_OWNER, load_file, present_artifact
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Artifact, Event, TextDelta
from rightseat.types.turn import Turn, TurnClient

TEXT_ONLY_TURN = Turn(messages=(), client=TurnClient(shows_artifacts=False, base_url="https://seat.example"))
DRAWING_TURN = Turn(messages=(), client=TurnClient(base_url="https://seat.example"))


def make_file_artifact(name: str, data: bytes, media: str = "text/plain") -> Artifact:
    content = {"media_type": media, "size": len(data), "data": base64.b64encode(data).decode()}
    return Artifact("a", "file", name, content)


def join_text(events: object) -> str:
    assert isinstance(events, list)
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_a_link_leads_to_the_file_and_a_guess_does_not() -> None:
    store = MemoryStore()
    said = join_text(await present_artifact(make_file_artifact("a [b](c).txt", b"hi"), TEXT_ONLY_TURN, store))
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
    [event] = await present_artifact(Artifact("a", "file", "f", {"data": data}), DRAWING_TURN, store)
    assert isinstance(event, Artifact)
    assert base64.b64decode(event.content["data"]) == data
    file = await load_file(store, event.content["url"].split("/")[-2])
    assert file is not None
    assert file.data == data


async def test_a_small_file_comes_along_and_a_large_one_does_not() -> None:
    for size, along in ((10, True), (1 << 20, False)):
        [event] = await present_artifact(make_file_artifact("f", bytes(size)), DRAWING_TURN, MemoryStore())
        assert isinstance(event, Artifact)
        assert ("data" in event.content) is along
        assert event.content["url"].startswith("https://seat.example/files/file_")


@pytest.mark.parametrize("content", [None, "text", {"data": "not base64!"}, {"data": 7}])
async def test_what_is_no_file_stays_what_it_is(content: object) -> None:
    odd = Artifact("a", "file", "x", content)
    assert await present_artifact(odd, DRAWING_TURN, MemoryStore()) == [odd]
    assert await present_artifact(odd, TEXT_ONLY_TURN, MemoryStore()) == []


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
    assert (
        join_text(list(await present_artifact(Artifact("t", "table", "T", content), TEXT_ONLY_TURN, MemoryStore())))
        == said
    )


async def test_a_long_table_says_how_long_it_is() -> None:
    rows = [{"n": number} for number in range(50)]
    said = join_text(list(await present_artifact(Artifact("t", "table", "", rows), TEXT_ONLY_TURN, MemoryStore())))
    assert said.count("\n| ") == 21
    assert said.endswith("(20 of 50 rows)")


async def test_whoever_draws_gets_it_as_it_is() -> None:
    table: Event = Artifact("t", "table", "T", [{"a": 1}])
    assert isinstance(table, Artifact)
    assert await present_artifact(table, DRAWING_TURN, MemoryStore()) == [table]

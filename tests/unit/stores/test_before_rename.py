"""A store that was written before classes and functions were renamed: it is read, and gone on from.

Which code wrote it is in before_rename/write.py; beside it is what its clients then held (held.json) and
heard (heard.json).
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import Struct

from rightseat.types import events, messages, threads
from tests.kit.app_server import reply_text
from tests.kit.client import RawHttpClient, build_raw_request
from tests.unit.stores.before_rename.scenario import (
    FILE,
    FOLDER,
    StoreScenario,
    ThreadClient,
    collect_connect_frames,
    get_json,
    read_thread,
)

CLIENT_STATES: dict[str, Any] = json.loads((FOLDER / "held.json").read_text("utf-8"))
THREAD_RECORDS: dict[str, Any] = json.loads((FOLDER / "heard.json").read_text("utf-8"))
THREADS = [name for name in THREAD_RECORDS if name]

# In the order in which their modules define them: what is kept calls them so, whatever they are called there.
TAGS: list[tuple[ModuleType, list[tuple[str, str]]]] = [
    (
        events,
        [
            ("RunStarted", "thread run"),
            ("TextStart", "id refusal"),
            ("TextDelta", "id text logprobs"),
            ("TextEnd", "id"),
            ("ReasoningStart", "id"),
            ("ReasoningDelta", "id text"),
            ("ReasoningEnd", "id"),
            ("CallStart", "id name message client"),
            ("CallArgs", "id json"),
            ("CallEnd", "id"),
            ("CallResult", "id content failed"),
            ("StateSnapshot", "state"),
            ("StateDelta", "patch"),
            ("StepStart", "name"),
            ("StepEnd", "name"),
            ("Interrupt", "id kind message schema call expires value"),
            ("Artifact", "id kind name content description"),
            ("Citations", "items"),
            ("Suggestions", "prompts"),
            ("Custom", "name value"),
            ("Nested", "run agent call event"),
            ("RunFinished", "reason usage pending report"),
            ("RunFailed", "code message status fault retry_after param after_effect"),
        ],
    ),
    (messages, [("Text", "text"), ("Image", "url detail name"), ("File", "name media_type data file_id read")]),
    (threads, [("Posted", "messages state assistant after resumed")]),
]


@pytest.fixture
def scenario(tmp_path: Path) -> StoreScenario:
    shutil.copyfile(FOLDER / FILE, tmp_path / FILE)
    return StoreScenario(tmp_path)


def restore_client(url: str, thread: str) -> ThreadClient:
    return ThreadClient.restore(url, thread, deepcopy(CLIENT_STATES[thread]))


def query_database(folder: Path, query: str, *values: str) -> list[Any]:
    with closing(sqlite3.connect(folder / FILE)) as database:
        return [value for (value,) in database.execute(query, values)]


def list_types(value: Any) -> Iterator[str]:
    """Every `type` that is written anywhere in it."""
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value["type"]
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from list_types(one)


@pytest.mark.demand("house.explicit_tags")
@pytest.mark.parametrize(("module", "table"), TAGS, ids=lambda one: getattr(one, "__name__", ""))
def test_a_tag_is_what_it_was_whatever_its_class_is_called(module: ModuleType, table: list[tuple[str, str]]) -> None:
    found = [
        (kind.__struct_config__.tag, " ".join(kind.__struct_fields__))
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Struct) and kind.__module__ == module.__name__
    ]
    assert [one for one in found if one[0] is not None] == table


def test_the_file_has_every_tag(scenario: StoreScenario) -> None:
    bodies = query_database(scenario.folder, "SELECT body FROM entries")
    found = {name for body in bodies for name in list_types(json.loads(body))}
    assert {tag for _, table in TAGS for tag, _ in table} <= found


@pytest.mark.io
async def test_its_threads_are_listed(scenario: StoreScenario) -> None:
    async with scenario.serve() as server:
        assert await get_json(server.url, "/copilotkit/threads") == THREAD_RECORDS[""]


@pytest.mark.demand("house.store_before_rename")
@pytest.mark.io
@pytest.mark.parametrize("thread", THREADS)
async def test_a_thread_is_told_and_exported_as_it_was(scenario: StoreScenario, thread: str) -> None:
    async with scenario.serve() as server:
        told = await read_thread(server.url, thread, CLIENT_STATES[thread]["agent"])
    for name, value in THREAD_RECORDS[thread].items():
        assert told[name] == value, name


@pytest.mark.io
async def test_a_reader_comes_in_between_words_that_are_kept_as_one(scenario: StoreScenario) -> None:
    async with scenario.serve() as server:
        ((number, first), *rest) = await collect_connect_frames(server.url, "shown", "show", after="12")
    assert (number, first["delta"]) == ("13", "in Köln.")
    told = THREAD_RECORDS["shown"]["connected"]
    assert rest == told[[number for number, _ in told].index("13") + 1 :]


@pytest.mark.io
async def test_a_file_that_a_tool_gave_is_still_there(scenario: StoreScenario) -> None:
    urls = [
        event["value"]["content"]["url"]
        for event in THREAD_RECORDS["talk"]["events"]["events"]
        if event.get("name") == "artifact"
    ]
    async with scenario.serve() as server, RawHttpClient(server.url) as client:
        await client.get(urlsplit(urls[0]).path)
        assert (await client.read_head()).status == 200
        assert await client.read_body() == b"Two rows."


@pytest.mark.io
async def test_a_finished_talk_goes_on(scenario: StoreScenario) -> None:
    async with scenario.serve(reply_text("You are welcome.")) as server:
        person = restore_client(server.url, "talk")
        for one in person.history:
            if one["role"] == "tool":
                one["content"] = "not what the tool gave"
        assert (await person.send_message("thanks")).text == "You are welcome."
        told = (await read_thread(server.url, "talk", "default"))["events"]["events"]
    before = THREAD_RECORDS["talk"]["events"]["events"]
    assert told[: len(before)] == before
    assert told[-1]["type"] == "RUN_FINISHED"
    (asked,) = scenario.model.prompts
    given = [one.text for one in asked.messages if one.role == "tool"]
    assert given == ['{"thing":"a stone","grams":1200}', "", "A stone."], "as they are kept"


@pytest.mark.demand("house.store_before_rename")
@pytest.mark.io
async def test_a_yes_runs_the_tool_once_with_its_kept_arguments(scenario: StoreScenario) -> None:
    async with scenario.serve(reply_text("Paid.")) as server:
        seen = await restore_client(server.url, "approval").answer_question(True)
        assert (seen.text, list(seen.results.values())) == ("Paid.", ["ACME has 12.5"])
        again = await restore_client(server.url, "approval").answer_question(True)
        assert again == seen, "the same run id is replayed"
    assert scenario.paid == [("ACME", 12.5)]


@pytest.mark.io
async def test_a_no_runs_nothing(scenario: StoreScenario) -> None:
    async with scenario.serve(reply_text("As you like.")) as server:
        assert (await restore_client(server.url, "approval").answer_question(False)).text == "As you like."
    assert scenario.paid == []


@pytest.mark.io
async def test_a_yes_in_words_at_a_door_without_ids(scenario: StoreScenario) -> None:
    asked = [*CLIENT_STATES["chat"], {"role": "user", "content": "yes"}]
    async with scenario.serve(reply_text("Paid.")) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/chat/completions", {"model": "default", "messages": asked})
        assert (await client.read_head()).status == 200
        (choice,) = (await client.read_json())["choices"]
    assert choice["message"]["content"] == "Paid."
    assert scenario.paid == [("Chat & Co", 3)]


@pytest.mark.demand("house.store_before_rename")
@pytest.mark.io
async def test_a_clients_result_is_taken_and_the_run_goes_on(scenario: StoreScenario) -> None:
    async with scenario.serve(reply_text("It is shown.")) as server:
        person = restore_client(server.url, "client")
        (call,) = person.history[-1]["toolCalls"]
        assert (await person.send_results({call["id"]: "drawn"})).text == "It is shown."
    (asked,) = scenario.model.prompts
    assert (asked.messages[-1].role, asked.messages[-1].text) == ("tool", "drawn")


@pytest.mark.demand("house.store_before_rename")
@pytest.mark.io
async def test_a_flow_goes_on_after_its_effect(scenario: StoreScenario) -> None:
    async with scenario.serve(reply_text("It is yours.")) as server:
        seen = await restore_client(server.url, "order").answer_question("red")
        assert (await restore_client(server.url, "order").answer_question("blue")).error == "already_answered"
    assert (seen.text, seen.steps) == ("It is yours.", ["which", "buy", "tell"])
    assert scenario.flow_tools.calls == [("buy", {"x": "red of lot 7"})], "nothing is reserved again"


@pytest.mark.io
async def test_a_flow_that_is_asked_the_same_again_stands_where_it_stood(scenario: StoreScenario) -> None:
    async with scenario.serve(reply_text("It is yours.")) as server:
        person = ThreadClient(server.url, "order", "order")
        (question,) = (await person.send_message("order one")).questions
        assert question["message"] == "Which of lot 7?"
        assert scenario.flow_tools.calls == []
        assert (await person.answer_question("blue")).text == "It is yours."
    assert scenario.flow_tools.calls == [("buy", {"x": "blue of lot 7"})]


@pytest.mark.io
async def test_a_deleted_thread_takes_what_waits_with_it(scenario: StoreScenario) -> None:
    async with scenario.serve() as server:
        async with RawHttpClient(server.url) as client:
            await client.send(build_raw_request("DELETE", "/copilotkit/threads/approval"))
            assert (await client.read_head()).status == 200
        (question,) = CLIENT_STATES["approval"]["open"]
        ticket = question.split("_")[1]
        assert query_database(scenario.folder, "SELECT key FROM kept WHERE key = ?", ticket) == []

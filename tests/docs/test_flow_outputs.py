"""What docs/flows.md says of outputs, files and ends of waiting runs: its examples are run over HTTP."""

import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.engine.loop import Assistant
from rightseat.plugins.flows.steps import KINDS
from rightseat.types.language import Language
from rightseat.types.sentences import get_sentence
from rightseat.types.stores import CONTINUATION_SECONDS
from rightseat.wiring.plugins import attach_plugins, load_catalog
from rightseat.wiring.runtime import Runtime, RuntimeParts
from tests.docs.test_docs import find_blocks
from tests.docs.test_flows import PAGES, PLUGINS, answer_inventory, write_inventory
from tests.docs.test_plugins import write_plugin
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.unit.plugins.flows.served import AguiFlowClient, OpenAIFlowClient
from tests.unit.plugins.http.recording_api import RecordedRequest, RecordingApi, make_json_response, serve_recording_api

pytestmark = [pytest.mark.io, pytest.mark.parametrize("language", PAGES)]
QUESTIONS = {"en": "Please show it.", "zh": "请演示一下。"}


def find_section(language: str, number: int) -> list[list[str]]:
    """The rows of a page's table, by its place on the page."""
    text = PAGES[language].read_text("utf-8")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in tables[number].splitlines()[2:]]


@asynccontextmanager
async def serve_folder(plugin: Path, api: RecordingApi, *lines: Any, confirm: str = "never") -> AsyncIterator[str]:
    file = plugin.parent / "rightseat.toml"
    server = f'server = "{api.url}"\nallow = ["127.0.0.1"]\nconfirm = "{confirm}"\n'
    file.write_text(f'[[plugins]]\npath = "{plugin}"\n{server}', "utf-8")
    config = load_config(file, env={})
    catalog = load_catalog(config)
    attached = attach_plugins({"default": Assistant("default", FakeModel(*lines))}, catalog, config, lambda _: False)
    async with serve_runtime(Runtime(assistants=attached.values(), parts=RuntimeParts(plugins=catalog))) as home:
        yield home.url


@pytest.fixture
async def api(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RecordingApi]:
    monkeypatch.setenv("INVENTORY_TOKEN", "Bearer a-long-token")
    async with serve_recording_api() as made:
        made.replies = [answer_inventory] * 20
        yield made


@pytest.mark.demand("flows.docs_say_outputs_files_ends")
async def test_the_outputs_are_those_of_the_page(language: str, tmp_path: Path, api: RecordingApi) -> None:
    folder = write_inventory(language, tmp_path).folder
    [expected] = map(json.loads, find_blocks(PAGES[language], "json"))
    async with serve_folder(folder, api, reply_text("Fine.")) as url:
        person = AguiFlowClient(url, "inventory.outputs")
        seen = await person.send_message(QUESTIONS[language])
        outputs = dict(person.outputs)
        assert seen.questions[0]["responseSchema"]["properties"]["answer"]["enum"] == ["web-1", "web-2"]
        seen = await person.answer_question({"answer": "web-2"})
    outputs |= {name: person.outputs[name] for name in expected if name in person.outputs}
    assert {name: outputs[name] for name in expected} == expected
    assert list(outputs) == ["start", "pick", *(name for name in outputs if name not in ("start", "pick"))]
    assert seen.text == expected["end"]
    titles = [artifact["name"] for artifact in person.artifacts if artifact["kind"] in ("table", "chart")]
    [text] = [text for text in find_blocks(PAGES[language], "yaml") if text.startswith("# flows/outputs.yaml")]
    assert re.findall("title: ([^}]+)}", text)[0] in titles


@pytest.mark.demand("flows.docs_say_outputs_files_ends")
def test_every_kind_has_its_row(language: str) -> None:
    tables = [find_section(language, number) for number in range(6)]
    [rows] = [rows for rows in tables if rows[0][0] == "`api`" and "endpoint" not in rows[0][2]]
    assert sorted(row[0].strip("`") for row in rows) == sorted(KINDS)


def count_lines(request: RecordedRequest) -> Any:
    content = request.body.split(b"\r\n\r\n", 1)[1].split(b"\r\n--")[0]
    return make_json_response({"lines": len(content.splitlines())})


def attach_file(text: str) -> list[dict[str, Any]]:
    data = base64.b64encode(b"one\ntwo\nthree").decode()
    file = {"filename": "today.log", "file_data": f"data:text/plain;base64,{data}"}
    return [{"type": "text", "text": text}, {"type": "file", "file": file}]


@pytest.mark.demand("flows.docs_say_outputs_files_ends")
@pytest.mark.parametrize("attached_later", [False, True])
async def test_a_file_reaches_the_step(language: str, tmp_path: Path, api: RecordingApi, attached_later: bool) -> None:
    for text in find_blocks(PAGES[language], "yaml"):
        if match := re.match(r"# (logs/[\w/]+\.yaml)\n", text):
            (tmp_path / match[1]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / match[1]).write_text(text, "utf-8")
    api.replies = [count_lines]
    async with serve_folder(tmp_path / "logs", api) as url:
        person = OpenAIFlowClient(url, "logs.count_lines")
        question: Any = QUESTIONS[language]
        if attached_later:
            seen = await person.send_message(question)
            assert "log" in seen.text
            assert api.requests == []
        person.history.append({"role": "user", "content": attach_file(question)})
        seen = await person.send_history()
    assert re.fullmatch(r"\D*3\D*", seen.text)
    assert len(api.requests) == 1


CLASS = """
class Count:
    name = "count"
    description = "Counts bytes of files, and what came before."

    def __init__(self, params):
        self.params = params

    async def call(self, fixed_params):
        files = [(file["name"], file["type"], len(file["data"])) for file in self.params["files"]]
        return {"output": {"files": files, "before": self.params["previous_data"]}, "message": "Counted."}


exported = [Count]
"""
CLASS_FLOW = """
name: counting
description: Counts.
steps:
  - {name: start, call_type: api, params: {endpoint: GET /hosts, values: {state: offline}}, next: counted}
  - {name: counted, call_type: count}
"""


@pytest.mark.demand("flows.docs_say_outputs_files_ends")
async def test_a_class_gets_the_files_and_what_came_before(language: str, tmp_path: Path, api: RecordingApi) -> None:
    folder = write_plugin(PLUGINS[language], tmp_path).folder
    (folder / "flows").mkdir()
    (folder / "flows" / "counting.yaml").write_text(CLASS_FLOW, "utf-8")
    (folder / "lib" / "__init__.py").write_text(CLASS, "utf-8")
    async with serve_folder(folder, api, reply_text("Fine.")) as url:
        person = AguiFlowClient(url, "inventory.counting")
        data = base64.b64encode(b"one").decode()
        file = {"type": "binary", "mimeType": "text/plain", "filename": "a.txt", "data": data}
        content = [{"type": "text", "text": "Count."}, file]
        person.history.append({"id": "u0", "role": "user", "content": content})
        await person.send_history()
    assert person.outputs["counted"]["files"] == [["a.txt", "text/plain", 4]]
    assert '"db-1"' in person.outputs["counted"]["before"]["data"]["output"]


async def end_run(row: int, person: AguiFlowClient) -> str:
    """What the user is told when that row of the table happens."""
    match row:
        case 0:
            person.resume = [{"interruptId": person.open[0], "status": "cancelled"}]
            return (await person.send_history()).text
        case 1:
            return (await person.answer_question(False)).text
        case 2:
            await person.answer_question({"answer": "no host"})
            await person.answer_question({"answer": "no host"})
            return (await person.answer_question({"answer": "no host"})).text
        case _:
            asked = list(person.open)
            await person.answer_question({"answer": "web-2"})
            person.open = asked
            await person.answer_question({"answer": "web-2"})
            return person.errors[0]


@pytest.mark.demand("flows.docs_say_outputs_files_ends")
@pytest.mark.parametrize("row", [0, 1, 2, 4])
async def test_a_waiting_run_ends_as_the_page_says(
    language: Language, tmp_path: Path, api: RecordingApi, row: int
) -> None:
    folder = write_inventory(language, tmp_path).folder
    tables = (find_section(language, number) for number in range(12))
    rows = next(rows for rows in tables if rows[0][0].startswith(("the user cancels", "用户取消")))
    asks_values = reply_text('{"id": "h-003", "summary": "x"}')
    lines = [asks_values] if row == 1 else [reply_text("Fine.")] * 2
    async with serve_folder(folder, api, *lines, confirm="dangerous") as url:
        person = AguiFlowClient(url, "inventory.open_ticket" if row == 1 else "inventory.outputs")
        seen = await person.send_message(QUESTIONS[language])
        assert len(seen.questions) == 1
        assert await end_run(row, person) == rows[row][1]
    assert rows[3][1] == get_sentence("flow_changed", language)
    assert CONTINUATION_SECONDS == 3600

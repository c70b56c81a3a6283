"""`rightseat chat --plugins DIR --file PATH`: the file ends at the plugin's API."""

import asyncio
import io
import json
import os
from pathlib import Path

import pytest

from rightseat import Runtime
from rightseat.cli.chat import ChatSession, Terminal, load_attachment
from rightseat.engine.loop import Assistant
from rightseat.errors import NotFound
from rightseat.plugins.catalog import PluginCatalog
from rightseat.plugins.selection import ToolSelection
from rightseat.wiring.runtime import RuntimeParts
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.server import find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.catalogs import make_plugin
from tests.unit.plugins.runtime.api_plugins import serve_json_api

pytestmark = pytest.mark.io

DOCUMENT = """
openapi: 3.0.0
info: {title: Convert, version: '1'}
servers: [{url: URL}]
paths:
  /convert:
    post:
      description: Converts a table.
      requestBody:
        content:
          multipart/form-data:
            schema: {type: object, required: [table], properties: {table: {type: string, format: binary}}}
      responses: {'200': {description: Where it is.}}
"""


@pytest.mark.demand("plugins.user_attaches_door_openai")
async def test_an_attached_file_is_sent_to_the_api(tmp_path: Path) -> None:
    async with serve_json_api(b'{"place": "shelf 3"}') as api:
        folder = tmp_path / "plugins" / "convert"
        folder.mkdir(parents=True)
        about = {"name": "Convert", "description": "Converts.", "predefined_question": "Convert my file."}
        (folder / "plugin.json").write_text(json.dumps(about), "utf-8")
        (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", api.url), "utf-8")
        table = '[[plugins]]\npath = "plugins"\nallow = ["127.0.0.1"]\n[models.m]\nspec = "scripted:turns.json"\n'
        (tmp_path / "rightseat.toml").write_text(table, "utf-8")
        turns = [
            {
                "when": {"user": "^Convert my file.\\s*\\[attached file: prices.csv"},
                "calls": [{"name": "convert_post_convert", "arguments": {"table": "prices.csv"}}],
            },
            {"when": {"tool": "convert_post_convert"}, "say": "{result}"},
        ]
        (tmp_path / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")
        (tmp_path / "prices.csv").write_bytes(b"day,price\n1,233.85\n")
        process = await asyncio.create_subprocess_exec(
            find_executable(),
            *("chat", " ", "--file", "prices.csv"),
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(), HANG_TIMEOUT)
    assert process.returncode == 0, err.decode()
    assert "shelf 3" in out.decode()
    assert api.requests == ["POST /convert"]
    assert b'filename="prices.csv"' in api.bodies[0]
    assert b"1,233.85" in api.bodies[0]


def test_an_empty_line_asks_what_the_plugin_suggests() -> None:
    lines = ["", "", "thanks"]

    def read(prompt: str) -> str:
        if not lines:
            raise EOFError
        return lines.pop(0)

    model = FakeModel(reply_text("web-01"), reply_text("Bye."))
    shelf = PluginCatalog([make_plugin("hosts", "Hosts", {"list": "Lists."}, question="Which hosts?")])
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    with asyncio.Runner() as runner:
        talk = ChatSession(runtime, None, Terminal(io.StringIO(), io.StringIO()), runner, read)
        talk.run_loop()
        runner.run(runtime.close())
    assert talk.suggestions == ("Which hosts?",)
    assert [prompt.messages[-1].text for prompt in model.prompts] == ["Which hosts?", "thanks"]


def test_a_file_that_is_not_there_is_said() -> None:
    with pytest.raises(NotFound, match="No such file"):
        load_attachment(Path("nowhere.csv"))

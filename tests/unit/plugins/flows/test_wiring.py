"""Flows of plugin folders in a running server: tools to models, agents to doors, commands to a terminal."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.plugins.selection import ToolSelection
from rightseat.types.events import Custom, Event, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import Turn
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.runtime import Runtime
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.server import find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.runtime.api_plugins import serve_json_api, write_api_plugin

pytestmark = pytest.mark.io

FLOW = """
name: report
description: Reports on the hosts.
steps:
  - {name: start, call_type: api, params: {endpoint: GET /hosts, values: {q: "{question}"}}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell of {data}"}, next: end}
  - {name: end, call_type: none}
"""
TURNS = {
    "turns": [
        {"when": {"user": "^Tell of .*web-01"}, "say": "There is web-01."},
        {"when": {"user": "Say the arguments"}, "say": '{"q": "web"}'},
        {"when": {"user": "What its steps gave:\\n.*web-01"}, "say": "The only one is web-01."},
    ]
}
RuntimeFactory = Callable[..., Runtime]


@pytest.fixture
def make_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuntimeFactory:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "turns.json").write_text(json.dumps(TURNS), "utf-8")

    def made(url: str = "http://127.0.0.1:9", rules: str = "", **manifest: Any) -> Runtime:
        home = write_api_plugin(tmp_path / "plugins" / "hosts", url, **manifest)
        (home / "flows").mkdir(exist_ok=True)
        (home / "flows" / "report.yaml").write_text(FLOW, "utf-8")
        table = f'[models.m]\nspec = "scripted:turns.json"\n[[plugins]]\npath = "plugins"\n{rules}\n'
        (tmp_path / "rightseat.toml").write_text(table + 'allow = ["127.0.0.1"]\n', "utf-8")
        return build_runtime(load_config(env={}), env={})

    return made


async def run_turn(runtime: Runtime, name: str, question: str = "all") -> list[Event]:
    turn = Turn(messages=(text_message("user", question),), assistant=name)
    async with closing(runtime.run(turn)) as events:
        return [event async for event in events]


def join_text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.demand("flows.flow_responder_behind_door")
async def test_a_flow_of_a_folder_calls_the_real_api_and_answers(make_runtime: RuntimeFactory) -> None:
    async with serve_json_api() as api:
        runtime = make_runtime(api.url)
        events = await run_turn(runtime, "hosts.report", "all of them")
        await runtime.close()
    assert join_text(events) == "There is web-01."
    assert api.requests == ["GET /hosts?q=all%20of%20them"]
    told = [event.value["progress"] for event in events if isinstance(event, Custom)]
    assert told == ["1/2", "1/2", "2/2", "2/2"]


@pytest.mark.demand("flows.automatic_flow_true_operation")
async def test_an_operation_is_a_flow_where_the_plugin_says_so(make_runtime: RuntimeFactory) -> None:
    async with serve_json_api() as api:
        runtime = make_runtime(api.url, automatic_flow=True)
        events = await run_turn(runtime, "hosts.GET /hosts")
        await runtime.close()
    assert api.requests == ["GET /hosts?q=web"]
    assert join_text(events) == "The only one is web-01."


LIB = """
class Greet:
    name = "greet"
    description = "Greets somebody."

    def __init__(self, params):
        self.params = params

    async def call(self, fixed_params):
        return {"output": f"Hello {self.params['who']}", "message": "Greeted."}


exported = [Greet]
"""


@pytest.mark.demand("flows.tool_lib_tool_name")
@pytest.mark.io
async def test_a_tool_of_lib_is_a_step_by_its_name(make_runtime: RuntimeFactory, tmp_path: Path) -> None:
    """A class of the original's SDK, in a process of its own."""
    home = tmp_path / "plugins" / "hosts"
    (home / "lib").mkdir(parents=True)
    (home / "lib" / "__init__.py").write_text(LIB, "utf-8")
    await make_runtime().close()
    text = """
name: greeting
description: Greets.
steps: [{name: start, call_type: greet, params: {who: "{question}"}}]
"""
    (home / "flows" / "greeting.yaml").write_text(text, "utf-8")
    runtime = build_runtime(load_config(env={}), env={})
    events = await run_turn(runtime, "hosts.greeting", "web-01")
    await runtime.close()
    (told,) = [event.value for event in events if isinstance(event, Custom) and "output" in event.value]
    assert (told["output"], told["message"]) == ("Hello web-01", "Greeted.")


@pytest.mark.demand("flows.flow_tool_model_picks")
async def test_flows_are_tools_that_models_choose_from(make_runtime: RuntimeFactory) -> None:
    runtime = make_runtime(automatic_flow=True)
    source = runtime.assistants["default"].toolset
    assert isinstance(source, ToolSelection)
    names = list(source.catalog.by_name)
    assert names == ["hosts_get_hosts", "hosts_report"], "an operation's own flow is no second tool"
    tool = source.catalog.by_name["hosts_report"].tool
    assert (tool.description, tool.parameters["required"]) == ("Reports on the hosts.", ["request"])
    await runtime.close()


@pytest.mark.demand("flows.flow_responder_behind_door")
@pytest.mark.parametrize("appears", [False, True])
async def test_flows_are_found_by_name_and_listed_where_the_plugin_appears(
    make_runtime: RuntimeFactory, appears: bool
) -> None:
    runtime = make_runtime(rules="appears = true" if appears else "")
    assert "hosts.report" in runtime.responders
    assert ("hosts.report" in list(runtime.responders)) == appears
    assert runtime.resolve_responder("gpt-4o") is None, "a vendor's name means the default assistant"
    assert runtime.resolve_responder("hosts.report") == "hosts.report"
    async with serve_runtime(runtime) as home:
        for target in ("/v1/models", "/agents.json", "/copilotkit/info"):
            async with RawHttpClient(home.url) as client:
                await client.send(build_raw_request("GET", target, b"", {}))
                await client.read_head()
                body = (await client.read_body()).decode()
                assert ("report" in body) == appears, target
                if appears and target != "/v1/models":
                    assert "Reports on the hosts." in body


@pytest.mark.demand("flows.continuation_whose_flow_changed")
async def test_a_changed_flow_changes_the_tools_digest(make_runtime: RuntimeFactory, tmp_path: Path) -> None:
    def digest(runtime: Runtime) -> str:
        source = runtime.assistants["default"].toolset
        assert isinstance(source, ToolSelection)
        return source.fingerprint(["hosts_report"])

    first = make_runtime()
    flow = tmp_path / "plugins" / "hosts" / "flows" / "report.yaml"
    flow.write_text(FLOW.replace("Tell of", "Speak of"), "utf-8")
    second = build_runtime(load_config(env={}), env={}, before=first)
    assert digest(first) != digest(second)
    await first.close()
    await second.close()


async def run_cli(folder: Path, *args: str, stdin: str = "") -> tuple[int | None, str, str]:
    process = await asyncio.create_subprocess_exec(
        find_executable(),
        *args,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(stdin.encode()), HANG_TIMEOUT)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.demand("flows.rightseat_flows_run_plugin")
@pytest.mark.long
@pytest.mark.io
async def test_a_flow_runs_in_the_terminal_with_its_steps(make_runtime: RuntimeFactory, tmp_path: Path) -> None:
    async with serve_json_api() as api:
        await make_runtime(api.url).close()
        code, out, err = await run_cli(tmp_path, "flows", "run", "hosts/report", "all")
        assert (code, out) == (0, "There is web-01.\n")
        assert "[1/2] start (api)" in err
        assert "[2/2] tell (llm)" in err
        code, out, err = await run_cli(tmp_path, "flows", "run", "hosts/repot", "all")
        assert (code, "Did you mean 'hosts/report'?" in err) == (1, True)
        code, out, _ = await run_cli(tmp_path, "flows", "list")
        assert (code, out) == (0, "hosts/report\n    Reports on the hosts.\n")


ASKING = """
name: report
description: Asks which host.
steps:
  - {name: start, call_type: api, params: {endpoint: GET /hosts, values: {}}, next: which}
  - {name: which, call_type: ask, params: {question: Which one?, options: [web-01, db-02]}, next: end}
  - {name: end, call_type: none, params: {say: "Chosen: {which}"}}
"""


@pytest.mark.demand("flows.run_fails_unanswered")
@pytest.mark.parametrize(
    ("stdin", "code", "said"),
    [
        ("web-01\n", 0, "      → web-01\n"),
        ("", 1, "error: Nobody answered: Which one? Give the answers on stdin"),
        ("x\ny\n", 1, "error: Nobody answered: "),
        ("x\ny\nz\n", 1, ""),
    ],
)
@pytest.mark.io
async def test_a_question_without_an_answer_fails_and_outputs_are_shown(
    make_runtime: RuntimeFactory, tmp_path: Path, stdin: str, code: int, said: str
) -> None:
    async with serve_json_api() as api:
        await make_runtime(api.url).close()
        (tmp_path / "plugins" / "hosts" / "flows" / "report.yaml").write_text(ASKING, "utf-8")
        found, out, err = await run_cli(tmp_path, "flows", "run", "hosts/report", "all", stdin=stdin)
    assert (found, said in err) == (code, True), err
    assert '      → {"hosts":["web-01"]}\n' in err.replace(": [", ":[")
    assert ("Chosen: web-01" in out) == (code == 0)

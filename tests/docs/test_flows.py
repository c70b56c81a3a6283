"""The cookbook of docs/flows.md: every flow on the page is read, checked, drawn and run."""

import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from rightseat.config.load import load_config
from rightseat.plugins.flows.conditions import OPERATORS, evaluate_condition, parse_condition
from rightseat.plugins.flows.diagram import render_flow_svg
from rightseat.plugins.flows.estimate import FlowEstimator, describe_estimate
from rightseat.plugins.flows.model_times import ModelTimes
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.load import read_plugin as read_plugin
from rightseat.plugins.plugin import Flow, Plugin
from rightseat.plugins.python.tools import PythonPolicy, make_script_tools
from rightseat.plugins.sql.database import Database
from rightseat.types.events import Artifact, Interrupt, Suggestions
from rightseat.types.turn import InterruptAnswer
from rightseat.wiring.plugins import open_databases
from tests.docs.test_docs import ROOT, find_blocks
from tests.docs.test_plugins import write_plugin
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.plugins.flows.conversations import FlowConversation
from tests.unit.plugins.http.plugin_values import open_tools
from tests.unit.plugins.http.recording_api import RecordedRequest, RecordingApi, make_json_response, serve_recording_api

PAGES = {"en": ROOT / "docs" / "flows.md", "zh": ROOT / "docs" / "flows.zh.md"}
PLUGINS = {"en": ROOT / "docs" / "plugins.md", "zh": ROOT / "docs" / "plugins.zh.md"}
FLOW_NAMES = [
    "compare",
    "host_sheet",
    "offline_report",
    "open_ticket",
    "outputs",
    "repair",
    "ticket_chart",
    "triage",
    "uptime_chart",
    "uptimes",
]
HOSTS = [
    {"id": "h-001", "name": "web-1", "state": "online", "uptime": 90_000},
    {"id": "h-002", "name": "web-2", "state": "online", "uptime": 172_800},
    {"id": "h-003", "name": "db-1", "state": "offline", "uptime": 0},
]
pytestmark = [pytest.mark.io, pytest.mark.parametrize("language", PAGES)]


def write_inventory(language: str, parent: Path) -> Plugin:
    """The plugin of plugins.md with the flows of this page."""
    folder = write_plugin(PLUGINS[language], parent).folder
    (folder / "flows").mkdir()
    for text in find_blocks(PAGES[language], "yaml"):
        if name := re.match(r"# (flows/\w+\.yaml)\n", text):
            (folder / name[1]).write_text(text, "utf-8")
    return read_plugin(folder, strict=True)


def answer_inventory(request: RecordedRequest) -> Any:
    """What the inventory would say."""
    if request.method == "POST":
        return make_json_response({"ticket": {"number": "T-7"}}, 201)
    state = dict(request.query).get("state")
    return make_json_response([host for host in HOSTS if state in (None, host["state"])])


@asynccontextmanager
async def open_scene(
    plugin: Plugin, name: str, api: RecordingApi, *lines: Any, bases: dict[str, Database] | None = None
) -> AsyncIterator[FlowConversation]:
    api.replies = [answer_inventory] * 20
    flows = {flow.name: flow for flow in plugin.workflows}
    policy = PluginPolicy(server=f"{api.url}/v1", allow=("127.0.0.1",))
    scripts, problems = make_script_tools(plugin, PythonPolicy())
    assert problems == []
    async with open_tools(plugin, policy) as operations:
        services = FlowServices(
            model=FakeModel(*lines),
            operations={one.id: tool for one, tool in zip(plugin.operations, operations, strict=True)},
            scripts={one.name: tool for one, tool in zip(plugin.scripts, scripts, strict=True)},
            flows=flows,
            databases=bases or {},
        )
        try:
            yield FlowConversation(flows[name], services)
        finally:
            for tool in scripts:
                assert tool.close is not None
                await tool.close()
            for database in (bases or {}).values():
                await database.close()


@pytest.fixture
async def api(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RecordingApi]:
    monkeypatch.setenv("INVENTORY_TOKEN", "Bearer a-long-token")
    async with serve_recording_api() as made:
        yield made


def get_model(scene: FlowConversation) -> FakeModel:
    assert isinstance(scene.services.model, FakeModel)
    return scene.services.model


def get_last_prompt(scene: FlowConversation) -> str:
    return "\n".join(message.text for message in get_model(scene).prompts[-1].messages)


@pytest.mark.demand("flows.docs_flows_md_english")
def test_all_of_them_pass_the_strict_check(language: str, tmp_path: Path) -> None:
    plugin = write_inventory(language, tmp_path)
    assert plugin.problems == ()
    assert sorted(flow.name for flow in plugin.workflows) == FLOW_NAMES


@pytest.mark.demand("flows.rightseat_flows_draw_docs")
def test_the_picture_is_the_flows(language: str, tmp_path: Path) -> None:
    plugin = write_inventory(language, tmp_path)
    [flow] = [flow for flow in plugin.workflows if flow.name == "offline_report"]
    estimate = describe_estimate(FlowEstimator([plugin]).count_calls(flow), ModelTimes(), flow)
    assert (ROOT / "docs" / "flows.svg").read_text("utf-8") == render_flow_svg(flow, estimate)
    assert "](flows.svg)" in PAGES[language].read_text("utf-8")


def test_every_operator_and_kind_is_told(language: str) -> None:
    text = PAGES[language].read_text("utf-8")
    from rightseat.plugins.flows.steps import KINDS

    assert [name for name in (*OPERATORS, *KINDS) if f"`{name}`" not in text] == []


def test_the_condition_is_one(language: str) -> None:
    [given] = [text for text in find_blocks(PAGES[language], "yaml") if not text.startswith(("# flows/", "# logs/"))]
    condition = parse_condition(yaml.safe_load(given))
    names: dict[str, Any] = {"start.length": 30, "start": [1], "question": "A Ticket? 工单"}
    assert evaluate_condition(condition, names.__getitem__)


@pytest.mark.demand("flows.docs_flows_md_english", "flows.dialect_templates")
async def test_host_sheet(language: str, tmp_path: Path, api: RecordingApi) -> None:
    async with open_scene(write_inventory(language, tmp_path), "host_sheet", api) as play:
        assert await play.send("Which?") == []
    last = {"en": "Up for 90000 seconds.", "zh": "已运行90000秒。"}[language]
    assert play.text == f"# web-1\n{last}"
    assert get_model(play).prompts == []


@pytest.mark.demand("flows.estimate_in_check_and_draw")
def test_the_estimate_of_the_page(language: str, tmp_path: Path) -> None:
    plugin = write_inventory(language, tmp_path)
    [flow] = [flow for flow in plugin.workflows if flow.name == "triage"]
    line = describe_estimate(FlowEstimator([plugin]).count_calls(flow), ModelTimes(), flow)
    assert f"    inventory/triage: {line}\n" in PAGES[language].read_text("utf-8")


@pytest.mark.demand("flows.docs_flows_md_english")
async def test_offline_report(language: str, tmp_path: Path, api: RecordingApi) -> None:
    async with open_scene(write_inventory(language, tmp_path), "offline_report", api, reply_text("db-1")) as play:
        assert await play.send("Which?") == []
    assert (play.text, api.last_request.raw_target) == ("db-1", "/v1/hosts?state=offline")
    assert '"db-1"' in get_last_prompt(play)
    assert len(get_model(play).prompts) == 1


async def test_offline_report_of_nothing(language: str, tmp_path: Path, api: RecordingApi) -> None:
    async with open_scene(
        write_inventory(language, tmp_path), "offline_report", api, reply_text("All are up.")
    ) as play:
        api.replies = [make_json_response([])]
        await play.send("Which?")
    assert play.text == "All are up."
    assert '{"start":[]}' in get_last_prompt(play)


@pytest.mark.demand("flows.next_flow_three_suggestions", "flows.docs_flows_md_english")
async def test_open_ticket(language: str, tmp_path: Path, api: RecordingApi) -> None:
    lines = (
        reply_text('{"id": "h-003", "summary": null}'),
        reply_text("Your ticket is T-7."),
        reply_text('{"question_1": "What is offline?"}'),
    )
    async with open_scene(write_inventory(language, tmp_path), "open_ticket", api, *lines) as play:
        (form,) = await play.send("A ticket for h-003")
        assert (form.kind, list(form.schema["properties"])) == ("form", ["summary"])
        (agree,) = await play.send("", InterruptAnswer(form.id, payload={"summary": "No light."}))
        assert (agree.kind, api.requests) == ("confirm", [])
        assert await play.send("", InterruptAnswer(agree.id, payload={"approved": True})) == []
    assert (api.last_request.method, api.last_request.raw_target) == ("POST", "/v1/hosts/h-003/tickets")
    assert json.loads(api.last_request.body) == {"summary": "No light.", "hours": 8}
    assert play.text == "Your ticket is T-7."
    [table] = [event.content for event in play.events if isinstance(event, Artifact)]
    assert table == [{"number": "T-7"}]
    [suggested] = [event for event in play.events if isinstance(event, Suggestions)]
    assert suggested.prompts[0] == "What is offline?"
    assert len(suggested.prompts) == 2


@pytest.mark.demand("flows.docs_flows_md_english")
async def test_open_ticket_that_fails(language: str, tmp_path: Path, api: RecordingApi) -> None:
    lines = (
        reply_text('{"id": "h-003", "summary": "No light."}'),
        reply_text("Nobody is there."),
        reply_text('{"question_1": "?"}'),
    )
    async with open_scene(write_inventory(language, tmp_path), "open_ticket", api, *lines) as play:
        (agree,) = await play.send("A ticket for h-003: no light.")
        api.replies = [make_json_response({"detail": "no technician on duty"}, 409)]
        await play.send("", InterruptAnswer(agree.id, payload={"approved": True}))
    assert play.text == "Nobody is there."
    asked = "\n".join(message.text for message in get_model(play).prompts[1].messages)
    assert "answered 409" in asked
    assert "no technician on duty" in asked


@pytest.mark.demand("flows.deterministic_steps_model_call", "flows.docs_flows_md_english")
@pytest.mark.parametrize(("count", "calls"), [(51, 1), (3, 2)])
async def test_triage(language: str, tmp_path: Path, api: RecordingApi, count: int, calls: int) -> None:
    lines = [reply_text('{"step": "names"}'), reply_text("These.")][-calls:]
    async with open_scene(write_inventory(language, tmp_path), "triage", api, *lines) as play:
        api.replies = [make_json_response([{"name": f"host-{number}"} for number in range(count)])]
        await play.send("List them.")
    [table] = [event.content for event in play.events if isinstance(event, Artifact)]
    assert (len(table), table[0]) == (count, {"host": "host-0"})
    assert (play.text, len(get_model(play).prompts)) == ("These.", calls)


@pytest.mark.demand("flows.docs_flows_md_english")
async def test_uptimes(language: str, tmp_path: Path, api: RecordingApi) -> None:
    async with open_scene(write_inventory(language, tmp_path), "uptimes", api, reply_text("|a|")) as play:
        assert await play.send("How long?") == []
    assert play.failure is None
    assert play.text == "|a|"
    assert '["web-1","web-2"]' in get_last_prompt(play)
    assert re.search(r'\["1\D+1\D+","2\D+0\D+"\]', get_last_prompt(play))


@pytest.mark.demand("flows.docs_flows_md_english")
async def test_compare(language: str, tmp_path: Path, api: RecordingApi) -> None:
    async with open_scene(write_inventory(language, tmp_path), "compare", api, reply_text("One is down.")) as play:
        await play.send("Compare them.")
    assert play.text == "One is down."
    assert sorted(got.raw_target for got in api.requests) == ["/v1/hosts?state=offline", "/v1/hosts?state=online"]
    online, offline = get_last_prompt(play).index("web-1"), get_last_prompt(play).index("db-1")
    assert online < offline


@pytest.mark.demand("flows.docs_flows_md_english")
async def test_repair(language: str, tmp_path: Path, api: RecordingApi) -> None:
    lines = (reply_text('{"id": "h-003", "summary": "No light."}'), reply_text("T-7 is yours."))
    async with open_scene(write_inventory(language, tmp_path), "repair", api, *lines) as play:
        (which,) = await play.send("It has no light.")
        assert which.kind == "ask"
        assert '["db-1"]' in which.message
        (agree,) = await play.send("", InterruptAnswer(which.id, payload="h-003"))
        assert isinstance(agree, Interrupt)
        assert await play.send("", InterruptAnswer(agree.id, payload={"approved": True})) == []
    assert play.text == "T-7 is yours."
    assert json.loads(api.last_request.body)["summary"] == "No light."
    first = "\n".join(message.text for message in get_model(play).prompts[0].messages)
    assert "h-003" in first
    assert "It has no light." in first


@pytest.mark.demand("flows.call_type_embedded_model", "flows.docs_flows_md_english")
async def test_ticket_chart(language: str, tmp_path: Path, api: RecordingApi) -> None:
    with closing(sqlite3.connect(tmp_path / "tickets.db")) as made, made:
        made.execute("CREATE TABLE tickets (host TEXT, month TEXT, hours INTEGER)")
        made.executemany("INSERT INTO tickets VALUES (?, ?, ?)", [("web-1", "May", 3), ("db-1", "May", 5)])
    [text] = find_blocks(PAGES[language], "toml")
    (tmp_path / "rightseat.toml").write_text(text, "utf-8")
    found = open_databases(load_config(tmp_path / "rightseat.toml", env={}))
    lines = (reply_text('{"sql": "SELECT host, SUM(hours) AS hours FROM tickets GROUP BY host"}'), reply_text("db-1."))
    async with open_scene(write_inventory(language, tmp_path), "ticket_chart", api, *lines, bases=found) as play:
        assert await play.send("Which host takes the most hours?") == []
    assert play.failure is None
    table, chart = [event for event in play.events if isinstance(event, Artifact)]
    assert table.content == [{"host": "db-1", "hours": 5}, {"host": "web-1", "hours": 3}]
    assert (chart.kind, chart.content["series"][0]["type"]) == ("chart", "bar")
    assert play.text == "db-1."


@pytest.mark.demand("flows.docs_flows_md_english")
def test_both_languages_have_the_same_parts(language: str) -> None:
    marks = [re.findall(r"^(#+|-|\||```\w*|!)", page.read_text("utf-8"), re.MULTILINE) for page in PAGES.values()]
    assert marks[0] == marks[1]


@pytest.mark.demand("flows.docs_flows_md_english")
def test_both_languages_have_the_same_flows(language: str, tmp_path: Path) -> None:
    """But for what is said in them."""

    def bare(flow: Flow) -> Any:
        return [(step.name, step.kind, step.next, sorted(step.params)) for step in flow.steps.values()]

    made = [write_inventory(name, tmp_path / name).workflows for name in PAGES]
    assert [bare(flow) for flow in made[0]] == [bare(flow) for flow in made[1]]

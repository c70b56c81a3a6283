"""Agents as their authors describe them, from rightseat.toml to agents.json, the routes and the tools."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from rightseat import AgentCard, Assistant, CardEndpoints, CustomFeature, Runtime, ToolContext, tool
from rightseat.config.load import load_config
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.errors import ConfigError
from rightseat.http.auth import Authenticator
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.openbb.client import OpenBBChat

pytestmark = pytest.mark.io
CONFIG = """
[models.m]
spec = "empty"

[assistants.analyst]
model = "m"
title = "Analyst"
id = "vanilla_agent"
endpoints = { query = "/v1/query", feedback = "/analyst/feedback" }

[assistants.analyst.features]
widget-dashboard-search = false
deep-research = { label = "Deep Research", default = false, description = "Look further" }

[assistants.analyst.features.model]
label = "Model"
type = "select"
default = "a"
options = [{ label = "A", value = "a" }, { label = "B", value = "b" }]

[assistants.quiet]
model = "m"
features = { feedback = false }
endpoints = { query = "https://elsewhere.example/quiet" }
"""


@pytest.mark.demand("openbb.agents_described_by_authors")
@pytest.mark.parametrize(
    ("public_url", "own", "endpoints"),
    [
        ("", CardEndpoints(query="/q"), {"query": "/q", "feedback": "/v1/feedback"}),
        ("https://a.example", CardEndpoints(query="/q", feedback="/f"), {"query": "/q", "feedback": "/f"}),
        (
            "https://a.example/x",
            CardEndpoints(query="/q"),
            {"query": "https://a.example/x/q", "feedback": "https://a.example/x/v1/feedback"},
        ),
        (
            "https://a.example",
            CardEndpoints(feedback="https://b.example/f"),
            {"query": "https://a.example/v1/query", "feedback": "https://b.example/f"},
        ),
    ],
)
async def test_endpoints_are_relative_where_the_author_and_the_address_let_them(
    public_url: str, own: CardEndpoints, endpoints: dict[str, str]
) -> None:
    runtime = Runtime(assistants=[Assistant("default", FakeModel(), card=AgentCard(endpoints=own))])
    async with serve_runtime(runtime, ServerSettings(port=0, public_url=public_url)) as server:
        host = {"Host": "a.example"} if public_url else None
        [entry] = (await get_json(server.url, "/agents.json", host)).values()
    assert entry["endpoints"] == endpoints


async def get_json(url: str, path: str, headers: dict[str, str] | None = None) -> Any:
    async with RawHttpClient(url) as client:
        await client.get(path, headers)
        assert (await client.read_head()).status == 200
        return await client.read_json()


@pytest.mark.demand("openbb.agents_described_by_authors")
async def test_agents_json_is_as_the_authors_wrote(tmp_path: Path) -> None:
    (tmp_path / "rightseat.toml").write_text(CONFIG)
    async with serve_runtime(build_runtime(load_config(tmp_path / "rightseat.toml"))) as server:
        agents = await get_json(server.url, "/agents.json", {"Host": "127.0.0.1:7777"})
        copilots = await get_json(server.url, "/copilots.json", {"Host": "127.0.0.1:7777"})
    analyst, quiet = agents["vanilla_agent"], agents["rightseat-quiet"]
    assert analyst["name"] == "Analyst", "the default is the analyst by a second name, and not listed again"
    assert analyst["endpoints"] == {"query": "/v1/query", "feedback": "/analyst/feedback"}
    assert analyst["features"]["streaming"] is True
    assert analyst["features"]["widget-dashboard-search"] is False
    assert analyst["features"]["deep-research"] == {
        "label": "Deep Research",
        "default": False,
        "description": "Look further",
    }
    assert analyst["features"]["model"]["options"][1] == {"label": "B", "value": "b"}
    assert analyst["features"]["model"]["type"] == "select"
    assert quiet["endpoints"] == {"query": "https://elsewhere.example/quiet"}
    assert copilots["vanilla_agent"]["endpoints"] == {"query": "http://127.0.0.1:7777/v1/query"}
    assert copilots["rightseat_quiet"]["endpoints"] == {"query": "https://elsewhere.example/quiet"}


@pytest.mark.demand("openbb.agents_described_by_authors")
async def test_every_agent_has_a_picture_that_needs_no_key() -> None:
    settings = AuthSettings(keys={"ann": Secret("k1")})
    runtime = Runtime(assistants=[Assistant("default", FakeModel())])
    async with serve_runtime(runtime, authenticate=Authenticator(settings)) as server:
        host = {"Host": server.url.removeprefix("http://"), "X-API-KEY": "k1"}
        [entry] = (await get_json(server.url, "/agents.json", host)).values()
        assert entry["image"].startswith(server.url)
        async with RawHttpClient(server.url) as client:
            await client.get(entry["image"].removeprefix(server.url))
            head = await client.read_head()
            assert (head.status, head.headers["content-type"]) == (200, "image/svg+xml")
            assert b"<svg" in await client.read_body()
    async with serve_runtime(runtime, ServerSettings(port=0, public_url="https://a.example/x")) as server:
        [entry] = (await get_json(server.url, "/agents.json", {"Host": "a.example"})).values()
    assert entry["image"] == "https://a.example/x/playground/icon.svg"


def make_assistant(name: str, path: str, feedback: str = "") -> Assistant:
    card = AgentCard(endpoints=CardEndpoints(query=path, feedback=feedback))
    return Assistant(name, FakeModel(reply_text(f"I am {name}.")), card=card)


@pytest.mark.demand("openbb.agents_described_by_authors")
async def test_an_agent_answers_at_its_own_path() -> None:
    assistants = [
        Assistant("default", FakeModel(reply_text("I am default."), reply_text("I am default."))),
        make_assistant("one", "/v1/query", "/one/votes"),
        make_assistant("two", "/two/v1/query"),
    ]
    async with serve_runtime(Runtime(assistants=assistants)) as server:
        paths = ["/v1/query", "/two/v1/query", "/v1/query/default"]
        texts = [(await OpenBBChat(server.url, path=path).send_text("who?")).text for path in paths]
        entries = await get_json(server.url, "/agents.json")
        addresses = [urlsplit(entry["endpoints"]["query"]).path for entry in entries.values()]
        assert addresses == ["/v1/query/default", "/v1/query", "/two/v1/query"]
        paths_of_api = (await get_json(server.url, "/openapi.json"))["paths"]
        assert paths_of_api["/two/v1/query"]["post"]["summary"] == "Ask the assistant two"
        assert "post" in paths_of_api["/v1/query"]
        async with RawHttpClient(server.url) as client:
            await client.post_json("/one/votes", {"vote": "thumbs_up"})
            assert (await client.read_head()).status == 200
    assert texts == ["I am one.", "I am two.", "I am default."]


@pytest.mark.demand("openbb.agents_described_by_authors")
@pytest.mark.parametrize(
    ("assistants", "problem"),
    [
        ([make_assistant("a", "/v1/chat/completions")], "used by another door"),
        ([make_assistant("a", "/agui/default")], "used by another door"),
        ([make_assistant("a", "/playground/try")], "used by another door"),
        ([make_assistant("a", "/v1/feedback")], "for questions and for votes"),
        ([make_assistant("a", "/a"), make_assistant("b", "/a")], "Two assistants have the path '/a'"),
        ([make_assistant("a", "/v1/query/b"), make_assistant("b", "")], "Two assistants have the path '/v1/query/b'"),
        ([make_assistant("a", "/a", "/a")], "for questions and for votes"),
        (
            [Assistant(name, FakeModel(), card=AgentCard(id="x")) for name in ("default", "b")],
            "Two assistants have one id: x, x.",
        ),
    ],
)
async def test_a_path_or_an_id_that_is_taken_is_refused_at_start(assistants: list[Assistant], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        async with serve_runtime(Runtime(assistants=assistants)):
            pass


@pytest.mark.demand("openbb.agents_described_by_authors")
@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('id = "a b"', "rightseat.toml:3: assistants.a.id: use letters"),
        ("features = { file_upload = true }", "assistants.a.features.file_upload: Workspace has no feature of this"),
        ("features = { x = 7 }", "assistants.a.features.x"),
        ('features = { x = { label = "X", typ = "text" } }', "assistants.a.features.x.typ: unknown key. Did you mean"),
        ('features = { x = { type = "text" } }', "assistants.a.features.x: label is missing."),
        ('features = { x = { label = "X", type = "select" } }', "a select needs options"),
        ('endpoints = { query = "q" }', "assistants.a.endpoints.query: write a path"),
        ('endpoints = { qery = "/q" }', "assistants.a.endpoints.qery: unknown key. Did you mean query?"),
        ('id = "x"\n[assistants.b]\nid = "x"', "assistants.b.id: 'x' is that of [assistants.a] already"),
        (
            'endpoints.query = "/q"\n[assistants.b]\nendpoints.query = "/q"',
            "assistants.b.endpoints.query: '/q' is that of [assistants.a] already",
        ),
    ],
)
def test_a_wrong_table_is_refused_with_its_line(tmp_path: Path, table: str, problem: str) -> None:
    path = tmp_path / "rightseat.toml"
    path.write_text(f"# agents\n[assistants.a]\n{table}\n")
    with pytest.raises(ConfigError, match="assistants") as caught:
        load_config(path)
    assert problem in caught.value.message


@tool
def report(ctx: ToolContext) -> str:
    """Report the options."""
    return json.dumps(ctx.options, sort_keys=True)


@pytest.mark.demand("openbb.options_reach_tools")
@pytest.mark.parametrize(
    ("posted", "options", "words"),
    [
        ({"deep": True, "plugins": "auto"}, {"deep": True, "plugins": "auto"}, "Deep Research: on"),
        (["deep"], {"deep": True}, "Deep Research: on"),
        (None, {"deep": False}, "Deep Research: off"),
    ],
)
async def test_options_reach_the_tool_and_the_prompt(posted: Any, options: dict[str, Any], words: str) -> None:
    model = FakeModel(reply_calls(("report", "{}")), reply_text("ok"))
    card = AgentCard(features={"deep": CustomFeature(label="Deep Research")})
    async with serve_runtime(Runtime(assistants=[Assistant("default", model, tools=(report,), card=card)])) as server:
        await OpenBBChat(server.url, workspace_options=posted).send_text("hi")
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert json.loads(result) == options
    assert words in " ".join(message.text for message in model.prompts[0].messages if message.role == "system")

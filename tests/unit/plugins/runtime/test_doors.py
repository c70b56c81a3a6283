"""What each door says to plugins: pins, files that were attached, and what could be asked."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.settings import Config, ModelSettings, PluginSettings
from rightseat.engine.loop import Assistant
from rightseat.plugins.catalog import LoadedPlugin, PluginCatalog
from rightseat.plugins.http.files import list_attachments
from rightseat.plugins.selection import ToolSelection
from rightseat.types.events import Event
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.wiring import plugins
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.runtime import RuntimeParts
from tests.kit.client import Client
from tests.kit.client import request as raw
from tests.kit.house import House, Lines, calls, house, says
from tests.unit.doors.copilotkit import client as graphql
from tests.unit.plugins.runtime.written import answering, written
from tests.unit.plugins.shelves import plugin, three

pytestmark = pytest.mark.io

SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
DATA = base64.b64encode(b"name,size\nweb-01,3\n").decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(32)).decode()
ASK = {"role": "user", "content": "weather 主机 book"}
SAID = {"role": "human", "content": "x"}
AGUI: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}


async def posted(server: House, target: str, body: object, **headers: str) -> bytes:
    kind = {"Content-Type": "application/json", **{name.replace("_", "-"): v for name, v in headers.items()}}
    async with Client(server.url) as client:
        await client.send(raw("POST", target, json.dumps(body).encode(), kind))
        head = await client.head()
        found = await client.body()
        assert head.status == 200, found
        return found


def agui(content: Any, **properties: Any) -> dict[str, Any]:
    message = {"id": "u", "role": "user", "content": content}
    return {**AGUI, "messages": [message], "forwardedProps": properties}


def gql(*messages: dict[str, Any], **properties: Any) -> dict[str, Any]:
    body = graphql.body(graphql.data(*messages))
    body["variables"]["properties"] = properties
    return body


PINS: dict[str, tuple[str, Any, dict[str, str]]] = {
    "openai, field": ("/v1/chat/completions", {"messages": [ASK], "plugins": ["weather"]}, {}),
    "openai, header": ("/v1/chat/completions", {"messages": [ASK]}, {"X_Plugins": "weather"}),
    "agui": ("/agui/default", agui("weather", plugins=["weather"]), {}),
    "agui, header": ("/agui/default", agui("weather"), {"X_Plugins": "auto, weather"}),
    "copilotkit": ("/copilotkit/agent/default/run", agui("weather", plugins="weather"), {}),
    "graphql": ("/copilotkit", gql(graphql.text("weather"), plugins=["weather"]), {}),
    "graphql, header": ("/copilotkit", gql(graphql.text("weather")), {"X_Plugins": "weather"}),
    "openbb, header": ("/v1/query", {"messages": [{"role": "human", "content": "x"}]}, {"X_Plugins": "weather"}),
    "openbb, option": (
        "/v1/query",
        {"messages": [{"role": "human", "content": "x"}], "workspace_options": {"plugins": "weather", "other": True}},
        {},
    ),
}


@pytest.mark.demand("plugins.user_pin_plugins_per")
@pytest.mark.parametrize("door", PINS)
async def test_a_request_may_be_limited_to_plugins(door: str) -> None:
    target, body, headers = PINS[door]
    model = Lines(says("Fine."))
    shelf = three()
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    async with house(runtime) as server:
        await posted(server, target, body, **headers)
    names = {spec.name for spec in model.asked[0].tools}
    assert {name for name in names if name in shelf.by_name} == {"weather_forecast", "weather_current"}


def taking() -> PluginCatalog:
    """A plugin with a tool that tells which files it is given."""

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        files = list_attachments(ctx.turn.messages)
        yield Result([[file.name, file.media, file.decode(1 << 20).decode("latin-1")] for file in files])

    one = plugin("convert", "Convert", {})
    return PluginCatalog([LoadedPlugin(one.plugin, (Tool("convert_file", "Converts.", {"type": "object"}, call),))])


def parts(*items: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": "convert it"}, *items]


def openai(*items: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": parts(*items)}]}


def openbb(item: dict[str, Any]) -> dict[str, Any]:
    context = [{"uuid": "1", "name": "a.csv", "description": "", "data": {"items": [item]}}]
    return {"messages": [{"role": "human", "content": "convert it"}], "context": context}


FILES: dict[str, tuple[str, Any, str]] = {
    "openai file": (
        "/v1/chat/completions",
        openai({"type": "file", "file": {"filename": "a.csv", "file_data": f"data:text/csv;base64,{DATA}"}}),
        "a.csv",
    ),
    "openai image": (
        "/v1/chat/completions",
        openai({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}),
        "image.png",
    ),
    "agui binary": (
        "/agui/default",
        agui(parts({"type": "binary", "mimeType": "text/csv", "filename": "a.csv", "data": DATA})),
        "a.csv",
    ),
    "agui binary by address": (
        "/agui/default",
        agui(
            parts(
                {"type": "binary", "mimeType": "text/csv", "filename": "a.csv", "url": f"data:text/csv;base64,{DATA}"}
            )
        ),
        "a.csv",
    ),
    "agui document": (
        "/agui/default",
        agui(
            parts(
                {
                    "type": "document",
                    "source": {"type": "data", "value": DATA, "mimeType": "text/csv"},
                    "metadata": {"filename": "a.csv"},
                }
            )
        ),
        "a.csv",
    ),
    "agui image": (
        "/agui/default",
        agui(parts({"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}})),
        "image.png",
    ),
    "agui image with a name": (
        "/agui/default",
        agui(parts({"type": "binary", "mimeType": "image/png", "filename": "cat.png", "data": PNG})),
        "cat.png",
    ),
    "copilotkit": (
        "/copilotkit/agent/default/run",
        agui(parts({"type": "binary", "mimeType": "text/csv", "filename": "a.csv", "data": DATA})),
        "a.csv",
    ),
    "graphql image": (
        "/copilotkit",
        gql(
            {"id": "i", "createdAt": graphql.WHEN, "imageMessage": {"format": "png", "bytes": PNG, "role": "user"}},
            graphql.text("convert it"),
        ),
        "image.png",
    ),
    "openbb pdf": (
        "/v1/query",
        openbb({"content": DATA, "data_format": {"data_type": "pdf", "filename": "a.pdf"}}),
        "a.pdf",
    ),
    "openbb sheet": (
        "/v1/query",
        openbb({"content": DATA, "data_format": {"data_type": "xlsx", "filename": "a.xlsx"}}),
        "a.xlsx",
    ),
}


@pytest.mark.demand("plugins.user_attaches_door_openai", "plugins.files_attached_page_fill")
@pytest.mark.parametrize("door", FILES)
async def test_an_attached_file_reaches_the_tools(door: str) -> None:
    target, body, name = FILES[door]
    model = Lines(calls(("convert_file", "{}")), says("Done."))
    shelf = taking()
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    async with house(runtime) as server:
        await posted(server, target, body)
    (told,) = [message.text for message in model.asked[1].messages if message.role == "tool"]
    ((found, _, content),) = json.loads(told)
    assert found == name
    assert content.encode("latin-1") in (base64.b64decode(DATA), base64.b64decode(PNG))


async def test_openbbs_files_are_named_to_the_model_and_not_sent_twice() -> None:
    target, body, _ = FILES["openbb sheet"]
    model = Lines(says("Done."))
    shelf = taking()
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    async with house(runtime) as server:
        await posted(server, target, body)
    question = model.asked[0].messages[-1]
    assert f"[attached file: a.xlsx ({SHEET})]" in question.text
    assert DATA not in str(question)


def suggesting(model: Lines) -> Runtime:
    shelf = PluginCatalog(
        [
            plugin("a", "Hosts", {"x": "X"}, question="主机有哪些？"),
            plugin("b", "Books", {"y": "Y"}, question="Which books are new?"),
        ]
    )
    return Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )


@pytest.mark.demand("flows.next_flow_three_suggestions", "plugins.predefined_question_fills_empty")
async def test_the_first_answer_suggests_the_other_questions() -> None:
    async with house(suggesting(Lines(says("Two."), says("Two."), says("Three.")))) as server:
        body = {"messages": [{"role": "human", "content": "主机有哪些？"}], "timezone": "UTC"}
        found = (await posted(server, "/v1/query", body)).decode()
        assert 'event: copilotPromptSuggestions\ndata: {"suggestions":["Which books are new?"]}' in found
        events = (await posted(server, "/agui/default", agui("主机有哪些？"))).decode()
        assert "Which books are new?" in events
        later = [{"role": "human", "content": "a"}, {"role": "ai", "content": "b"}, *body["messages"]]
        again = (await posted(server, "/v1/query", body | {"messages": later})).decode()
        assert "copilotPromptSuggestions" not in again


@pytest.mark.demand("plugins.predefined_question_fills_empty")
async def test_copilotkit_is_told_before_anything_is_said() -> None:
    suggest = {"name": "copilotkitSuggest", "description": "", "parameters": {"type": "object"}}
    first = agui("Suggest what the user could say next") | {"tools": [suggest]}
    model = Lines(says("by the model"))
    async with house(suggesting(model)) as server:
        events = (await posted(server, "/copilotkit/agent/default/suggest", first)).decode()
        assert "Which books are new?" in events
        assert model.asked == []
        later = {**first, "messages": [{"id": "0", "role": "user", "content": "hi"}, *first["messages"]]}
        assert "by the model" in (await posted(server, "/copilotkit/agent/default/suggest", later)).decode()


@pytest.mark.demand("openbb.agents_json_features_never")
@pytest.mark.long
async def test_a_plugin_that_appears_is_an_agent_of_openbbs(tmp_path: Path) -> None:
    table = PluginSettings(path=str(written(tmp_path / "hosts")), appears=True)
    other = PluginSettings(path=str(written(tmp_path / "books")))
    models = {"m": ModelSettings(spec="scripted:demo")}
    runtime = build_runtime(Config(models=models, plugins=(table, other)), env={})
    async with house(runtime) as server:
        for file, id in (("agents", "rightseat-hosts"), ("copilots", "rightseat_hosts")):
            async with Client(server.url) as client:
                await client.send(raw("GET", f"/{file}.json"))
                await client.head()
                cards = await client.json()
            assert (cards[id]["name"], cards[id]["description"]) == ("Hosts", "About hosts.")
            assert not any("books" in key for key in cards)
            target = cards[id]["endpoints"]["query"].removeprefix(server.url)
            assert await posted(server, target, {"messages": [SAID]})


@pytest.mark.demand("plugins.user_pin_plugins_per")
async def test_workspace_lets_people_choose_a_plugin() -> None:
    async with house(suggesting(Lines())) as server, Client(server.url) as client:
        await client.send(raw("GET", "/agents.json"))
        await client.head()
        cards = await client.json()
    (card,) = cards.values()
    choice = card["features"]["plugins"]
    assert (choice["type"], choice["default"]) == ("select", "auto")
    assert {"label": "Hosts", "value": "a"} in choice["options"]


CALLERS: dict[str, tuple[str, Any]] = {
    "openai": ("/v1/chat/completions", {"messages": [ASK]}),
    "agui": ("/agui/default", agui("hosts")),
    "copilotkit": ("/copilotkit/agent/default/run", agui("hosts")),
    "graphql": ("/copilotkit", gql(graphql.text("hosts"))),
    "openbb": ("/v1/query", {"messages": [SAID]}),
}


@pytest.mark.demand("plugins.per_user_credentials_come")
@pytest.mark.parametrize("door", CALLERS)
async def test_each_users_own_credential_goes_to_the_api_and_nowhere_else(door: str, tmp_path: Path) -> None:
    target, body = CALLERS[door]
    async with answering() as api:
        auth = {"type": "header", "args": {"Authorization": ""}}
        folder = written(tmp_path / "hosts", api.url, auth=auth)
        headers = {"Authorization": "X-Desk-Token"}
        settings = PluginSettings(path=str(folder), allow=("127.0.0.1",), user_headers=headers)
        shelf = plugins.load_catalog(Config(plugins=(settings,)))
        model = Lines(calls(("hosts_get_hosts", '{"q": "web"}')), says("Done."))
        runtime = Runtime(
            assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
        )
        async with house(runtime) as server:
            answer = await posted(server, target, body, X_Desk_Token="canary-token-of-ada")
    assert api.asked == ["GET /hosts?q=web"]
    assert api.headers[0]["authorization"] == "canary-token-of-ada"
    assert b"canary-token" not in answer
    assert "canary-token" not in str(model.asked)

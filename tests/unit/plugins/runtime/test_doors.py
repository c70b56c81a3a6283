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
from tests.kit.app_server import AppServer, FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.client import build_raw_request as raw
from tests.unit.doors.copilotkit import client as graphql
from tests.unit.plugins.catalogs import make_plugin, make_small_catalog
from tests.unit.plugins.runtime.api_plugins import serve_json_api, write_api_plugin

pytestmark = pytest.mark.io

SHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
DATA = base64.b64encode(b"name,size\nweb-01,3\n").decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(32)).decode()
OPENAI_MESSAGE = {"role": "user", "content": "weather 主机 book"}
OPENBB_MESSAGE = {"role": "human", "content": "x"}
AGUI_FIELDS: dict[str, Any] = {"threadId": "t", "runId": "r", "state": {}, "tools": [], "context": []}


async def post_body(server: AppServer, target: str, body: object, **headers: str) -> bytes:
    kind = {"Content-Type": "application/json", **{name.replace("_", "-"): v for name, v in headers.items()}}
    async with RawHttpClient(server.url) as client:
        await client.send(raw("POST", target, json.dumps(body).encode(), kind))
        head = await client.read_head()
        found = await client.read_body()
        assert head.status == 200, found
        return found


def make_agui_body(content: Any, **properties: Any) -> dict[str, Any]:
    message = {"id": "u", "role": "user", "content": content}
    return {**AGUI_FIELDS, "messages": [message], "forwardedProps": properties}


def make_graphql_body(*messages: dict[str, Any], **properties: Any) -> dict[str, Any]:
    body = graphql.make_request_body(graphql.make_input(*messages))
    body["variables"]["properties"] = properties
    return body


PINS: dict[str, tuple[str, Any, dict[str, str]]] = {
    "openai, field": ("/v1/chat/completions", {"messages": [OPENAI_MESSAGE], "plugins": ["weather"]}, {}),
    "openai, header": ("/v1/chat/completions", {"messages": [OPENAI_MESSAGE]}, {"X_Plugins": "weather"}),
    "agui": ("/agui/default", make_agui_body("weather", plugins=["weather"]), {}),
    "agui, header": ("/agui/default", make_agui_body("weather"), {"X_Plugins": "auto, weather"}),
    "copilotkit": ("/copilotkit/agent/default/run", make_agui_body("weather", plugins="weather"), {}),
    "graphql": ("/copilotkit", make_graphql_body(graphql.make_text_message("weather"), plugins=["weather"]), {}),
    "graphql, header": (
        "/copilotkit",
        make_graphql_body(graphql.make_text_message("weather")),
        {"X_Plugins": "weather"},
    ),
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
    model = FakeModel(reply_text("Fine."))
    shelf = make_small_catalog()
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    async with serve_runtime(runtime) as server:
        await post_body(server, target, body, **headers)
    names = {spec.name for spec in model.prompts[0].tools}
    assert {name for name in names if name in shelf.by_name} == {"weather_forecast", "weather_current"}


def make_file_catalog() -> PluginCatalog:
    """A plugin with a tool that tells which files it is given."""

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        files = list_attachments(ctx.turn.messages)
        yield Result([[file.name, file.media, file.decode(1 << 20).decode("latin-1")] for file in files])

    one = make_plugin("convert", "Convert", {})
    return PluginCatalog([LoadedPlugin(one.plugin, (Tool("convert_file", "Converts.", {"type": "object"}, call),))])


def make_parts(*items: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": "convert it"}, *items]


def make_openai_body(*items: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": make_parts(*items)}]}


def make_openbb_body(item: dict[str, Any]) -> dict[str, Any]:
    context = [{"uuid": "1", "name": "a.csv", "description": "", "data": {"items": [item]}}]
    return {"messages": [{"role": "human", "content": "convert it"}], "context": context}


FILES: dict[str, tuple[str, Any, str]] = {
    "openai file": (
        "/v1/chat/completions",
        make_openai_body({"type": "file", "file": {"filename": "a.csv", "file_data": f"data:text/csv;base64,{DATA}"}}),
        "a.csv",
    ),
    "openai image": (
        "/v1/chat/completions",
        make_openai_body({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}),
        "image.png",
    ),
    "agui binary": (
        "/agui/default",
        make_agui_body(make_parts({"type": "binary", "mimeType": "text/csv", "filename": "a.csv", "data": DATA})),
        "a.csv",
    ),
    "agui binary by address": (
        "/agui/default",
        make_agui_body(
            make_parts(
                {"type": "binary", "mimeType": "text/csv", "filename": "a.csv", "url": f"data:text/csv;base64,{DATA}"}
            )
        ),
        "a.csv",
    ),
    "agui document": (
        "/agui/default",
        make_agui_body(
            make_parts(
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
        make_agui_body(
            make_parts({"type": "image", "source": {"type": "data", "value": PNG, "mimeType": "image/png"}})
        ),
        "image.png",
    ),
    "agui image with a name": (
        "/agui/default",
        make_agui_body(make_parts({"type": "binary", "mimeType": "image/png", "filename": "cat.png", "data": PNG})),
        "cat.png",
    ),
    "copilotkit": (
        "/copilotkit/agent/default/run",
        make_agui_body(make_parts({"type": "binary", "mimeType": "text/csv", "filename": "a.csv", "data": DATA})),
        "a.csv",
    ),
    "graphql image": (
        "/copilotkit",
        make_graphql_body(
            {
                "id": "i",
                "createdAt": graphql.CREATED_AT,
                "imageMessage": {"format": "png", "bytes": PNG, "role": "user"},
            },
            graphql.make_text_message("convert it"),
        ),
        "image.png",
    ),
    "openbb pdf": (
        "/v1/query",
        make_openbb_body({"content": DATA, "data_format": {"data_type": "pdf", "filename": "a.pdf"}}),
        "a.pdf",
    ),
    "openbb sheet": (
        "/v1/query",
        make_openbb_body({"content": DATA, "data_format": {"data_type": "xlsx", "filename": "a.xlsx"}}),
        "a.xlsx",
    ),
}


@pytest.mark.demand("plugins.user_attaches_door_openai", "plugins.files_attached_page_fill")
@pytest.mark.parametrize("door", FILES)
async def test_an_attached_file_reaches_the_tools(door: str) -> None:
    target, body, name = FILES[door]
    model = FakeModel(reply_calls(("convert_file", "{}")), reply_text("Done."))
    shelf = make_file_catalog()
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    async with serve_runtime(runtime) as server:
        await post_body(server, target, body)
    (told,) = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    ((found, _, content),) = json.loads(told)
    assert found == name
    assert content.encode("latin-1") in (base64.b64decode(DATA), base64.b64decode(PNG))


async def test_openbbs_files_are_named_to_the_model_and_not_sent_twice() -> None:
    target, body, _ = FILES["openbb sheet"]
    model = FakeModel(reply_text("Done."))
    shelf = make_file_catalog()
    runtime = Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )
    async with serve_runtime(runtime) as server:
        await post_body(server, target, body)
    question = model.prompts[0].messages[-1]
    assert f"[attached file: a.xlsx ({SHEET})]" in question.text
    assert DATA not in str(question)


def make_suggesting_runtime(model: FakeModel) -> Runtime:
    shelf = PluginCatalog(
        [
            make_plugin("a", "Hosts", {"x": "X"}, question="主机有哪些？"),
            make_plugin("b", "Books", {"y": "Y"}, question="Which books are new?"),
        ]
    )
    return Runtime(
        assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
    )


@pytest.mark.demand("flows.next_flow_three_suggestions", "plugins.predefined_question_fills_empty")
async def test_the_first_answer_suggests_the_other_questions() -> None:
    async with serve_runtime(
        make_suggesting_runtime(FakeModel(reply_text("Two."), reply_text("Two."), reply_text("Three.")))
    ) as server:
        body = {"messages": [{"role": "human", "content": "主机有哪些？"}], "timezone": "UTC"}
        found = (await post_body(server, "/v1/query", body)).decode()
        assert 'event: copilotPromptSuggestions\ndata: {"suggestions":["Which books are new?"]}' in found
        events = (await post_body(server, "/agui/default", make_agui_body("主机有哪些？"))).decode()
        assert "Which books are new?" in events
        later = [{"role": "human", "content": "a"}, {"role": "ai", "content": "b"}, *body["messages"]]
        again = (await post_body(server, "/v1/query", body | {"messages": later})).decode()
        assert "copilotPromptSuggestions" not in again


@pytest.mark.demand("plugins.predefined_question_fills_empty")
async def test_copilotkit_is_told_before_anything_is_said() -> None:
    suggest = {"name": "copilotkitSuggest", "description": "", "parameters": {"type": "object"}}
    first = make_agui_body("Suggest what the user could say next") | {"tools": [suggest]}
    model = FakeModel(reply_text("by the model"))
    async with serve_runtime(make_suggesting_runtime(model)) as server:
        events = (await post_body(server, "/copilotkit/agent/default/suggest", first)).decode()
        assert "Which books are new?" in events
        assert model.prompts == []
        later = {**first, "messages": [{"id": "0", "role": "user", "content": "hi"}, *first["messages"]]}
        assert "by the model" in (await post_body(server, "/copilotkit/agent/default/suggest", later)).decode()


@pytest.mark.demand("openbb.agents_json_features_never")
@pytest.mark.long
async def test_a_plugin_that_appears_is_an_agent_of_openbbs(tmp_path: Path) -> None:
    table = PluginSettings(path=str(write_api_plugin(tmp_path / "hosts")), appears=True)
    other = PluginSettings(path=str(write_api_plugin(tmp_path / "books")))
    models = {"m": ModelSettings(spec="scripted:demo")}
    runtime = build_runtime(Config(models=models, plugins=(table, other)), env={})
    async with serve_runtime(runtime) as server:
        for file, id in (("agents", "rightseat-hosts"), ("copilots", "rightseat_hosts")):
            async with RawHttpClient(server.url) as client:
                await client.send(raw("GET", f"/{file}.json"))
                await client.read_head()
                cards = await client.read_json()
            assert (cards[id]["name"], cards[id]["description"]) == ("Hosts", "About hosts.")
            assert not any("books" in key for key in cards)
            target = cards[id]["endpoints"]["query"].removeprefix(server.url)
            assert await post_body(server, target, {"messages": [OPENBB_MESSAGE]})


@pytest.mark.demand("plugins.user_pin_plugins_per")
async def test_workspace_lets_people_choose_a_plugin() -> None:
    async with serve_runtime(make_suggesting_runtime(FakeModel())) as server, RawHttpClient(server.url) as client:
        await client.send(raw("GET", "/agents.json"))
        await client.read_head()
        cards = await client.read_json()
    (card,) = cards.values()
    choice = card["features"]["plugins"]
    assert (choice["type"], choice["default"]) == ("select", "auto")
    assert {"label": "Hosts", "value": "a"} in choice["options"]


CALLERS: dict[str, tuple[str, Any]] = {
    "openai": ("/v1/chat/completions", {"messages": [OPENAI_MESSAGE]}),
    "agui": ("/agui/default", make_agui_body("hosts")),
    "copilotkit": ("/copilotkit/agent/default/run", make_agui_body("hosts")),
    "graphql": ("/copilotkit", make_graphql_body(graphql.make_text_message("hosts"))),
    "openbb": ("/v1/query", {"messages": [OPENBB_MESSAGE]}),
}


@pytest.mark.demand("plugins.per_user_credentials_come")
@pytest.mark.parametrize("door", CALLERS)
async def test_each_users_own_credential_goes_to_the_api_and_nowhere_else(door: str, tmp_path: Path) -> None:
    target, body = CALLERS[door]
    async with serve_json_api() as api:
        auth = {"type": "header", "args": {"Authorization": ""}}
        folder = write_api_plugin(tmp_path / "hosts", api.url, auth=auth)
        headers = {"Authorization": "X-Desk-Token"}
        settings = PluginSettings(path=str(folder), allow=("127.0.0.1",), user_headers=headers)
        shelf = plugins.load_catalog(Config(plugins=(settings,)))
        model = FakeModel(reply_calls(("hosts_get_hosts", '{"q": "web"}')), reply_text("Done."))
        runtime = Runtime(
            assistants=[Assistant("default", model, toolset=ToolSelection(shelf))], parts=RuntimeParts(plugins=shelf)
        )
        async with serve_runtime(runtime) as server:
            answer = await post_body(server, target, body, X_Desk_Token="canary-token-of-ada")
    assert api.requests == ["GET /hosts?q=web"]
    assert api.headers[0]["authorization"] == "canary-token-of-ada"
    assert b"canary-token" not in answer
    assert "canary-token" not in str(model.prompts)

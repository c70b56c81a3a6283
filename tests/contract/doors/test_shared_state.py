"""The state of a page at the doors that have one: the model sees it, changes it, and fills it as it writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.config.load import load_config
from rightseat.engine.loop import Assistant
from rightseat.engine.shared_state import make_shared_state
from rightseat.errors import ConfigError
from rightseat.middleware.guardrails import GuardrailPolicies, GuardrailPolicy, TextRules, WordList
from rightseat.types.chunks import FinishChunk, ModelChunk, ToolCallArgs, ToolCallStart
from rightseat.wiring.from_config import build_runtime
from tests.contract.doors.members import MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import make_input, make_request_body, post_graphql

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.shared_state")]
Json = dict[str, Any]

RECIPE = {"type": "object", "properties": {"title": {"type": "string"}, "minutes": {"type": "integer"}}}
SOUP: Json = {"title": "Soup", "minutes": 20, "kept": True}
PATHS = ["/agui/default", "/copilotkit/agent/default/run"]


@tool
def write_recipe(text: str) -> str:
    """Write a recipe."""
    return "written"


def make_runtime(model: FakeModel, schema: Json, predictions: dict[str, str], **options: Any) -> Runtime:
    shared = make_shared_state(schema, predictions)
    assert shared is not None
    tools = (write_recipe, *shared.make_tools())
    return Runtime(assistants=[Assistant("default", model, tools=tools, shared_state=shared)], **options)


def stream_call(name: str, *pieces: str, finish: str = "calls") -> list[ModelChunk]:
    chunks: list[ModelChunk] = [ToolCallStart(0, name), *(ToolCallArgs(0, piece) for piece in pieces)]
    return [*chunks, FinishChunk(finish)]  # type: ignore[arg-type]


async def run_page(runtime: Runtime, path: str, state: Any) -> list[Json]:
    _, body = MEMBERS["agui"]("").build_request()
    body |= {"messages": [{"id": "u", "role": "user", "content": "go"}], "state": state}
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as http:
        await http.post_json(path, body)
        await http.read_head()
        return [frame.json async for frame in http.iterate_frames() if frame.data]


def list_titles(events: list[Json]) -> list[str]:
    patches = [event["delta"] for event in events if event["type"] == "STATE_DELTA"]
    return [item["value"] for patch in patches for item in patch if item["path"] == "/title"]


@pytest.mark.parametrize("path", PATHS)
async def test_the_model_sees_and_changes_the_state(path: str) -> None:
    pieces = ['{"title": "Hot', " sou", 'p", "minutes": 25}']
    model = FakeModel(stream_call("set_state", *pieces), reply_text("Done."))
    events = await run_page(make_runtime(model, RECIPE, {}), path, SOUP)
    context = [message.text for message in model.prompts[0].messages if message.role == "system"]
    assert json.dumps(SOUP, separators=(",", ":")) in context[-1]
    # It grows on the page as the model writes.
    assert list_titles(events) == ["Hot", "Hot sou", "Hot soup"]
    assert [event for event in events if event["type"] == "STATE_SNAPSHOT"] == []
    assert {"op": "add", "path": "/minutes", "value": 25} in [
        item for event in events if event["type"] == "STATE_DELTA" for item in event["delta"]
    ]
    assert events[-1]["type"] == "RUN_FINISHED"
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert "error" not in result


@pytest.mark.parametrize("path", PATHS)
async def test_a_change_that_does_not_fit_is_taken_back(path: str) -> None:
    model = FakeModel(stream_call("set_state", '{"title": "Hot', '", "minutes": "long"}'), reply_text("Sorry."))
    events = await run_page(make_runtime(model, RECIPE, {}), path, SOUP)
    assert list_titles(events) == ["Hot"]
    [snapshot] = [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"]
    assert snapshot == SOUP


@pytest.mark.parametrize("path", PATHS)
async def test_a_change_that_is_cut_is_taken_back(path: str) -> None:
    model = FakeModel(stream_call("set_state", '{"title": "Hot', " sou", finish="length"))
    events = await run_page(make_runtime(model, RECIPE, {}), path, {})
    assert [event["snapshot"] for event in events if event["type"] == "STATE_SNAPSHOT"] == [{}]


@pytest.mark.parametrize("path", PATHS)
async def test_an_argument_predicts_the_state(path: str) -> None:
    model = FakeModel(stream_call("write_recipe", '{"text": "Boil', " water.", '"}'), reply_text("Done."))
    events = await run_page(make_runtime(model, {}, {"title": "write_recipe.text"}), path, {})
    assert list_titles(events) == ["Boil", "Boil water."]
    # The state itself is not the model's business here.
    assert [spec.name for spec in model.prompts[0].tools if spec.name == "set_state"] == []


async def test_an_older_page_has_the_state_of_its_agent() -> None:
    model = FakeModel(reply_calls(("set_state", '{"title": "Hot soup"}')), reply_text("Done."))
    state = {"agentName": "default", "state": json.dumps(SOUP)}
    data = make_input(agentStates=[state], agentSession={"agentName": "default"})
    async with serve_runtime(make_runtime(model, RECIPE, {})) as server:
        answer = await post_graphql(server.url, make_request_body(data))
    states = [m for m in answer.messages if m["__typename"] == "AgentStateMessageOutput"]
    assert json.loads(states[-1]["state"]) == {**SOUP, "title": "Hot soup"}


@pytest.mark.parametrize("member", ["openai-streamed", "openbb-today"])
async def test_a_client_without_a_state_has_no_such_tool(member: str) -> None:
    model = FakeModel(reply_text("Hello."))
    async with serve_runtime(make_runtime(model, RECIPE, {})) as server:
        seen = await MEMBERS[member](server.url).send_message("hi")
    assert seen.text == "Hello."
    assert "set_state" not in [spec.name for spec in model.prompts[0].tools]


async def test_a_guardrail_checks_the_state() -> None:
    guards = GuardrailPolicies(GuardrailPolicy(output=TextRules(deny=WordList(["forbidden fruit"]))))
    model = FakeModel(stream_call("set_state", '{"title": "the forbidden', ' fruit"}'), reply_text("Done."))
    events = await run_page(make_runtime(model, RECIPE, {}, guards=guards), PATHS[0], SOUP)
    assert "forbidden fruit" not in json.dumps(events)
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "output_guarded")


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('state_schema = {type = "array"}', "the state of a page is an object"),
        ('predict_state = {title = "write"}', 'title = "TOOL.ARGUMENT"'),
    ],
)
def test_a_wrong_setting_is_refused(table: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "rightseat.toml").write_text(f'[models.default]\nspec = "empty"\n[assistants.default]\n{table}\n')
    with pytest.raises(ConfigError, match=problem):
        build_runtime(load_config(tmp_path / "rightseat.toml"))


async def test_suggestions_of_an_assistant(tmp_path: Path) -> None:
    (tmp_path / "rightseat.toml").write_text(
        '[models.default]\nspec = "empty"\n[assistants.default]\nsuggestions = ["What is new?"]\n'
    )
    async with build_runtime(load_config(tmp_path / "rightseat.toml")) as runtime:
        description = runtime.describe("default")
    assert description is not None
    assert description.suggestions == ("What is new?",)

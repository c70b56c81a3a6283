"""Who answers where a client names nobody: an assistant, an agent or a flow, the same one at every door."""

from pathlib import Path

import pytest

from rightseat import Runtime
from rightseat.cli.serve import list_startup_rows
from rightseat.config.load import load_config
from rightseat.errors import ConfigError
from rightseat.wiring.default_model import choose_model, needs_embedded_model
from rightseat.wiring.from_config import build_runtime
from tests.contract.doors.members import ASKING_MEMBERS
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.default_at_every_door")]
ASSISTANT = """
[models.script]
spec = "scripted:demo"
[assistants.first]
model = "script"
"""
SECOND = """
[assistants.second]
model = "script"
system = "Second."
"""
AGENT = """
[agents.{name}]
kind = "agui"
url = "{url}/agui/default"
"""
NAMED_DEFAULT = AGENT.format(name="default", url="URL")
CALLED_OTHERWISE = 'default = "remote"' + ASSISTANT + AGENT.format(name="remote", url="URL")
PLUGIN_JSON = '{"id": "greeter", "name": "Greeter", "description": "Greets people."}'
FLOW_YAML = """
name: greet
description: Greets a person.
steps:
  - {name: start, call_type: ask, params: {question: "Who are you?"}, next: end}
  - {name: end, call_type: none}
"""


def write_config(folder: Path, text: str) -> Path:
    file = folder / "rightseat.toml"
    file.write_text(text.replace("URL", "http://127.0.0.1:1"), encoding="utf-8")
    return file


def load_runtime(folder: Path, text: str) -> Runtime:
    return build_runtime(load_config(write_config(folder, text)), env={})


@pytest.mark.parametrize("member", ASKING_MEMBERS)
@pytest.mark.parametrize("text", [NAMED_DEFAULT, CALLED_OTHERWISE], ids=["named default", "default = NAME"])
async def test_the_default_agent_answers_where_nobody_is_named(member: str, text: str, tmp_path: Path) -> None:
    model = FakeModel(reply_text("I am the agent."))
    async with (
        serve_runtime(Runtime(model=model)) as remote,
        serve_runtime(load_runtime(tmp_path, text.replace("URL", remote.url))) as server,
    ):
        assert (await ASKING_MEMBERS[member](server.url).send_message("Who are you?")).text == "I am the agent."
    assert len(model.prompts) == 1


@pytest.mark.parametrize("member", ASKING_MEMBERS)
async def test_a_flow_can_be_the_default(member: str, tmp_path: Path) -> None:
    plugin = tmp_path / "greeter"
    (plugin / "flows").mkdir(parents=True)
    (plugin / "plugin.json").write_text(PLUGIN_JSON, encoding="utf-8")
    (plugin / "flows" / "greet.yaml").write_text(FLOW_YAML, encoding="utf-8")
    text = 'default = "greeter.greet"\n' + ASSISTANT + '[[plugins]]\npath = "greeter"\n'
    async with serve_runtime(load_runtime(tmp_path, text)) as server:
        person = ASKING_MEMBERS[member](server.url)
        assert len((await person.send_message("Hello")).questions) == 1
        assert (await person.answer_question("Ada")).error is None


async def test_it_is_listed_where_clients_look_for_it(tmp_path: Path) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Hello.")))) as remote:
        text = AGENT.format(name="remote", url=remote.url)
        async with serve_runtime(load_runtime(tmp_path, text)) as server, RawHttpClient(server.url) as client:
            await client.get("/copilotkit/info")
            await client.read_head()
            assert set((await client.read_json())["agents"]) == {"default", "remote"}
            await client.get("/v1/models")
            await client.read_head()
            assert [model["id"] for model in (await client.read_json())["data"]] == ["default", "remote"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ASSISTANT + AGENT.format(name="first", url="URL"), "[assistants.first] has this name too"),
        (ASSISTANT + AGENT.format(name="script", url="URL"), "[models.script] has this name too"),
        ('default = "fist"' + ASSISTANT, "there is no assistant, model, agent or flow 'fist'. Did you mean first?"),
        ('default = "first"' + ASSISTANT + NAMED_DEFAULT, "[agents.default] answers already."),
        ("default = 1" + ASSISTANT, 'a name, such as "support"'),
    ],
)
def test_names_that_mean_two_things_or_nothing_are_refused_at_start(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write_config(tmp_path, text))
    assert said in str(caught.value)


def test_an_assistant_or_a_model_can_be_named_as_the_default(tmp_path: Path) -> None:
    assert load_runtime(tmp_path, 'default = "second"' + ASSISTANT + SECOND).assistants["default"].system == "Second."
    assert load_runtime(tmp_path, 'default = "script"' + SECOND + ASSISTANT).assistants["default"].system == ""


def test_agents_only_need_no_model_and_are_on_the_card(tmp_path: Path) -> None:
    config = load_config(write_config(tmp_path, NAMED_DEFAULT + AGENT.format(name="other", url="URL")))
    assert not needs_embedded_model(config, {})
    rows = list_startup_rows(config, choose_model(config, {}), "http://127.0.0.1:7777", [])
    assert rows[0] == ("model", f"no model: the agents of {config.path} answer")
    assert rows[1:3] == [("agents", "default (agui, answers by default)"), ("", "other (agui)")]
    assert not build_runtime(config, env={}).assistants

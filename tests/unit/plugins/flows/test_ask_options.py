"""Options of `ask` out of data: over HTTP, with a form and with words."""

from pathlib import Path
from typing import Any

import pytest

from rightseat.plugins.plugin import Step
from tests.unit.plugins.flows.served import AguiFlowClient, OpenAIFlowClient, serve_plugin
from tests.unit.plugins.flows.step_runs import check_step
from tests.unit.plugins.http.recording_api import make_json_response, serve_recording_api

HOSTS = [{"name": "web-1", "id": 1}, {"name": "db-1", "id": 2}, {"name": "db-1", "id": 3}, {"name": None, "id": 4}]
FLOW = """
name: f
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: GET /hosts, values: {}}, next: which}
  - {name: which, call_type: ask, params: {question: "Which host?", options: OPTIONS}, next: end}
  - {name: end, call_type: none, params: {say: "It is {which}."}}
"""


async def start_flow(folder: Path, options: str, client: type[Any], answer: Any = None, hosts: Any = HOSTS) -> Any:
    """The client after the question, or after its answer where there is one."""
    async with serve_recording_api() as api:
        api.replies = [make_json_response(hosts)]
        text = FLOW.replace("OPTIONS", options)
        async with serve_plugin(folder, api.url, {"/hosts": {"get": {}}}, f=text) as url:
            person = client(url, "p.f")
            person.last = await person.send_message("go")
            if answer is not None:
                person.last = await person.answer_question(answer)
            assert len(api.requests) == 1
            return person


@pytest.mark.io
@pytest.mark.demand("flows.ask_options_from_data")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('"{start.name}"', ["web-1", "db-1"]),
        ('"{each.name}"', ["web-1", "db-1"]),
        ('["{each.name}"]', ["web-1", "db-1"]),
        ('["{start.id}", none]', [1, 2, 3, 4, "none"]),
        ('["host {start[0].name}", 7]', ["host web-1", 7]),
    ],
)
async def test_options_are_what_the_data_has(tmp_path: Path, options: str, expected: list[Any]) -> None:
    person = await start_flow(tmp_path, options, AguiFlowClient)
    (question,) = person.last.questions
    assert question["responseSchema"]["properties"]["answer"]["enum"] == expected


@pytest.mark.io
@pytest.mark.demand("flows.ask_options_from_data")
async def test_one_of_them_is_the_answer(tmp_path: Path) -> None:
    person = await start_flow(tmp_path / "a", '"{each.name}"', AguiFlowClient, {"answer": "db-1"})
    assert person.last.text == "It is db-1."
    person = await start_flow(tmp_path / "b", '"{each.id}"', OpenAIFlowClient)
    assert "- 1\n- 2\n" in person.last.text
    person = await start_flow(tmp_path / "c", '"{each.id}"', OpenAIFlowClient, "2")
    assert person.last.text == "It is 2."
    person = await start_flow(tmp_path / "d", '"{each.name}"', OpenAIFlowClient, "none of them")
    assert "please answer with one of: web-1, db-1" in person.last.text


@pytest.mark.io
@pytest.mark.demand("flows.ask_options_from_data")
@pytest.mark.parametrize(
    ("options", "hosts", "expected"),
    [
        ('"{each.name}"', [], "'which': There is nothing to choose from: options {each.name} are empty"),
        ('"{start}"', HOSTS, "'which': The options {start} are objects with 'name', 'id'. Write {start.name}"),
        ('"{start[0].name}"', HOSTS, "'which': The options {start[0].name} are no list: there is the text 'web-1'"),
        ('"{start.size}"', HOSTS, "'which': There is no 'size'"),
    ],
)
async def test_options_that_are_none_fail_in_words(tmp_path: Path, options: str, hosts: Any, expected: str) -> None:
    person = await start_flow(tmp_path, options, AguiFlowClient, hosts=hosts)
    assert expected in person.errors[0]


@pytest.mark.demand("flows.ask_options_from_data")
def test_the_check_knows_names_of_steps() -> None:
    def check(options: Any) -> list[str]:
        step = Step(name="which", kind="ask", params={"question": "Which?", "options": options})
        return [problem.what for problem in check_step(step, other_steps=(Step(name="start", kind="api"),))]

    assert check("{start.name}") == check("{each.name}") == check(["{each.id}", "other"]) == []
    assert check("{starts.name}") == ["{starts.name} is text: nothing is called so."]
    assert check("red or blue") == check([]) == check(3) == ["It is no list of answers."]

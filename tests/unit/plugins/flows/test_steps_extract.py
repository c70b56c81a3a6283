"""The extract step: the guide's keys, JSONPath, arrays, and what is missing."""

from typing import Any

import pytest

from rightseat.plugins.flows.paths import PathNotFound
from rightseat.plugins.flows.step_context import StepOutput
from rightseat.plugins.plugin import Step
from rightseat.types.events import Artifact
from tests.unit.plugins.flows.step_runs import (
    check_step,
    list_prompts,
    make_context,
    make_services,
    run_step,
    run_step_to_output,
)

DATA: dict[str, Any] = {
    "code": 0,
    "data": {
        "ticket_id": "T-1",
        "url": "http://x/T-1",
        "hosts": [
            {"name": "web-1", "state": "up", "ips": ["10.0.0.1", "10.0.0.2"]},
            {"name": "db-1", "state": "down", "ips": []},
        ],
    },
    "url": "http://y",
    "a.b": 7,
    "none": None,
    "empty": [],
}


def make_extract_step(keys: Any, **params: Any) -> Step:
    return Step(name="keys", kind="extract", params={"keys": keys, **params})


@pytest.mark.demand("flows.extract_keys_seed_plus")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["data.ticket_id", "code"], {"ticket_id": "T-1", "code": 0}),
        (["data.url", "url"], {"data.url": "http://x/T-1", "url": "http://y"}),
        (["data.hosts.name"], {"name": ["web-1", "db-1"]}),
        (["data.hosts[0].ips[1]", "data.hosts.1.state"], {"ips": "10.0.0.2", "state": "down"}),
        (["a.b", "none"], {"b": 7, "none": None}),
        (["$.data.hosts[*].name"], {"name": ["web-1", "db-1"]}),
        (["$.data.hosts[?@.state == 'down'].name"], {"name": ["db-1"]}),
        (["$.data.hosts[?@.state == 'lost'].name"], {"name": []}),
        (["$..name"], {"name": ["web-1", "db-1"]}),
        (["$.empty[*].name"], {"name": []}),
        (["$.data.ticket_id"], {"ticket_id": "T-1"}),
        ({"id": "data.ticket_id", "first": "$.data.hosts[0].name"}, {"id": "T-1", "first": "web-1"}),
        ("data.ticket_id", {"ticket_id": "T-1"}),
    ],
)
async def test_keys(keys: Any, expected: Any) -> None:
    assert (
        await run_step_to_output(make_context(make_extract_step(keys), make_services(), before=DATA))
    ).data == expected


@pytest.mark.demand("flows.extract_keys_seed_plus")
@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("data.ticket", r"no 'ticket' in data: there is an object with 'ticket_id', 'url', 'hosts'"),
        ("lost", r"no 'lost': there is an object with 'code', 'data', 'url', 'a.b', 'none', 'empty'"),
        ("code.deep", r"no 'deep' in code: there is 0"),
        ("data.hosts.nme", r"no 'nme' in data.hosts\[0\]: there is an object with 'name', 'state', 'ips'"),
        ("data.hosts[9].name", r"in data.hosts: there is a list of 2"),
        ("$.data.ticket", r"an object with 'ticket_id', 'url', 'hosts'"),
        ("$.data.hosts[*].nme", r"an object with 'name', 'state', 'ips'"),
        ("$.data.hosts[7]", r"a list of 2"),
    ],
)
async def test_what_is_missing_is_an_error_that_names_what_was_there(key: str, words: str) -> None:
    with pytest.raises(PathNotFound, match=words):
        await run_step_to_output(make_context(make_extract_step([key]), make_services(), before=DATA))


async def test_a_text_with_json_in_it_is_read() -> None:
    assert (
        await run_step_to_output(
            make_context(make_extract_step(["a"]), make_services(), before='```json\n{"a": 1}\n```')
        )
    ).data == {"a": 1}
    with pytest.raises(PathNotFound, match="there is the text 'plain'"):
        await run_step_to_output(make_context(make_extract_step(["a"]), make_services(), before="plain"))
    with pytest.raises(PathNotFound, match="there is nothing"):
        await run_step_to_output(make_context(make_extract_step(["a"]), make_services()))


@pytest.mark.demand("flows.extract_keys_seed_plus", "flows.deterministic_steps_model_call")
async def test_it_takes_from_any_step() -> None:
    outputs = {"start": {"a": 1}, "other": {"a": 2}, "pick": StepOutput("keys", jump="keys")}
    used = make_services()
    assert (
        await run_step_to_output(make_context(make_extract_step(["a"], **{"from": "start"}), used, outputs=outputs))
    ).data == {"a": 1}
    assert (await run_step_to_output(make_context(make_extract_step(["a"]), used, outputs=outputs))).data == {"a": 2}
    assert list_prompts(used) == []
    with pytest.raises(PathNotFound, match="'lost' has not run"):
        await run_step_to_output(make_context(make_extract_step(["a"], **{"from": "lost"}), used, outputs=outputs))


@pytest.mark.demand("flows.outputs_extract_sql_render")
@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        (["code", "data.ticket_id"], [{"code": 0, "ticket_id": "T-1"}]),
        (["data.hosts"], DATA["data"]["hosts"]),
        (["$..name", "$..state"], [{"name": "web-1", "state": "up"}, {"name": "db-1", "state": "down"}]),
        (["data.hosts.name"], [{"name": "web-1"}, {"name": "db-1"}]),
        (["data.hosts.ips", "code"], [{"ips": '[["10.0.0.1","10.0.0.2"],[]]', "code": 0}]),
    ],
)
async def test_it_is_shown_as_a_table(keys: Any, rows: Any) -> None:
    shown, _ = await run_step(make_context(make_extract_step(keys), make_services(), before=DATA))
    assert isinstance(shown, Artifact)
    assert (shown.kind, shown.name, shown.content) == ("table", "keys", rows)


def test_params_are_checked() -> None:
    assert check_step(make_extract_step(["a.b[0]", "$.a[*].b"])) == []
    assert check_step(make_extract_step({"x": "a"})) == []
    assert check_step(make_extract_step("a.b")) == []
    for keys, what in (
        (None, "not what to take"),
        ([], "not what to take"),
        (["a..b"], "is no path"),
        (["$.a["], "is no JSONPath"),
        (["$.a | $.b"], "joins several"),
    ):
        [found] = check_step(make_extract_step(keys))
        assert found.gravity == "error"
        assert what in found.what
    [found] = check_step(make_extract_step(["a"], **{"from": "lost"}))
    assert found.key == "steps.keys.params.from"

"""Estimates: how many model calls a flow makes at most, and about how long that takes."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rightseat.cli import app
from rightseat.config.load import load_config
from rightseat.plugins.flows.estimate import FlowEstimator, ModelCalls, describe_estimate, format_seconds
from rightseat.plugins.flows.model_times import (
    MAX_CALLS,
    TIMES_KEY,
    TIMES_OWNER,
    MeasuredCalls,
    ModelTimes,
    TimedModel,
    decode_times,
    save_measured,
)
from rightseat.plugins.load import read_plugin
from rightseat.plugins.plugin import Flow, NextFlow, Plugin, Step
from rightseat.stores.memory import MemoryStore
from rightseat.types.chunks import ModelChunk, TextChunk
from rightseat.types.model import Model, Prompt
from rightseat.wiring.storage import read_model_times
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.unit.plugins.flows.step_runs import make_flow
from tests.unit.plugins.folders import make_api_document, write_plugin

RUNNER = CliRunner()
LLM = Step(name="start", kind="llm")
OPTIONS = [{"step": "a", "description": "x"}, {"step": "b", "description": "y"}]


def make_step(kind: str, name: str = "start", **more: Any) -> Step:
    params = more.pop("params", {})
    return Step(name=name, kind=kind, params=params, **more)


def count(*steps: Step, **more: Any) -> ModelCalls:
    flow = make_flow(*steps, **more)
    return FlowEstimator(()).count_calls(flow)


NESTED_LLM = [{"call_type": "llm"}, {"call_type": "llm"}]


@pytest.mark.demand("flows.estimate_counts_calls")
@each_case(
    ("steps", "expected"),
    [
        ([LLM], ModelCalls(1, 1, 1)),
        ([make_step("none", params={"say": "Done."})], ModelCalls()),
        ([make_step("reformat", params={"text": "Done."})], ModelCalls()),
        ([make_step("none")], ModelCalls(1, 1, 1)),
        ([make_step("extract", params={"keys": ["a"]})], ModelCalls(1, 1, 1)),
        ([make_step("sql", next="end"), make_step("llm", "end")], ModelCalls(2, 5, 2)),
        ([make_step("sql", params={"sql": "select 1"}, next="end"), make_step("llm", "end")], ModelCalls(1, 1, 1)),
        ([make_step("render"), ], ModelCalls(2, 3, 2)),
        ([make_step("render", params={"kind": "bar"})], ModelCalls(1, 1, 1)),
        ([make_step("render", params={"choose": False})], ModelCalls(1, 1, 1)),
        ([make_step("ask", params={"question": "?", "schema": {}})], ModelCalls(2, 3, 2)),
        ([make_step("llm", retry=2)], ModelCalls(1, 3, 1)),
        ([make_step("llm", on_error=make_step("llm", "e"))], ModelCalls(1, 2, 1)),
        ([make_step("loop", params={"over": [1, 2, 3], "steps": NESTED_LLM})], ModelCalls(7, 7, 7)),
        ([make_step("loop", params={"over": "{data}", "steps": NESTED_LLM})], ModelCalls(41, 41, 41)),
        ([make_step("loop", params={"until": {}, "max": 2, "steps": {"call_type": "llm"}})], ModelCalls(3, 3, 3)),
        ([make_step("parallel", params={"branches": {"a": NESTED_LLM, "b": {"call_type": "llm"}}})],
         ModelCalls(4, 4, 3)),
        ([make_step("parallel", params={"at_once": 1, "branches": {key: {"call_type": "llm"} for key in "abc"}})],
         ModelCalls(4, 4, 4)),
        # The way with the most calls counts.
        ([make_step("choice", params={"choices": OPTIONS}), make_step("llm", "a", next="c"), make_step("llm", "b"),
          make_step("llm", "c")], ModelCalls(3, 4, 3)),
        ([make_step("choice", params={"choices": [{"step": "a", "when": {}}, {"step": "b"}]}), make_step("llm", "a"),
          make_step("none", "b", params={"say": "x"})], ModelCalls(1, 1, 1)),
    ],
)  # fmt: skip
def test_each_kind_of_step(steps: list[Step], expected: ModelCalls) -> None:
    assert count(*steps) == expected


@pytest.mark.demand("flows.estimate_counts_calls")
def test_a_circle_counts_until_max_steps() -> None:
    choices = [{"step": "again", "when": {}}, {"step": "end"}]
    steps = (make_step("llm", next="more"), make_step("choice", "more", params={"choices": choices}),
             make_step("llm", "again", next="start"), make_step("none", "end", params={"say": "x"}))  # fmt: skip
    assert count(*steps, max_steps=10) == ModelCalls(2, 7, 2)


@pytest.mark.demand("flows.estimate_counts_calls")
def test_flows_that_run_each_other_often_are_counted_at_once() -> None:
    """Five levels of a hundred steps each."""

    def make_level(number: int) -> Flow:
        inner = {"call_type": "flow", "params": {"flow": f"f{number + 1}"}}
        branches = {"call_type": "parallel", "params": {"branches": {str(place): inner for place in range(50)}}}
        step = make_step("loop", params={"over": [1, 2], "steps": [branches]})
        return make_flow(step if number < 5 else LLM, plugin="p", name=f"f{number}")

    flows = [make_level(number) for number in range(6)]
    plugin = Plugin(id="p", folder=Path(), name="p", description="", workflows=tuple(flows))
    assert FlowEstimator([plugin]).count_calls(flows[0]).usual == 100**5 + 1


@pytest.mark.demand("flows.estimate_counts_calls")
def test_the_way_after_an_error_counts_only_among_the_most() -> None:
    handler = make_step("none", "e", next="repair")
    steps = (make_step("llm", on_error=handler), make_step("llm", "repair", next="more"), make_step("llm", "more"))
    assert count(*steps) == ModelCalls(1, 3, 1)


@pytest.mark.demand("flows.estimate_counts_calls")
def test_on_error_and_suggestions_of_the_flow_count() -> None:
    assert count(LLM, on_error=make_step("llm", "e")) == ModelCalls(1, 2, 1)
    assert count(LLM, next_flow=(NextFlow(flow="x"),)) == ModelCalls(2, 3, 2)
    assert count(LLM, next_flow=(NextFlow(flow="x", question="?"),)) == ModelCalls(1, 1, 1)


@pytest.mark.demand("flows.estimate_counts_calls")
def test_a_flow_step_counts_the_other_flow_and_ends_in_a_circle_of_flows() -> None:
    flows = [
        make_flow(make_step("flow", params={"flow": "b"}), plugin="p", name="a"),
        make_flow(LLM, plugin="p", name="b"),
        make_flow(make_step("flow", params={"flow": "p/d"}), plugin="p", name="c"),
        make_flow(make_step("flow", params={"flow": "c"}), plugin="p", name="d"),
    ]
    plugin = Plugin(id="p", folder=Path(), name="p", description="", workflows=tuple(flows))
    estimator = FlowEstimator([plugin])
    assert [estimator.count_calls(flow).most for flow in flows] == [2, 1, 1, 1]


@pytest.mark.demand("flows.estimate_counts_calls")
@pytest.mark.parametrize(
    ("values", "expected"), [("", ModelCalls(2, 3, 2)), ("values: {}", ModelCalls(1, 1, 1)),
                             ("values: {state: up}", ModelCalls(1, 1, 1))]
)  # fmt: skip
def test_an_operation_whose_arguments_are_known_needs_no_model(
    tmp_path: Path, values: str, expected: ModelCalls
) -> None:
    plugin = read_plugin(write_hosts(tmp_path, values))
    [flow] = plugin.workflows
    assert FlowEstimator([plugin]).count_calls(flow) == expected


def write_hosts(where: Path, values: str = "", tail: str = "") -> Path:
    operation = {
        "parameters": [{"name": "state", "in": "query", "schema": {"type": "string"}}],
        "description": "d",
        "responses": {"200": {"description": "ok"}},
    }
    document = make_api_document() | {"paths": {"/hosts": {"get": operation}}}
    flow = f"""
name: report
description: Reports.
steps:
  - name: start
    call_type: api
    params:
      endpoint: GET /hosts
      {values}
{tail}"""
    return write_plugin(where, document, name="hosts", files={"flows/report.yaml": flow})


@pytest.mark.demand("flows.estimate_in_check_and_draw")
def test_check_and_draw_say_the_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGHTSEAT_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    folder = write_hosts(tmp_path / "plugins")
    line = "at most 2 model calls (3 with corrections, retries and error steps); about 6 s (3 s each)"
    for words in (["--plugins", str(folder)], ["hosts/report", "--plugins", str(folder)]):
        said = RUNNER.invoke(app, ["flows", "check", *words])
        assert (said.exit_code, said.output) == (0, f"hosts/report: {line}\n")
    drawn = RUNNER.invoke(app, ["flows", "draw", "report", "--plugins", str(folder), "--mermaid"])
    assert drawn.output.splitlines()[:4] == ["---", f'title: "hosts/report: {line}"', "---", "flowchart TD"]
    drawn = RUNNER.invoke(app, ["flows", "draw", "report", "--plugins", str(folder)])
    assert "at most 2 model calls" in drawn.output
    drawn = RUNNER.invoke(app, ["flows", "draw", "report", "--plugins", str(folder), "--out", str(tmp_path / "x.svg")])
    assert drawn.output == f"Wrote {tmp_path / 'x.svg'}. hosts/report: {line}.\n"


@pytest.mark.demand("flows.estimate_in_check_and_draw", "flows.unknown_keys_told")
def test_check_reports_problems_and_fails_on_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    warned = write_hosts(tmp_path / "a", tail="    retries: 3\n")
    said = RUNNER.invoke(app, ["flows", "check", "--plugins", str(warned)])
    assert (said.exit_code, "steps[0].retries" in said.output, "Did you mean 'retry'?" in said.output) == (
        0,
        True,
        True,
    )
    broken = write_hosts(tmp_path / "b", tail="    next: nowhere\n")
    for words in ([], ["hosts/report"]):
        said = RUNNER.invoke(app, ["flows", "check", *words, "--plugins", str(broken)])
        assert (said.exit_code, said.output.splitlines()[0]) == (1, "hosts/flows/report.yaml: it cannot run")
        assert "It goes on with 'nowhere'" in said.output
    empty = write_plugin(tmp_path / "c", make_api_document(), name="bare")
    said = RUNNER.invoke(app, ["flows", "check", "--plugins", str(empty)])
    assert "There are no flows" in str(said.exception)


class SlowModel(Model):
    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        for text in ("a", "b"):
            yield TextChunk(text)


@pytest.mark.demand("flows.estimate_measured")
async def test_times_are_summed_up_kept_and_read_again() -> None:
    model = TimedModel(SlowModel())
    assert [chunk async for chunk in model.stream(Prompt(messages=()))] == [TextChunk("a"), TextChunk("b")]
    assert model.measured.calls == 1
    store = MemoryStore()
    await save_measured(store, "p/a", MeasuredCalls(2, 3.0))
    await save_measured(store, "p/a", MeasuredCalls(1, 6.0))
    await save_measured(store, "p/b", MeasuredCalls(1, 1.0))
    times = decode_times(await store.get_checkpoint(TIMES_OWNER, TIMES_KEY))
    assert times.get_measured("p/a") == MeasuredCalls(3, 9.0)
    assert times.get_measured("p/new") == MeasuredCalls(4, 10.0), "a flow that has not run has the times of all"
    assert decode_times(b"{") == ModelTimes()


@pytest.mark.demand("flows.estimate_measured")
def test_old_times_count_less() -> None:
    times = ModelTimes({})
    times.add("p/a", MeasuredCalls(MAX_CALLS, 3.0 * MAX_CALLS))
    for _ in range(5 * MAX_CALLS):
        times.add("p/a", MeasuredCalls(1, 1.0))
    measured = times.get_measured("p/a")
    assert measured.calls <= MAX_CALLS
    assert measured.seconds / measured.calls == pytest.approx(1.0, abs=0.1)


@pytest.mark.demand("flows.estimate_measured")
def test_the_line_says_what_was_measured() -> None:
    flow = make_flow(LLM, plugin="p", name="a")
    line = describe_estimate(ModelCalls(2, 2, 2), ModelTimes({"p/a": MeasuredCalls(4, 5.0)}), flow)
    assert line == "at most 2 model calls; about 2.5 s (1.2 s each, measured in 4 calls)"
    assert describe_estimate(ModelCalls(), ModelTimes({}), flow) == "no model calls"
    assert [format_seconds(seconds) for seconds in (0.04, 3.0, 12.6, 300)] == ["0.0 s", "3 s", "13 s", "5 min"]


@pytest.mark.demand("flows.estimate_measured")
@pytest.mark.io
async def test_a_running_server_measures_and_check_reads_it(tmp_path: Path) -> None:
    """Over HTTP, while the server holds its store."""
    folder = tmp_path / "plugins" / "p"
    (folder / "flows").mkdir(parents=True)
    (folder / "plugin.json").write_text('{"name": "P", "description": "d"}', "utf-8")
    flow = "name: tell\ndescription: d\nsteps: [{name: start, call_type: llm}]\n"
    (folder / "flows" / "tell.yaml").write_text(flow, "utf-8")
    (tmp_path / "turns.json").write_text('{"turns": [{"say": "Told.", "pace_ms": 20}]}', "utf-8")
    config = tmp_path / "rightseat.toml"
    config.write_text(
        '[models.m]\nspec = "scripted:turns.json"\n[[plugins]]\npath = "plugins"\n[store]\npath = "data"\n', "utf-8"
    )
    async with (
        RightseatProcess(model=f"scripted:{tmp_path / 'turns.json'}", args=["--config", str(config)]) as server,
        RawHttpClient(server.url) as client,
    ):
        for _ in range(2):
            body = {"model": "p.tell", "messages": [{"role": "user", "content": "x"}]}
            await client.post_json("/v1/chat/completions", body)
            assert (await client.read_head()).status == 200
            assert (await client.read_json())["choices"][0]["message"]["content"] == "Told."
        said = RUNNER.invoke(app, ["flows", "check", "--config", str(config)])
    assert said.exit_code == 0
    assert said.output.startswith("p/tell: at most 1 model call; about 0.")
    assert said.output.endswith("each, measured in 2 calls)\n")
    assert read_model_times(load_config(config)).flows["p/tell"].calls == 2


@pytest.mark.demand("flows.estimate_measured")
def test_without_a_readable_store_nothing_is_measured(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = tmp_path / "rightseat.toml"
    config.write_text('[store]\npath = "data"\n', "utf-8")
    assert read_model_times(load_config(config)) == ModelTimes({})
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rightseat.db").write_bytes(b"no database" * 100)
    assert read_model_times(load_config(config)) == ModelTimes({})
    assert "rightseat.db cannot be read" in caplog.text
    config.write_text('[store]\nkind = "memory"\n', "utf-8")
    assert read_model_times(load_config(config)) == ModelTimes({})

"""Every flow of real plugins, where they lie beside the project, runs to its end against its API's shape."""

import base64
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rightseat import Runtime
from rightseat.plugins.flows.paths import parse_path
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.load import read_plugins
from rightseat.plugins.plugin import Flow, Operation, Plugin
from rightseat.plugins.python.tools import PythonPolicy, make_script_tools
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, Interrupt, RunFailed, RunFinished, StepStart, TextDelta
from rightseat.types.messages import FileMessagePart, Message, TextMessagePart
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Turn
from tests.unit.plugins.flows.samples import SampleModel, make_sample
from tests.unit.plugins.http.plugin_values import open_tools
from tests.unit.plugins.http.recording_api import RecordedRequest, RecordingApi, make_json_response, serve_recording_api

pytestmark = pytest.mark.io

ORIGINALS = Path(__file__).parents[5] / "shared" / "plugins"
MOST_ANSWERS = 6


def list_flow_params() -> list[Any]:
    found = read_plugins([ORIGINALS]) if ORIGINALS.is_dir() else []
    return [
        pytest.param(plugin, flow, id=f"{plugin.id}-{flow.name}")
        for plugin in found
        for flow in plugin.workflows
        if flow.file
    ]


def sample_response(operation: Operation, flow: Flow) -> Any:
    """What its document says that it answers, with what the flow takes out of it."""
    good = [one.schema for one in operation.responses if one.status.startswith("2") and one.schema]
    made = make_sample(good[0]) if good else {}
    wanted = [key for step in flow.steps.values() for key in step.params.get("keys", ())]
    for path in wanted:
        place = made
        *around, last = parse_path(path)
        for key in around:
            place = place.setdefault(key, {})
        place.setdefault(last, "value")
    return made


@asynccontextmanager
async def open_responder(
    plugin: Plugin, flow: Flow, api: RecordingApi
) -> AsyncIterator[tuple[FlowResponder, MemoryStore]]:
    # As whom to call is tested elsewhere: no token server is here.
    open_plugin = replace(plugin, auth=())
    scripts, _ = make_script_tools(plugin, PythonPolicy())
    gate = PluginPolicy(server=api.url, allow=("127.0.0.1",))
    async with open_tools(open_plugin, gate) as operations:
        kit = FlowServices(
            model=SampleModel(),
            operations={one.id: tool for one, tool in zip(plugin.operations, operations, strict=True)},
            scripts={one.name: tool for one, tool in zip(plugin.scripts, scripts, strict=True)},
            flows={one.name: one for one in plugin.workflows},
            databases={},
        )
        store = MemoryStore()
        try:
            yield FlowResponder("it", flow, lambda flow, turn: kit, store), store
        finally:
            for tool in scripts:
                assert tool.close is not None
                await tool.close()


def is_request_for(operation: Operation, got: RecordedRequest) -> bool:
    path = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(operation.path))
    return got.method == operation.method.upper() and re.fullmatch(path, got.path) is not None


def answer_interrupt(question: Interrupt) -> InterruptAnswer:
    payload = {"approved": True} if question.kind == "confirm" else make_sample(question.schema)
    return InterruptAnswer(question.id, payload=payload)


@pytest.mark.demand("flows.seed_yaml_verbatim_runs")
@pytest.mark.parametrize(("plugin", "flow"), list_flow_params())
async def test_every_flow_of_theirs_runs_to_its_end(plugin: Plugin, flow: Flow) -> None:
    named = [step.params["endpoint"] for step in flow.steps.values() if step.kind == "api"]
    operations = [one for one in plugin.operations if one.id in named]
    called: list[str] = []
    report = FileMessagePart("report.xlsx", "application/octet-stream", base64.b64encode(b"data").decode())
    messages = (Message("user", (TextMessagePart(flow.description), report)),)
    async with serve_recording_api() as api:

        def reply(got: RecordedRequest) -> Any:
            [one] = [one for one in operations if is_request_for(one, got)]
            called.append(one.id)
            return make_json_response(sample_response(one, flow))

        api.replies = [reply] * 10
        async with open_responder(plugin, flow, api) as (made, store):
            runtime = Runtime(agents={"it": made}, store=store)
            events: list[Event] = []
            answers: tuple[InterruptAnswer, ...] = ()
            for _ in range(MOST_ANSWERS):
                turn = Turn(messages=messages, assistant="it", thread="t", answers=answers)
                async with closing(runtime.run(turn)) as stream:
                    events += [event async for event in stream]
                answers = tuple(answer_interrupt(one) for one in events if isinstance(one, Interrupt))[-1:]
                if not isinstance(events[-1], RunFinished) or events[-1].reason != "interrupt":
                    break
    assert not isinstance(events[-1], RunFailed), events[-1]
    assert isinstance(events[-1], RunFinished)
    assert events[-1].reason == "stop"
    steps = [event.name for event in events if isinstance(event, StepStart)]
    assert steps[0] == "start"
    assert "on_error" not in steps, [event for event in events if type(event).__name__ == "Custom"]
    assert called
    assert len(called) == len(api.requests)
    assert [event for event in events if isinstance(event, TextDelta)]

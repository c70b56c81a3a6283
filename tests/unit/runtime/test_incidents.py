"""A run that fails: what the log and the hooks are told of it, and what they are not."""

import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.cli.log import ConsoleFormatter, JsonFormatter
from rightseat.errors import Incomplete, UpstreamDenied, error_class_for
from rightseat.middleware.hooks import Hooks
from rightseat.runtime.incidents import Incident
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import Event, RunFailed, RunStarted, StepEnd, StepStart
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from rightseat.types.turn import Turn
from tests.faults.faces import AGUI, STREAMED
from tests.kit.house import Lines, calls, house, says

PROMPT = "canary-of-the-prompt"


async def failing(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise UpstreamDenied("The model's server refused our key.")
    yield


async def broken(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise ValueError(prompt.messages[-1].text)
    yield


async def stepping(turn: Turn) -> AsyncIterator[Event]:
    yield StepStart("plan")
    yield StepEnd("plan")
    yield StepStart("book")
    raise Incomplete("It ended too early.")


async def telling(turn: Turn) -> AsyncIterator[Event]:
    yield RunStarted(turn.thread, turn.run)
    yield RunFailed("their_own_code", "It failed there.", 502, "upstream")


async def run(runtime: Runtime, **more: Any) -> list[Event]:
    asked = Turn(messages=(text_message("user", PROMPT),), thread="t1", run="r1", **more)
    async with closing(runtime.run(asked)) as stream:
        found = [event async for event in stream]
    await runtime.close()
    return found


@pytest.mark.demand("models.request_context_thread_run")
@pytest.mark.io
async def test_the_context_of_a_request() -> None:
    heard: list[Incident] = []
    runtime = Runtime(model=Lines(failing, failing), hooks=Hooks(on_error=heard.append))
    async with house(runtime) as server:
        await AGUI(server.url, "hi")
        await STREAMED(server.url, "hi")
    first, second = heard
    assert (first.thread, first.run, first.agent) == ("t1", "r1", "default")
    assert (first.operation, first.method, first.url) == ("/agui/{agent}", "POST", "/agui/default")
    assert (second.operation, second.url) == ("/v1/chat/completions", "/v1/chat/completions")
    assert first.run != second.run
    assert (first.code, first.status, first.fault, first.source) == ("upstream_denied", 502, "upstream", "runtime")
    kind = error_class_for("upstream_denied", "upstream")
    assert (first.visibility, first.severity, first.hint) == ("banner", "critical", kind.hint)
    assert first.link == "/docs/errors/upstream_denied"
    assert first.start <= first.end
    assert first.end - first.start == pytest.approx(first.latency, abs=1e-3)
    assert (first.environment, first.stack) == (None, None)


@pytest.mark.demand("models.request_context_thread_run")
async def test_outside_production_there_are_environment_and_stack() -> None:
    heard: list[Incident] = []
    runtime = Runtime(model=Lines(broken), hooks=Hooks(on_error=heard.append), environment="development")
    failed = (await run(runtime))[-1]
    [incident] = heard
    assert incident.environment == "development"
    assert incident.stack is not None
    assert "ValueError" in incident.stack
    assert isinstance(failed, RunFailed)
    assert PROMPT not in failed.message


@pytest.mark.demand("models.request_context_thread_run")
async def test_the_step_and_whose_fault_it_was() -> None:
    heard: list[Incident] = []
    runtime = Runtime(agents={"trip": stepping, "far": telling}, hooks=Hooks(on_error=heard.append))
    await run(runtime, assistant="trip")
    await run(runtime, assistant="far")
    first, second = heard
    assert (first.node, first.source, first.agent, first.operation) == ("book", "agent", "trip", "run")
    assert (second.code, second.status, second.fault, second.node) == ("their_own_code", 502, "upstream", None)
    assert second.hint == error_class_for("", "upstream").hint


class Written(logging.Handler):
    def __init__(self, *, words: bool) -> None:
        super().__init__()
        self.json: list[dict[str, Any]] = []
        self.text: list[str] = []
        self.machine, self.person = JsonFormatter(foreign_text=words), ConsoleFormatter(foreign_text=words)

    def emit(self, record: logging.LogRecord) -> None:
        self.json.append(json.loads(self.machine.format(record)))
        self.text.append(self.person.format(record))


@pytest.fixture
def lines(request: pytest.FixtureRequest) -> Iterator[Written]:
    root = logging.getLogger("rightseat")
    handler = Written(words=request.param)
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.mark.demand("models.structured_logs_json_console")
@pytest.mark.parametrize("lines", [False], indirect=True)
async def test_one_structured_line_without_words(lines: Written) -> None:
    await run(Runtime(model=Lines(failing)))
    [line] = [line for line in lines.json if line["logger"] == "rightseat.runtime.runs"]
    assert (line["level"], line["code"], line["status"], line["fault"]) == (
        "warning",
        "upstream_denied",
        502,
        "upstream",
    )
    assert (line["thread"], line["run"], line["agent"], line["source"]) == ("t1", "r1", "default", "runtime")
    assert line["ms"] >= 0
    assert line["message"].startswith("run failed: upstream_denied (upstream) at default after ")
    assert "refused our key" not in "".join(lines.text)
    assert "[t1 r1] run failed" in lines.text[0]


@pytest.mark.parametrize("lines", [False, True], indirect=True)
async def test_other_codes_words_are_logged_outside_production_only(lines: Written) -> None:
    await run(Runtime(model=Lines(broken)))
    [line] = [line for line in lines.json if line["logger"] == "rightseat.runtime.runs"]
    assert line["level"] == "error"
    assert "ValueError" in line["error"]
    assert "in broken" in line["error"]
    assert (PROMPT in json.dumps(lines.json)) == lines.machine.foreign_text
    assert (PROMPT in "".join(lines.text)) == lines.person.foreign_text


@pytest.mark.demand("models.structured_logs_json_console")
@pytest.mark.io
@pytest.mark.parametrize("lines", [False], indirect=True)
async def test_every_line_of_a_request_has_its_ids(lines: Written) -> None:
    """Also those of tools, which run in tasks and threads of their own."""

    @tool
    def fail() -> str:
        """Fail."""
        logging.getLogger("rightseat.x").info("from a thread")
        raise ValueError(PROMPT)

    runtime = Runtime(model=Lines(calls(("fail", "{}")), says("Sorry.")), tools=[fail])
    async with house(runtime) as server:
        outcome = await AGUI(server.url, PROMPT, headers={"X-Request-Id": "req-1"})
    assert outcome.finished
    names = {line["logger"] for line in lines.json}
    assert {"rightseat.x", "rightseat.engine.tool_calls", "rightseat.access"} <= names
    assert {(line["request_id"], line["thread"], line["run"]) for line in lines.json} == {("req-1", "t1", "r1")}
    assert PROMPT not in json.dumps(lines.json) + "".join(lines.text)

"""A run that fails: what the log and the hooks are told of it, and what they are not."""

import json
import logging
import re
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
from tests.faults.protocols import AGUI, OPENAI_STREAMED, Outcome
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime

PROMPT = "canary-of-the-prompt"


async def stream_denied(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise UpstreamDenied("The model's server refused our key.")
    yield


async def stream_broken(prompt: Prompt) -> AsyncIterator[ModelChunk]:
    raise ValueError(prompt.messages[-1].text)
    yield


async def fail_in_step(turn: Turn) -> AsyncIterator[Event]:
    yield StepStart("plan")
    yield StepEnd("plan")
    yield StepStart("book")
    raise Incomplete("It ended too early.")


async def report_failure(turn: Turn) -> AsyncIterator[Event]:
    yield RunStarted(turn.thread, turn.run)
    yield RunFailed("their_own_code", "It failed there.", 502, "upstream")


async def run_turn(runtime: Runtime, **more: Any) -> list[Event]:
    turn = Turn(messages=(text_message("user", PROMPT),), thread="t1", run="r1", **more)
    async with closing(runtime.run(turn)) as stream:
        found = [event async for event in stream]
    await runtime.close()
    return found


def read_run_id(outcome: Outcome) -> str:
    found = re.search(rb'"runId":"([^"]+)"', outcome.body)
    assert found
    return found[1].decode()


@pytest.mark.demand("models.request_context_thread_run")
@pytest.mark.io
async def test_the_context_of_a_request() -> None:
    heard: list[Incident] = []
    runtime = Runtime(model=FakeModel(stream_denied, stream_denied), hooks=Hooks(on_error=heard.append))
    async with serve_runtime(runtime) as server:
        outcome = await AGUI(server.url, "hi")
        await OPENAI_STREAMED(server.url, "hi")
    first, second = heard
    assert (first.thread, first.run, first.agent) == ("t1", read_run_id(outcome), "default")
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
    runtime = Runtime(model=FakeModel(stream_broken), hooks=Hooks(on_error=heard.append), environment="development")
    failed = (await run_turn(runtime))[-1]
    [incident] = heard
    assert incident.environment == "development"
    assert incident.stack is not None
    assert "ValueError" in incident.stack
    assert isinstance(failed, RunFailed)
    assert PROMPT not in failed.message


@pytest.mark.demand("models.request_context_thread_run")
async def test_the_step_and_whose_fault_it_was() -> None:
    heard: list[Incident] = []
    runtime = Runtime(agents={"trip": fail_in_step, "far": report_failure}, hooks=Hooks(on_error=heard.append))
    await run_turn(runtime, assistant="trip")
    await run_turn(runtime, assistant="far")
    first, second = heard
    assert (first.node, first.source, first.agent, first.operation) == ("book", "agent", "trip", "run")
    assert (second.code, second.status, second.fault, second.node) == ("their_own_code", 502, "upstream", None)
    assert second.hint == error_class_for("", "upstream").hint


class LogCapture(logging.Handler):
    def __init__(self, *, words: bool) -> None:
        super().__init__()
        self.json: list[dict[str, Any]] = []
        self.text: list[str] = []
        self.json_formatter, self.console_formatter = (
            JsonFormatter(foreign_text=words),
            ConsoleFormatter(foreign_text=words),
        )

    def emit(self, record: logging.LogRecord) -> None:
        self.json.append(json.loads(self.json_formatter.format(record)))
        self.text.append(self.console_formatter.format(record))


@pytest.fixture
def log(request: pytest.FixtureRequest) -> Iterator[LogCapture]:
    root = logging.getLogger("rightseat")
    handler = LogCapture(words=request.param)
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.mark.demand("models.structured_logs_json_console")
@pytest.mark.parametrize("log", [False], indirect=True)
async def test_one_structured_line_without_words(log: LogCapture) -> None:
    await run_turn(Runtime(model=FakeModel(stream_denied)))
    [line] = [line for line in log.json if line["logger"] == "rightseat.runtime.runs"]
    assert (line["level"], line["code"], line["status"], line["fault"]) == (
        "warning",
        "upstream_denied",
        502,
        "upstream",
    )
    assert (line["thread"], line["run"], line["agent"], line["source"]) == ("t1", "r1", "default", "runtime")
    assert line["ms"] >= 0
    assert line["message"].startswith("run failed: upstream_denied (upstream) at default after ")
    assert "refused our key" not in "".join(log.text)
    assert "[t1 r1] run failed" in log.text[0]


@pytest.mark.parametrize("log", [False, True], indirect=True)
async def test_other_codes_words_are_logged_outside_production_only(log: LogCapture) -> None:
    await run_turn(Runtime(model=FakeModel(stream_broken)))
    [line] = [line for line in log.json if line["logger"] == "rightseat.runtime.runs"]
    assert line["level"] == "error"
    assert "ValueError" in line["error"]
    assert "in stream_broken" in line["error"]
    assert (PROMPT in json.dumps(log.json)) == log.json_formatter.foreign_text
    assert (PROMPT in "".join(log.text)) == log.console_formatter.foreign_text


@pytest.mark.demand("models.structured_logs_json_console")
@pytest.mark.io
@pytest.mark.parametrize("log", [False], indirect=True)
async def test_every_line_of_a_request_has_its_ids(log: LogCapture) -> None:
    """Also those of tools, which run in tasks and threads of their own."""

    @tool
    def fail() -> str:
        """Fail."""
        logging.getLogger("rightseat.x").info("from a thread")
        raise ValueError(PROMPT)

    runtime = Runtime(model=FakeModel(reply_calls(("fail", "{}")), reply_text("Sorry.")), tools=[fail])
    async with serve_runtime(runtime) as server:
        outcome = await AGUI(server.url, PROMPT, headers={"X-Request-Id": "req-1"})
    assert outcome.finished
    names = {line["logger"] for line in log.json}
    assert {"rightseat.x", "rightseat.engine.tool_calls", "rightseat.access"} <= names
    ids = {(line["request_id"], line["thread"], line["run"]) for line in log.json}
    assert ids == {("req-1", "t1", read_run_id(outcome))}
    assert PROMPT not in json.dumps(log.json) + "".join(log.text)

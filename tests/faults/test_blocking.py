"""The event loop is never put to sleep: whoever blocks it makes every other answer and health check wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.faults.protocols import AGUI, COPILOTKIT, OPENAI_STREAMED, OPENBB
from tests.faults.sleep_report import ROOT, SleepReportingProcess
from tests.kit.answers import answer_tool_call
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

CONFIG = """
[models.kit]
spec = "openai:kit"
base_url = "{up}"
[assistants.default]
model = "kit"
tools = ["tests.faults.sleeping_tools:block"]
"""
REQUESTS_EACH = 6
WORD_COUNT = 30


@contextlib.asynccontextmanager
async def run_server() -> AsyncIterator[tuple[SleepReportingProcess, FakeUpstream]]:
    async with (
        FakeUpstream() as upstream,
        SleepReportingProcess(config=CONFIG.format(up=upstream.base_url), env={"PYTHONPATH": str(ROOT)}) as server,
    ):
        yield server, upstream


@pytest.mark.demand("cost.cost_saved_doing_less", "tests.nothing_puts_event_loop")
async def test_no_call_of_time_sleep_blocks_the_loop_while_many_answers_stream() -> None:
    async with run_server() as (server, _):
        faces = [face for face in (OPENAI_STREAMED, AGUI, OPENBB, COPILOTKIT) for _ in range(REQUESTS_EACH)]
        message = f"fault-ok:count={WORD_COUNT},rate=30.0"
        outcomes = await asyncio.gather(*(face(server.url, message) for face in faces))
        assert all(outcome.finished and outcome.text.endswith(f"w{WORD_COUNT - 1}") for outcome in outcomes)
    # After the end too: starting, draining and closing are seen like the rest.
    assert server.blocking_sleeps == []


@pytest.mark.demand("cost.cost_saved_doing_less", "tests.nothing_puts_event_loop")
async def test_a_blocking_sleep_would_be_seen() -> None:
    async with run_server() as (server, upstream):
        upstream.queue_replies(answer_tool_call("block", "{}"))
        assert (await OPENAI_STREAMED(server.url, "go")).finished
    (report,) = server.blocking_sleeps
    assert "sleeping_tools.py" in report

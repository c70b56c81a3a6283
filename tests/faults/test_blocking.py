"""The event loop is never put to sleep: whoever blocks it makes every other answer and health check wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from tests.faults.faces import AGUI, COPILOTKIT, OPENBB, STREAMED
from tests.faults.sleepless import ROOT, Sleepless
from tests.kit.answers import tool
from tests.kit.upstream import Upstream

pytestmark = pytest.mark.io

CONFIG = """
[models.kit]
spec = "openai:kit"
base_url = "{up}"
[assistants.default]
model = "kit"
tools = ["tests.faults.naps:block"]
"""
EACH = 6
WORDS = 30


@contextlib.asynccontextmanager
async def running() -> AsyncIterator[tuple[Sleepless, Upstream]]:
    async with (
        Upstream() as upstream,
        Sleepless(config=CONFIG.format(up=upstream.url), env={"PYTHONPATH": str(ROOT)}) as server,
    ):
        yield server, upstream


@pytest.mark.demand("cost.cost_saved_doing_less", "tests.nothing_puts_event_loop")
async def test_no_call_of_time_sleep_blocks_the_loop_while_many_answers_stream() -> None:
    async with running() as (server, _):
        faces = [face for face in (STREAMED, AGUI, OPENBB, COPILOTKIT) for _ in range(EACH)]
        message = f"fault-ok:count={WORDS},rate=30.0"
        outcomes = await asyncio.gather(*(face(server.url, message) for face in faces))
        assert all(outcome.finished and outcome.text.endswith(f"w{WORDS - 1}") for outcome in outcomes)
    # After the end too: starting, draining and closing are seen like the rest.
    assert server.blocking_sleeps == []


@pytest.mark.demand("cost.cost_saved_doing_less", "tests.nothing_puts_event_loop")
async def test_a_blocking_sleep_would_be_seen() -> None:
    async with running() as (server, upstream):
        upstream.queue(tool("block", "{}"))
        assert (await STREAMED(server.url, "go")).finished
    (report,) = server.blocking_sleeps
    assert "naps.py" in report

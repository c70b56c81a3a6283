"""A client that leaves closes its upstream: in every phase, at every door, however long that takes."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import pytest_asyncio

from evals.soak.load import Visit
from tests.contract.doors.members import DETACHED_MEMBERS, MEMBERS
from tests.faults.protocols import poll_until
from tests.kit.answers import SSE_HEADERS, ChatReply, answer_text, answer_tool_call
from tests.kit.client import RawHttpClient
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="module")]

ROOT = Path(__file__).parents[2]
CONFIG = """
[models.kit]
spec = "openai:kit"
base_url = "{upstream}"
[assistants.default]
model = "kit"
tools = ["tests.faults.sleeping_tools:hold_connection"]
"""
PHASES = ("before the head", "before the first token", "mid-stream", "in a call", "during a tool", "at the end")


@dataclass
class Phases:
    """An upstream that stops in a phase, and a server before it."""

    upstream: FakeUpstream
    server: RightseatProcess
    phase: str = ""
    held: list[ReceivedRequest] = field(default_factory=list)
    """The requests whose answer has come to the phase."""

    async def reply(self, connection: Connection, request: ReceivedRequest) -> None:
        if request.method == "GET" or self.phase == "before the head":
            # The tool's own request; it is held like a model's.
            await self.hold(request)
        elif self.phase == "during a tool":
            await answer_tool_call("hold_connection", f'{{"url": "{self.upstream.origin}"}}')(connection, request)
        elif not request.stream:
            await connection.write_head(200, {"Content-Type": "application/json", "Transfer-Encoding": "chunked"})
            await connection.write_chunk(b'{"choices": [')
            await self.hold(request)
        else:
            await connection.write_head(200, SSE_HEADERS)
            for frame in self.list_frames():
                await connection.write_chunk(frame)
            await self.hold(request)

    def list_frames(self) -> list[bytes]:
        """Return what is sent before the answer stops."""
        text: ChatReply = answer_text(20)
        return {
            "before the first token": [],
            "mid-stream": text.encode_frames()[:10],
            "in a call": answer_tool_call("hold_connection", '{"url": "http://x"}').encode_frames()[:3],
            # All of it, but not the end of the body.
            "at the end": text.encode_frames()[:-1],
        }[self.phase]

    async def hold(self, request: ReceivedRequest) -> None:
        self.held.append(request)
        await asyncio.Event().wait()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def phases() -> AsyncIterator[Phases]:
    async with FakeUpstream() as upstream:
        config = CONFIG.format(upstream=upstream.base_url)
        async with RightseatProcess(config=config, env={"PYTHONPATH": str(ROOT), "OPENAI_API_KEY": "x"}) as server:
            made = Phases(upstream, server)
            upstream.reply = made.reply
            yield made
        assert "Traceback" not in server.stderr


@pytest.mark.demand("security.disconnects_close_upstreams")
@pytest.mark.spread("door", "phase")
@pytest.mark.parametrize("door", MEMBERS)
@pytest.mark.parametrize("phase", PHASES)
async def test_a_leaving_client_closes_its_upstream(phases: Phases, door: str, phase: str) -> None:
    phases.phase = phase
    phases.held.clear()
    number = PHASES.index(phase) * len(MEMBERS) + list(MEMBERS).index(door)
    target, body = Visit(number, door, "hello", is_flow=False, abort_phase=None).build_request(phases.server.url)
    async with RawHttpClient(phases.server.url) as client:
        await client.post_json(target, body)
        await poll_until(lambda: len(phases.held) == 1, describe=lambda: phases.upstream.requests[-1:])
        [request] = phases.held
        assert request.abandoned_at is None
        # By a FIN and by an RST.
        client.reset() if number % 2 else client.close()
    if door in DETACHED_MEMBERS:
        # The run belongs to its thread: it goes on until it is stopped.
        async with RawHttpClient(phases.server.url) as client:
            await client.post_json(f"/copilotkit/agent/default/stop/soak-{number}", {})
            assert (await client.read_head()).status == 200
    await poll_until(lambda: request.abandoned_at is not None, describe=lambda: request)
    await phases.upstream.wait_idle()
    assert len(phases.held) == 1, "the upstream was asked again for someone who had left"

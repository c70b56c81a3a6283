"""Remote agents of two workers that share a store: either goes on with what the other has begun."""

import copy
import json
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from rightseat import Runtime
from rightseat.agents.agui import agui
from rightseat.agents.copilotkit import copilotkit
from rightseat.stores.memory import MemoryStore
from rightseat.types.turn import InterruptAnswer
from tests.contract.agents.conversation import Conversation
from tests.kit.connection import Connection
from tests.unit.agents.agui.fake_agent import FakeAguiAgent
from tests.unit.agents.copilotkit.endpoint import FakeRemoteEndpoint

pytestmark = [
    pytest.mark.io,
    pytest.mark.demand("scale.remote_threads"),
    pytest.mark.parametrize("is_shared", [True, False], ids=["", "twin that is not shared"]),
]


class WorkerStore(MemoryStore):
    """Store of a worker, which others use too."""

    shared = True

    @property
    def is_shared(self) -> bool:
        return self.shared

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        return set()


@asynccontextmanager
async def serve_workers(
    peer: FakeAguiAgent | FakeRemoteEndpoint, is_shared: bool
) -> AsyncIterator[tuple[Runtime, Runtime]]:
    first = WorkerStore(worker="1")
    first.shared = is_shared
    second = copy.copy(first)
    second.worker = "2"
    make_source = agui if isinstance(peer, FakeAguiAgent) else copilotkit
    async with peer, AsyncExitStack() as stack:
        sources = [make_source("desk", {"url": peer.url, "tries": 1}) for _ in range(2)]
        stores = (first, second)
        a, b = (Runtime(agent_sources=[source], store=store) for source, store in zip(sources, stores, strict=True))
        for runtime in (a, b):
            await runtime.start()
            stack.push_async_callback(runtime.close)
        yield a, b


async def test_results_go_back_under_the_peers_own_names_at_either(is_shared: bool) -> None:
    desk = FakeAguiAgent()
    async with serve_workers(desk, is_shared) as (a, b):
        talk = Conversation(a)
        await talk.send_message("add")
        talk.runtime = b
        await talk.send_message("say more")
        talk.runtime = a
        await talk.send_message("say again")
    run = desk.request_bodies[0]["runId"]
    for body, is_known in ((desk.request_bodies[1], is_shared), (desk.request_bodies[2], True)):
        (result,) = [message for message in body["messages"] if message["role"] == "tool"]
        assert (result["id"] == f"r-{run}") is is_known


async def test_an_answer_without_a_name_is_for_the_question_that_waits_at_either(is_shared: bool) -> None:
    desk = FakeAguiAgent()
    async with serve_workers(desk, is_shared) as (a, b):
        talk = Conversation(a)
        await talk.send_message("ask me")
        talk.runtime = b
        seen = await talk.run_turn(answers=(InterruptAnswer("", text="yes"),))
        assert ("You answered yes." in seen.text) is is_shared


async def test_a_client_that_posts_no_history_answers_at_either(is_shared: bool) -> None:
    """The peer gets the messages before its question again."""
    desk = FakeAguiAgent()
    async with serve_workers(desk, is_shared) as (a, b):
        talk = Conversation(a)
        await talk.send_message("add")
        (question,) = (await talk.send_message("ask me")).questions
        await Conversation(b, thread="another").answer_question(question, "yes")
    roles = [message["role"] for message in desk.request_bodies[-1]["messages"]]
    assert ("tool" in roles) is is_shared


async def test_an_agent_that_stopped_goes_on_behind_it_at_either(is_shared: bool) -> None:
    remote = FakeRemoteEndpoint()

    async def stopped(connection: Connection, frames: list[bytes]) -> None:
        last = json.loads(frames[-1])
        frames[-1] = json.dumps({**last, "node_name": "draft"}).encode() + b"\n"
        for frame in frames:
            await connection.write_chunk(frame)
        await connection.write_chunk(b"")

    async with serve_workers(remote, is_shared) as (a, b):
        talk = Conversation(a)
        remote.fault = stopped
        await talk.send_message("say hello")
        talk.runtime = b
        await talk.send_message("say more")
        talk.runtime = a
        await talk.send_message("say again")
    expected = [None, "draft", None] if is_shared else [None, None, "draft"]
    assert [body["nodeName"] for body in remote.request_bodies] == expected

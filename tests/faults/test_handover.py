"""SIGTERM to one of several workers or replicas: the others serve what comes, and go on with its flows at once."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from rightseat.types.threads import MAX_TAKE_OVERS
from tests.contract.stores.members import make_schema_name
from tests.faults import turn_shop
from tests.faults.protocols import AGUI, OPENAI_WHOLE
from tests.faults.test_flow_takeover import (
    CONNECT_PATH,
    EFFECTS,
    RUN_PATH,
    WORDS,
    Shop,
    check_one_run,
    follow,
    is_over,
    join_text,
    list_types,
    make_input,
    post,
    serve_shop,
)
from tests.faults.test_signals import HELD_MESSAGE, hold_reply
from tests.faults.turn_shop import join_deltas
from tests.kit.client import RawHttpClient
from tests.kit.postgres import get_session_server
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import wait_until
from tests.kit.workers import connect_workers, find_workers, get_json

pytestmark = [
    pytest.mark.io,
    pytest.mark.timeout(600),
    pytest.mark.skipif(sys.platform == "win32", reason="one worker on Windows"),
]
LONG_GRACE = f"[server]\ngrace = {10 * HANG_TIMEOUT}"
SHORT_GRACE = "[server]\ngrace = 0.2"


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


def find_number(shop: Shop, pid: int) -> int:
    return next(number for number, worker in find_workers(shop.server).items() if worker == pid)


@pytest.mark.demand("scale.drain_hands_over")
async def test_a_flow_goes_on_at_another_worker_after_the_grace(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow", more=SHORT_GRACE) as shop:
        clients = await connect_workers(stack, shop.server.url, 2)
        seen = await shop.start(stack)
        await shop.wait_requests("/slow", 1)
        owner = shop.find_owner()
        reader = next(number for number, pid in find_workers(shop.server).items() if pid != owner)
        await clients[reader].post_json(CONNECT_PATH, make_input("c"))
        assert (await clients[reader].read_head()).status == 200
        elsewhere = follow(stack, clients[reader])
        shop.sink.hanging = ""
        os.kill(owner, signal.SIGTERM)
        await wait_until(lambda: is_over(elsewhere))
        check_one_run(elsewhere)
        assert join_text(elsewhere) == "".join(WORDS)
        assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}
        # Who was at the worker that ended reads on where it was, at any other.
        seen = list(seen)
        rest = [] if is_over(seen) else await post(shop.server.url, CONNECT_PATH, make_input("c"), seen[-1].id or "")
        check_one_run([*seen, *rest])
        assert join_deltas([*seen, *rest]) == join_deltas(elsewhere)


@pytest.mark.demand("scale.drain_hands_over")
async def test_hand_overs_do_not_count_as_lost_workers(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow", more=SHORT_GRACE) as shop:
        await shop.start(stack)
        for number in range(1, MAX_TAKE_OVERS + 3):
            await shop.wait_requests("/slow", number)
            os.kill(shop.find_owner(), signal.SIGTERM)
            await shop.wait_requests("/slow", number + 1)
        shop.sink.hanging = ""
        # The request that hangs is left too.
        os.kill(shop.find_owner(), signal.SIGTERM)
        whole = await post(shop.server.url, RUN_PATH, make_input("r1"))
        check_one_run(whole)
        assert join_text(whole) == "".join(WORDS)
        assert shop.sink.effects == {("anna", path): 1 for path in EFFECTS}


@pytest.mark.demand("scale.drain_refuses_nobody")
async def test_no_request_is_refused_while_one_worker_drains(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with serve_shop(tmp_path, hanging="/slow", more=LONG_GRACE) as shop:
        clients = await connect_workers(stack, shop.server.url, 2)
        await shop.start(stack)
        await shop.wait_requests("/slow", 1)
        owner = shop.find_owner()
        number = find_number(shop, owner)
        os.kill(owner, signal.SIGTERM)
        draining = clients[number]
        await wait_until_closing(draining)
        # New connections go to the others at once.
        replies = await asyncio.gather(*(get_json(shop.server.url) for _ in range(60)))
        assert all(reply is not None and reply["worker"] != number for reply in replies)
        shop.sink.hanging = ""
        frames = await asyncio.gather(*(ask_flow(shop.server.url, f"t{index}") for index in range(6)))
        assert all(types == ["RUN_STARTED", "RUN_FINISHED"] for types in frames)
        os.kill(owner, signal.SIGKILL)


async def wait_until_closing(client: RawHttpClient) -> None:
    """Ask until a response is the last of its connection: the worker has read the signal then, and is not ready."""
    async with asyncio.timeout(HANG_TIMEOUT):
        while True:
            await client.get("/ready")
            head = await client.read_head()
            await client.read_body()
            if head.headers.get("connection") == "close":
                assert head.status == 503
                return


async def ask_flow(url: str, thread: str) -> list[str]:
    """Run the flow on a thread of its own and return how the run began and ended."""
    async with RawHttpClient(url) as client:
        await client.post_json(RUN_PATH, {**make_input("r"), "threadId": thread})
        head = await client.read_head()
        assert head.status == 200
        frames = [frame async for frame in client.iterate_frames() if frame.data]
        return list_types(frames, "RUN_STARTED", "RUN_FINISHED", "RUN_ERROR")


@pytest.mark.demand("scale.drain_refuses_nobody")
async def test_a_replica_that_drains_answers_what_still_comes(stack: AsyncExitStack) -> None:
    """Two processes on one database, each with a port of its own: a balancer may not know yet that one drains."""
    async with FakeUpstream() as upstream:
        store = f'[store]\nkind = "postgres"\nurl = "env:DATABASE_URL"\nschema = "{make_schema_name()}"\n'
        model = f'[models.main]\nspec = "openai:kit"\nbase_url = "{upstream.base_url}"\n'
        env = {"DATABASE_URL": get_session_server().url}
        replica = await stack.enter_async_context(RightseatProcess(config=f"{model}{store}{LONG_GRACE}", env=env))
        kept, held = [await stack.enter_async_context(RawHttpClient(replica.url)) for _ in range(2)]
        gate = asyncio.Event()
        upstream.reply = hold_reply(gate)
        await OPENAI_WHOLE.send(held, HELD_MESSAGE)
        await upstream.wait_requests(1)
        replica.send_signal(signal.SIGTERM)
        await wait_until_closing(kept)
        # On new connections: it listens on, and takes the runs.
        for protocol in (OPENAI_WHOLE, AGUI):
            outcome = await protocol(replica.url, "hello")
            assert (outcome.status, outcome.failures) == (200, [])
            assert outcome.headers["connection"] == "close"
        gate.set()
        assert (await OPENAI_WHOLE.receive_outcome(held)).failures == []
        assert await replica.wait_exit() == 0


@pytest.mark.demand("scale.drain_hands_over")
async def test_a_turn_of_a_model_goes_on_at_another_worker(tmp_path: Path, stack: AsyncExitStack) -> None:
    async with turn_shop.serve_shop(tmp_path, "sqlite", hanging=["model 0"], config=SHORT_GRACE) as servers:
        await servers.start(stack, "tell")
        await servers.shop.wait_requests("model 0")
        os.kill(servers.find_owner(), signal.SIGTERM)
        servers.shop.hanging.clear()
        whole = await servers.post(turn_shop.RUN_PATH, turn_shop.make_input("r1", "tell"))
        check_one_run(whole)
        assert join_text(whole) == "".join(turn_shop.WORDS)

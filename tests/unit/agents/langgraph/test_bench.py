"""The bench of agents: the recorded run reaches a client word by word, and the limit can be missed."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from bench.langgraph_server import LangGraphProtocol
from bench.order import StreamOrder
from bench.peers import all_peers
from bench.scenarios import all_scenarios
from bench.scenarios.agents import LOCK, MAX_COST_RATIO, make_rows
from rightseat.agents.langgraph import langgraph
from rightseat.types.events import StateSnapshot, StepStart, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.turn import Turn

pytestmark = pytest.mark.io


@pytest_asyncio.fixture
async def url() -> AsyncIterator[str]:
    server = await asyncio.get_running_loop().create_server(LangGraphProtocol, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()


@pytest.mark.demand("agents.bench_cpu_per_forwarded")
@pytest.mark.parametrize("rate", [0, 2000])
async def test_the_recorded_run_is_heard_word_by_word(url: str, rate: int) -> None:
    source = langgraph("desk", {"url": url})
    await source.start()
    order = StreamOrder(1, 50, rate)
    turn = Turn(messages=(text_message("user", order.prompt, id="u"),), thread="t")
    events = [event async for event in source.agents["desk"](turn)]
    words = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(words) == order.tokens
    order.check("".join(words))
    assert [event.name for event in events if isinstance(event, StepStart)] == ["desk", "note"]
    assert [event.state for event in events if isinstance(event, StateSnapshot)][-1] == {"notes": ["2 messages"]}
    await source.close()


@pytest.mark.demand("agents.bench_cpu_per_forwarded")
def test_ours_is_compared_with_copilotkits_runtime() -> None:
    assert "agents" in all_scenarios()
    peers = all_peers()
    ours = peers["rightseat"]
    (theirs,) = [peer for peer in peers.values() if peer.lock == LOCK]
    for cost, good in ((100.0, True), (300.0, False)):
        found = {ours.name: [cost] * 3, theirs.name: [1000.0] * 3}
        row = make_rows("x", found, ours, theirs)[-1]
        assert (row.limit, row.is_good) == (MAX_COST_RATIO, good)
    assert all(row.limit is None for row in make_rows("x", {ours.name: [1.0]}, ours, None))
    assert MAX_COST_RATIO == 1 / 5

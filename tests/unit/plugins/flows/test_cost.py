"""What a flow costs beside its steps: a little CPU for each, with journal, and little room while waiting."""

import gc
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest

from rightseat.stores.memory import MemoryStore
from rightseat.stores.sqlite import SQLiteStore
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.plugins.flows.conversations import FlowConversation, make_flow, make_services

pytestmark = pytest.mark.io

STEPS = 20
RUNS = 5
FLOWS = 1000
# Twenty times what it takes here: what it takes is a figure of the bench, and no test judges a machine.
MOST_CPU = 0.02
MOST_BYTES = 20_000
WAITING = """
name: f
description: d
steps:
  - {name: start, call_type: none, next: ask}
  - {name: ask, call_type: ask, params: {question: "Which?"}}
"""


def write_chain_flow() -> str:
    names = ["start", *(f"s{number}" for number in range(1, STEPS + 1))]
    steps = [f"  - {{name: {name}, call_type: none, next: {after}}}" for name, after in pairwise(names)]
    last = f"  - {{name: {names[-1]}, call_type: llm}}"
    return "\n".join(["name: f", "description: d", "steps:", *steps, last])


@pytest.mark.demand("flows.bench_engine_overhead_per")
async def test_a_deterministic_step_costs_little_with_its_journal(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path)
    play = FlowConversation(
        make_flow(write_chain_flow()), make_services(FakeModel(*[reply_text("ok") for _ in range(RUNS)])), store=store
    )
    best = 1.0
    for number in range(RUNS):
        before = time.process_time()
        await play.send(f"question {number}")
        best = min(best, (time.process_time() - before) / STEPS)
        assert play.text == "ok"
    await store.close()
    print(f"{best * 1e6:.0f} µs of CPU for each step")
    assert best < MOST_CPU


@pytest.mark.demand("flows.bench_engine_overhead_per")
@pytest.mark.long
async def test_flows_that_wait_take_little_room() -> None:
    store, made, tools = MemoryStore(), make_flow(WAITING), make_services(FakeModel())
    await FlowConversation(made, tools, store=store, thread="warm").send()
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(FLOWS):
        await FlowConversation(made, tools, store=store, thread=f"t{number}").send()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(store.continuations.items) == len(store.checkpoints.items) == FLOWS + 1
    each = (after - before) / FLOWS
    print(f"{each:.0f} bytes for each flow that waits")
    assert each < MOST_BYTES

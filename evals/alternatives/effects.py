"""The drill of effects: an order has two effects, and its server is killed while the second is under way."""

import asyncio
import json
import shutil
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.machine import ROOT
from evals.alternatives.rows import DrillRow
from evals.crashes.shop import AGENT, write_shop, write_tables
from tests.kit.client import RawHttpClient, SseFrame
from tests.kit.cluster import Cluster
from tests.kit.effect_sink import KeyedSink, serve_sink
from tests.kit.server import POLL_SECONDS
from tests.kit.waiting import wait_until
from tests.peers.langgraph_server import PEER_HOME, LangGraphServer

DID = "a server is killed (SIGKILL) while the second effect of an order is under way, and started again"
ORDERS, MAILS = "/orders", "/mails"
RUN_PATH = f"/copilotkit/agent/{AGENT}/run"
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: Shop}
servers: [{url: "URL"}]
paths:
""" + "".join(
    f"""  {path}:
    post: {{description: An effect., responses: {{"200": {{description: ok}}}}}}
"""
    for path in (ORDERS, MAILS)
)
FLOW = f"""
name: order
description: Orders and mails.
steps:
  - {{name: start, call_type: api, params: {{endpoint: POST {ORDERS}, values: {{}}}}, next: mail}}
  - {{name: mail, call_type: api, params: {{endpoint: POST {MAILS}, values: {{}}}}, next: tell}}
  - {{name: tell, call_type: llm, params: {{user_prompt: "Tell."}}}}
"""
LEASE_SECONDS = 4.0
PATIENCE = 30.0
"""Seconds in which a run may go on by itself."""
SAVE_SECONDS = 60.0


def describe_effects(sink: KeyedSink) -> str:
    return f"the first effect happened {times(sink.requests[ORDERS])}, the second {times(sink.requests[MAILS])}"


def times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


# rightseat


async def measure_rightseat(home: Path) -> DrillRow:
    """Two replicas. The order's replica is killed; its reader posts the same run at the other one, and says that the
    second effect shall not be repeated when it is asked."""
    async with AsyncExitStack() as stack:
        sink = await stack.enter_async_context(serve_sink(MAILS))
        write_shop(home, DOCUMENT.replace("URL", sink.url), FLOW, [{"say": ["Done."]}])
        cluster = Cluster(write_tables(home), replicas=2, lease_seconds=LEASE_SECONDS)
        await stack.enter_async_context(cluster)
        client = await stack.enter_async_context(RawHttpClient(cluster.urls[0]))
        await client.post_json(RUN_PATH, make_order("r1"))
        await sink.wait_requests(MAILS)
        await cluster.kill(0)
        sink.released.set()
        end = (await post_order(cluster.urls[1], make_order("r1")))[-1].json
        interrupts = end.get("outcome", {}).get("interrupts", [])
        asked = [interrupt for interrupt in interrupts if "may have run" in interrupt["message"]]
        await cluster.restart(0)
        answers = [{"interruptId": each["id"], "status": "resolved", "payload": {"then": "skip"}} for each in asked]
        end = (await post_order(cluster.urls[0], make_order("r2", answers)))[-1].json
        told = "the run goes on at the other replica, which asks whether the second effect shall be repeated; "
        told += f"answered with no, it ends with `{end['type']}`: {describe_effects(sink)}"
        figures = {"asked": len(asked), "end": end["type"], "effects": dict(sink.requests)}
        return DrillRow("rightseat, 2 replicas, PostgreSQL", DID, told, figures)


def make_order(run: str, answers: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    message = {"id": "u", "role": "user", "content": "Order."}
    body: dict[str, Any] = {"threadId": "t", "runId": run, "messages": [message], "state": {}, "tools": []}
    return body | {"context": [], "forwardedProps": {}, "resume": answers or []}


async def post_order(url: str, body: Mapping[str, Any]) -> list[SseFrame]:
    async with RawHttpClient(url) as client:
        await client.post_json(RUN_PATH, body)
        head = await client.read_head()
        if head.status != 200:
            raise RuntimeError(f"rightseat said {head.status}: {await client.read_body()!r}")
        return [frame async for frame in client.iterate_frames() if frame.data]


# LangGraph


@dataclass
class LangGraphOrder:
    server: LangGraphServer
    sink: KeyedSink
    thread: str = ""
    run: str = ""

    async def request(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        async with RawHttpClient(self.server.url) as client:
            if method == "GET":
                await client.get(path)
            else:
                await client.post_json(path, body)
            head = await client.read_head()
            return head.status, json.loads(await client.read_body())

    async def begin(self) -> None:
        """Begin the order; every step is in the checkpoint before the next begins."""
        _, thread = await self.request("POST", "/threads", {})
        self.thread = thread["thread_id"]
        body = {"assistant_id": "order", "input": {"steps": []}, "durability": "sync"}
        _, run = await self.request("POST", f"/threads/{self.thread}/runs", body)
        self.run = run["run_id"]
        await self.sink.wait_requests(MAILS)

    async def wait_saved(self) -> None:
        """Wait until the server has written all its files since the second effect began."""
        began = time.time_ns()
        folder = self.server.folder / ".langgraph_api"

        def is_saved() -> bool:
            files = list(folder.glob("*.pckl"))
            return bool(files) and all(file.stat().st_mtime_ns > began for file in files)

        await wait_until(is_saved, SAVE_SECONDS)

    async def read_status(self) -> tuple[str, str]:
        """Return what the server says of the thread and of the run."""
        thread_status, thread = await self.request("GET", f"/threads/{self.thread}")
        run_status, run = await self.request("GET", f"/threads/{self.thread}/runs/{self.run}")
        return (
            thread["status"] if thread_status == 200 else f"HTTP {thread_status}",
            run["status"] if run_status == 200 else f"HTTP {run_status}",
        )

    async def wait_over(self) -> tuple[str, str]:
        """Wait until the run has ended, or is unknown."""
        limit = asyncio.get_running_loop().time() + PATIENCE
        while True:
            thread, run = await self.read_status()
            if run not in ("pending", "running") or asyncio.get_running_loop().time() > limit:
                return thread, run
            await asyncio.sleep(POLL_SECONDS)


async def measure_langgraph(home: Path, *, is_saved: bool) -> DrillRow:
    """The development server with its runtime in memory, which saves to files every ten seconds."""
    async with AsyncExitStack() as stack:
        sink = await stack.enter_async_context(serve_sink(MAILS))
        shutil.copy(ROOT / "evals" / "alternatives" / "order_graph.py", home)
        graphs = {"dependencies": ["."], "graphs": {"order": "./order_graph.py:graph"}}
        (home / "langgraph.json").write_text(json.dumps(graphs), "utf-8")
        server = LangGraphServer(home, {"SINK_URL": sink.url})
        stack.push_async_callback(server.kill)
        await server.start()
        order = LangGraphOrder(server, sink)
        await order.begin()
        if is_saved:
            await order.wait_saved()
        await server.kill()
        sink.released.set()
        await server.start()
        thread, run = await order.wait_over()
        told = f"thread: `{thread}`, run: `{run}`; {describe_effects(sink)}"
        if run.startswith("HTTP"):
            told = f"neither the thread nor the run is known ({run}); {describe_effects(sink)}"
        elif sink.requests[MAILS] > 1:
            told = f"the run goes on from its last checkpoint and ends with `{run}`; {describe_effects(sink)}"
        version = read_version()
        when = "after it saved its files (every 10 s)" if is_saved else "before it saved its files (every 10 s)"
        figures = {"thread": thread, "run": run, "effects": dict(sink.requests)}
        return DrillRow(f"LangGraph dev server {version}, in memory; {when}", DID, told, figures)


def read_version() -> str:
    (folder,) = PEER_HOME.glob("lib/python*/site-packages/langgraph_api-*.dist-info")
    return folder.name.removesuffix(".dist-info").partition("-")[2]


measure_langgraph_saved = partial(measure_langgraph, is_saved=True)
measure_langgraph_unsaved = partial(measure_langgraph, is_saved=False)

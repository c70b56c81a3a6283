"""The house that `rightseat.db` was written in, and that reads it again. What is kept names its assistants,
tools and flow, and a question counts only while they are as they were when it was asked: change none of them.
"""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec

from rightseat import Assistant, Runtime, Turn, tool
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.events import Event
from tests.contract.doors.agui import AguiClient
from tests.kit.app_server import AppServer, FakeModel, ModelReply, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.plugins.flows.conversations import RecordingTools, make_flow, make_services

FOLDER = Path(__file__).parent
FILE = "rightseat.db"
FLOW = """
name: order
description: Orders what is found.
steps:
  - {name: start, call_type: reserve, params: {x: 3}, next: which}
  - {name: which, call_type: ask, params: {question: "Which of {start}?"}, next: buy}
  - {name: buy, call_type: buy, params: {x: "{which} of {start}"}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "{buy}"}}
"""
# What neither the model nor a flow brings about here, by what is asked for; in a file, as it is kept.
SHOWN_EVENTS: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "shown.json").read_text("utf-8"))


async def stream_shown_events(turn: Turn) -> AsyncIterator[Event]:
    for event in SHOWN_EVENTS[turn.messages[-1].text]:
        yield msgspec.convert(event, Event)


@tool(name="weigh", description="Weighs a thing.")
def weigh(thing: str) -> dict[str, Any]:
    return {"thing": thing, "grams": 1200}


@tool(name="report", description="Writes a report as a file.")
async def report(title: str) -> AsyncIterator[Any]:
    for event in SHOWN_EVENTS["report"]:
        yield msgspec.convert(event, Event)


@dataclass
class StoreScenario:
    """The house, what its model was asked, and what was done in it."""

    folder: Path
    model: FakeModel = field(default_factory=FakeModel)
    paid: list[tuple[str, float]] = field(default_factory=list)
    flow_tools: RecordingTools = field(
        default_factory=lambda: RecordingTools({"reserve": lambda args: "lot 7", "buy": lambda args: "bought"})
    )

    def build_runtime(self, store: SQLiteStore) -> Runtime:
        @tool(name="pay", description="Pays somebody.", confirm=True)
        def pay(to: str, amount: float) -> str:
            self.paid.append((to, amount))
            return f"{to} has {amount:g}"

        model = self.model
        assistant = Assistant("default", model, tools=(pay, weigh, report), agents=("helper",))
        services = make_services(model, self.flow_tools)
        order = FlowResponder("order", make_flow(FLOW), lambda flow, turn: services, store)
        helper = Assistant("helper", model, description="Helps.", tools=(weigh,))
        return Runtime(
            assistants=[assistant, helper], agents={"show": stream_shown_events, "order": order}, store=store
        )

    @asynccontextmanager
    async def serve(self, *lines: ModelReply) -> AsyncIterator[AppServer]:
        """The house on this folder's data; its model says these lines and no others."""
        store = SQLiteStore(self.folder)
        self.model.replies += lines
        try:
            async with serve_runtime(self.build_runtime(store)) as server:
                yield server
            assert self.model.replies == []
        finally:
            await store.close()


class ThreadClient(AguiClient):
    """Who talks on one kept thread, with one agent."""

    def __init__(self, url: str, thread: str, agent: str = "default") -> None:
        super().__init__(url)
        self.thread, self.agent = thread, agent

    def build_request(self) -> tuple[str, dict[str, Any]]:
        _, run = super().build_request()
        own = {"threadId": self.thread, "runId": f"{self.thread}-{len(self.history)}-{len(self.resume)}"}
        return f"/copilotkit/agent/{self.agent}/run", run | own

    @property
    def client_state(self) -> dict[str, Any]:
        """What a client has when it is closed in the middle."""
        return {"agent": self.agent, "history": self.history, "open": self.open}

    @classmethod
    def restore(cls, url: str, thread: str, client_state: Mapping[str, Any]) -> Self:
        """Such a client, opened again."""
        made = cls(url, thread, client_state["agent"])
        made.history, made.open = list(client_state["history"]), list(client_state["open"])
        return made


async def get_json(url: str, target: str) -> Any:
    async with RawHttpClient(url) as client:
        await client.get(target)
        assert (await client.read_head()).status == 200, target
        return await client.read_json()


async def collect_connect_frames(url: str, thread: str, agent: str, after: str = "") -> list[list[Any]]:
    """Each frame's number and event, as a client hears them that comes back."""
    body = {"threadId": thread, "runId": "c", "messages": [], "tools": [], "context": [], "state": {}}
    async with RawHttpClient(url) as client:
        seen = {"Last-Event-ID": after} if after else {}
        await client.post_json(f"/copilotkit/agent/{agent}/connect", body | {"forwardedProps": {}}, seen)
        assert (await client.read_head()).status == 200, thread
        return [[frame.id, frame.json] async for frame in client.iterate_frames() if frame.data]


async def read_thread(url: str, thread: str, agent: str) -> dict[str, Any]:
    """All that the house tells of a thread."""
    at = f"/copilotkit/threads/{thread}"
    return {
        "connected": await collect_connect_frames(url, thread, agent),
        "events": await get_json(url, f"{at}/events"),
        "messages": await get_json(url, f"{at}/messages"),
        "state": await get_json(url, f"{at}/state"),
    }

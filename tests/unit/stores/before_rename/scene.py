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
from tests.contract.doors.agui import AgUi
from tests.kit.client import Client
from tests.kit.house import House, Lines, Script, house
from tests.unit.plugins.flows.acting import Acts, flow, kit

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
SHOWN: dict[str, list[dict[str, Any]]] = json.loads((FOLDER / "shown.json").read_text("utf-8"))


async def show(turn: Turn) -> AsyncIterator[Event]:
    for event in SHOWN[turn.messages[-1].text]:
        yield msgspec.convert(event, Event)


@tool(name="weigh", description="Weighs a thing.")
def weigh(thing: str) -> dict[str, Any]:
    return {"thing": thing, "grams": 1200}


@tool(name="report", description="Writes a report as a file.")
async def report(title: str) -> AsyncIterator[Any]:
    for event in SHOWN["report"]:
        yield msgspec.convert(event, Event)


@dataclass
class Scene:
    """The house, what its model was asked, and what was done in it."""

    folder: Path
    model: Lines = field(default_factory=Lines)
    paid: list[tuple[str, float]] = field(default_factory=list)
    acts: Acts = field(default_factory=lambda: Acts({"reserve": lambda args: "lot 7", "buy": lambda args: "bought"}))

    def runtime(self, store: SQLiteStore) -> Runtime:
        @tool(name="pay", description="Pays somebody.", confirm=True)
        def pay(to: str, amount: float) -> str:
            self.paid.append((to, amount))
            return f"{to} has {amount:g}"

        model = self.model
        desk = Assistant("default", model, tools=(pay, weigh, report), agents=("helper",))
        steps = kit(model, self.acts)
        order = FlowResponder("order", flow(FLOW), lambda flow, turn: steps, store)
        helper = Assistant("helper", model, description="Helps.", tools=(weigh,))
        return Runtime(assistants=[desk, helper], agents={"show": show, "order": order}, store=store)

    @asynccontextmanager
    async def open(self, *lines: Script) -> AsyncIterator[House]:
        """The house on this folder's data; its model says these lines and no others."""
        store = SQLiteStore(self.folder)
        self.model.lines += lines
        try:
            async with house(self.runtime(store)) as server:
                yield server
            assert self.model.lines == []
        finally:
            await store.close()


class Person(AgUi):
    """Who talks on one kept thread, with one agent."""

    def __init__(self, url: str, thread: str, agent: str = "default") -> None:
        super().__init__(url)
        self.thread, self.agent = thread, agent

    def body(self) -> tuple[str, dict[str, Any]]:
        _, run = super().body()
        own = {"threadId": self.thread, "runId": f"{self.thread}-{len(self.history)}-{len(self.resume)}"}
        return f"/copilotkit/agent/{self.agent}/run", run | own

    @property
    def held(self) -> dict[str, Any]:
        """What a client has when it is closed in the middle."""
        return {"agent": self.agent, "history": self.history, "open": self.open}

    @classmethod
    def back(cls, url: str, thread: str, held: Mapping[str, Any]) -> Self:
        """Such a client, opened again."""
        made = cls(url, thread, held["agent"])
        made.history, made.open = list(held["history"]), list(held["open"])
        return made


async def got(url: str, target: str) -> Any:
    async with Client(url) as client:
        await client.get(target)
        assert (await client.head()).status == 200, target
        return await client.json()


async def connected(url: str, thread: str, agent: str, after: str = "") -> list[list[Any]]:
    """Each frame's number and event, as a client hears them that comes back."""
    body = {"threadId": thread, "runId": "c", "messages": [], "tools": [], "context": [], "state": {}}
    async with Client(url) as client:
        seen = {"Last-Event-ID": after} if after else {}
        await client.post(f"/copilotkit/agent/{agent}/connect", body | {"forwardedProps": {}}, seen)
        assert (await client.head()).status == 200, thread
        return [[frame.id, frame.json] async for frame in client.frames() if frame.data]


async def heard(url: str, thread: str, agent: str) -> dict[str, Any]:
    """All that the house tells of a thread."""
    at = f"/copilotkit/threads/{thread}"
    return {
        "connected": await connected(url, thread, agent),
        "events": await got(url, f"{at}/events"),
        "messages": await got(url, f"{at}/messages"),
        "state": await got(url, f"{at}/state"),
    }

"""Flows out of a few lines, with tools that remember what they were called with."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rightseat import Runtime
from rightseat.plugins.document import parse_yaml_document
from rightseat.plugins.flows.context import FlowServices
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.flows.load import FlowFileReader
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.plugin import Problem
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, Interrupt, RunFailed, TextDelta
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Model
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.kit.house import Lines

ME = Owner("me")
Act = Callable[[dict[str, Any]], Any]
ANY = {"type": "object", "properties": {"x": {}, "hosts": {}}}


def written(text: str, file: str = "flows/f.yaml") -> tuple[Flow | None, list[Problem]]:
    read = FlowFileReader("p", parse_yaml_document(file, text))
    return read.read_flow(), read.problems


def flow(text: str) -> Flow:
    made, problems = written(text)
    assert made is not None, problems
    return made


@dataclass
class Acts:
    """Tools of lib/ by name: each gives what its function gives, or raises what it raises."""

    acts: Mapping[str, Act]
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def tool(self, name: str, **more: Any) -> Tool:
        async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
            self.calls.append((name, args))
            self.keys.append(ctx.idempotency_key)
            found = self.acts[name](args)
            yield found if isinstance(found, Result | Pause) else Result(found)

        return Tool(name, name, ANY, call, **more)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


def kit(model: Model, acts: Acts | None = None, flows: tuple[Flow, ...] = (), **more: Any) -> FlowServices:
    tools = {name: acts.tool(name) for name in acts.acts} if acts else {}
    known = {one.id: one for one in flows} | {one.name: one for one in flows}
    return FlowServices(model=model, operations=tools, scripts=tools, flows=known, databases={}, **more)


@dataclass
class Scene:
    """A flow behind a Runtime, asked turn by turn in one conversation."""

    flow: Flow
    kit: FlowServices
    store: Store = field(default_factory=MemoryStore)
    thread: str = "t1"
    owner: Owner = ME
    events: list[Event] = field(default_factory=list)

    async def ask(
        self, question: str = "why", *answers: InterruptAnswer, before: tuple[Message, ...] = ()
    ) -> list[Interrupt]:
        """The turn's events are in `events`; what it asks comes back. `before` is the history."""
        responder = FlowResponder("p.f", self.flow, lambda flow, turn: self.kit, self.store)
        runtime = Runtime(agents={"p.f": responder}, store=self.store)
        turn = Turn(
            messages=(*before, text_message("user", question)),
            assistant="p.f",
            answers=answers,
            thread=self.thread,
            owner=self.owner,
        )
        self.events = []
        async with closing(runtime.run(turn)) as events:
            async for event in events:
                self.events.append(event)
        return [event for event in self.events if isinstance(event, Interrupt)]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def failed(self) -> RunFailed | None:
        return next((event for event in self.events if isinstance(event, RunFailed)), None)


def scene(text: str, acts: Acts | None = None, *lines: Any, **more: Any) -> Scene:
    made = flow(text)
    return Scene(made, kit(Lines(*lines), acts, (made,)), **more)


def folder(path: Path, **files: str) -> Path:
    """A plugin's folder; `flows__a` is the file flows/a.yaml."""
    for name, text in files.items():
        where = path / (name.replace("__", "/") + ("" if "." in name else ".yaml"))
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")
    return path

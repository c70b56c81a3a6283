"""Flows out of a few lines, with tools that remember what they were called with."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rightseat import Runtime
from rightseat.plugins.flows.load import FlowFileReader
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.plugins.flows.step_context import FlowServices
from rightseat.plugins.plugin import Flow, Problem
from rightseat.plugins.plugin_file import parse_yaml_document
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, Interrupt, RunFailed, TextDelta
from rightseat.types.messages import Message, text_message
from rightseat.types.model import Model
from rightseat.types.stores import Store
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext
from rightseat.types.turn import InterruptAnswer, Owner, Turn
from tests.kit.app_server import FakeModel

OWNER = Owner("me")
ToolFunction = Callable[[dict[str, Any]], Any]
ANY_ARGUMENTS = {"type": "object", "properties": {"x": {}, "hosts": {}}}


def parse_flow(text: str, file: str = "flows/f.yaml") -> tuple[Flow | None, list[Problem]]:
    reader = FlowFileReader("p", parse_yaml_document(file, text))
    return reader.read_flow(), reader.problems


def make_flow(text: str) -> Flow:
    parsed, problems = parse_flow(text)
    assert parsed is not None, problems
    return parsed


@dataclass
class RecordingTools:
    """Tools of lib/ by name: each gives what its function gives, or raises what it raises."""

    functions: Mapping[str, ToolFunction]
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    idempotency_keys: list[str] = field(default_factory=list)

    def make_tool(self, name: str, **more: Any) -> Tool:
        async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
            self.calls.append((name, args))
            self.idempotency_keys.append(ctx.idempotency_key)
            found = self.functions[name](args)
            yield found if isinstance(found, Result | Pause) else Result(found)

        return Tool(name, name, ANY_ARGUMENTS, call, **more)

    @property
    def called_names(self) -> list[str]:
        return [name for name, _ in self.calls]


def make_services(
    model: Model, recording: RecordingTools | None = None, flows: tuple[Flow, ...] = (), **more: Any
) -> FlowServices:
    tools = {name: recording.make_tool(name) for name in recording.functions} if recording else {}
    known = {one.id: one for one in flows} | {one.name: one for one in flows}
    return FlowServices(model=model, operations=tools, scripts=tools, flows=known, databases={}, **more)


@dataclass
class FlowConversation:
    """A flow behind a Runtime, asked turn by turn in one conversation."""

    flow: Flow
    services: FlowServices
    store: Store = field(default_factory=MemoryStore)
    thread: str = "t1"
    owner: Owner = OWNER
    events: list[Event] = field(default_factory=list)

    async def send(
        self, question: str = "why", *answers: InterruptAnswer, before: tuple[Message, ...] = ()
    ) -> list[Interrupt]:
        """The turn's events are in `events`; what it asks comes back. `before` is the history."""
        responder = FlowResponder("p.f", self.flow, lambda flow, turn: self.services, self.store)
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
    def failure(self) -> RunFailed | None:
        return next((event for event in self.events if isinstance(event, RunFailed)), None)


def open_conversation(text: str, recording: RecordingTools | None = None, *lines: Any, **more: Any) -> FlowConversation:
    made = make_flow(text)
    return FlowConversation(made, make_services(FakeModel(*lines), recording, (made,)), **more)


def write_plugin_folder(path: Path, **files: str) -> Path:
    """A plugin's folder; `flows__a` is the file flows/a.yaml."""
    for name, text in files.items():
        where = path / (name.replace("__", "/") + ("" if "." in name else ".yaml"))
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text, encoding="utf-8")
    return path

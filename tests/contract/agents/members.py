"""Everybody who answers, each made to do what the last message says. A new kind of agent is one entry here.

A member gives a Runtime in which `desk` answers, and whatever is behind it does this:

    say WORDS    text: "You said say WORDS."; then, if it has state, {"notes": [..one more..]} in it
    add          a tool of its own, add(a=2, b=3) → "5"; then text with "5" in it
    paint        calls the client's tool paint(colour="red"); given its result, text with that in it
    ask          asks a question with "Approve" in it; given the answer, text with it
    boom         fails; nothing of its error ("secret words") may be seen

What a member cannot be made to do is named in CANNOT by its first word (`notes` for the state).
"""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rightseat import Ask, Pause, Result, Runtime, Tool, ToolContext
from rightseat.agents.agui import agui as agui_source
from rightseat.agents.copilotkit import copilotkit as copilotkit_source
from rightseat.agents.crewai import crewai as crewai_source
from rightseat.agents.langgraph import langgraph as langgraph_source
from rightseat.engine.loop import Assistant
from rightseat.errors import UpstreamError
from rightseat.plugins.flows.responder import FlowResponder
from rightseat.stores.memory import MemoryStore
from rightseat.types.agents import AgentSource
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.events import Event
from rightseat.types.model import Model, Prompt
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.agents.agui.fake_agent import FakeAguiAgent
from tests.unit.agents.copilotkit.endpoint import FakeRemoteEndpoint
from tests.unit.agents.langgraph.fake_server import FakeLangGraphServer
from tests.unit.plugins.flows.conversations import RecordingTools, make_flow, make_services

MakeRuntime = Callable[[], AbstractAsyncContextManager[Runtime]]
CREW_FOLDER = Path(__file__).resolve().parents[2] / "unit" / "agents" / "crewai" / "home"


@asynccontextmanager
async def host_source(source: AgentSource) -> AsyncIterator[Runtime]:
    """A Runtime with a source of agents, started and closed as the server does it."""
    runtime = Runtime(agent_sources=[source], store=MemoryStore())
    await runtime.start()
    try:
        yield runtime
    finally:
        await runtime.close()


@asynccontextmanager
async def make_langgraph_runtime() -> AsyncIterator[Runtime]:
    async with (
        FakeLangGraphServer() as platform,
        host_source(langgraph_source("desk", {"url": platform.url})) as runtime,
    ):
        yield runtime
        # Whatever was asked is answered or given up: an agent leaves no work behind.
        await platform.upstream.wait_idle()


@asynccontextmanager
async def make_agui_runtime(older: bool = False) -> AsyncIterator[Runtime]:
    async with FakeAguiAgent(legacy=older) as desk, host_source(agui_source("desk", {"url": desk.url})) as runtime:
        yield runtime
        await desk.upstream.wait_idle()


@asynccontextmanager
async def make_copilotkit_runtime(kind: str = "langgraph") -> AsyncIterator[Runtime]:
    async with FakeRemoteEndpoint(kind) as remote, host_source(copilotkit_source("ck", {"url": remote.url})) as runtime:
        yield runtime
        await remote.upstream.wait_idle()


@asynccontextmanager
async def make_crewai_runtime() -> AsyncIterator[Runtime]:
    options = {"crew": "desk_crew:Flow", "python": sys.executable, "folder": str(CREW_FOLDER)}
    async with host_source(crewai_source("desk", options)) as runtime:
        yield runtime


class CommandModel(Model):
    """A model that does what the last message says."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        last = prompt.messages[-1]
        command = last.text.split()[0] if last.text else ""
        if last.role == "tool":
            yield TextChunk(f"It is {last.text}.")
            yield FinishChunk("stop")
        elif command == "boom":
            raise UpstreamError("The model's server failed: try again.")
        elif command in ("add", "paint", "ask"):
            arguments = {"add": '{"a": 2, "b": 3}', "paint": '{"colour": "red"}', "ask": "{}"}
            yield ToolCallStart(0, command)
            yield ToolCallArgs(0, arguments[command])
            yield FinishChunk("calls")
        else:
            yield TextChunk(f"You said {last.text}.")
            yield FinishChunk("stop")


async def add(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    yield Result(str(args["a"] + args["b"]))


async def ask(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    yield Result(f"answered {ctx.answers[-1]}") if ctx.answers else Pause((Ask("Approve it?"),))


@asynccontextmanager
async def make_engine_runtime() -> AsyncIterator[Runtime]:
    tools = tuple(Tool(name, name, {"type": "object"}, call) for name, call in (("add", add), ("ask", ask)))
    runtime = Runtime(assistants=[Assistant("desk", CommandModel(), tools=tools)], store=MemoryStore())
    try:
        yield runtime
    finally:
        await runtime.close()


FLOW_YAML = """
name: f
description: Does as it is told.
steps:
  - {name: start, call_type: look, next: which}
  - {name: which, call_type: ask, params: {question: "Approve it?"}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell: {data}"}, next: end}
  - {name: end, call_type: none}
"""


@asynccontextmanager
async def make_flow_runtime() -> AsyncIterator[Runtime]:
    store = MemoryStore()
    tools = make_services(FakeModel(reply_text("You said ", "yes.")), RecordingTools({"look": lambda args: "seen"}))
    responder = FlowResponder("desk", make_flow(FLOW_YAML), lambda flow, turn: tools, store)
    runtime = Runtime(agents={"desk": responder}, store=store)
    try:
        yield runtime
    finally:
        await runtime.close()


MEMBERS: dict[str, MakeRuntime] = {
    "engine": make_engine_runtime,
    "flow": make_flow_runtime,
    "langgraph": make_langgraph_runtime,
    "agui": make_agui_runtime,
    "agui before 1.0": partial(make_agui_runtime, older=True),
    "copilotkit": make_copilotkit_runtime,
    "copilotkit with crewai": partial(make_copilotkit_runtime, "crewai"),
    "crewai": make_crewai_runtime,
}
UNSUPPORTED: dict[str, frozenset[str]] = {
    "engine": frozenset(("notes",)),
    # A crew begins anew each time, asks nobody, and has only tools of its own.
    "crewai": frozenset(("paint", "ask", "notes")),
    "flow": frozenset(("say", "add", "paint", "boom", "notes")),
}

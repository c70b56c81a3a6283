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
from tests.kit.house import Lines, says
from tests.unit.agents.agui.desk import AguiDesk
from tests.unit.agents.copilotkit.endpoint import RemoteEndpoint
from tests.unit.agents.langgraph.platform import Platform
from tests.unit.plugins.flows.acting import Acts, flow, kit

Member = Callable[[], AbstractAsyncContextManager[Runtime]]
CREW = Path(__file__).resolve().parents[2] / "unit" / "agents" / "crewai" / "home"


@asynccontextmanager
async def hosted(source: AgentSource) -> AsyncIterator[Runtime]:
    """A Runtime with a source of agents, started and closed as the server does it."""
    runtime = Runtime(agent_sources=[source], store=MemoryStore())
    await runtime.start()
    try:
        yield runtime
    finally:
        await runtime.close()


@asynccontextmanager
async def langgraph() -> AsyncIterator[Runtime]:
    async with Platform() as platform, hosted(langgraph_source("desk", {"url": platform.url})) as runtime:
        yield runtime
        # Whatever was asked is answered or given up: an agent leaves no work behind.
        await platform.upstream.quiet()


@asynccontextmanager
async def agui(older: bool = False) -> AsyncIterator[Runtime]:
    async with AguiDesk(older=older) as desk, hosted(agui_source("desk", {"url": desk.url})) as runtime:
        yield runtime
        await desk.upstream.quiet()


@asynccontextmanager
async def copilotkit(kind: str = "langgraph") -> AsyncIterator[Runtime]:
    async with RemoteEndpoint(kind) as remote, hosted(copilotkit_source("ck", {"url": remote.url})) as runtime:
        yield runtime
        await remote.upstream.quiet()


@asynccontextmanager
async def crewai() -> AsyncIterator[Runtime]:
    options = {"crew": "desk_crew:Flow", "python": sys.executable, "folder": str(CREW)}
    async with hosted(crewai_source("desk", options)) as runtime:
        yield runtime


class Desk(Model):
    """A model that does what the last message says."""

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        last = prompt.messages[-1]
        word = last.text.split()[0] if last.text else ""
        if last.role == "tool":
            yield TextChunk(f"It is {last.text}.")
            yield FinishChunk("stop")
        elif word == "boom":
            raise UpstreamError("The model's server failed: try again.")
        elif word in ("add", "paint", "ask"):
            arguments = {"add": '{"a": 2, "b": 3}', "paint": '{"colour": "red"}', "ask": "{}"}
            yield ToolCallStart(0, word)
            yield ToolCallArgs(0, arguments[word])
            yield FinishChunk("calls")
        else:
            yield TextChunk(f"You said {last.text}.")
            yield FinishChunk("stop")


async def add(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    yield Result(str(args["a"] + args["b"]))


async def ask(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
    yield Result(f"answered {ctx.answers[-1]}") if ctx.answers else Pause((Ask("Approve it?"),))


@asynccontextmanager
async def engine() -> AsyncIterator[Runtime]:
    tools = tuple(Tool(name, name, {"type": "object"}, call) for name, call in (("add", add), ("ask", ask)))
    runtime = Runtime(assistants=[Assistant("desk", Desk(), tools=tools)], store=MemoryStore())
    try:
        yield runtime
    finally:
        await runtime.close()


FLOW = """
name: f
description: Does as it is told.
steps:
  - {name: start, call_type: look, next: which}
  - {name: which, call_type: ask, params: {question: "Approve it?"}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell: {data}"}, next: end}
  - {name: end, call_type: none}
"""


@asynccontextmanager
async def a_flow() -> AsyncIterator[Runtime]:
    store = MemoryStore()
    tools = kit(Lines(says("You said ", "yes.")), Acts({"look": lambda args: "seen"}))
    responder = FlowResponder("desk", flow(FLOW), lambda flow, turn: tools, store)
    runtime = Runtime(agents={"desk": responder}, store=store)
    try:
        yield runtime
    finally:
        await runtime.close()


MEMBERS: dict[str, Member] = {
    "engine": engine,
    "flow": a_flow,
    "langgraph": langgraph,
    "agui": agui,
    "agui before 1.0": partial(agui, older=True),
    "copilotkit": copilotkit,
    "copilotkit with crewai": partial(copilotkit, "crewai"),
    "crewai": crewai,
}
CANNOT: dict[str, frozenset[str]] = {
    "engine": frozenset(("notes",)),
    # A crew begins anew each time, asks nobody, and has only tools of its own.
    "crewai": frozenset(("paint", "ask", "notes")),
    "flow": frozenset(("say", "add", "paint", "boom", "notes")),
}

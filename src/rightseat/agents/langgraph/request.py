"""A Turn and where its thread stands → what the graph is asked: new input, a resume, or to go on."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import Struct

from rightseat.agents.langgraph.messages import Chain, fresh, listed, unanswered
from rightseat.agents.langgraph.questions import BREAKPOINT, Open, matched, opened
from rightseat.errors import ContinuationGone
from rightseat.types.messages import Message
from rightseat.types.tools import approves
from rightseat.types.turn import Turn

# A client could name another thread, another user or a checkpoint by these.
_RESERVED = ("thread_id", "run_id", "user_id", "graph_id", "assistant_id", "checkpoint", "langgraph_", "__")


class Schema(Struct, frozen=True):
    """The keys that a graph takes, shows and can be set up with; None where it does not say."""

    inputs: frozenset[str] | None = None
    outputs: frozenset[str] | None = None
    settings: frozenset[str] = frozenset()


class Standing(Struct, frozen=True):
    """Where a thread stands."""

    values: Any = None
    next: tuple[str, ...] = ()
    waiting: tuple[Open, ...] = ()

    @property
    def messages(self) -> list[Chain]:
        return listed(self.values)


class Request(Struct, frozen=True):
    """`input` None with no `resume` goes on where the graph stopped. `update` is put into the state first, as
    if `node` had said it."""

    input: dict[str, Any] | None = None
    resume: Any = None
    update: dict[str, Any] | None = None
    node: str = ""
    config: dict[str, Any] = {}
    declined: bool = False
    """A person does not want the graph to go on: nothing is asked."""


def standing(state: Any) -> Standing:
    """Of a state as LangGraph's API gives it."""
    if not isinstance(state, dict):
        return Standing()
    next = tuple(str(node) for node in state.get("next") or ())
    found: dict[str, Open] = {}
    for holder in (*(state.get("tasks") or ()), state):
        for item in opened(holder.get("interrupts") if isinstance(holder, dict) else None):
            found.setdefault(item.id, item)
    waiting = tuple(found.values())
    if not waiting and next:
        waiting = tuple(Open(f"{BREAKPOINT}{node}") for node in next)
    return Standing(state.get("values"), next, waiting)


def request(turn: Turn, at: Standing, schema: Schema, config: dict[str, Any]) -> Request:
    clients = {tool.name for tool in turn.tools}
    settings = configured(turn, schema, config)
    questions = [item for item in at.waiting if not item.id.startswith(BREAKPOINT)]
    new = fresh(posted(turn), at.messages, clients)
    if turn.answers:
        given = matched(turn.answers, list(at.waiting))
        if not given:
            raise ContinuationGone("This question was answered before, or it has expired. Please ask again.")
        if not questions:
            return Request(config=settings, declined=not all(map(approves, given.values())))
        # One question takes its value as it is; of several each value is told by the question's id.
        return Request(resume=next(iter(given.values())) if len(questions) == 1 else given, config=settings)
    if questions and not any(item["type"] == "remove" for item in new):
        # Nobody answered it by name, so what is said now is the answer; unless it is said anew.
        return Request(resume=new or "", config=settings)
    values = inputs(turn, new, schema)
    node = node_of(turn)
    if at.next and node and node != "__end__":
        return Request(update=values, node=node, config=settings)
    return Request(input=values, config=settings)


def posted(turn: Turn) -> tuple[Message, ...]:
    """Pages put their own instructions first. They are not the graph's: the bridges that such pages are made
    for leave them out. What a client that has only text says to begin with is meant."""
    first = turn.messages[0].role if turn.messages and turn.shows_interrupts else ""
    return turn.messages[1:] if first in ("system", "developer") else turn.messages


def node_of(turn: Turn) -> str:
    """The node that the client believes the graph to be in."""
    told = turn.forwarded.properties
    named = turn.forwarded.node or told.get("nodeName") or told.get("node_name")
    return named if isinstance(named, str) else ""


def inputs(turn: Turn, new: list[Chain], schema: Schema) -> dict[str, Any]:
    """The client's state, what was said, and what the client can do: in the places where graphs made for
    AG-UI (`tools`) and for CopilotKit (`copilotkit`) look for it."""
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in turn.tools
    ]
    context = [{"description": item.description, "value": item.value} for item in turn.context]
    state = turn.state if isinstance(turn.state, dict) else {}
    made = {**state, "messages": new, "tools": tools, "copilotkit": {"actions": tools, "context": context}}
    return made if schema.inputs is None else {k: v for k, v in made.items() if k in schema.inputs}


def configured(turn: Turn, schema: Schema, config: dict[str, Any]) -> dict[str, Any]:
    """The operator's configuration over the client's, of which only that counts which the graph declares."""
    asked = turn.forwarded.config.get("configurable")
    theirs = asked if isinstance(asked, dict) else {}
    allowed = {k: v for k, v in theirs.items() if k in schema.settings and not k.startswith(_RESERVED)}
    both = {**allowed, **config.get("configurable", {})}
    return {**config, **({"configurable": both} if both else {})}


def open_calls(at: Standing, asked: Request) -> Collection[str]:
    """The calls of the thread that may get a result in this run."""
    given = listed(asked.input) if asked.input else []
    answered = {str(item.get("tool_call_id")) for item in given}
    return unanswered(at.messages).keys() - answered

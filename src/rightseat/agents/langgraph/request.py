"""A Turn and its thread's state → a run request: new input, a resume value, or a continuation."""

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

# With these keys a client could select another thread, user or checkpoint.
_RESERVED = ("thread_id", "run_id", "user_id", "graph_id", "assistant_id", "checkpoint", "langgraph_", "__")


class Schema(Struct, frozen=True):
    """The keys of a graph's input, output and configuration; None if undeclared."""

    inputs: frozenset[str] | None = None
    outputs: frozenset[str] | None = None
    settings: frozenset[str] = frozenset()


class Standing(Struct, frozen=True):
    """State of a LangGraph thread: values, next nodes, open interrupts."""

    values: Any = None
    next: tuple[str, ...] = ()
    waiting: tuple[Open, ...] = ()

    @property
    def messages(self) -> list[Chain]:
        return listed(self.values)


class Request(Struct, frozen=True):
    """A run request. Without `input` and `resume` the graph continues where it stopped. `update` is first
    written to the state as `node`."""

    input: dict[str, Any] | None = None
    resume: Any = None
    update: dict[str, Any] | None = None
    node: str = ""
    config: dict[str, Any] = {}
    declined: bool = False
    """The person declined to continue: no run is started."""


def standing(state: Any) -> Standing:
    """Parse a state of LangGraph's API."""
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
        # One interrupt takes the plain value; several take values by id.
        return Request(resume=next(iter(given.values())) if len(questions) == 1 else given, config=settings)
    if questions and not any(item["type"] == "remove" for item in new):
        # The new messages answer the interrupt, unless history was edited.
        return Request(resume=new or "", config=settings)
    values = inputs(turn, new, schema)
    node = node_of(turn)
    if at.next and node and node != "__end__":
        return Request(update=values, node=node, config=settings)
    return Request(input=values, config=settings)


def posted(turn: Turn) -> tuple[Message, ...]:
    """Return the messages without a page's leading system message, which CopilotKit's and AG-UI's own bridges
    drop too. A text-only client's system message is kept."""
    first = turn.messages[0].role if turn.messages and turn.shows_interrupts else ""
    return turn.messages[1:] if first in ("system", "developer") else turn.messages


def node_of(turn: Turn) -> str:
    """Return the node that the client names as current, or an empty text."""
    told = turn.forwarded.properties
    named = turn.forwarded.node or told.get("nodeName") or told.get("node_name")
    return named if isinstance(named, str) else ""


def inputs(turn: Turn, new: list[Chain], schema: Schema) -> dict[str, Any]:
    """Build the graph's input: the client's state, new messages, and its tools under the keys that AG-UI
    (`tools`) and CopilotKit (`copilotkit`) graphs read."""
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in turn.tools
    ]
    context = [{"description": item.description, "value": item.value} for item in turn.context]
    state = turn.state if isinstance(turn.state, dict) else {}
    made = {**state, "messages": new, "tools": tools, "copilotkit": {"actions": tools, "context": context}}
    return made if schema.inputs is None else {k: v for k, v in made.items() if k in schema.inputs}


def configured(turn: Turn, schema: Schema, config: dict[str, Any]) -> dict[str, Any]:
    """Merge the operator's configuration over the client's keys that the graph declares."""
    asked = turn.forwarded.config.get("configurable")
    theirs = asked if isinstance(asked, dict) else {}
    allowed = {k: v for k, v in theirs.items() if k in schema.settings and not k.startswith(_RESERVED)}
    both = {**allowed, **config.get("configurable", {})}
    return {**config, **({"configurable": both} if both else {})}


def open_calls(at: Standing, asked: Request) -> Collection[str]:
    """Return the ids of the thread's calls that may get a result in this run."""
    given = listed(asked.input) if asked.input else []
    answered = {str(item.get("tool_call_id")) for item in given}
    return unanswered(at.messages).keys() - answered

"""A Turn and its thread's state → a run request: new input, a resume value, or a continuation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import Struct

from rightseat.agents.langgraph.messages import (
    LangChainMessage,
    diff_messages,
    find_unanswered_calls,
    list_state_messages,
)
from rightseat.agents.langgraph.questions import (
    BREAKPOINT_PREFIX,
    GraphInterrupt,
    match_answers,
    parse_interrupts,
)
from rightseat.errors import ContinuationGone
from rightseat.types.messages import Message
from rightseat.types.tools import is_approved
from rightseat.types.turn import Turn

# With these keys a client could select another thread, user or checkpoint.
_RESERVED_PREFIXES = (
    "thread_id",
    "run_id",
    "user_id",
    "graph_id",
    "assistant_id",
    "checkpoint",
    "langgraph_",
    "__",
)


class GraphSchema(Struct, frozen=True):
    """The keys of a graph's input, output and configuration; None if undeclared."""

    inputs: frozenset[str] | None = None
    outputs: frozenset[str] | None = None
    settings: frozenset[str] = frozenset()


class GraphThreadState(Struct, frozen=True):
    """State of a LangGraph thread: values, next nodes, open interrupts."""

    values: Any = None
    next: tuple[str, ...] = ()
    interrupts: tuple[GraphInterrupt, ...] = ()

    @property
    def messages(self) -> list[LangChainMessage]:
        return list_state_messages(self.values)


class GraphRunRequest(Struct, frozen=True):
    """A run request. Without `input` and `resume` the graph continues where it stopped. `update` is first
    written to the state as `node`."""

    input: dict[str, Any] | None = None
    resume: Any = None
    update: dict[str, Any] | None = None
    node: str = ""
    config: dict[str, Any] = {}
    declined: bool = False
    """The person declined to continue: no run is started."""


def parse_thread_state(state: Any) -> GraphThreadState:
    """Parse a state of LangGraph's API."""
    if not isinstance(state, dict):
        return GraphThreadState()
    next_nodes = tuple(str(node) for node in state.get("next") or ())
    interrupts: dict[str, GraphInterrupt] = {}
    for holder in (*(state.get("tasks") or ()), state):
        for item in parse_interrupts(holder.get("interrupts") if isinstance(holder, dict) else None):
            interrupts.setdefault(item.id, item)
    waiting = tuple(interrupts.values())
    if not waiting and next_nodes:
        waiting = tuple(GraphInterrupt(f"{BREAKPOINT_PREFIX}{node}") for node in next_nodes)
    return GraphThreadState(state.get("values"), next_nodes, waiting)


def build_run_request(
    turn: Turn, state: GraphThreadState, schema: GraphSchema, config: dict[str, Any]
) -> GraphRunRequest:
    client_tools = {tool.name for tool in turn.tools}
    settings = merge_config(turn, schema, config)
    questions = [item for item in state.interrupts if not item.id.startswith(BREAKPOINT_PREFIX)]
    new = diff_messages(drop_page_instructions(turn), state.messages, client_tools)
    if turn.answers:
        answers = match_answers(turn.answers, list(state.interrupts))
        if not answers:
            raise ContinuationGone("This question was answered before, or it has expired. Please ask again.")
        if not questions:
            return GraphRunRequest(config=settings, declined=not all(map(is_approved, answers.values())))
        # One interrupt takes the plain value; several take values by id.
        return GraphRunRequest(
            resume=next(iter(answers.values())) if len(questions) == 1 else answers, config=settings
        )
    if questions and not any(item["type"] == "remove" for item in new):
        # The new messages answer the interrupt, unless history was edited.
        return GraphRunRequest(resume=new or "", config=settings)
    values = build_graph_input(turn, new, schema)
    node = read_client_node(turn)
    if state.next and node and node != "__end__":
        return GraphRunRequest(update=values, node=node, config=settings)
    return GraphRunRequest(input=values, config=settings)


def drop_page_instructions(turn: Turn) -> tuple[Message, ...]:
    """Return the messages without a page's leading system message, which CopilotKit's and AG-UI's own bridges
    drop too. A text-only client's system message is kept."""
    first = turn.messages[0].role if turn.messages and turn.shows_interrupts else ""
    return turn.messages[1:] if first in ("system", "developer") else turn.messages


def read_client_node(turn: Turn) -> str:
    """Return the node that the client names as current, or an empty text."""
    properties = turn.forwarded.properties
    node = turn.forwarded.node or properties.get("nodeName") or properties.get("node_name")
    return node if isinstance(node, str) else ""


def build_graph_input(turn: Turn, new: list[LangChainMessage], schema: GraphSchema) -> dict[str, Any]:
    """Build the graph's input: the client's state, new messages, and its tools under the keys that AG-UI
    (`tools`) and CopilotKit (`copilotkit`) graphs read."""
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in turn.tools
    ]
    context = [{"description": item.description, "value": item.value} for item in turn.context]
    state = turn.state if isinstance(turn.state, dict) else {}
    values = {**state, "messages": new, "tools": tools, "copilotkit": {"actions": tools, "context": context}}
    return values if schema.inputs is None else {k: v for k, v in values.items() if k in schema.inputs}


def merge_config(turn: Turn, schema: GraphSchema, config: dict[str, Any]) -> dict[str, Any]:
    """Merge the operator's configuration over the client's keys that the graph declares."""
    requested = turn.forwarded.config.get("configurable")
    theirs = requested if isinstance(requested, dict) else {}
    allowed = {
        k: v for k, v in theirs.items() if k in schema.settings and not k.startswith(_RESERVED_PREFIXES)
    }
    merged = {**allowed, **config.get("configurable", {})}
    return {**config, **({"configurable": merged} if merged else {})}


def find_open_calls(state: GraphThreadState, request: GraphRunRequest) -> Collection[str]:
    """Return the ids of the thread's calls that may get a result in this run."""
    messages = list_state_messages(request.input) if request.input else []
    answered = {str(item.get("tool_call_id")) for item in messages}
    return find_unanswered_calls(state.messages).keys() - answered

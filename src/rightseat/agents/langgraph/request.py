"""A Turn and its thread's state → a run request: new input, a resume value, or a continuation; our messages ↔
LangChain's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from rightseat.agents._peer.json_text import decode_json_object, dict_items, join_content_text, to_text
from rightseat.agents.langgraph.interrupts import BREAKPOINT_PREFIX, GraphInterrupt, match_answers, parse_interrupts
from rightseat.agents.langgraph.model_outputs import content_to_text
from rightseat.errors import ContinuationGone
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    MessagePart,
    Role,
    TextMessagePart,
    ToolCall,
    text_message,
)
from rightseat.types.sentences import get_sentence
from rightseat.types.tools import is_approved
from rightseat.types.turn import Turn

_ROLES: dict[str, Role] = {"human": "user", "ai": "assistant", "tool": "tool", "system": "system"}
_TYPES = {"user": "human", "assistant": "ai", "tool": "tool"}
# With these keys a client could select another thread, user or checkpoint.
_RESERVED_PREFIXES = ("thread_id", "run_id", "user_id", "graph_id", "assistant_id", "checkpoint", "langgraph_", "__")
LangChainMessage = dict[str, Any]


def to_langchain_message(message: Message) -> LangChainMessage:
    is_text = all(isinstance(part, TextMessagePart) for part in message.parts)
    content = message.text if is_text else [to_content_block(part) for part in message.parts]
    result: LangChainMessage = {"type": _TYPES.get(message.role, "system"), "content": content}
    result |= {key: value for key in ("id", "name") if (value := getattr(message, key)) is not None}
    if message.role == "tool":
        result["tool_call_id"] = message.call_id
    if message.calls:
        result["tool_calls"] = [
            {"type": "tool_call", "id": call.id, "name": call.name, "args": decode_json_object(call.arguments)}
            for call in message.calls
        ]
    return result


def to_content_block(part: MessagePart) -> LangChainMessage:
    match part:
        case TextMessagePart(text):
            return {"type": "text", "text": text}
        case ImageMessagePart(url, detail):
            return {"type": "image_url", "image_url": {"url": url} | ({"detail": detail} if detail else {})}
        case FileMessagePart():
            fields = {"filename": part.name, "file_data": part.data, "file_id": part.file_id}
            return {"type": "file", "file": {key: value for key, value in fields.items() if value is not None}}


def messages_from_state(values: Any) -> Iterator[Message]:
    """Yield the messages of a thread's state in our form."""
    for item in list_state_messages(values):
        role, content = _ROLES.get(str(item.get("type"))), item.get("content")
        id = item.get("id") if isinstance(item.get("id"), str) else None
        if role == "tool":
            yield text_message("tool", content_to_text(content), call_id=str(item.get("tool_call_id")), id=id)
        elif role is not None:
            yield text_message(role, join_content_text(content), calls=tuple(parse_tool_calls(item)), id=id)


def parse_tool_calls(item: LangChainMessage) -> Iterator[ToolCall]:
    for call in item.get("tool_calls") or ():
        match call:
            case {"id": str(id), "name": str(name)}:
                yield ToolCall(id, name, to_text(call.get("args") or {}))


def list_state_messages(values: Any) -> list[LangChainMessage]:
    return dict_items(values.get("messages")) if isinstance(values, dict) else []


def find_unanswered_calls(stored: Iterable[LangChainMessage]) -> dict[str, str]:
    """Return the names, by id, of a thread's calls without a result."""
    calls = {call.id: call.name for item in stored for call in parse_tool_calls(item)}
    for item in stored:
        calls.pop(str(item.get("tool_call_id")), None)
    return calls


def diff_messages(
    posted: Sequence[Message], stored: list[LangChainMessage], client_tools: Collection[str]
) -> list[LangChainMessage]:
    """Return the messages of `posted` that are not in `stored`, after removals of withdrawn ones."""
    if not stored:
        return [to_langchain_message(message) for message in posted]
    if not any(message.id for message in posted):
        # Without ids, the messages after the last answer count as new.
        last = max((n for n, message in enumerate(posted) if message.role == "assistant"), default=-1)
        return [to_langchain_message(message) for message in posted[last + 1 :]]
    stored_texts = {item.get("id"): join_content_text(item.get("content")) for item in stored}
    open_calls = find_unanswered_calls(stored)
    new = [message for message in posted if is_new_message(message, stored_texts, open_calls, client_tools)]
    return [*build_removals(posted, stored, bool(new)), *(to_langchain_message(message) for message in new)]


def is_new_message(
    message: Message, stored_texts: dict[Any, str], open_calls: dict[str, str], client_tools: Collection[str]
) -> bool:
    """Whether a message is a new user message or the result of an open call. The graph has its own output."""
    if message.role == "user":
        return stored_texts.get(message.id) != message.text
    if message.role != "tool" or message.call_id not in open_calls:
        return False
    # An unanswered call of the graph was shown with an empty result, which does not count.
    return bool(message.text) or open_calls[message.call_id] in client_tools


def build_removals(posted: Sequence[Message], stored: list[LangChainMessage], has_new: bool) -> list[LangChainMessage]:
    """Remove all after the last common message, if that includes a user message which was not posted again,
    or if nothing is new and the last posted message is the user's (a regeneration)."""
    known = {(message.id, message.text if message.role == "user" else "") for message in posted}
    results = {message.call_id for message in posted if message.call_id}
    shared = [
        n for n, item in enumerate(stored) if make_message_key(item) in known or item.get("tool_call_id") in results
    ]
    after = stored[shared[-1] + 1 :] if shared else stored
    dropped = any(item.get("type") == "human" for item in after)
    is_regeneration = not has_new and bool(posted) and posted[-1].role == "user"
    if not (dropped or is_regeneration):
        return []
    return [{"type": "remove", "id": item["id"], "content": ""} for item in after if item.get("id")]


def make_message_key(item: LangChainMessage) -> tuple[Any, str]:
    """Return the identity of a stored message: its id and, for a user message (editable), its text."""
    return item.get("id"), join_content_text(item.get("content")) if item.get("type") == "human" else ""


class GraphSchema(Struct, frozen=True):
    """The keys of a graph's input, output and configuration; None if undeclared."""

    inputs: frozenset[str] | None = None
    outputs: frozenset[str] | None = None
    settings: frozenset[str] = frozenset()


def parse_graph_schema(input_schema: Any, output_schema: Any, config_schema: Any) -> GraphSchema:
    settings = list_schema_keys(config_schema) or frozenset()
    return GraphSchema(list_schema_keys(input_schema), list_schema_keys(output_schema), settings)


def list_schema_keys(schema: Any) -> frozenset[str] | None:
    """Return the property names of an object schema; None if it declares none."""
    if not isinstance(schema, dict):
        return None
    reference = str(schema.get("$ref", ""))
    definitions = schema.get("$defs") or schema.get("definitions") or {}
    definition = definitions.get(reference.rpartition("/")[2], schema) if reference else schema
    properties = definition.get("properties") if isinstance(definition, dict) else None
    return frozenset(properties) if isinstance(properties, dict) and properties else None


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
            raise ContinuationGone(get_sentence("ask_expired", turn.get_language()))
        if not questions:
            return GraphRunRequest(config=settings, declined=not all(map(is_approved, answers.values())))
        # One interrupt takes the plain value; several take values by id.
        return GraphRunRequest(resume=next(iter(answers.values())) if len(questions) == 1 else answers, config=settings)
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
    first = turn.messages[0].role if turn.messages and turn.client.shows_interrupts else ""
    return turn.messages[1:] if first in ("system", "developer") else turn.messages


def read_client_node(turn: Turn) -> str:
    """Return the node that the client names as current, or an empty text."""
    properties = turn.client.forwarded.properties
    node = turn.client.forwarded.node or properties.get("nodeName") or properties.get("node_name")
    return node if isinstance(node, str) else ""


def build_graph_input(turn: Turn, new: list[LangChainMessage], schema: GraphSchema) -> dict[str, Any]:
    """Build the graph's input: the client's state, new messages, and its tools under the keys that AG-UI
    (`tools`) and CopilotKit (`copilotkit`) graphs read."""
    tools = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in turn.tools]
    context = [{"description": item.description, "value": item.value} for item in turn.context]
    state = turn.state if isinstance(turn.state, dict) else {}
    values = {**state, "messages": new, "tools": tools, "copilotkit": {"actions": tools, "context": context}}
    return values if schema.inputs is None else {k: v for k, v in values.items() if k in schema.inputs}


def merge_config(turn: Turn, schema: GraphSchema, config: dict[str, Any]) -> dict[str, Any]:
    """Merge the operator's configuration over the client's keys that the graph declares."""
    requested = turn.client.forwarded.config.get("configurable")
    theirs = requested if isinstance(requested, dict) else {}
    allowed = {k: v for k, v in theirs.items() if k in schema.settings and not k.startswith(_RESERVED_PREFIXES)}
    merged = {**allowed, **config.get("configurable", {})}
    return {**config, **({"configurable": merged} if merged else {})}


def find_open_calls(state: GraphThreadState, request: GraphRunRequest) -> Collection[str]:
    """Return the ids of the thread's calls that may get a result in this run."""
    messages = list_state_messages(request.input) if request.input else []
    answered = {str(item.get("tool_call_id")) for item in messages}
    return find_unanswered_calls(state.messages).keys() - answered

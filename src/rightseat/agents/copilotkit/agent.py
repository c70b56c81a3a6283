"""One agent of a remote endpoint as a Responder; a Turn as the body of /agents/execute."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
from msgspec import Raw

from rightseat.agents._peer.client import AgentClient
from rightseat.agents._peer.json_text import SHAPE_ERRORS, decode_json_object, dict_items, to_text
from rightseat.agents._peer.source import PeerAgent, PeerSource
from rightseat.agents.agui.interrupts import make_peer_thread_id
from rightseat.agents.agui.interrupts import thread_of_interrupt as agui_thread
from rightseat.agents.agui.peer_threads import PeerThreads
from rightseat.agents.agui.request import assign_message_ids, list_client_tools
from rightseat.agents.copilotkit.line_mappers import LangGraphLineMapper, RuntimeLineMapper
from rightseat.agents.langgraph.interrupts import parse_interrupt_id
from rightseat.errors import AgentNotFound, Incomplete, UpstreamRefused
from rightseat.types.agents import AgentThreadState
from rightseat.types.events import Event, Interrupt
from rightseat.types.messages import Message, ToolCall, text_message
from rightseat.types.streams import closing
from rightseat.types.turn import InterruptAnswer, Owner, Turn, check_agent_depth

FlatMessage = dict[str, Any]
# One line may hold the whole state of an agent with all its messages.
LINE_LIMIT = 32 << 20
_NULL = Raw(b"null")
LineMapper = LangGraphLineMapper | RuntimeLineMapper


def build_execute_body(name: str, turn: Turn, thread: uuid.UUID, ids: list[str], node: str | None) -> dict[str, Any]:
    """Build the request body. `node` is where the agent stopped, if it is to resume there."""
    return {
        "name": name,
        "threadId": str(thread),
        "nodeName": node,
        "messages": list(flatten_messages(turn, ids)),
        "state": turn.state if isinstance(turn.state, dict) else {},
        "config": turn.client.forwarded.config,
        "properties": turn.client.forwarded.properties,
        "actions": list_client_tools(turn),
        "metaEvents": [
            {"name": "LangGraphInterruptEvent", "response": format_interrupt_response(answer)}
            for answer in turn.answers[:1]
        ],
    }


def format_interrupt_response(answer: InterruptAnswer) -> str:
    """Return an answer as text, the form that CopilotKit's own clients send."""
    if answer.status == "cancelled":
        return "cancelled"
    return to_text(answer.payload) if answer.text is None else answer.text


def flatten_messages(turn: Turn, ids: list[str]) -> Iterator[FlatMessage]:
    """Yield each text, call and result as a message of its own."""
    names = {call.id: call.name for message in turn.messages for call in message.calls}
    for message, id in zip(turn.messages, ids, strict=True):
        if message.role == "tool":
            call = message.call_id or ""
            fields: FlatMessage = {"actionExecutionId": call, "actionName": names.get(call, ""), "result": message.text}
            yield {"id": id, "type": "ResultMessage", **fields}
            continue
        if message.text or not message.calls:
            role = "system" if message.role == "developer" else message.role
            yield {"id": id, "type": "TextMessage", "role": role, "content": message.text}
        for tool_call in message.calls:
            fields = {"name": tool_call.name, "arguments": decode_json_object(tool_call.arguments)}
            yield {"id": tool_call.id, "type": "ActionExecutionMessage", **fields, "parentMessageId": id}


def parse_state_messages(items: Any) -> tuple[Message, ...]:
    """Parse the messages of /agents/state, joining the calls of one message."""
    messages: list[Message] = []
    for item in dict_items(items):
        match item:
            case {"id": str(id), "role": ("user" | "assistant" | "system") as role, "content": str(text)}:
                messages.append(text_message(role, text, id=id))
            case {"id": str(id), "name": str(name), "arguments": arguments}:
                call = ToolCall(id, name, msgspec.json.encode(arguments).decode())
                parent = item.get("parentMessageId") or id
                if messages and messages[-1].id == parent and messages[-1].role == "assistant":
                    messages[-1] = msgspec.structs.replace(messages[-1], calls=(*messages[-1].calls, call))
                else:
                    messages.append(Message("assistant", calls=(call,), id=parent))
            case {"id": str(id), "actionExecutionId": str(call_id), "result": result}:
                messages.append(text_message("tool", to_text(result), call_id=call_id, id=id))
    return tuple(messages)


class CopilotKitAgent(PeerAgent):
    def __init__(self, name: str, client: AgentClient, source: PeerSource, *, description: str, title: str) -> None:
        super().__init__(name, source, title=title, description=description)
        self._client = client
        self._threads = PeerThreads(name, thread_of_interrupt)

    async def get_thread_state(self, owner: Owner, thread: str, /) -> AgentThreadState | None:
        body = {"name": self.name, "threadId": str(make_peer_thread_id(owner, thread)), "properties": {}}
        turn = Turn(messages=(), owner=owner)
        response = await self._client.request_json("POST", ("agents", "state"), body, turn=turn, missing_ok=True)
        if not isinstance(response, dict) or not response.get("threadExists"):
            return None
        return AgentThreadState(response.get("state"), parse_state_messages(response.get("messages")))

    async def __call__(self, turn: Turn, /) -> AsyncIterator[Event]:
        check_agent_depth(turn)
        await self._source.recheck_if_down()
        if self.name not in (known := self._source.agents):
            raise AgentNotFound(f"The endpoint has no agent {self.name!r}. Those that exist: {', '.join(known)}")
        await self._threads.load(turn, self._source.store)
        thread, turn = self._threads.resolve_turn(turn)
        ids = assign_message_ids(turn, thread, self._threads)
        mapper: LineMapper | None = None
        with self._threads.answering(turn):
            async with closing(self._stream_lines(turn, thread, ids)) as lines:
                async for line in lines:
                    mapper = mapper or self._detect_dialect(line)(turn, thread, ids, self._client.errors)
                    try:
                        events = list(mapper.feed(line))
                    except SHAPE_ERRORS as error:
                        raise self._client.errors.invalid_response("a line that is no event") from error
                    for event in events:
                        yield event
            if mapper is None:
                raise self._client.errors.incomplete_stream()
            final_events = list(mapper.finish())
        if mapper.node is not None:
            self._threads.remember_node(thread, mapper.node)
        interrupt_ids = [event.id for event in final_events if isinstance(event, Interrupt)]
        self._threads.finish_turn(turn, thread, interrupt_ids, mapper.result_message_ids)
        await self._threads.save(turn.owner, thread, self._source.store)
        for event in final_events:
            yield event

    async def _stream_lines(self, turn: Turn, thread: uuid.UUID, ids: list[str]) -> AsyncIterator[bytes]:
        # The remembered node, else the client's; answers go to the interrupted node.
        node = self._threads.take_node(thread) or turn.client.forwarded.node or None
        request_body = build_execute_body(self.name, turn, thread, ids, None if turn.answers else node)
        try:
            response = await self._client.open_stream("POST", ("agents", "execute"), request_body, turn=turn)
        except UpstreamRefused as error:
            self._source.mark_down(error)
            raise
        self._source.mark_up()
        begun, partial_line = False, b""
        async with response:
            try:
                async for data in response:
                    *lines, partial_line = (partial_line + data).split(b"\n")
                    if len(partial_line) > LINE_LIMIT:
                        raise self._client.errors.response_too_large(LINE_LIMIT)
                    for line in filter(bytes.strip, lines):
                        begun = True
                        yield line
            except Incomplete as error:
                # An endpoint reports a failed agent only by breaking off the stream.
                raise (self._client.errors.run_failed() if begun else error) from error
        if partial_line.strip():
            yield partial_line

    def _detect_dialect(self, line: bytes) -> type[LineMapper]:
        """Return the mapper of the line's dialect: LangGraph lines have `event`, runtime lines have `type`."""
        try:
            graph = msgspec.json.decode(line, type=dict[str, Raw]).get("event", _NULL) != _NULL
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._client.errors.invalid_response("not JSON by lines") from error
        return LangGraphLineMapper if graph else RuntimeLineMapper


def thread_of_interrupt(interrupt: str) -> uuid.UUID | None:
    """Return the thread of an interrupt id of either dialect."""
    parsed = parse_interrupt_id(interrupt)
    return parsed[0] if parsed else agui_thread(interrupt)

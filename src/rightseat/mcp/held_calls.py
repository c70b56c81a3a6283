"""Held calls of other workers: a person's answer may come to another worker than the one that holds the call.

A handshake server asks inside a call, which waits in the worker that made it. The worker that gets the answer passes it
on, and gets back what the call yields: progress, another question, a result or an error.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal
from weakref import WeakSet

import mcp_types as types
import msgspec
from msgspec import Struct
from msgspec.structs import asdict
from pydantic import TypeAdapter

from rightseat.errors import UpstreamError
from rightseat.mcp.connection import (
    EXPIRED,
    RESULT_ADAPTER,
    CallFailure,
    CallItem,
    CallProgress,
    McpConnection,
    RemoteToolCall,
    ServerQuestion,
)
from rightseat.runtime.worker_messages import WorkerMessages
from rightseat.types.live import ControlMessage

ANSWER_CALL, CALL_ITEM, DROP_CALL = "mcp_held_answer", "mcp_held_item", "mcp_held_drop"
"""Kinds of messages: to the worker that holds a call, from it, and to it when nobody wants the result any more."""
_params_adapter: TypeAdapter[Any] = TypeAdapter(types.ElicitRequestURLParams | types.ElicitRequestFormParams)
_elicit_adapter: TypeAdapter[types.ElicitResult] = TypeAdapter(types.ElicitResult)


class HeldAnswer(Struct, frozen=True):
    """Answer for the held call `call`, or None where the call is to be dropped."""

    call: str
    result: Any = None


class RelayedItem(Struct, frozen=True):
    """What a call yields, as JSON."""

    call: str
    kind: Literal["progress", "question", "result", "error"]
    value: Any


_encode = msgspec.json.Encoder().encode
_answer_decoder = msgspec.json.Decoder(HeldAnswer)
_item_decoder = msgspec.json.Decoder(RelayedItem)


def encode_item(call: str, item: CallItem) -> str:
    match item:
        case CallProgress():
            relayed = RelayedItem(call, "progress", asdict(item))
        case ServerQuestion(params):
            relayed = RelayedItem(call, "question", _params_adapter.dump_python(params, mode="json", by_alias=True))
        case UpstreamError() | CallFailure():
            relayed = RelayedItem(call, "error", {"code": item.code, "message": item.message})
        case result:
            relayed = RelayedItem(call, "result", RESULT_ADAPTER.dump_python(result, mode="json", by_alias=True))
    return _encode(relayed).decode()


def decode_item(relayed: RelayedItem) -> CallItem:
    value = relayed.value
    match relayed.kind:
        case "progress":
            return CallProgress(**value)
        case "question":
            return ServerQuestion(_params_adapter.validate_python(value))
        case "error":
            return CallFailure(**value)
        case "result":
            return RESULT_ADAPTER.validate_python(value)


class RelayedCall:
    """A call that another worker holds and whose answer was given here."""

    def __init__(self, link: HeldCallLink, worker: str, owner: str, id: str, name: str) -> None:
        self.link = link
        self.worker = worker
        self.owner = owner
        self.id = id
        self.name = name
        self.items: asyncio.Queue[CallItem] = asyncio.Queue()
        self.is_held = False
        """Whether the other worker holds the call again, for another question."""
        self.is_ended = False

    def hold(self) -> None:
        self.is_held = True

    def add_item(self, item: CallItem) -> None:
        self.is_ended = not isinstance(item, CallProgress)
        self.items.put_nowait(item)

    async def close(self) -> None:
        """Let the other worker cancel the call if it still runs."""
        self.link.relayed_calls.pop(self.id, None)
        if not self.is_ended:
            self.is_ended = True
            await self.link.send(self.worker, DROP_CALL, self.owner, _encode(HeldAnswer(self.id)).decode())


class HeldCallLink:
    """Passes answers and items of held calls between workers."""

    def __init__(self, messages: WorkerMessages) -> None:
        self.messages = messages
        self.connections: WeakSet[McpConnection] = WeakSet()
        self.relayed_calls: dict[str, RelayedCall] = {}
        """Calls of other workers that were answered here."""
        self.relays: dict[str, asyncio.Task[None]] = {}
        """Calls of this worker that were answered elsewhere."""
        self.tasks: set[asyncio.Task[bool]] = set()
        messages.handle(ANSWER_CALL, self.on_answer)
        messages.handle(CALL_ITEM, self.on_item)
        messages.handle(DROP_CALL, self.on_drop)

    @property
    def worker(self) -> str:
        return self.messages.worker

    async def send(self, worker: str, kind: str, owner: str, body: str) -> bool:
        return await self.messages.send(worker, ControlMessage(kind, owner, body=body))

    async def answer_call(
        self, worker: str, owner: str, id: str, name: str, result: types.ElicitResult
    ) -> RelayedCall | None:
        """Pass an answer to the worker that holds the call; None if the worker is gone."""
        call = self.relayed_calls[id] = RelayedCall(self, worker, owner, id, name)
        answer = HeldAnswer(id, _elicit_adapter.dump_python(result, mode="json", by_alias=True))
        if await self.send(worker, ANSWER_CALL, owner, _encode(answer).decode()):
            return call
        del self.relayed_calls[id]
        return None

    def on_item(self, message: ControlMessage) -> None:
        relayed = _item_decoder.decode(message.body)
        call = self.relayed_calls.get(relayed.call)
        if call is not None and (call.owner, call.worker) == (message.owner, message.sender):
            call.add_item(decode_item(relayed))

    def take_call(self, owner: str, id: str) -> RemoteToolCall | None:
        """Return the held call of an owner, which then is not held any more."""
        for connection in self.connections:
            tool_call = connection.held_calls.get(id)
            if tool_call is not None and tool_call.owner == owner:
                return connection.held_calls.pop(id)
        return None

    def on_answer(self, message: ControlMessage) -> None:
        answer = _answer_decoder.decode(message.body)
        tool_call = self.take_call(message.owner, answer.call)
        if tool_call is None or not tool_call.resume(_elicit_adapter.validate_python(answer.result)):
            body = encode_item(answer.call, EXPIRED)
            task = asyncio.create_task(self.send(message.sender, CALL_ITEM, message.owner, body))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            return
        relay = self.relays[answer.call] = asyncio.create_task(self.relay_items(tool_call, message))
        relay.add_done_callback(lambda _: self.relays.pop(answer.call, None))

    async def relay_items(self, tool_call: RemoteToolCall, answer: ControlMessage) -> None:
        """Send what a call yields to the worker that sent its answer, up to the result or the next question."""
        try:
            item: CallItem = CallProgress(0)
            while isinstance(item, CallProgress):
                item = await tool_call.items.get()
                if isinstance(item, ServerQuestion):
                    # Before the person can answer.
                    tool_call.hold()
                await self.send(answer.sender, CALL_ITEM, answer.owner, encode_item(tool_call.id, item))
        finally:
            if not tool_call.is_held:
                await tool_call.close()

    def on_drop(self, message: ControlMessage) -> None:
        id = _answer_decoder.decode(message.body).call
        relay = self.relays.get(id)
        if relay is not None:
            relay.cancel()

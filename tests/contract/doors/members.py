"""The doors as their clients use them: what a person at this door says, sees, answers.

A Visit is one conversation. It keeps the history as that door's client would and sends it whole each time.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.kit.client import Client


@dataclass
class Seen:
    """What the client has after one answer."""

    text: str = ""
    calls: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """Calls that the client is to run: id → name, arguments."""
    results: dict[str, str] = field(default_factory=dict)
    asks: list[dict[str, Any]] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    error: str | None = None
    finish: str | None = None
    status: int = 200


class Visit(Protocol):
    history: list[dict[str, Any]]

    async def say(self, text: str) -> Seen: ...
    async def give(self, results: dict[str, str]) -> Seen: ...
    async def answer(self, value: Any) -> Seen: ...
    async def again(self) -> Seen: ...
    def body(self) -> tuple[str, dict[str, Any]]: ...


TOOLS = ("show", "paint")
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


class OpenAI:
    """The OpenAI wire. Questions come as text, and the next thing said answers them."""

    def __init__(self, url: str, *, stream: bool) -> None:
        self.url = url
        self.stream = stream
        self.history: list[dict[str, Any]] = []

    def body(self) -> tuple[str, dict[str, Any]]:
        functions = [{"name": name, "description": name, "parameters": SCHEMA} for name in TOOLS]
        tools = [{"type": "function", "function": function} for function in functions]
        return "/v1/chat/completions", {"messages": self.history, "stream": self.stream, "tools": tools}

    async def say(self, text: str) -> Seen:
        self.history.append({"role": "user", "content": text})
        return await self.again()

    async def give(self, results: dict[str, str]) -> Seen:
        self.history += [
            {"role": "tool", "tool_call_id": id, "content": text} for id, text in results.items()
        ]
        return await self.again()

    async def answer(self, value: Any) -> Seen:
        return await self.say({True: "yes", False: "No."}[value] if isinstance(value, bool) else value)

    async def again(self) -> Seen:
        target, body = self.body()
        async with Client(self.url) as client:
            await client.post(target, body)
            head = await client.head()
            if head.status != 200:
                error = (await client.json())["error"]
                return Seen(error=error["code"], status=head.status)
            if not self.stream:
                choice = (await client.json())["choices"][0]
                seen = self.whole(choice)
            else:
                seen = await self.chunks(client)
        if seen.error is None:
            self.remember(seen)
        return seen

    def whole(self, choice: dict[str, Any]) -> Seen:
        message = choice["message"]
        calls = {
            call["id"]: (call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls") or ()
        }
        return Seen(text=message["content"] or "", calls=calls, finish=choice["finish_reason"])

    async def chunks(self, client: Client) -> Seen:
        seen = Seen()
        parts: dict[int, list[str]] = {}
        async for frame in client.frames():
            assert frame.data is not None
            if frame.data == "[DONE]":
                break
            if "error" in frame.json:
                seen.error = frame.json["error"]["code"]
                continue
            choice = frame.json["choices"][0]
            seen.text += choice["delta"].get("content") or ""
            seen.finish = choice["finish_reason"] or seen.finish
            for call in choice["delta"].get("tool_calls") or ():
                function = call["function"]
                head = [call["id"], function["name"]] if "id" in call else []
                parts.setdefault(call["index"], head).append(function["arguments"])
        if seen.finish == "tool_calls":
            seen.calls = {id: (name, json.loads("".join(args))) for id, name, *args in parts.values()}
        return seen

    def remember(self, seen: Seen) -> None:
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for id, (name, args) in seen.calls.items()
        ]
        message: dict[str, Any] = {"role": "assistant", "content": seen.text or None}
        self.history.append(message | ({"tool_calls": calls} if calls else {}))
        # This wire shows a question only as text: the person reads it there.
        if not calls and "?" in seen.text:
            seen.asks = [{"message": seen.text}]


class AgUi:
    """AG-UI: messages are built from events, as its own client does; interrupts are answered by resume."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.history: list[dict[str, Any]] = []
        self.resume: list[dict[str, Any]] = []
        self.open: list[str] = []

    def body(self) -> tuple[str, dict[str, Any]]:
        tools = [{"name": name, "description": name, "parameters": SCHEMA} for name in TOOLS]
        run = {"threadId": "t1", "runId": f"r{len(self.history)}", "messages": self.history, "tools": tools}
        return "/agui/default", run | {
            "context": [],
            "state": {},
            "forwardedProps": {},
            "resume": self.resume,
        }

    async def say(self, text: str) -> Seen:
        self.history.append({"id": f"u{len(self.history)}", "role": "user", "content": text})
        return await self.again()

    async def give(self, results: dict[str, str]) -> Seen:
        self.history += [
            {"id": f"t-{id}", "role": "tool", "toolCallId": id, "content": text}
            for id, text in results.items()
        ]
        return await self.again()

    async def answer(self, value: Any) -> Seen:
        payload = {"approved": value} if isinstance(value, bool) else value
        self.resume = [{"interruptId": id, "status": "resolved", "payload": payload} for id in self.open[:1]]
        return await self.again()

    async def again(self) -> Seen:
        target, body = self.body()
        async with Client(self.url) as client:
            await client.post(target, body)
            head = await client.head()
            if head.status != 200:
                return Seen(error=(await client.json())["code"], status=head.status)
            events = [frame.json async for frame in client.frames() if frame.data]
        return self.read(events)

    def read(self, events: list[dict[str, Any]]) -> Seen:
        seen = Seen()
        names: dict[str, str] = {}
        args: dict[str, str] = {}
        for event in events:
            match event:
                case {"type": "TEXT_MESSAGE_START", "messageId": id}:
                    self.history.append({"id": id, "role": "assistant", "content": ""})
                case {"type": "TEXT_MESSAGE_CONTENT", "delta": delta}:
                    self.history[-1]["content"] += delta
                    seen.text += delta
                case {
                    "type": "TOOL_CALL_START",
                    "toolCallId": id,
                    "toolCallName": name,
                    "parentMessageId": parent,
                }:
                    names[id], args[id] = name, ""
                    self.call_into(parent, id, name)
                case {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta}:
                    args[id] += delta
                    self.call(id)["function"]["arguments"] += delta
                case {"type": "TOOL_CALL_END", "toolCallId": id}:
                    seen.calls[id] = (names[id], json.loads(args[id]))
                case {"type": "TOOL_CALL_RESULT", "toolCallId": id, "content": content, "messageId": message}:
                    seen.calls.pop(id, None)
                    seen.results[id] = content
                    result = {"id": message, "role": "tool", "toolCallId": id, "content": content}
                    self.history.append(result)
                case {"type": "RUN_ERROR", "code": code}:
                    seen.error = code
                    seen.calls = {}
                case {"type": "RUN_FINISHED", "outcome": outcome}:
                    self.finished(outcome, seen)
        seen.steps = [event["stepName"] for event in events if event["type"] == "STEP_STARTED"]
        self.resume = []
        return seen

    def finished(self, outcome: dict[str, Any], seen: Seen) -> None:
        seen.finish = outcome["type"]
        seen.asks = outcome.get("interrupts", [])
        self.open = [ask["id"] for ask in seen.asks]
        asked = {ask.get("toolCallId") for ask in seen.asks}
        seen.calls = {id: call for id, call in seen.calls.items() if id not in asked}
        assert outcome.get("pendingToolCallIds", list(seen.calls)) == list(seen.calls)

    def call_into(self, parent: str, id: str, name: str) -> None:
        if not self.history or self.history[-1].get("id") != parent:
            self.history.append({"id": parent, "role": "assistant", "content": ""})
        call = {"id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        self.history[-1].setdefault("toolCalls", []).append(call)

    def call(self, id: str) -> dict[str, Any]:
        calls = [call for message in self.history for call in message.get("toolCalls", ())]
        found: dict[str, Any] = next(call for call in calls if call["id"] == id)
        return found


MEMBERS: dict[str, Callable[[str], Visit]] = {
    "openai-streamed": lambda url: OpenAI(url, stream=True),
    "openai-whole": lambda url: OpenAI(url, stream=False),
    "agui": AgUi,
}

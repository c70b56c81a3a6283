"""AG-UI as its clients use it: at its own door, and on CopilotKit's kept threads."""

import json
import uuid
from typing import Any

from tests.contract.doors.seen import SCHEMA, TOOLS, Seen
from tests.kit.client import Client


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
        return "/agui/default", run | {"context": [], "state": {}, "forwardedProps": {}, "resume": self.resume}

    async def say(self, text: str) -> Seen:
        self.history.append({"id": f"u{len(self.history)}", "role": "user", "content": text})
        return await self.again()

    async def give(self, results: dict[str, str]) -> Seen:
        self.history += [
            {"id": f"t-{id}", "role": "tool", "toolCallId": id, "content": text} for id, text in results.items()
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
                case {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name, "parentMessageId": parent}:
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


class KeptThread(AgUi):
    """CopilotKit's clients of 1.50 and later: AG-UI on a kept thread, by one endpoint or by routes."""

    def __init__(self, url: str, *, single: bool) -> None:
        super().__init__(url)
        self.single = single

    def body(self) -> tuple[str, dict[str, Any]]:
        _, run = super().body()
        # Every run has an id of its own: the same one would be joined.
        run["runId"] = str(uuid.uuid4())
        if self.single:
            return "/copilotkit", {"method": "agent/run", "params": {"agentId": "default"}, "body": run}
        return "/copilotkit/agent/default/run", run

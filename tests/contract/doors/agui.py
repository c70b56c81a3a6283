"""AG-UI as its clients use it: at its own door, and on CopilotKit's kept threads."""

import json
import uuid
from typing import Any

from tests.contract.doors.client_result import CLIENT_TOOLS, TOOL_SCHEMA, ClientResult
from tests.kit.client import RawHttpClient


def parse_arguments(text: str) -> Any:
    """As the clients do: arguments that are no JSON are none."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


class AguiClient:
    """AG-UI: messages are built from events, as its own client does; interrupts are answered by resume."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.history: list[dict[str, Any]] = []
        self.resume: list[dict[str, Any]] = []
        self.open: list[str] = []

    def build_request(self) -> tuple[str, dict[str, Any]]:
        tools = [{"name": name, "description": name, "parameters": TOOL_SCHEMA} for name in CLIENT_TOOLS]
        run = {"threadId": "t1", "runId": str(uuid.uuid4()), "messages": self.history, "tools": tools}
        return "/agui/default", run | {"context": [], "state": {}, "forwardedProps": {}, "resume": self.resume}

    async def send_message(self, text: str) -> ClientResult:
        self.history.append({"id": f"u{len(self.history)}", "role": "user", "content": text})
        return await self.send_history()

    async def send_results(self, results: dict[str, str]) -> ClientResult:
        self.history += [
            {"id": f"t-{id}", "role": "tool", "toolCallId": id, "content": text} for id, text in results.items()
        ]
        return await self.send_history()

    async def answer_question(self, value: Any) -> ClientResult:
        payload = {"approved": value} if isinstance(value, bool) else value
        self.resume = [{"interruptId": id, "status": "resolved", "payload": payload} for id in self.open[:1]]
        return await self.send_history()

    async def send_history(self) -> ClientResult:
        target, body = self.build_request()
        async with RawHttpClient(self.url) as client:
            await client.post_json(target, body)
            head = await client.read_head()
            if head.status != 200:
                return ClientResult(error=(await client.read_json())["code"], status=head.status)
            events = [frame.json async for frame in client.iterate_frames() if frame.data]
        return self.read_events(events)

    def read_events(self, events: list[dict[str, Any]]) -> ClientResult:
        seen = ClientResult()
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
                    self.add_call(parent, id, name)
                case {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": delta}:
                    args[id] += delta
                    self.find_call(id)["function"]["arguments"] += delta
                case {"type": "TOOL_CALL_END", "toolCallId": id}:
                    seen.calls[id] = (names[id], parse_arguments(args[id]))
                case {"type": "TOOL_CALL_RESULT", "toolCallId": id, "content": content, "messageId": message}:
                    seen.calls.pop(id, None)
                    seen.results[id] = content
                    result = {"id": message, "role": "tool", "toolCallId": id, "content": content}
                    self.history.append(result)
                case {"type": "RUN_ERROR", "code": code}:
                    seen.error = code
                    seen.calls = {}
                case {"type": "RUN_FINISHED", "outcome": outcome}:
                    self.read_outcome(outcome, seen)
        seen.artifacts = [event["value"] for event in events if event.get("name") == "artifact"]
        seen.steps = [event["stepName"] for event in events if event["type"] == "STEP_STARTED"]
        self.resume = []
        return seen

    def read_outcome(self, outcome: dict[str, Any], seen: ClientResult) -> None:
        seen.finish_reason = outcome["type"]
        seen.questions = outcome.get("interrupts", [])
        self.open = [ask["id"] for ask in seen.questions]
        question_calls = {ask.get("toolCallId") for ask in seen.questions}
        seen.calls = {id: call for id, call in seen.calls.items() if id not in question_calls}
        assert outcome.get("pendingToolCallIds", list(seen.calls)) == list(seen.calls)

    def add_call(self, parent: str, id: str, name: str) -> None:
        if not self.history or self.history[-1].get("id") != parent:
            self.history.append({"id": parent, "role": "assistant", "content": ""})
        call = {"id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        self.history[-1].setdefault("toolCalls", []).append(call)

    def find_call(self, id: str) -> dict[str, Any]:
        calls = [call for message in self.history for call in message.get("toolCalls", ())]
        match: dict[str, Any] = next(call for call in calls if call["id"] == id)
        return match


class CopilotKitAguiClient(AguiClient):
    """CopilotKit's clients of 1.50 and later: AG-UI on a kept thread, by one endpoint or by routes."""

    def __init__(self, url: str, *, single: bool) -> None:
        super().__init__(url)
        self.single = single

    def build_request(self) -> tuple[str, dict[str, Any]]:
        _, run = super().build_request()
        # Every run has an id of its own: the same one would be joined.
        run["runId"] = str(uuid.uuid4())
        if self.single:
            return "/copilotkit", {"method": "agent/run", "params": {"agentId": "default"}, "body": run}
        return "/copilotkit/agent/default/run", run

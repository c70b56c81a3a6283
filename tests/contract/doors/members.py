"""The doors as their clients use them: what a person at this door says, sees, answers.

A Visit is one conversation. It keeps the history as that door's client would and sends it whole each time.
"""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from tests.contract.doors.agui import AgUi, KeptThread
from tests.contract.doors.seen import SCHEMA, TOOLS, Seen
from tests.kit.client import Client, Frame
from tests.unit.doors.copilotkit import client as copilotkit


class Visit(Protocol):
    history: list[dict[str, Any]]

    async def say(self, text: str) -> Seen: ...
    async def give(self, results: dict[str, str]) -> Seen: ...
    async def answer(self, value: Any) -> Seen: ...
    async def again(self) -> Seen: ...
    def body(self) -> tuple[str, dict[str, Any]]: ...


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
        self.history += [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results.items()]
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


class OpenBB:
    """OpenBB's wire: widgets are the tools, a function call ends a stream, and its result is posted again.

    Today's client takes several widgets in one call and shows more than text. That of 2024 takes one, by its
    uuid, and sends back what else was in the call; what is still to come of an answer is told there.
    """

    FAILED = re.compile(r"(?:\n\n)?[^\n]* \(([a-z_]+)\)\Z")

    def __init__(self, url: str, *, old: bool) -> None:
        self.url = url
        self.old = old
        self.history: list[dict[str, Any]] = []
        self.call: dict[str, Any] | None = None

    def body(self) -> tuple[str, dict[str, Any]]:
        params = [{"name": "title", "type": "text", "description": "t"}]
        widgets = [
            {"uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), "name": name, "description": name}
            | ({} if self.old else {"origin": "tests", "widget_id": name, "params": params})
            for name in TOOLS
        ]
        given: Any = widgets if self.old else {"primary": widgets, "secondary": [], "extra": []}
        return "/v1/query", {"messages": self.history, "widgets": given}

    async def say(self, text: str) -> Seen:
        self.history.append({"role": "human", "content": text})
        return await self.again()

    async def give(self, results: dict[str, str]) -> Seen:
        seen = Seen()
        for number in range(len(results) if self.old else 1):
            assert self.call is not None
            assert number == 0 or not seen.text, "the answer came before all results were there"
            given = [results[call["id"]] for call in state(self.call)["calls"]]
            call = {name: self.call[name] for name in ("function", "input_arguments")}
            self.history += [
                {"role": "ai", "content": json.dumps(self.call if self.old else call)},
                {"role": "tool", "function": call["function"], "data": {"content": given[0]}}
                if self.old
                else {
                    "role": "tool",
                    **call,
                    "data": [{"items": [{"content": text}], "extra_citations": []} for text in given],
                    "extra_state": self.call["extra_state"],
                },
            ]
            seen = await self.again()
        return seen

    async def answer(self, value: Any) -> Seen:
        return await self.say({True: "yes", False: "No."}[value] if isinstance(value, bool) else value)

    async def again(self) -> Seen:
        target, body = self.body()
        async with Client(self.url) as client:
            await client.post(target, body)
            head = await client.head()
            assert head.status == 200, await client.body()
            frames = [frame async for frame in client.frames() if frame.data]
        return self.read(frames)

    def read(self, frames: list[Frame]) -> Seen:
        seen = Seen(finish="stop")
        for frame in frames:
            assert not seen.calls, "something followed the call"
            assert frame.event is not None
            assert not self.old or frame.event in ("copilotMessageChunk", "copilotFunctionCall")
            match frame.event:
                case "copilotMessageChunk":
                    seen.text += frame.json["delta"]
                case "copilotStatusUpdate":
                    assert frame.json["eventType"] != "ERROR"
                    seen.steps.append(frame.json["message"])
                case "copilotFunctionCall":
                    self.call = frame.json
                    ours = state(frame.json)
                    due = [*ours["calls"], *ours.get("later", [])]
                    seen.calls = {call["id"]: (call["name"], call["arguments"]) for call in due}
        if found := self.FAILED.search(seen.text):
            seen.error, seen.text = found[1], seen.text[: found.start()]
        elif seen.text:
            self.history.append({"role": "ai", "content": seen.text})
        if not seen.calls and "?" in seen.text:
            seen.asks = [{"message": seen.text}]
        return seen


def state(call: dict[str, Any]) -> dict[str, Any]:
    """What the server put into a function call for itself."""
    holder = call.get("extra_state") or call["copilot_function_call_arguments"]
    found: dict[str, Any] = holder["rightseat"]
    return found


class CopilotKit:
    """CopilotKit's clients up to 1.10.6: GraphQL, a message for every text, call and result; a call is run
    unless it is pending, and a question is answered by giving it back as it was."""

    def __init__(self, url: str, *, document: str) -> None:
        self.url = url
        self.document = document
        self.history: list[dict[str, Any]] = []
        self.open: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []

    def body(self) -> tuple[str, dict[str, Any]]:
        posted = [copilotkit.text(m["content"], id=m["id"]) if "role" in m else m for m in self.history]
        actions = [copilotkit.action(name, schema=SCHEMA) for name in TOOLS]
        given = copilotkit.data(*posted, frontend={"actions": actions}, metaEvents=self.events)
        return copilotkit.PATH, copilotkit.body(given, self.document)

    async def say(self, text: str) -> Seen:
        self.history.append(copilotkit.text(text, id=f"u{len(self.history)}"))
        return await self.again()

    async def give(self, results: dict[str, str]) -> Seen:
        for id, result in results.items():
            # Directly after its call, as the client does it.
            place = next(n for n, m in enumerate(self.history) if m["id"] == id)
            name = self.history[place]["actionExecutionMessage"]["name"]
            self.history.insert(place + 1, self.result(id, name, result))
        return await self.again()

    async def answer(self, value: Any) -> Seen:
        response = json.dumps({"approved": value}) if isinstance(value, bool) else value
        asked = self.open[0]
        self.events = [{"name": asked["name"], "value": asked["value"], "response": response}]
        return await self.again()

    async def again(self) -> Seen:
        target, body = self.body()
        self.events = []
        async with Client(self.url) as client:
            await client.post(target, body, {"Accept": copilotkit.ACCEPT})
            answer = copilotkit.read(await client.head(), await client.body())
        if answer.errors:
            return Seen(error=answer.errors[0]["extensions"]["originalErrorType"])
        return self.seen(answer.response)

    def seen(self, response: dict[str, Any]) -> Seen:
        seen = Seen(finish="stop")
        for message in response["messages"]:
            self.take(message, seen)
        status = response["status"]
        if status["code"] == "Failed":
            seen.error = status["details"]["originalError"]["originalErrorType"]
            seen.calls = {}
        self.open = response["metaEvents"]
        seen.asks = [json.loads(event["value"]) for event in self.open]
        asked = {ask.get("call") for ask in seen.asks}
        seen.calls = {id: call for id, call in seen.calls.items() if id not in asked}
        return seen

    def take(self, message: dict[str, Any], seen: Seen) -> None:
        id = message["id"]
        match message["__typename"]:
            case "TextMessageOutput":
                said = "".join(message["content"])
                seen.text += said
                self.history.append(copilotkit.text(said, "assistant", id))
            case "ActionExecutionMessageOutput" if message["status"]["code"] != "Pending":
                arguments = "".join(message["arguments"])
                seen.calls[id] = message["name"], json.loads(arguments)
                call = {"name": message["name"], "arguments": arguments}
                call["parentMessageId"] = message["parentMessageId"]
                self.history.append({"id": id, "createdAt": copilotkit.WHEN, "actionExecutionMessage": call})
            case "ResultMessageOutput":
                assert id == f"result-{message['actionExecutionId']}"
                seen.calls.pop(message["actionExecutionId"], None)
                seen.results[message["actionExecutionId"]] = message["result"]
                made = (message["actionExecutionId"], message["actionName"], message["result"])
                self.history.append(self.result(*made))
            case "AgentStateMessageOutput" if message["active"]:
                seen.steps.append(message["nodeName"])

    def result(self, id: str, name: str, result: str) -> dict[str, Any]:
        told = {"actionExecutionId": id, "actionName": name, "result": result}
        return {"id": f"result-{id}", "createdAt": copilotkit.WHEN, "resultMessage": told}


MEMBERS: dict[str, Callable[[str], Visit]] = {
    "openai-streamed": lambda url: OpenAI(url, stream=True),
    "openai-whole": lambda url: OpenAI(url, stream=False),
    "agui": AgUi,
    "copilotkit-single": lambda url: KeptThread(url, single=True),
    "copilotkit-routes": lambda url: KeptThread(url, single=False),
    "openbb-today": lambda url: OpenBB(url, old=False),
    "openbb-2024": lambda url: OpenBB(url, old=True),
    "copilotkit-planned": lambda url: CopilotKit(url, document=copilotkit.DOCUMENT),
    "copilotkit-executed": lambda url: CopilotKit(url, document=copilotkit.GENERIC),
    "copilotkit-whole": lambda url: CopilotKit(url, document=copilotkit.WHOLE),
}

DETACHED = ("copilotkit-single", "copilotkit-routes")
"""Those whose runs go on when their client leaves."""

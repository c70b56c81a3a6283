"""The doors as their clients use them: what a person at this door says, sees, answers.

A Visit is one conversation. It keeps the history as that door's client would and sends it whole each time.
"""

import json
import re
import uuid
from collections.abc import Callable
from typing import Any, Protocol

from tests.contract.doors.agui import AguiClient, CopilotKitAguiClient, parse_arguments
from tests.contract.doors.client_result import CLIENT_TOOLS, TOOL_SCHEMA, ClientResult
from tests.contract.doors.eulercopilot import EulerClient
from tests.kit.client import RawHttpClient, SseFrame
from tests.unit.doors.copilotkit import client as copilotkit

QUESTION_MARK = re.compile("[?？]")


class DoorClient(Protocol):
    history: list[dict[str, Any]]

    async def send_message(self, text: str) -> ClientResult: ...
    async def send_results(self, results: dict[str, str]) -> ClientResult: ...
    async def answer_question(self, value: Any) -> ClientResult: ...
    async def send_history(self) -> ClientResult: ...
    def build_request(self) -> tuple[str, dict[str, Any]]: ...


class OpenAIClient:
    """The OpenAI wire. Questions come as text, and the next thing said answers them."""

    def __init__(self, url: str, *, stream: bool) -> None:
        self.url = url
        self.stream = stream
        self.history: list[dict[str, Any]] = []

    def build_request(self) -> tuple[str, dict[str, Any]]:
        functions = [{"name": name, "description": name, "parameters": TOOL_SCHEMA} for name in CLIENT_TOOLS]
        tools = [{"type": "function", "function": function} for function in functions]
        return "/v1/chat/completions", {"messages": self.history, "stream": self.stream, "tools": tools}

    async def send_message(self, text: str) -> ClientResult:
        self.history.append({"role": "user", "content": text})
        return await self.send_history()

    async def send_results(self, results: dict[str, str]) -> ClientResult:
        self.history += [{"role": "tool", "tool_call_id": id, "content": text} for id, text in results.items()]
        return await self.send_history()

    async def answer_question(self, value: Any) -> ClientResult:
        return await self.send_message({True: "yes", False: "No."}[value] if isinstance(value, bool) else value)

    async def send_history(self) -> ClientResult:
        target, body = self.build_request()
        async with RawHttpClient(self.url) as client:
            await client.post_json(target, body)
            head = await client.read_head()
            if head.status != 200:
                error = (await client.read_json())["error"]
                return ClientResult(error=error["code"], status=head.status)
            if not self.stream:
                choice = (await client.read_json())["choices"][0]
                seen = self.read_choice(choice)
            else:
                seen = await self.read_chunks(client)
        if seen.error is None:
            self.append_answer(seen)
        return seen

    def read_choice(self, choice: dict[str, Any]) -> ClientResult:
        message = choice["message"]
        calls = {
            call["id"]: (call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in message.get("tool_calls") or ()
        }
        return ClientResult(text=message["content"] or "", calls=calls, finish_reason=choice["finish_reason"])

    async def read_chunks(self, client: RawHttpClient) -> ClientResult:
        seen = ClientResult()
        parts: dict[int, list[str]] = {}
        async for frame in client.iterate_frames():
            if frame.data is None:
                # A comment, while the model is silent.
                continue
            if frame.data == "[DONE]":
                break
            if "error" in frame.json:
                seen.error = frame.json["error"]["code"]
                continue
            choice = frame.json["choices"][0]
            seen.text += choice["delta"].get("content") or ""
            seen.finish_reason = choice["finish_reason"] or seen.finish_reason
            for call in choice["delta"].get("tool_calls") or ():
                function = call["function"]
                head = [call["id"], function["name"]] if "id" in call else []
                parts.setdefault(call["index"], head).append(function["arguments"])
        seen.calls = {id: (name, json.loads("".join(args))) for id, name, *args in parts.values()}
        return seen

    def append_answer(self, seen: ClientResult) -> None:
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for id, (name, args) in seen.calls.items()
        ]
        message: dict[str, Any] = {"role": "assistant", "content": seen.text or None}
        self.history.append(message | ({"tool_calls": calls} if calls else {}))
        # This wire shows a question only as text: the person reads it there.
        if not calls and QUESTION_MARK.search(seen.text):
            seen.questions = [{"message": seen.text}]


class OpenBBClient:
    """OpenBB's wire: widgets are the tools, a function call ends a stream, and its result is posted again.

    Today's client takes several widgets in one call and shows more than text. That of 2024 takes one, by its
    uuid, and sends back what else was in the call; what is still to come of an answer is told there.
    """

    ERROR_PATTERN = re.compile(r"(?:\n\n)?[^\n]* \(([a-z_]+)\)\Z")

    def __init__(self, url: str, *, legacy: bool) -> None:
        self.url = url
        self.legacy = legacy
        self.history: list[dict[str, Any]] = []
        self.call: dict[str, Any] | None = None

    def build_request(self) -> tuple[str, dict[str, Any]]:
        params = [{"name": name, "type": "text", "description": "t"} for name in ("title", "colour")]
        widgets = [
            {"uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, name)), "name": name, "description": name}
            | ({} if self.legacy else {"origin": "tests", "widget_id": name, "params": params})
            for name in CLIENT_TOOLS
        ]
        widget_groups: Any = widgets if self.legacy else {"primary": widgets, "secondary": [], "extra": []}
        return "/v1/query", {"messages": self.history, "widgets": widget_groups}

    async def send_message(self, text: str) -> ClientResult:
        self.history.append({"role": "human", "content": text})
        return await self.send_history()

    async def send_results(self, results: dict[str, str]) -> ClientResult:
        seen = ClientResult()
        for number in range(len(results) if self.legacy else 1):
            assert self.call is not None
            assert number == 0 or not seen.text, "the answer came before all results were there"
            contents = [results[call["id"]] for call in get_call_state(self.call)["calls"]]
            call = {name: self.call[name] for name in ("function", "input_arguments")}
            self.history += [
                {"role": "ai", "content": json.dumps(self.call if self.legacy else call)},
                {"role": "tool", "function": call["function"], "data": {"content": contents[0]}}
                if self.legacy
                else {
                    "role": "tool",
                    **call,
                    "data": [{"items": [{"content": text}], "extra_citations": []} for text in contents],
                    "extra_state": self.call["extra_state"],
                },
            ]
            seen = await self.send_history()
        return seen

    async def answer_question(self, value: Any) -> ClientResult:
        return await self.send_message({True: "yes", False: "No."}[value] if isinstance(value, bool) else value)

    async def send_history(self) -> ClientResult:
        target, body = self.build_request()
        async with RawHttpClient(self.url) as client:
            await client.post_json(target, body)
            head = await client.read_head()
            assert head.status == 200, await client.read_body()
            frames = [frame async for frame in client.iterate_frames() if frame.data]
        return self.read_frames(frames)

    def read_frames(self, frames: list[SseFrame]) -> ClientResult:
        seen = ClientResult(finish_reason="stop")
        for frame in frames:
            assert not seen.calls, "something followed the call"
            assert frame.event is not None
            assert not self.legacy or frame.event in ("copilotMessageChunk", "copilotFunctionCall")
            match frame.event:
                case "copilotMessageChunk":
                    seen.text += frame.json["delta"]
                case "copilotStatusUpdate":
                    assert frame.json["eventType"] != "ERROR"
                    seen.steps.append(frame.json["message"])
                case "copilotMessageArtifact":
                    seen.artifacts.append(frame.json)
                case "copilotFunctionCall":
                    self.call = frame.json
                    call_state = get_call_state(frame.json)
                    due = [*call_state["calls"], *call_state.get("later", [])]
                    seen.calls = {call["id"]: (call["name"], call["arguments"]) for call in due}
        if match := self.ERROR_PATTERN.search(seen.text):
            seen.error, seen.text = match[1], seen.text[: match.start()]
        elif seen.text:
            self.history.append({"role": "ai", "content": seen.text})
        if not seen.calls and QUESTION_MARK.search(seen.text):
            seen.questions = [{"message": seen.text}]
        return seen


def get_call_state(call: dict[str, Any]) -> dict[str, Any]:
    """What the server put into a function call for itself."""
    holder = call.get("extra_state") or call["copilot_function_call_arguments"]
    found: dict[str, Any] = holder["rightseat"]
    return found


class GraphQLClient:
    """CopilotKit's clients up to 1.10.6: GraphQL, a message for every text, call and result; a call is run
    unless it is pending, and a question is answered by giving it back as it was."""

    def __init__(self, url: str, *, document: str) -> None:
        self.url = url
        self.document = document
        self.history: list[dict[str, Any]] = []
        self.open: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []

    def build_request(self) -> tuple[str, dict[str, Any]]:
        posted = [copilotkit.make_text_message(m["content"], id=m["id"]) if "role" in m else m for m in self.history]
        actions = [copilotkit.make_action(name, schema=TOOL_SCHEMA) for name in CLIENT_TOOLS]
        data = copilotkit.make_input(*posted, frontend={"actions": actions}, metaEvents=self.events)
        return copilotkit.PATH, copilotkit.make_request_body(data, self.document)

    async def send_message(self, text: str) -> ClientResult:
        self.history.append(copilotkit.make_text_message(text, id=f"u{len(self.history)}"))
        return await self.send_history()

    async def send_results(self, results: dict[str, str]) -> ClientResult:
        for id, result in results.items():
            # Directly after its call, as the client does it.
            index = next(n for n, m in enumerate(self.history) if m["id"] == id)
            name = self.history[index]["actionExecutionMessage"]["name"]
            self.history.insert(index + 1, self.make_result_message(id, name, result))
        return await self.send_history()

    async def answer_question(self, value: Any) -> ClientResult:
        response = json.dumps({"approved": value}) if isinstance(value, bool) else value
        question = self.open[0]
        self.events = [{"name": question["name"], "value": question["value"], "response": response}]
        return await self.send_history()

    async def send_history(self) -> ClientResult:
        target, body = self.build_request()
        self.events = []
        async with RawHttpClient(self.url) as client:
            await client.post_json(target, body, {"Accept": copilotkit.ACCEPT})
            answer = copilotkit.parse_answer(await client.read_head(), await client.read_body())
        if answer.errors:
            return ClientResult(error=answer.errors[0]["extensions"]["originalErrorType"])
        return self.read_response(answer.response)

    def read_response(self, response: dict[str, Any]) -> ClientResult:
        seen = ClientResult(finish_reason="stop")
        for message in response["messages"]:
            self.read_message(message, seen)
        status = response["status"]
        if status["code"] == "Failed":
            seen.error = status["details"]["originalError"]["originalErrorType"]
            seen.calls = {}
        self.open = response["metaEvents"]
        seen.questions = [json.loads(event["value"]) for event in self.open]
        asked = {ask.get("call") for ask in seen.questions}
        seen.calls = {id: call for id, call in seen.calls.items() if id not in asked}
        return seen

    def read_message(self, message: dict[str, Any], seen: ClientResult) -> None:
        id = message["id"]
        match message["__typename"]:
            case "TextMessageOutput":
                text = "".join(message["content"])
                seen.text += text
                self.history.append(copilotkit.make_text_message(text, "assistant", id))
            case "ActionExecutionMessageOutput" if message["status"]["code"] != "Pending":
                arguments = "".join(message["arguments"])
                seen.calls[id] = message["name"], parse_arguments(arguments)
                call = {"name": message["name"], "arguments": arguments}
                call["parentMessageId"] = message["parentMessageId"]
                self.history.append({"id": id, "createdAt": copilotkit.CREATED_AT, "actionExecutionMessage": call})
            case "ResultMessageOutput":
                assert id == f"result-{message['actionExecutionId']}"
                seen.calls.pop(message["actionExecutionId"], None)
                seen.results[message["actionExecutionId"]] = message["result"]
                result = (message["actionExecutionId"], message["actionName"], message["result"])
                self.history.append(self.make_result_message(*result))
            case "AgentStateMessageOutput" if message["active"]:
                seen.steps.append(message["nodeName"])

    def make_result_message(self, id: str, name: str, result: str) -> dict[str, Any]:
        message = {"actionExecutionId": id, "actionName": name, "result": result}
        return {"id": f"result-{id}", "createdAt": copilotkit.CREATED_AT, "resultMessage": message}


MEMBERS: dict[str, Callable[[str], DoorClient]] = {
    "openai-streamed": lambda url: OpenAIClient(url, stream=True),
    "openai-whole": lambda url: OpenAIClient(url, stream=False),
    "agui": AguiClient,
    "copilotkit-single": lambda url: CopilotKitAguiClient(url, single=True),
    "copilotkit-routes": lambda url: CopilotKitAguiClient(url, single=False),
    "openbb-today": lambda url: OpenBBClient(url, legacy=False),
    "openbb-2024": lambda url: OpenBBClient(url, legacy=True),
    "copilotkit-planned": lambda url: GraphQLClient(url, document=copilotkit.DOCUMENT),
    "copilotkit-executed": lambda url: GraphQLClient(url, document=copilotkit.GENERIC_DOCUMENT),
    "copilotkit-whole": lambda url: GraphQLClient(url, document=copilotkit.UNSTREAMED_DOCUMENT),
}
ASKING_MEMBERS: dict[str, Callable[[str], DoorClient]] = MEMBERS | {"eulercopilot": EulerClient}
"""All doors, for cases in which the client has no tools of its own and posts no history."""

DETACHED_MEMBERS = ("copilotkit-single", "copilotkit-routes")
"""Those whose runs go on when their client leaves."""

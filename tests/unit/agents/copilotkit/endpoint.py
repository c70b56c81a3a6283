"""`RemoteEndpoint`: CopilotKit's remote endpoint without its SDK. An agent of type `langgraph` is the script
of tests/unit/agents/langgraph, told by lines as the endpoint tells it; one of type `crewai` tells the older
runtime's events."""

import json
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from tests.kit.answers import UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream
from tests.unit.agents.agui.fake_agent import FakeAguiAgent, FrameFault, write_all_frames
from tests.unit.agents.langgraph.scripted_graph import GraphRun, Json, Thread

NDJSON = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
CITY = {"name": "city", "type": "string", "description": "Where", "required": True}
ACTIONS: list[Json] = [{"name": "get_weather", "description": "The weather.", "parameters": [CITY]}]
RUNTIME_EVENT_TYPES = {
    "TEXT_MESSAGE_START": "TextMessageStart",
    "TEXT_MESSAGE_CONTENT": "TextMessageContent",
    "TEXT_MESSAGE_END": "TextMessageEnd",
    "TOOL_CALL_START": "ActionExecutionStart",
    "TOOL_CALL_ARGS": "ActionExecutionArgs",
    "TOOL_CALL_END": "ActionExecutionEnd",
    "TOOL_CALL_RESULT": "ActionExecutionResult",
}
RUNTIME_FIELD_NAMES = {"toolCallId": "actionExecutionId", "toolCallName": "actionName"}


class FakeRemoteEndpoint:
    def __init__(self, kind: str = "langgraph") -> None:
        self.upstream = FakeUpstream()
        self.kind = kind
        self.agents: list[Json] = [{"name": "desk", "description": "Does what it is told.", "type": kind}]
        self.actions = ACTIONS
        self.threads: dict[str, Thread] = {}
        self.agui_agent = FakeAguiAgent(legacy=True)
        self.request_bodies: list[Json] = []
        self.fault: FrameFault | None = None
        self.reply_override: UpstreamReply | None = None

    async def __aenter__(self) -> Self:
        await self.upstream.__aenter__()
        self.upstream.reply = self.handle_request
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.upstream.__aexit__(kind, error, trace)

    @property
    def url(self) -> str:
        return f"{self.upstream.origin}/copilotkit"

    async def handle_request(self, connection: Connection, request: ReceivedRequest) -> None:
        if self.reply_override is not None:
            await self.reply_override(connection, request)
        elif request.target == "/copilotkit/agents/execute":
            self.request_bodies.append(request.json)
            await self.execute_agent(connection, request.json)
        else:
            status, value = self.make_json_response(request.target.removeprefix("/copilotkit"), request.json)
            await write_json(connection, status, value)

    def make_json_response(self, path: str, body: Json) -> tuple[int, Any]:
        match path:
            case "/info":
                return 200, {"actions": self.actions, "agents": self.agents, "sdkVersion": "0.1.46"}
            case "/actions/execute" if body["name"] == "get_weather":
                if body["arguments"]["city"] == "Atlantis":
                    return 500, {"error": "the action's own secret words"}
                return 200, {"result": {"city": body["arguments"]["city"], "temp": 21}}
            case "/actions/execute":
                return 404, {"error": f"Action {body['name']!r} not found."}
            case "/agents/state":
                thread = self.threads.get(body["threadId"])
                empty: Json = {"threadExists": False, "state": {}, "messages": []}
                return 200, {"threadId": body["threadId"], **(format_thread_state(thread) if thread else empty)}
            case _:
                return 404, {"detail": "Not found"}

    async def execute_agent(self, connection: Connection, body: Json) -> None:
        lines = self.stream_langgraph_lines(body) if self.kind == "langgraph" else self.stream_runtime_lines(body)
        frames, broken = [], False
        for line in lines:
            broken = broken or line is None
            if line is not None:
                frames.append(json.dumps(line).encode() + b"\n")
        fault, self.fault = self.fault, None
        await connection.write_head(200, NDJSON)
        if broken:
            # So an agent's failure looks: the connection is gone.
            for frame in frames:
                await connection.write_chunk(frame)
            await connection.fin()
        else:
            await (fault or write_all_frames)(connection, frames)

    # LangGraph's dialect.

    def stream_langgraph_lines(self, body: Json) -> Iterator[Json | None]:
        thread = self.threads.setdefault(body["threadId"], Thread())
        run_input: Json = {"input": {"messages": to_new_graph_messages(thread, body["messages"])}}
        if body["metaEvents"]:
            run_input = {"command": {"resume": body["metaEvents"][0]["response"]}}
        node = ""
        for name, data in GraphRun(thread).stream_events(run_input):
            node = data["name"] if name == "events" and data["event"] == "on_chain_start" else node
            match name:
                case "events":
                    yield {**data, "data": wrap_langchain_messages(data["data"])}
                case "updates" if "__interrupt__" in data:
                    yield {"event": "on_interrupt", "value": json.dumps(data["__interrupt__"][0]["value"])}
                case "updates":
                    root = {"event": "on_chain_stream", "name": "LangGraph", "run_id": "0", "parent_ids": []}
                    yield {**root, "data": {"chunk": wrap_langchain_messages(data)}}
                case "values":
                    yield make_state_sync_event(thread, node, "__interrupt__" not in data)
                case "error":
                    yield None
                    return
        yield make_state_sync_event(thread, node if thread.next else "__end__", False, messages=True)

    # The older runtime's.

    def stream_runtime_lines(self, body: Json) -> Iterator[Json | None]:
        posted = [{"role": "user", "content": "", **message} for message in body["messages"]]
        for message in posted:
            if message["type"] == "ResultMessage":
                message.update(role="tool", content=message["result"])
        resume = [event["response"] for event in body["metaEvents"]]
        props = {"command": {"resume": resume[0]}} if resume else {}
        ids = {"threadId": body["threadId"], "runId": f"{len(self.request_bodies)}"}
        run_input = {**ids, "messages": posted, "tools": body["actions"], "forwardedProps": props}
        state, node = "{}", ""
        for event in self.agui_agent.stream_run(run_input):
            match event["type"]:
                case "STEP_STARTED" | "STEP_FINISHED":
                    node = event["stepName"]
                    yield make_agent_state_message(node, state, event["type"] == "STEP_STARTED")
                case "STATE_SNAPSHOT":
                    state = json.dumps(event["snapshot"])
                    yield make_agent_state_message(node, state, True)
                case "CUSTOM":
                    yield {"type": "MetaEvent", "name": "LangGraphInterruptEvent", "value": event["value"]}
                case "RUN_ERROR":
                    yield {"type": "RunError", "error": "the flow's own secret words"}
                case kind if kind in RUNTIME_EVENT_TYPES:
                    names = {**RUNTIME_FIELD_NAMES, "delta": "args" if kind == "TOOL_CALL_ARGS" else "content"}
                    names["content"] = "result"
                    yield {"type": RUNTIME_EVENT_TYPES[kind]} | {
                        names.get(key, key): value for key, value in event.items() if key != "type"
                    }


def make_agent_state_message(node: str, state: str, active: bool) -> Json:
    about = {"threadId": "t", "agentName": "desk", "runId": "r", "role": "assistant", "running": True}
    return {"type": "AgentStateMessage", "nodeName": node, "active": active, "state": state, **about}


def make_state_sync_event(thread: Thread, node: str, active: bool, *, messages: bool = False) -> Json:
    state = {key: value for key, value in thread.values.items() if key != "messages"}
    if messages:
        state["messages"] = to_runtime_messages(thread.values["messages"])
    about = {"thread_id": "t", "run_id": "r", "agent_name": "desk", "running": True, "role": "assistant"}
    kind = "on_copilotkit_state_sync"
    return {"event": kind, "node_name": node, "active": active, "state": state, **about}


def format_thread_state(thread: Thread) -> Json:
    state = {key: value for key, value in thread.values.items() if key != "messages"}
    return {"threadExists": True, "state": state, "messages": to_runtime_messages(thread.values["messages"])}


def to_runtime_messages(messages: list[Json]) -> list[Json]:
    made: list[Json] = []
    for message in messages:
        if message["type"] == "tool":
            about = {"actionExecutionId": message["tool_call_id"], "actionName": "", "id": message["id"]}
            made.append({**about, "result": message["content"]})
            continue
        if message["content"]:
            role = "user" if message["type"] == "human" else "assistant"
            made.append({"role": role, "content": message["content"], "id": message["id"]})
        for one in message.get("tool_calls", ()):
            about = {"id": one["id"], "name": one["name"], "arguments": one["args"]}
            made.append({**about, "parentMessageId": message["id"]})
    return made


def to_new_graph_messages(thread: Thread, posted: list[Json]) -> list[Json]:
    """Those that the thread does not have; one that stands twice would be the caller's mistake."""
    known = {message["id"] for message in thread.values["messages"]}
    answered = {m["tool_call_id"] for m in thread.values["messages"] if m["type"] == "tool"}
    made: list[Json] = []
    for message in posted:
        if message["id"] in known or message.get("parentMessageId") in known:
            continue
        match message["type"]:
            case "ResultMessage":
                assert message["actionExecutionId"] not in answered, "a result that the thread has already"
                about = {"tool_call_id": message["actionExecutionId"], "content": message["result"]}
                made.append({"type": "tool", "id": message["id"], **about})
            case "TextMessage":
                kind = "human" if message["role"] == "user" else "ai"
                made.append({"type": kind, "id": message["id"], "content": message["content"]})
    return made


def wrap_langchain_messages(value: Any) -> Any:
    """Messages as LangChain writes its objects."""
    match value:
        case {"type": ("ai" | "tool" | "human" | "AIMessageChunk"), **kwargs}:
            return {"lc": 1, "type": "constructor", "id": ["langchain"], "kwargs": {**value, **kwargs}}
        case dict():
            return {key: wrap_langchain_messages(item) for key, item in value.items()}
        case list():
            return [wrap_langchain_messages(item) for item in value]
        case _:
            return value

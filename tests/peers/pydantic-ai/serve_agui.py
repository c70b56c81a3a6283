"""Two AG-UI agents of other people's frameworks on one port, with models that need no network: pydantic-ai at
/pydantic (protocol 1.0), and a LangGraph graph by ag-ui-langgraph at /graph (the older way to ask). Says its
port and the versions as a line of JSON, and leaves when its input ends."""

import importlib
import json
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
graph_peer: Any = importlib.import_module("graph_peer")
# Only this peer's environment has them; the type checker's has not.
ag_ui: Any = importlib.import_module("ag_ui.core")
bridge: Any = importlib.import_module("ag_ui_langgraph")
fastapi: Any = importlib.import_module("fastapi")
uvicorn: Any = importlib.import_module("uvicorn")
ai: Any = importlib.import_module("pydantic_ai")
parts: Any = importlib.import_module("pydantic_ai.messages")
function: Any = importlib.import_module("pydantic_ai.models.function")
StateDeps: Any = importlib.import_module("pydantic_ai.ui").StateDeps
AGUIAdapter: Any = importlib.import_module("pydantic_ai.ui.ag_ui").AGUIAdapter


class Document(BaseModel):
    document: str = ""


async def speak(messages: list[Any], info: Any) -> AsyncIterator[Any]:
    results = [part for part in messages[-1].parts if isinstance(part, parts.ToolReturnPart)]
    if results:
        for word in ("Found: ", str(results[-1].content)):
            yield word
        return
    asked = [str(part.content) for part in messages[-1].parts if isinstance(part, parts.UserPromptPart)]
    match asked[-1]:
        case "weather":
            yield "Let me see. "
            yield calling("get_weather", "c1", '{"ci')
            yield {0: function.DeltaToolCall(json_args='ty":"Oslo"}')}
        case "card":
            assert "show_card" in [tool.name for tool in info.function_tools]
            yield calling("show_card", "c2", '{"title":"Oslo"}')
        case "write":
            yield calling("write", "c3", '{"text":"Hello"}')
        case "wipe":
            yield calling("wipe", "c4", "{}")
        case "explode":
            raise RuntimeError("CANARY")
        case _:
            for word in ("Hello ", "from ", "pydantic."):
                yield word


def calling(name: str, id: str, json_args: str) -> dict[int, Any]:
    return {0: function.DeltaToolCall(name=name, json_args=json_args, tool_call_id=id)}


def get_weather(city: str) -> str:
    return f"{city} 21C"


def write(ctx: Any, text: str) -> Any:
    ctx.deps.state.document += text
    snapshot = ctx.deps.state.model_dump()
    event = ag_ui.StateSnapshotEvent(type=ag_ui.EventType.STATE_SNAPSHOT, snapshot=snapshot)
    return ai.ToolReturn("written", metadata=[event])


def wipe() -> str:
    return "all gone"


def made() -> Any:
    agent = ai.Agent(
        function.FunctionModel(stream_function=speak),
        deps_type=StateDeps[Document],
        output_type=[str, ai.DeferredToolRequests],
    )
    agent.tool_plain(get_weather)
    agent.tool_plain(wipe, requires_approval=True)
    write.__annotations__["ctx"] = ai.RunContext[StateDeps[Document]]
    agent.tool(write)
    return agent


agent = made()


async def pydantic(request: Any) -> Any:
    return await AGUIAdapter.dispatch_request(request, agent=agent, deps=StateDeps(Document()))


def main() -> None:
    app = fastapi.FastAPI()
    app.add_route("/pydantic", pydantic, methods=["POST"])
    agents = bridge.LangGraphAgent(name="graph", graph=graph_peer.graph())
    bridge.add_langgraph_fastapi_endpoint(app, agents, "/graph")
    listening = socket.create_server(("127.0.0.1", 0))
    versions = {name: version(name) for name in ("pydantic-ai-slim", "ag-ui-langgraph")}
    print(json.dumps({"port": listening.getsockname()[1], "versions": versions}), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run([listening])


def leave() -> None:
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=leave, daemon=True).start()
main()

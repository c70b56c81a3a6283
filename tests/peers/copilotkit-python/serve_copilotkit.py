"""A CopilotKit remote endpoint by its own Python SDK, in the last version that serves agents: a graph and
two actions at /copilotkit. Says its port and version as a line of JSON, and leaves when its input ends."""

import importlib
import json
import os
import socket
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
graph_peer: Any = importlib.import_module("graph_peer")
# Only this peer's environment has them; the type checker's has not.
copilotkit: Any = importlib.import_module("copilotkit")
serving: Any = importlib.import_module("copilotkit.integrations.fastapi")
fastapi: Any = importlib.import_module("fastapi")
uvicorn: Any = importlib.import_module("uvicorn")


def get_weather(city: str) -> dict[str, Any]:
    return {"city": city, "temp": 21}


def boom() -> None:
    raise RuntimeError("CANARY")


def main() -> None:
    city = {"name": "city", "type": "string", "description": "Where", "required": True}
    weather = copilotkit.Action(name="get_weather", description="The weather.", handler=get_weather, parameters=[city])
    broken = copilotkit.Action(name="boom", description="Fails.", handler=boom, parameters=[])
    writer = copilotkit.LangGraphAgent(name="writer", description="Writes.", graph=graph_peer.graph())
    endpoint = copilotkit.CopilotKitRemoteEndpoint(agents=[writer], actions=[weather, broken])
    app = fastapi.FastAPI()
    serving.add_fastapi_endpoint(app, endpoint, "/copilotkit")
    listening = socket.create_server(("127.0.0.1", 0))
    told = {"port": listening.getsockname()[1], "versions": {"copilotkit": version("copilotkit")}}
    print(json.dumps(told), flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run([listening])


def leave() -> None:
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=leave, daemon=True).start()
main()

"""The same application in this process, so that a guard can be taken away and the test be seen to go red."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.http.auth import Authenticator
from rightseat.http.endpoint import Door
from rightseat.models.scripted import ScriptFileModel, load_script
from rightseat.server.app import App
from rightseat.types.model import Model
from rightseat.wiring.lookup import load_all
from tests.security.conftest import ALICE, BOB

SCRIPT = json.dumps({"turns": [{"when": {}, "say": "w0 w1 w2"}]})


@dataclass
class AsgiResponse:
    status: int
    headers: dict[str, str]
    body: bytes


def make_app(*, doors: Iterable[Door] = (), keys: bool = True, model: Model | None = None, **settings: Any) -> App:
    auth = AuthSettings(keys={"alice": Secret(ALICE), "bob": Secret(BOB)} if keys else {})
    runtime = Runtime(model=model or ScriptFileModel(load_script(SCRIPT, "here")))
    all_doors = [*load_all("doors"), *doors]
    return App(runtime, ServerSettings(**settings), all_doors, authenticate=Authenticator(auth))


async def send_request(
    app: App,
    method: str,
    target: str,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes = b"",
    host: str = "localhost",
) -> AsgiResponse:
    """One request as uvicorn would hand it over; an exception of the app is what uvicorn makes a 500 of."""
    path, _, query = target.partition("?")
    fields = [("host", host), ("content-length", str(len(body))), *headers]
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in fields],
        "client": ("127.0.0.1", 1),
    }
    messages = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        if messages:
            return messages.pop()
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    (start,) = [message for message in sent if message["type"] == "http.response.start"]
    response_headers = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
    return AsgiResponse(start["status"], response_headers, b"".join(message.get("body", b"") for message in sent))

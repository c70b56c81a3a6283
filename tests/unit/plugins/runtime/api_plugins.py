"""Plugin folders for a test, and a small real API that they call."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kit.app_server import serve_app


def write_api_plugin(
    folder: Path, url: str = "http://127.0.0.1:9", paths: dict[str, Any] | None = None, **manifest: Any
) -> Path:
    """A plugin whose operations are GETs at `paths`: path → description."""
    folder.mkdir(parents=True, exist_ok=True)
    about = {"name": folder.name.title(), "description": f"About {folder.name}."} | manifest
    (folder / "plugin.json").write_text(json.dumps(about), "utf-8")
    descriptions = {"/hosts": "All hosts with their names and addresses."} if paths is None else paths
    document = {
        "openapi": "3.0.0",
        "info": {"title": folder.name, "version": "1"},
        "servers": [{"url": url}],
        "paths": {path: {"get": make_operation(said)} for path, said in descriptions.items()},
    }
    # JSON is YAML too.
    (folder / "openapi.yaml").write_text(json.dumps(document), "utf-8")
    return folder


def make_operation(description: str) -> dict[str, Any]:
    return {
        "description": description,
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
        "responses": {"200": {"description": "They are."}},
    }


@dataclass
class RecordingJsonApi:
    url: str = ""
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    received: asyncio.Event = field(default_factory=asyncio.Event)
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, unless a test holds the answers back."""


@asynccontextmanager
async def serve_json_api(body: bytes = b'{"hosts": ["web-01"]}') -> AsyncIterator[RecordingJsonApi]:
    """An API that answers everything alike and keeps what it was asked."""
    api = RecordingJsonApi()
    api.answers.set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        data, more = b"", True
        while more:
            message = await receive()
            data += message.get("body", b"")
            more = message.get("more_body", False)
        query = scope["query_string"].decode()
        api.requests.append(f"{scope['method']} {scope['path']}{'?' + query if query else ''}")
        api.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
        api.bodies.append(data)
        api.received.set()
        await api.answers.wait()
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    async with serve_app(app) as url:
        api.url = url
        yield api

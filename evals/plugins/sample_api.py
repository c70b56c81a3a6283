"""Two small plugins over one real API, and what a person could ask about it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

from tests.kit.app_server import serve_app

HOSTS = {
    "web-01": {"name": "web-01", "address": "10.0.4.17", "system": "openEuler 22.03"},
    "db-02": {"name": "db-02", "address": "10.0.4.52", "system": "openEuler 24.03"},
}
VERSIONS = {"nginx": "1.24.7", "openssl": "3.0.12"}
DEGREES = {"Oslo": 7, "Rome": 24, "Paris": 15}


@dataclass(frozen=True)
class Question:
    text: str
    path: str
    """Of the right request, with the right argument in it."""
    answer: str


QUESTIONS = (
    Question("What is the address of the host web-01?", "/hosts/web-01", "10.0.4.17"),
    Question("Which system does the host db-02 run?", "/hosts/db-02", "24.03"),
    Question("What is the temperature in Oslo?", "/temperature?city=Oslo", "7"),
    Question("How warm is it in Rome now?", "/temperature?city=Rome", "24"),
    Question("Which version of the package nginx is installed?", "/packages?name=nginx", "1.24.7"),
    Question("Find the version of the package openssl.", "/packages?name=openssl", "3.0.12"),
)


def make_get_operation(description: str, name: str, place: str, about: str, example: str) -> dict[str, Any]:
    parameter = {
        "name": name,
        "in": place,
        "required": True,
        "description": about,
        "schema": {"type": "string", "minLength": 1, "maxLength": 40, "example": example},
    }
    return {"get": {"description": description, "parameters": [parameter], "responses": {"200": {"description": ""}}}}


PLUGINS: dict[str, dict[str, Any]] = {
    "hosts": {
        "/hosts/{name}": make_get_operation(
            "The address and the system of a host.", "name", "path", "The host.", "app-09"
        ),
        "/packages": make_get_operation("The version of a package.", "name", "query", "The package.", "bash"),
    },
    "weather": {
        "/temperature": make_get_operation("The temperature in a city now.", "city", "query", "The city.", "Lima")
    },
}


def write_plugins(folder: Path, url: str) -> Path:
    for id, paths in PLUGINS.items():
        (folder / id).mkdir(parents=True)
        about = {"name": id.title(), "description": f"About {id}."}
        (folder / id / "plugin.json").write_text(json.dumps(about), "utf-8")
        document = {
            "openapi": "3.0.3",
            "info": {"title": id, "version": "1"},
            "servers": [{"url": url}],
            "paths": paths,
        }
        (folder / id / "openapi.yaml").write_text(json.dumps(document), "utf-8")
    return folder


@dataclass
class SampleApi:
    url: str = ""
    requests: list[str] = field(default_factory=list)


def make_answer(path: str, query: dict[str, list[str]]) -> Any:
    match path.strip("/").split("/"):
        case ["hosts", name]:
            return HOSTS.get(name)
        case ["packages"]:
            name = query.get("name", [""])[0]
            return {"name": name, "version": VERSIONS[name]} if name in VERSIONS else None
        case ["temperature"]:
            city = query.get("city", [""])[0]
            return {"city": city, "degrees": DEGREES[city]} if city in DEGREES else None
        case _:
            return None


@asynccontextmanager
async def serve_api() -> AsyncIterator[SampleApi]:
    made = SampleApi()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        query = scope["query_string"].decode()
        made.requests.append(f"{scope['method']} {unquote(scope['path'])}{'?' + unquote(query) if query else ''}")
        found = make_answer(scope["path"], parse_qs(query))
        status = 200 if found is not None else 404
        body = json.dumps(found if found is not None else {"detail": "There is none of that name."}).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": body})

    async with serve_app(app) as url:
        made.url = url
        yield made

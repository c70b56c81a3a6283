"""The OpenAPI document: whole, valid, and true of the running server."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import jsonschema_rs
import pytest

from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, Config
from rightseat.http.auth import Authenticator
from rightseat.http.endpoint import Door, Route, make_reply
from rightseat.server.openapi import build_document, format_path_template, make_openapi_door
from rightseat.wiring.from_config import build_runtime
from tests.kit.app_server import AppServer, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request

pytestmark = pytest.mark.io
KEYS = Authenticator(AuthSettings(keys={"alice": Secret("alices-own-key")}))
METHODS = {"get", "post", "put", "delete", "patch"}


@pytest.fixture
async def server() -> AsyncIterator[AppServer]:
    async with serve_runtime(build_runtime(Config(model="scripted:demo"), env={}), authenticate=KEYS) as made:
        yield made


async def request_json(server: AppServer, method: str, path: str, body: bytes = b"", key: str = "") -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with RawHttpClient(server.url) as client:
        await client.send(build_raw_request(method, path, body, headers))
        head = await client.read_head()
        return head.status, json.loads(await client.read_body())


async def get_document(server: AppServer) -> Any:
    status, found = await request_json(server, "GET", "/openapi.json")
    assert status == 200, "it needs no key"
    return found


def list_operations(document: Any) -> Iterator[tuple[str, str, Any]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert method in METHODS
            yield path, method, operation


def inline_references(document: Any, schema: Any) -> Any:
    """A schema with everything that it refers to."""
    together = json.dumps({"$defs": document["components"]["schemas"], **schema})
    return json.loads(together.replace("#/components/schemas/", "#/$defs/"))


@pytest.mark.demand("doctor.get_openapi_json_openapi")
async def test_every_route_is_in_it_and_nothing_else(server: AppServer) -> None:
    told = {(method.upper(), path) for path, method, _ in list_operations(await get_document(server))}
    routes = {(route.method, format_path_template(route)) for _, route, _ in server.app.table.routes}
    assert told == routes
    assert ("GET", "/openapi.json") in told


@pytest.mark.demand("doctor.get_openapi_json_openapi")
async def test_its_form_is_that_of_openapi_3_1(server: AppServer) -> None:
    found = await get_document(server)
    assert re.fullmatch(r"3\.1\.\d", found["openapi"])
    assert {"title", "version"} <= found["info"].keys()
    assert found["servers"] == [{"url": "http://127.0.0.1"}], "the Host that was asked for"
    ids = [operation["operationId"] for _, _, operation in list_operations(found)]
    assert len(ids) == len(set(ids))
    for path, _, operation in list_operations(found):
        assert path.startswith("/")
        named = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path" and p["required"]}
        assert named == set(re.findall(r"\{(\w+)\}", path))
        for code, response in operation["responses"].items():
            assert re.fullmatch(r"\d{3}|default", code)
            assert response["description"]
        schemes = {name for way in operation["security"] for name in way}
        assert schemes <= found["components"]["securitySchemes"].keys()
    for name in found["components"]["schemas"]:
        assert re.fullmatch(r"[a-zA-Z0-9._-]+", name)


@pytest.mark.demand("doctor.get_openapi_json_openapi")
async def test_its_schemas_are_valid_and_their_references_lead_somewhere(server: AppServer) -> None:
    found = await get_document(server)
    text = json.dumps(found)
    for name in re.findall(r'"#/components/schemas/([^"]+)"', text):
        assert name in found["components"]["schemas"]
    for schema in found["components"]["schemas"].values():
        jsonschema_rs.Draft202012Validator(inline_references(found, schema))
    # JSON Schema's regular expressions have no \Z.
    assert "\\\\Z" not in text


@pytest.mark.demand("doctor.get_openapi_json_openapi")
async def test_the_doors_own_requests_fit(server: AppServer) -> None:
    found = await get_document(server)
    fitted = 0
    for door in server.app.table.doors:
        for probe in (probe for probe in door.probes if probe.body):
            path = probe.path if probe.path in found["paths"] else "/agui/{agent}"
            schema = found["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
            checker = jsonschema_rs.Draft202012Validator(inline_references(found, schema))
            assert checker.is_valid(json.loads(probe.body)), probe.name
            assert not checker.is_valid({"messages": 1, "query": 1})
            fitted += 1
    assert fitted >= 3


@pytest.mark.demand("doctor.get_openapi_json_openapi")
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/agui/default"])
async def test_refusals_are_as_told(server: AppServer, path: str) -> None:
    found = await get_document(server)
    told = found["paths"][path.replace("agui/default", "agui/{agent}")]["post"]["responses"]
    for key, code, name in (("", 401, "401"), ("alices-own-key", 400, "default")):
        status, body = await request_json(server, "POST", path, b'{"messages": 1}', key)
        assert status == code
        schema = told[name]["content"]["application/json"]["schema"]
        assert schema["required"], "an empty schema would let anything pass"
        jsonschema_rs.Draft202012Validator(schema).validate(body)


@pytest.mark.demand("doctor.get_openapi_json_openapi")
async def test_what_needs_a_key_says_so(server: AppServer) -> None:
    found = await get_document(server)
    table = {
        (route.method.lower(), format_path_template(route)): route.public for _, route, _ in server.app.table.routes
    }
    for path, method, operation in list_operations(found):
        assert (operation["security"] == []) == table[method, path]
        assert ("401" in operation["responses"]) != table[method, path]


@pytest.mark.demand("doctor.get_openapi_json_openapi")
async def test_a_foreign_door_is_in_it_too() -> None:
    route = Route("DELETE", "/x/{a}/{b}", lambda request, host: make_reply(200, b""), summary="Away with it")
    door = Door("mine", (route,), lambda error: make_reply(error.status, b'{"no": 1}'), lambda base: base)
    found = await build_document([door, make_openapi_door([door])])
    told = found["paths"]["/x/{a}/{b}"]["delete"]
    assert told["summary"] == "Away with it"
    assert [p["name"] for p in told["parameters"]] == ["a", "b"]
    assert told["responses"]["401"]["content"]["application/json"]["example"] == {"no": 1}

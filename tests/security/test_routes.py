"""Every route × method × carrier of a credential gives one verdict (rows 2, 14, 15)."""

import ast
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from rightseat.http.auth import LOCAL_OWNER, Authenticator
from rightseat.http.endpoint import Door, Request, Route, make_reply
from rightseat.http.reply import Reply
from rightseat.server.app import App, RouteTable
from tests.kit.client import RawHttpClient
from tests.security import asgi_client
from tests.security.conftest import ALICE, BOB, COOKIE, QUERY, WRONG, Deployment

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

# The only routes that anyone may ask before having a key. A new one is added here by hand, with a reason.
# `/` names the doors, which their documentation does too, and neither models nor keys.
# A file's name is its key: one that nobody was given leads to nothing, with any key or none.
FILE_ROUTE = ("GET", "/files/{ticket}/{name}")
# What an error means is no secret, and who has no key reads it first.
ERROR_ROUTE = ("GET", "/docs/errors/{code}")
TRY_PATH = "/playground/try"
MODEL_PATHS = tuple(f"/playground/models-{name}" for name in ("list", "test", "preview", "use", "fetch", "fetch-stop"))
# They lie below the page's files.
POST_PATHS = (TRY_PATH, "/playground/search", *MODEL_PATHS)
PAGE_ROUTE = ("GET", "/playground/{name:path}")
# GraphiQL's files are anybody's. The page itself is for a browser: at its path all others need a key.
GRAPHIQL_ROUTE = ("GET", "/copilotkit/graphiql/{name:path}")
BROWSER_ROUTES = {("GET", "/copilotkit")}
OPEN_ROUTES = {
    *(("GET", path) for path in ("/", "/docs", "/docs/errors", "/health", "/health_check", "/ready", "/openapi.json")),
    FILE_ROUTE,
    ERROR_ROUTE,
    PAGE_ROUTE,
    GRAPHIQL_ROUTE,
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
SQL = "' OR 1=1--"

Headers = list[tuple[str, str]]
Ask = Callable[[str, str, Headers], Awaitable[int]]

VALID_CREDENTIALS: dict[str, Headers] = {
    "bearer": [("Authorization", f"Bearer {ALICE}")],
    "bearer in small letters": [("authorization", f"bearer {ALICE}")],
    "bearer shouted": [("AUTHORIZATION", f"BEARER   {ALICE}")],
    "key alone": [("Authorization", ALICE)],
    "x-api-key": [("X-Api-Key", ALICE)],
    "x-api-key with a scheme": [("x-api-key", f"Bearer {ALICE}")],
    "both the same": [("Authorization", f"Bearer {ALICE}"), ("X-Api-Key", ALICE)],
    "another's": [("X-Api-Key", BOB)],
}
INVALID_CREDENTIALS: dict[str, Headers] = {
    "nothing": [],
    "empty": [("Authorization", ""), ("X-Api-Key", "")],
    "scheme alone": [("Authorization", "Bearer ")],
    "wrong bearer": [("Authorization", f"Bearer {WRONG}")],
    "wrong x-api-key": [("X-Api-Key", WRONG)],
    "longer": [("X-Api-Key", ALICE + "x")],
    "shorter": [("X-Api-Key", ALICE[:-1])],
    "other case": [("X-Api-Key", ALICE.upper())],
    "basic": [("Authorization", f"Basic {ALICE}")],
    "two people": [("Authorization", f"Bearer {ALICE}"), ("X-Api-Key", BOB)],
    "right and wrong": [("Authorization", f"Bearer {ALICE}"), ("X-Api-Key", WRONG)],
    "wrong, then right in one header": [("X-Api-Key", WRONG), ("X-Api-Key", ALICE)],
    "right, then wrong in one header": [("X-Api-Key", ALICE), ("X-Api-Key", WRONG)],
    "cookie": [("Cookie", f"key={ALICE}; session={COOKIE}")],
    "proxy header": [("X-Forwarded-User", "alice"), ("X-Forwarded-For", "127.0.0.1"), ("Remote-User", "alice")],
    "sql": [("X-Api-Key", SQL)],
    "sql in a bearer": [("Authorization", f"Bearer {SQL}")],
    "name instead of key": [("X-Api-Key", "alice")],
    "umlauts": [("X-Api-Key", "schl\xfcssel")],
    "long": [("X-Api-Key", "k" * 40_000)],
}


def make_route_table() -> RouteTable:
    return asgi_client.make_app().table


def fill_path(path: str) -> str:
    return re.sub(r"\{\w+(:path)?\}", "default", path)


def get_path(route: Route) -> str:
    return fill_path(route.path)


def list_open_routes(table: RouteTable) -> set[tuple[str, str]]:
    return {(route.method, route.path) for _, route, _ in table.routes if route.public and not route.browser_only}


async def find_problems(table: RouteTable, ask: Ask) -> list[str]:
    """Whatever differs from the one rule: without a good key 401, with one never 401 or 403."""
    differences = []
    served: dict[str, set[str]] = {}
    for _, route, _ in table.routes:
        # A path may be another route's too, as a parameter.
        served[get_path(route)] = {here.method for _, here, _ in table.match_path(get_path(route))}
    for path, methods in served.items():
        for method in METHODS:
            known = method in methods or (method == "HEAD" and "GET" in methods)
            free = ("GET" if method == "HEAD" else method, path) in {(m, fill_path(p)) for m, p in OPEN_ROUTES}
            bad = {name: await ask(method, path, headers) for name, headers in INVALID_CREDENTIALS.items()}
            good = {name: await ask(method, path, headers) for name, headers in VALID_CREDENTIALS.items()}
            # There is no such file.
            free = free or (path in POST_PATHS and method in ("GET", "HEAD"))
            if not known:
                expected = set(bad.values()) <= {401, 405} and set(good.values()) == {405}
            elif free:
                empty = (
                    *POST_PATHS,
                    *(fill_path(one[1]) for one in (FILE_ROUTE, ERROR_ROUTE, PAGE_ROUTE, GRAPHIQL_ROUTE)),
                )
                status = 404 if path in empty else 200
                expected = set(bad.values()) == set(good.values()) == {status}
            else:
                expected = set(bad.values()) == {401} and len(set(good.values())) == 1
                # The model is changed by admins only, and these keys are none.
                refused = {401, 500} if path in MODEL_PATHS else {401, 403, 500}
                expected = expected and not set(good.values()) & refused
            if not expected or len(set(bad.values())) != 1:
                differences.append(f"{method} {path}: without a key {bad}, with one {good}")
    return differences


@pytest.mark.demand("engine.security_rows_2_14")
async def test_only_the_listed_routes_are_open() -> None:
    assert list_open_routes(make_route_table()) == OPEN_ROUTES
    assert {
        (route.method, route.path) for _, route, _ in make_route_table().routes if route.browser_only
    } == BROWSER_ROUTES


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch", "engine.security_rows_2_14")
@pytest.mark.long
async def test_every_route_every_carrier_over_the_socket(deployment: Deployment) -> None:
    async def ask(method: str, path: str, headers: Headers) -> int:
        fixed = [("Host", "localhost"), ("Content-Length", "0"), ("Connection", "close")]
        lines = "".join(f"{name}: {value}\r\n" for name, value in [*fixed, *headers])
        async with RawHttpClient(deployment.server.url) as client:
            await client.send(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
            return (await client.read_head()).status

    assert await find_problems(make_route_table(), ask) == []
    await deployment.assert_works()


def make_ask(app: App) -> Ask:
    async def ask(method: str, path: str, headers: Headers) -> int:
        return (await asgi_client.send_request(app, method, path, headers)).status

    return ask


async def test_every_route_every_carrier_inside() -> None:
    app = asgi_client.make_app()
    assert await find_problems(app.table, make_ask(app)) == []


@pytest.mark.long
async def test_without_the_authenticator_it_goes_red(monkeypatch: pytest.MonkeyPatch) -> None:
    async def anyone(*_: object) -> object:
        return LOCAL_OWNER

    monkeypatch.setattr(Authenticator, "__call__", anyone)
    app = asgi_client.make_app()
    assert await find_problems(app.table, make_ask(app))


@pytest.mark.demand("engine.security_rows_2_14")
@pytest.mark.long
async def test_a_route_added_without_auth_goes_red() -> None:
    def answer(request: Request, host: object) -> Reply:
        return make_reply(200, b"{}")

    door = Door(
        "new", (Route("GET", "/new", answer, public=True),), asgi_client.make_app().table.doors[0].format_error, str
    )
    app = asgi_client.make_app(doors=[door])
    assert list_open_routes(app.table) != OPEN_ROUTES
    assert await find_problems(app.table, make_ask(app))


@pytest.mark.parametrize("carrier", ["?key=", "?api_key=", "?access_token=", "?token="])
async def test_a_key_in_the_query_is_none(deployment: Deployment, carrier: str) -> None:
    for key in (ALICE, QUERY):
        head, _ = await deployment.send_request("GET", f"/v1/models{carrier}{key}")
        assert head.status == 401


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch", "engine.security_rows_2_14")
@pytest.mark.parametrize(
    "host", ["localhost/health?", "localhost/health", "x/health?", "localhost#", "localhost:80/ready?a=", "a@localhost"]
)
async def test_a_host_is_no_path(deployment: Deployment, host: str) -> None:
    for path in ("/v1/models", "/agui/default", "/v1/chat/completions", "/copilotkit"):
        method = "GET" if path.endswith("models") else "POST"
        head, _ = await deployment.send_request(method, path, host=host)
        assert head.status in (400, 401, 403)


@pytest.mark.parametrize(
    "target",
    [
        "//v1/models",
        "/health/../v1/models",
        "/health%2f..%2fv1/models",
        "/v1/models/",
        "/V1/models",
        "/v1%2fmodels",
        "/v1/models;/health",
        "/health;/../v1/models",
        "http://localhost/v1/models",
        "/./v1/models",
    ],
)
async def test_odd_spellings_of_a_path_open_nothing(deployment: Deployment, target: str) -> None:
    head, body = await deployment.send_request("GET", target)
    assert head.status in (400, 401, 404)
    assert b'"data"' not in body


@pytest.mark.demand("engine.security_rows_2_14")
@pytest.mark.parametrize("value", [SQL, "a b", "../x", "%00", "a\tb", "x" * 129, "é"])
async def test_ids_in_headers_are_names_or_refused(deployment: Deployment, value: str) -> None:
    asked = b'{"messages": [{"role": "user", "content": "hello"}]}'
    for name in ("X-Thread-Id", "X-Request-Id"):
        headers = {"X-Api-Key": ALICE, "Content-Type": "application/json", name: value}
        head, _ = await deployment.send_request("POST", "/v1/chat/completions", headers, asked)
        assert head.status == (400 if name == "X-Thread-Id" else 200)
        assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", head.headers["x-request-id"])


@pytest.mark.parametrize("key", [b"\0", b"a\0b", b"k" * 1_000_000])
async def test_keys_that_http_does_not_take(deployment: Deployment, key: bytes) -> None:
    data = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: " + key + b"\r\n\r\n"
    head, _ = await deployment.send_raw(data)
    assert head.status in (400, 401, 431)
    await deployment.assert_works()


async def test_ids_in_bodies_are_only_data(deployment: Deployment) -> None:
    for odd in (SQL, "\0", "../../x", "x" * 200):
        body = {"threadId": odd, "runId": odd, "messages": [{"id": odd, "role": "user", "content": "hi", "name": odd}]}
        async with RawHttpClient(deployment.server.url) as client:
            await client.post_json("/agui/default", body, {"X-Api-Key": ALICE})
            assert (await client.read_head()).status == 200
            first = await client.read_frame()
            assert first is not None
            assert (first.json["threadId"], first.json["runId"]) == (odd, odd)
    await deployment.assert_works()


def find_built_sql(source: str) -> list[int]:
    """Lines where a string with a SQL verb is put together from parts."""
    verbs = re.compile(r"(?i)\b(select|insert|update|delete|create|drop|alter|pragma|attach)\b")
    lines = []
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.expr] = []
        if isinstance(node, ast.JoinedStr):
            parts = node.values
        elif isinstance(node, ast.BinOp):
            parts = [node.left]
        texts = [part.value for part in parts if isinstance(part, ast.Constant)]
        line = getattr(node, "lineno", 0)
        # Names of tables and columns of our own are marked as such, for the linter too.
        is_marked = "# noqa: S608 - " in source.splitlines()[line - 1]
        if not is_marked and any(isinstance(text, str) and verbs.search(text) for text in texts):
            lines.append(line)
    return lines


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
async def test_stores_put_no_sql_together() -> None:
    stores = Path(__file__).parents[2] / "src/rightseat/stores"
    files = list(stores.rglob("*.py"))
    assert files
    assert {file.name: find_built_sql(file.read_text()) for file in files} == {file.name: [] for file in files}
    assert find_built_sql('x = f"select * from t where a = {b}"') == [1]
    assert find_built_sql('x = "DELETE FROM %s" % b') == [1]

"""Foreign hosts, foreign origins, preflights and content types (row 13)."""

import pytest

from rightseat.http.security import RequestGuard
from tests.kit.client import RawHttpClient
from tests.security import asgi_client
from tests.security.conftest import ALICE, Deployment

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

KEY_HEADER = {"X-Api-Key": ALICE}
CHAT_BODY = b'{"messages": [{"role": "user", "content": "hello"}]}'
POST_PATHS = ("/v1/chat/completions", "/agui/default", "/copilotkit", "/copilotkit/agent/default/run")
FOREIGN_HOSTS = [
    "evil.com",
    "evil.com:7777",
    "localhost.evil.com",
    "127.0.0.1.evil.com",
    "127.0.0.1.",
    "169.254.169.254",
    "10.0.0.1",
    "0.0.0.0",
    "[::ffff:10.0.0.1]",
    "2130706433",
    "notlocalhost",
    "app.example.evil.com",
]
BROKEN_HOSTS = ["", "a b", "localhost,evil.com", "localhost:port", "[::1", "localhost:80:80", "é", "a\tb", "//x"]
OUR_HOSTS = [
    "localhost",
    "LOCALHOST:7777",
    "127.0.0.1",
    "127.0.0.1:1",
    "[::1]",
    "[::1]:7777",
    "127.8.8.8",
    "app.example",
]
FOREIGN_ORIGINS = [
    "http://evil.com",
    "https://evil.com:7777",
    "null",
    "http://localhost.evil.com",
    "http://127.0.0.1.evil.com",
    "https://app.example.evil.com",
    "http://app.example",
    "file://",
    "chrome-extension://abc",
    "http://localhost@evil.com",
    "http://evil.com#localhost",
    "http://[",
    "http://[::1",
    "http://",
    "",
    "*",
    "http://evil.com, http://localhost",
]
OUR_ORIGINS = ["http://localhost:3000", "http://127.0.0.1:5173", "http://[::1]:8080", "https://app.example"]


def make_headers(**more: str) -> dict[str, str]:
    return {**KEY_HEADER, "Content-Type": "application/json", **more}


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch", "engine.security_row_13_foreign")
@pytest.mark.parametrize("host", FOREIGN_HOSTS)
async def test_a_foreign_host_is_refused_before_the_body(deployment: Deployment, host: str) -> None:
    for path in POST_PATHS:
        # The body is promised and never sent: whoever reads it first would wait.
        promised = {**make_headers(), "Content-Length": "1000"}
        head, _ = await deployment.send_request("POST", path, promised, host=host)
        assert head.status == 403
    for path in ("/health", "/v1/models", "/nothing"):
        assert (await deployment.send_request("GET", path, KEY_HEADER, host=host))[0].status == 403


@pytest.mark.parametrize("host", BROKEN_HOSTS)
async def test_a_broken_host_is_refused(deployment: Deployment, host: str) -> None:
    assert (await deployment.send_request("GET", "/health", host=host))[0].status in (400, 403)


async def test_a_missing_host_is_refused(deployment: Deployment) -> None:
    for version in (b"1.0", b"1.1"):
        head, _ = await deployment.send_raw(b"GET /health HTTP/" + version + b"\r\n\r\n")
        assert head.status == 400


@pytest.mark.parametrize("host", OUR_HOSTS)
async def test_our_hosts_are_served(deployment: Deployment, host: str) -> None:
    assert (await deployment.send_request("GET", "/health", host=host))[0].status == 200
    assert (await deployment.send_request("POST", POST_PATHS[0], make_headers(), CHAT_BODY, host))[0].status == 200


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes", "engine.security_row_13_foreign")
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_a_foreign_origin_is_refused_before_the_body(deployment: Deployment, origin: str) -> None:
    for path in POST_PATHS:
        promised = {**make_headers(Origin=origin), "Content-Length": "1000"}
        head, _ = await deployment.send_request("POST", path, promised)
        assert head.status == 403
        assert "access-control-allow-origin" not in head.headers
    for path in ("/v1/models", "/health"):
        head, _ = await deployment.send_request("GET", path, {**KEY_HEADER, "Origin": origin})
        assert head.status == 403
        assert "access-control-allow-origin" not in head.headers


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
async def test_a_foreign_preflight_allows_nothing(deployment: Deployment, origin: str) -> None:
    for path in (*POST_PATHS, "/v1/models", "/nothing"):
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        head, _ = await deployment.send_request("OPTIONS", path, asked)
        assert head.status == 403
        assert not [name for name in head.headers if name.startswith("access-control-allow")]


@pytest.mark.parametrize("origin", OUR_ORIGINS)
async def test_our_origins_may_read(deployment: Deployment, origin: str) -> None:
    for path in POST_PATHS:
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type, x-api-key",
        }
        head, _ = await deployment.send_request("OPTIONS", path, asked)
        assert head.status == 204
        assert head.headers["access-control-allow-origin"] == origin
        assert "x-api-key" in head.headers["access-control-allow-headers"]
        assert head.headers["vary"] == "Origin"
        # Only an origin that the operator has listed may send cookies.
        assert ("access-control-allow-credentials" in head.headers) == (origin == "https://app.example")
    head, _ = await deployment.send_request("POST", POST_PATHS[0], make_headers(Origin=origin), CHAT_BODY)
    assert (head.status, head.headers["access-control-allow-origin"]) == (200, origin)


async def test_a_preflight_repeats_no_header_that_is_none(deployment: Deployment) -> None:
    asked = {"Origin": "http://localhost", "Access-Control-Request-Headers": "a: b; <script>"}
    head, _ = await deployment.send_request("OPTIONS", POST_PATHS[0], asked)
    assert head.headers["access-control-allow-headers"] == ""


@pytest.mark.demand("engine.security_row_13_foreign")
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonx"]
)
async def test_a_page_must_say_json(deployment: Deployment, kind: str) -> None:
    """What a browser sends without asking first is refused; curl, which sends no Origin, is not."""
    for path in POST_PATHS:
        given = {**KEY_HEADER, "Content-Type": kind, "Origin": "http://localhost:3000"}
        assert (await deployment.send_request("POST", path, given, CHAT_BODY))[0].status == 415
    assert (await deployment.send_request("POST", POST_PATHS[0], {**KEY_HEADER, "Content-Type": kind}, CHAT_BODY))[
        0
    ].status == 200


async def test_two_origins_are_no_origin(deployment: Deployment) -> None:
    async with RawHttpClient(deployment.server.url) as client:
        await client.send(
            b"GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.com\r\nOrigin: http://localhost\r\n\r\n"
        )
        assert (await client.read_head()).status == 403


async def test_a_key_does_not_help_a_foreign_page(deployment: Deployment) -> None:
    head, body = await deployment.send_request("POST", POST_PATHS[0], make_headers(Origin="http://evil.com"), CHAT_BODY)
    assert head.status == 403
    assert b"evil.com" not in body


@pytest.mark.parametrize("guard", ["check_host", "check_origin"])
async def test_without_the_guard_it_goes_red(monkeypatch: pytest.MonkeyPatch, guard: str) -> None:
    async def status() -> int:
        host, origin = ("evil.com", "http://localhost") if guard == "check_host" else ("localhost", "http://evil.com")
        given = [("x-api-key", ALICE), ("content-type", "application/json"), ("origin", origin)]
        return (
            await asgi_client.send_request(asgi_client.make_app(), "POST", POST_PATHS[0], given, CHAT_BODY, host)
        ).status

    assert await status() == 403
    monkeypatch.setattr(RequestGuard, guard, lambda *_, **__: ())
    assert await status() == 200

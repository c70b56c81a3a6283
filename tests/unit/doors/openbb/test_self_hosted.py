"""A Workspace that somebody hosts: its page calls a server on this machine, by the origin in [server] cors."""

from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings, ServerSettings
from rightseat.doctor.openbb.examine import examine
from rightseat.errors import ConfigError
from rightseat.http.auth import Authenticator
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, ResponseHead, build_raw_request
from tests.unit.doctor.openbb.helpers import PriceModel

pytestmark = pytest.mark.io

ORIGIN = "https://workspace.example.com"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type,x-api-key,x-trace-id",
    "Access-Control-Request-Private-Network": "true",
}
KEYS = Authenticator(AuthSettings(keys={"alice": Secret("alices-own-key")}))
HI = {"messages": [{"role": "human", "content": "Hi"}], "timezone": "UTC"}
# What is posted, and how it is answered; a page must be able to read each.
REQUESTS: dict[str, tuple[str, Any, dict[str, str], int]] = {
    "answer": ("/v1/query", HI, {"X-API-KEY": "alices-own-key", "X-Trace-Id": "chat-1"}, 200),
    "no key": ("/v1/query", HI, {}, 401),
    "empty": ("/v1/query", {"messages": []}, {"X-API-KEY": "alices-own-key"}, 422),
    "unknown agent": ("/v1/query/nobody", HI, {"X-API-KEY": "alices-own-key"}, 404),
    "large body": ("/v1/query", {**HI, "context": "x" * 20_000}, {"X-API-KEY": "alices-own-key"}, 200),
}


def make_settings(*cors: str) -> ServerSettings:
    return ServerSettings(port=0, cors=cors, max_body_mb=0.01)


async def send_preflight(url: str, path: str) -> ResponseHead:
    async with RawHttpClient(url) as client:
        await client.send(build_raw_request("OPTIONS", path, headers=PREFLIGHT))
        return await client.read_head()


@pytest.mark.demand("openbb.self_hosted_workspace")
@pytest.mark.parametrize("path", ["/agents.json", "/copilots.json", "/v1/query", "/v1/query/desk", "/v1/feedback"])
async def test_the_preflight_lets_the_page_in_without_a_key(path: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel()), make_settings(ORIGIN), KEYS) as server:
        head = await send_preflight(server.url, path)
    assert head.status == 204
    assert head.headers["access-control-allow-origin"] == ORIGIN
    assert head.headers["access-control-allow-headers"] == "content-type,x-api-key,x-trace-id"
    assert head.headers["access-control-allow-private-network"] == "true"
    assert "POST" in head.headers["access-control-allow-methods"]


@pytest.mark.demand("openbb.self_hosted_workspace")
@pytest.mark.parametrize("case", REQUESTS)
async def test_the_page_may_read_answers_and_errors(case: str) -> None:
    path, body, headers, status = REQUESTS[case]
    runtime = Runtime(model=FakeModel(reply_text("Hi.")))
    async with serve_runtime(runtime, make_settings(ORIGIN), KEYS) as server, RawHttpClient(server.url) as client:
        await client.post_json(path, body, {"Origin": ORIGIN, **headers})
        head = await client.read_head()
    assert head.status == status
    assert head.headers["access-control-allow-origin"] == ORIGIN
    assert "x-trace-id" in head.headers["access-control-expose-headers"]


@pytest.mark.demand("openbb.self_hosted_workspace")
@pytest.mark.parametrize("written", [f"{ORIGIN}/", f"{ORIGIN}:443", "HTTPS://Workspace.Example.COM"])
async def test_the_origin_may_be_written_in_other_ways(written: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel()), make_settings(written)) as server:
        head = await send_preflight(server.url, "/v1/query")
    assert head.headers["access-control-allow-origin"] == ORIGIN


@pytest.mark.demand("openbb.self_hosted_workspace")
@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("workspace.example.com", "https://workspace.example.com"),
        (f"{ORIGIN}/app", f"write {ORIGIN}"),
        ("*", "name each"),
        ("http://a:99999", "no origin"),
        ("https://user:secret@a", "write https://a"),
        ("", "no origin"),
    ],
)
async def test_an_origin_that_no_page_has_is_refused_at_start(written: str, advice: str) -> None:
    with pytest.raises(ConfigError, match=r"\[server\] cors") as caught:
        async with serve_runtime(Runtime(model=FakeModel()), make_settings(written)):
            pass
    assert advice in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("tauri://localhost", "tauri://localhost"),
        ("null", "null"),
        ("https://müller.example", "https://xn--mller-kva.example"),
        ("http://[::1]:3000", "http://[::1]:3000"),
    ],
)
async def test_origins_of_other_kinds_are_taken(written: str, sent: str) -> None:
    async with (
        serve_runtime(Runtime(model=FakeModel()), make_settings(written)) as server,
        RawHttpClient(server.url) as client,
    ):
        await client.send(build_raw_request("GET", "/agents.json", headers={"Origin": sent}))
        head = await client.read_head()
    assert (head.status, head.headers["access-control-allow-origin"]) == (200, sent)


@pytest.mark.demand("openbb.self_hosted_workspace")
async def test_the_doctor_checks_the_page_of_a_self_hosted_workspace() -> None:
    async with serve_runtime(Runtime(model=PriceModel()), make_settings(ORIGIN)) as server:
        allowed = [line async for line in examine(server.url, {}, ORIGIN)]
        foreign = [line async for line in examine(server.url, {}, "https://other.example")]
    assert {line.what for line in allowed if line.state == "broken"} == set()
    assert any(f"{ORIGIN} may post" in line.why for line in allowed)
    assert 'cors = ["https://other.example"]' in next(line.fix for line in foreign if line.state == "broken")

"""Behind a proxy: whose headers count, what they change, and what clients are told."""

from collections.abc import Mapping

import pytest

from rightseat import Runtime
from rightseat.cli.serve import list_startup_rows
from rightseat.config.settings import AuthSettings, Config, ServerSettings
from rightseat.errors import ConfigError
from rightseat.http.auth import Authenticator
from rightseat.http.forwarding import OriginalRequest, TrustedProxies
from rightseat.wiring.default_model import ModelChoice
from rightseat.wiring.lookup import load_all
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient, ResponseHead, build_raw_request

LOCAL_ADDRESSES = ("127.0.0.1",)
OTHER_ADDRESSES = ("10.9.9.9",)
CHAT = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.demand("server.x_forwarded_proto_host")
@each_case(
    ("chain", "client"),
    [
        ("", "10.0.0.1"),
        ("203.0.113.7", "203.0.113.7"),
        # What stands left of a stranger's address is the stranger's own word.
        ("1.2.3.4, 203.0.113.7", "203.0.113.7"),
        ("1.2.3.4, 203.0.113.7, 10.0.0.2", "203.0.113.7"),
        ("10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("203.0.113.7:4711", "203.0.113.7"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("1.2.3.4, unknown", "10.0.0.1"),
        ("1.2.3.4, <script>, 10.0.0.2", "10.0.0.2"),
    ],
)
def test_the_client_is_the_last_that_is_not_ours(chain: str, client: str) -> None:
    proxies = TrustedProxies(["10.0.0.0/8"])
    assert proxies.read_forwarded("10.0.0.1", "http", {"x-forwarded-for": chain}).client == client


@pytest.mark.demand("server.x_forwarded_proto_host")
def test_a_strangers_headers_count_for_nothing() -> None:
    headers = {"x-forwarded-for": "1.2.3.4", "x-forwarded-proto": "https", "x-forwarded-host": "evil.example"}
    for proxies in (TrustedProxies(), TrustedProxies(["10.0.0.0/8"])):
        for peer in ("203.0.113.7", "", "not an address"):
            assert proxies.read_forwarded(peer, "http", headers) == OriginalRequest(peer, "http")


@pytest.mark.demand("server.x_forwarded_proto_host")
def test_scheme_and_host_are_the_nearest_proxys() -> None:
    headers = {"x-forwarded-proto": "http, HTTPS", "x-forwarded-host": "evil.example, app.example"}
    assert TrustedProxies(["::1", "10.0.0.1"]).read_forwarded("::ffff:10.0.0.1", "http", headers) == OriginalRequest(
        "::ffff:10.0.0.1", "https", "app.example"
    )
    crooked = TrustedProxies(["::1"]).read_forwarded("::1", "http", {"x-forwarded-proto": "javascript"})
    assert crooked == OriginalRequest("::1", "http")


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"trusted_proxies: '300\.1\.1\.1' is not an address"):
        TrustedProxies(["300.1.1.1"])


async def get_root(url: str, headers: Mapping[str, str], host: str = "127.0.0.1") -> tuple[ResponseHead, str]:
    async with RawHttpClient(url) as client:
        await client.send(build_raw_request("GET", "/", headers=headers, host=host))
        return await client.read_head(), (await client.read_body()).decode()


FORWARDED = {"X-Forwarded-Host": "copilot.example", "X-Forwarded-Proto": "https"}


@pytest.mark.demand("server.x_forwarded_proto_host")
@pytest.mark.io
@pytest.mark.parametrize(
    ("trusted", "served", "status", "base"),
    [
        (LOCAL_ADDRESSES, ("copilot.example",), 200, "https://copilot.example"),
        (LOCAL_ADDRESSES, (), 403, None),
        (OTHER_ADDRESSES, ("copilot.example",), 200, "http://127.0.0.1"),
        ((), (), 200, "http://127.0.0.1"),
    ],
)
async def test_the_host_that_is_checked_and_linked(
    trusted: tuple[str, ...], served: tuple[str, ...], status: int, base: str | None
) -> None:
    settings = ServerSettings(port=0, trusted_proxies=trusted, hosts=served)
    async with serve_runtime(Runtime(model=FakeModel()), settings) as server:
        head, body = await get_root(server.url, FORWARDED)
    assert head.status == status
    assert base is None or f"export OPENAI_BASE_URL={base}/v1" in body


@pytest.mark.io
async def test_a_trusted_proxy_does_not_excuse_a_crooked_host() -> None:
    settings = ServerSettings(port=0, trusted_proxies=LOCAL_ADDRESSES)
    async with serve_runtime(Runtime(model=FakeModel()), settings) as server:
        head, _ = await get_root(server.url, {"X-Forwarded-Host": "a b"})
        assert head.status == 400
        # Without the header the Host itself is checked, as ever.
        head, _ = await get_root(server.url, {}, host="evil.example")
        assert head.status == 403


@pytest.mark.demand("server.x_forwarded_proto_host")
@pytest.mark.io
async def test_a_page_served_through_the_proxy_may_call() -> None:
    settings = ServerSettings(port=0, trusted_proxies=LOCAL_ADDRESSES, hosts=("copilot.example",))
    origin = {"Origin": "https://copilot.example"}
    async with serve_runtime(Runtime(model=FakeModel()), settings) as server:
        assert (await get_root(server.url, {**FORWARDED, **origin}))[0].status == 200
        assert (await get_root(server.url, origin))[0].status == 403


@pytest.mark.demand("server.public_url_clients_told")
@pytest.mark.io
async def test_links_are_the_public_url() -> None:
    settings = ServerSettings(port=0, public_url="https://copilot.example/ai/")
    async with serve_runtime(Runtime(model=FakeModel()), settings) as server:
        _, body = await get_root(server.url, {})
    assert "export OPENAI_BASE_URL=https://copilot.example/ai/v1" in body
    assert "127.0.0.1" not in body


@pytest.mark.demand("server.public_url_clients_told")
def test_the_card_has_the_public_url_and_says_where_health_is_asked() -> None:
    config = Config(server=ServerSettings(public_url="https://copilot.example/"))
    rows = list_startup_rows(config, ModelChoice("scripted:demo", "x"), "http://127.0.0.1:7777", load_all("doors"))
    shown = dict(rows)
    assert shown["openai"] == "https://copilot.example/v1/chat/completions"
    assert shown["health"].startswith("http://127.0.0.1:7777/health")


@pytest.mark.demand("server.x_forwarded_proto_host")
@pytest.mark.io
async def test_only_the_connected_proxy_names_a_user() -> None:
    """X-Forwarded-For must not make anyone the proxy whose word is taken for who they are."""
    auth = Authenticator(AuthSettings(proxy_header="X-User", proxy_addresses=("10.0.0.5",)))
    settings = ServerSettings(port=0, trusted_proxies=LOCAL_ADDRESSES)
    async with serve_runtime(Runtime(model=FakeModel()), settings, auth) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/chat/completions", CHAT, {"X-User": "root", "X-Forwarded-For": "10.0.0.5"})
        assert (await client.read_head()).status == 401


@pytest.mark.demand("server.x_accel_buffering_stream")
@pytest.mark.io
@pytest.mark.parametrize("target", ["/v1/chat/completions", "/agui/default"])
async def test_proxies_are_told_not_to_hold_streams_back(target: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("ok")))) as server, RawHttpClient(server.url) as client:
        await client.post_json(target, {**CHAT, "stream": True})
        head = await client.read_head()
        assert head.headers["x-accel-buffering"] == "no"
        assert head.headers["cache-control"] == "no-cache"
        await client.read_body()


PREFLIGHT = {
    "Origin": "https://app.example",
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "content-type, x-api-key",
}


async def send_preflight(url: str, headers: Mapping[str, str]) -> ResponseHead:
    async with RawHttpClient(url) as client:
        await client.send(build_raw_request("OPTIONS", "/v1/chat/completions", headers=headers))
        return await client.read_head()


@pytest.mark.demand("server.cors_configuration_private_network")
@pytest.mark.io
async def test_pages_are_let_in_by_configuration_and_only_those() -> None:
    settings = ServerSettings(port=0, cors=("https://app.example/",))
    keyed = Authenticator(AuthSettings(proxy_header="X-User", proxy_addresses=("10.0.0.5",)))
    async with serve_runtime(Runtime(model=FakeModel()), settings, keyed) as server:
        allowed = await send_preflight(server.url, PREFLIGHT)
        foreign = await send_preflight(server.url, {**PREFLIGHT, "Origin": "https://evil.example"})
        inner = await send_preflight(server.url, {**PREFLIGHT, "Access-Control-Request-Private-Network": "true"})
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/chat/completions", CHAT, {"Origin": "https://app.example"})
            refused = await client.read_head()
    # A browser asks before it sends a key, so no key is needed for the question.
    assert allowed.status == 204
    assert allowed.headers["access-control-allow-origin"] == "https://app.example"
    assert allowed.headers["access-control-allow-headers"] == "content-type, x-api-key"
    assert "POST" in allowed.headers["access-control-allow-methods"]
    assert allowed.headers["access-control-allow-credentials"] == "true"
    assert "access-control-allow-private-network" not in allowed.headers
    assert inner.headers["access-control-allow-private-network"] == "true"
    assert foreign.status == 403
    assert "access-control-allow-origin" not in foreign.headers
    # An error must be readable to the page too, and say when to come back.
    assert refused.status == 401
    assert refused.headers["access-control-allow-origin"] == "https://app.example"
    assert "retry-after" in refused.headers["access-control-expose-headers"]
    assert refused.headers["vary"] == "Origin"

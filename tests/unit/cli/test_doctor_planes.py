"""`rightseat doctor` checks the server between several processes."""

from collections.abc import Iterator

import pytest

from rightseat.config.secret import Secret
from rightseat.config.settings import Config, LiveSettings, ServerSettings
from rightseat.doctor.live import check_live, uses_live_server
from tests.kit import postgres, valkey
from tests.kit.valkey import ValkeyServer

pytestmark = pytest.mark.io
PASSWORD = "very-secret-word"


@pytest.fixture
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


def make_config(url: str, kind: str = "auto") -> Config:
    return Config(live=LiveSettings(url=Secret(url) if url else None, kind=kind))


@pytest.mark.demand("cluster.doctor_live")
async def test_a_valkey_server_that_fits(server: ValkeyServer) -> None:
    result = await check_live(make_config(server.url))
    assert result.state == "good"
    assert "Valkey 9." in result.why
    assert await server.run("DBSIZE") == b":0", "the check leaves nothing behind"


@pytest.mark.demand("cluster.doctor_live")
async def test_a_policy_that_removes_keys(server: ValkeyServer) -> None:
    await server.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    result = await check_live(make_config(server.url))
    assert result.state == "broken"
    assert "allkeys-lru" in result.why
    assert "noeviction" in result.fix
    await server.run("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
    assert (await check_live(make_config(server.url))).state == "good"


@pytest.mark.demand("cluster.doctor_live")
async def test_accounts(server: ValkeyServer) -> None:
    rights = "~rs:* &rs:* +@connection +@stream +@pubsub +expire +unlink"
    await server.run("ACL", "SETUSER", "us", "on", f">{PASSWORD}", *rights.split())
    place = f"127.0.0.1:{server.port}"
    result = await check_live(make_config(f"redis://us:{PASSWORD}@{place}"))
    assert result.state == "skipped"
    assert "may not ask" in result.why
    result = await check_live(make_config(f"redis://us:wrong-{PASSWORD}@{place}"))
    assert result.state == "broken"
    assert PASSWORD not in result.why + result.fix


@pytest.mark.demand("cluster.doctor_live")
@pytest.mark.parametrize("scheme", ["redis", "postgresql"])
async def test_a_server_that_is_away(scheme: str) -> None:
    result = await check_live(make_config(f"{scheme}://me:{PASSWORD}@127.0.0.1:{valkey.reserve_port()}/0"))
    assert result.state == "broken"
    assert "Start it, or correct url in [live]" in result.fix
    assert "127.0.0.1" in result.why
    assert PASSWORD not in result.why + result.fix


async def test_postgresql() -> None:
    result = await check_live(make_config(postgres.get_session_server().url))
    assert result.state == "good"
    assert "LISTEN" in result.why


@pytest.mark.parametrize(
    ("kind", "url", "message"),
    [
        ("valkey", "", 'needs url, such as url = "env:VALKEY_URL"'),
        ("postgres", "", 'needs url, such as url = "env:DATABASE_URL"'),
        ("auto", "http://host", "no address of a live server"),
        ("local", "", "workers of one machine"),
        ("valkey", "postgresql://host", "no address of a Valkey"),
        ("postgres", "redis://:word@host?x=1", "no address of PostgreSQL"),
    ],
)
async def test_settings_that_do_not_fit(kind: str, url: str, message: str) -> None:
    result = await check_live(make_config(url, kind))
    assert result.state == "broken"
    assert message in result.why


async def test_without_a_server_nothing_is_asked() -> None:
    assert not uses_live_server(Config())
    assert not uses_live_server(Config(server=ServerSettings(workers=3)))
    assert uses_live_server(make_config("redis://host"))
    assert (await check_live(Config(server=ServerSettings(workers=3)))).why == "local: no server"

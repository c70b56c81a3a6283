"""The plane over Valkey: addresses, accounts, TLS, Sentinel, Cluster, and what it leaves at the server."""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from rightseat import Owner
from rightseat.config.secret import Secret
from rightseat.config.settings import Config, LiveSettings
from rightseat.doctor.live import check_live
from rightseat.errors import ConfigError
from rightseat.live import remote
from rightseat.live.valkey import STREAM_LENGTH, ValkeyPlane
from rightseat.live.valkey_server import ValkeyAddress, compute_slot
from rightseat.types.live import ControlMessage
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.valkey import ValkeyServer, reserve_port, share_server
from tests.kit.waiting import wait_until
from tests.unit.http.certificate import write_certificate

pytestmark = pytest.mark.io
ME = Owner("me")
PASSWORD = "pass/word@with:signs"
QUOTED = "pass%2Fword%40with%3Asigns"


@contextlib.asynccontextmanager
async def open_planes(*urls: str, deployment: str = "rightseat") -> AsyncIterator[list[ValkeyPlane]]:
    planes = [ValkeyPlane(url, str(number), deployment) for number, url in enumerate(urls, start=1)]
    for plane in planes:
        await plane.open()
    try:
        yield planes
    finally:
        for plane in planes:
            await plane.close()


async def check_exchange(first: ValkeyPlane, second: ValkeyPlane) -> None:
    messages: list[ControlMessage] = []
    second.handle("x", messages.append)
    with second.watch(ME, "t") as watch:
        first.notify(ME, "t")
        assert await watch.wait(HANG_TIMEOUT)
    assert await first.send(second.worker, ControlMessage("x"))
    assert await first.broadcast(ControlMessage("x"))
    await wait_until(lambda: len(messages) == 2)


@pytest.fixture
def server() -> Iterator[ValkeyServer]:
    with ValkeyServer() as server:
        yield server


@pytest.mark.demand("cluster.valkey_addresses")
async def test_a_unix_socket_and_a_database_number(server: ValkeyServer) -> None:
    urls = f"unix://{server.socket_path}?db=3", f"valkey://127.0.0.1:{server.port}/3"
    async with open_planes(*urls) as planes:
        await check_exchange(*planes)
        await check_exchange(*reversed(planes))


@pytest.mark.demand("cluster.valkey_addresses")
async def test_accounts(caplog: pytest.LogCaptureFixture) -> None:
    with ValkeyServer("--requirepass", PASSWORD) as server:
        place = f"127.0.0.1:{server.port}"
        async with open_planes(f"redis://:{QUOTED}@{place}", f"redis://default:{QUOTED}@{place}") as planes:
            await check_exchange(*planes)
        for url in (f"redis://{place}", f"redis://:wrong-{QUOTED}@{place}", f"redis://nobody:{QUOTED}@{place}"):
            with pytest.raises(ConfigError, match="Check user and password") as raised:
                await ValkeyPlane(url, "1").open()
            assert "pass" not in str(raised.value).replace("password", "")
    assert PASSWORD not in caplog.text


async def test_an_account_that_may_do_only_what_is_needed(server: ValkeyServer) -> None:
    rights = (
        "~rs:* &rs:* +@connection +@stream +@pubsub +expire +unlink +info +config|get -@dangerous +info +config|get"
    )
    await server.run("ACL", "SETUSER", "us", "on", f">{PASSWORD}", *rights.split())
    await server.run("ACL", "SETUSER", "few", "on", f">{PASSWORD}", "+@connection", "+info")
    place = f"127.0.0.1:{server.port}"
    async with open_planes(f"redis://us:{QUOTED}@{place}", f"redis://us:{QUOTED}@{place}") as planes:
        await check_exchange(*planes)
    with pytest.raises(ConfigError, match=r"NOPERM .*Give its user ~rs:\*"):
        await ValkeyPlane(f"redis://few:{QUOTED}@{place}", "1").open()


@pytest.mark.demand("cluster.valkey_addresses")
async def test_tls_needs_a_certificate_that_is_trusted(server: ValkeyServer, tmp_path: Path) -> None:
    # The server of the package speaks no TLS: the port in front of it does.
    certificate = write_certificate(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate)
    async with FaultyRelay(server.port, tls=tls) as relay:
        url = f"rediss://127.0.0.1:{relay.port}"
        async with open_planes(f"{url}?ssl_ca_certs={certificate}", server.url) as planes:
            await check_exchange(*planes)
            await check_exchange(*reversed(planes))
        with pytest.raises(ConfigError, match=r"cannot be used: its certificate is not accepted: .*ssl_ca_certs"):
            await ValkeyPlane(url, "1").open()
        line = await check_live(Config(live=LiveSettings(url=Secret(url))))
        assert ("certificate" in line.why, "ssl_ca_certs" in line.fix) == (True, True)
        with pytest.raises(ConfigError, match=r"rediss:// if its port speaks TLS"):
            await open_soon(ValkeyPlane(url.replace("rediss:", "redis:"), "1"))
    with pytest.raises(ConfigError, match=r"redis:// if its port does not speak TLS"):
        await open_soon(ValkeyPlane(f"rediss://127.0.0.1:{server.port}", "1"))


@pytest.mark.demand("cluster.live_unreachable")
@pytest.mark.parametrize(
    ("url", "reason", "advice"),
    [
        ("redis://127.0.0.1:{}/99", "DB index is out of range", "Correct the number of the database"),
        ("redis://127.0.0.1:{}", "NOAUTH Authentication required", "Check user and password"),
    ],
)
async def test_a_server_that_refuses_is_not_one_that_is_away(url: str, reason: str, advice: str) -> None:
    options = ["--requirepass", PASSWORD] if "NOAUTH" in reason else []
    with ValkeyServer(*options) as server:
        url = url.format(server.port)
        with pytest.raises(ConfigError) as raised:
            await ValkeyPlane(url, "1").open()
        line = await check_live(Config(live=LiveSettings(url=Secret(url))))
    assert line.state == "broken"
    for text in (raised.value.message, f"{line.why} {line.fix}"):
        assert reason in text
        assert advice in text
        assert ".." not in text
        assert "cannot be reached" not in text
        assert "start" not in text.lower()


@pytest.mark.demand("cluster.valkey_addresses")
async def test_sentinels_name_the_primary(server: ValkeyServer, tmp_path: Path) -> None:
    port = reserve_port()
    config = tmp_path / "sentinel.conf"
    config.write_text(f"port {port}\nsentinel monitor main 127.0.0.1 {server.port} 1\n")
    with ValkeyServer(str(config), "--sentinel", port=port, is_sentinel=True):
        # The first Sentinel is away.
        url = f"redis://127.0.0.1:{reserve_port()},127.0.0.1:{port}?sentinel=main"
        async with open_planes(url, server.url) as planes:
            await check_exchange(*planes)
            assert "Sentinel, main" in planes[0].address
        with pytest.raises(ConfigError, match="know no 'other'"):
            await open_soon(ValkeyPlane(f"redis://127.0.0.1:{port}?sentinel=other", "1"))


async def open_soon(plane: ValkeyPlane) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote, "START_SECONDS", 2.0)
        await plane.open()


@pytest.mark.demand("cluster.valkey_addresses")
async def test_a_cluster_is_asked_which_node_has_the_keys() -> None:
    with ValkeyServer(*make_cluster_options()) as one, ValkeyServer(*make_cluster_options()) as two:
        await form_cluster(one, two)
        deployments = ["a", "b", "c", "d"]
        slots = {compute_slot(f"rs:{{{name}}}:all") < 8192 for name in deployments}
        assert slots == {True, False}, "both nodes have keys"
        for name in deployments:
            # Each knows another node.
            urls = f"redis://127.0.0.1:{one.port}?cluster=true", f"{two.url}?cluster=true"
            async with open_planes(*urls, deployment=name) as planes:
                await check_exchange(*planes)
                await check_exchange(*reversed(planes))
                assert await one.count_clients() + await two.count_clients() >= 6


def make_cluster_options() -> list[str]:
    """Options of a node; its own bus port would be its port + 10,000, which may be none."""
    return ["--cluster-enabled", "yes", "--cluster-port", str(reserve_port())]


async def form_cluster(one: ValkeyServer, two: ValkeyServer) -> None:
    await one.run("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
    await two.run("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
    await two.run("CLUSTER", "SET-CONFIG-EPOCH", "2")
    await one.run("CLUSTER", "MEET", "127.0.0.1", str(two.port), two.options[-1])
    async with asyncio.timeout(HANG_TIMEOUT):
        for server in (one, two):
            while b"cluster_state:ok" not in await server.run("CLUSTER", "INFO"):
                pass


def test_slots_are_those_of_the_specification() -> None:
    # The example of the Cluster specification, and two keys with one tag.
    assert compute_slot("123456789") == 0x31C3
    assert compute_slot("rs:{a}:all") == compute_slot("rs:{a}:ctl:1") == compute_slot("a")


@pytest.mark.demand("cluster.few_connections")
async def test_a_thousand_followers_need_three_connections(server: ValkeyServer) -> None:
    async with open_planes(server.url) as (plane,):
        with contextlib.ExitStack() as stack:
            watches = [stack.enter_context(plane.watch(ME, str(number))) for number in range(1000)]
            tasks = [asyncio.create_task(watch.wait(HANG_TIMEOUT)) for watch in watches]
            await asyncio.gather(*(plane.send("2", ControlMessage("x")) for _ in range(100)))
            assert await server.count_clients() == 3
            for number in range(1000):
                plane.notify(ME, str(number))
            assert all(await asyncio.gather(*tasks))
    assert await server.count_clients() == 0


async def test_a_message_waits_while_its_receiver_connects_again(server: ValkeyServer) -> None:
    async with open_planes(server.url, server.url) as (first, second):
        messages: list[ControlMessage] = []
        second.handle("x", messages.append)
        await check_exchange(first, second)
        # What the second worker's task does after a loss: nothing for a while.
        reading = second.tasks.pop()
        reading.cancel()
        await asyncio.wait([reading])
        messages.clear()
        second.handle("x", messages.append)
        for number in range(3):
            assert await first.send("2", ControlMessage("x", body=number))
        second.tasks.append(asyncio.create_task(second.reconnect("messages", second.read_stream, asyncio.Event())))
        await wait_until(lambda: len(messages) == 3)
        assert [message.body for message in messages] == [0, 1, 2]


async def test_the_server_keeps_little_and_for_a_short_time(server: ValkeyServer) -> None:
    async with open_planes(server.url, server.url) as (first, second):
        second.tasks.pop().cancel()
        for start in range(0, 3 * STREAM_LENGTH, 500):
            await asyncio.gather(*(first.send("2", ControlMessage("x", body=n)) for n in range(start, start + 500)))
        assert int((await server.run("XLEN", second.stream))[1:]) <= STREAM_LENGTH + 200
        assert 0 < int((await server.run("TTL", second.stream))[1:]) <= 60
    assert await server.run("DBSIZE") == b":0"


async def test_a_policy_that_removes_keys_is_said(server: ValkeyServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    await server.run("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    async with open_planes(server.url):
        assert not caplog.text
    await server.run("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    async with open_planes(server.url):
        assert "maxmemory-policy allkeys-lru" in caplog.text


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://host", "no address of a Valkey"),
        ("redis://:secret-word@host:port", "port that is no number"),
        ("redis://:secret-word@host/first", "no number"),
        ("redis://:secret-word@host?timeout=3", "unknown option: timeout"),
        ("redis://:secret-word@host?sentinel=a&cluster=true", "exclude each other"),
        ("unix:///socket?sentinel=a", "exclude each other"),
        ("rediss://:secret-word@host?ssl_ca_certs=/nowhere", "certificate cannot be read"),
    ],
)
def test_addresses_that_cannot_be_used(url: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        ValkeyAddress(url)
    assert "secret-word" not in str(raised.value)


def test_parts_of_an_address() -> None:
    address = ValkeyAddress(f"rediss://us:{QUOTED}@one,[::1]:7000/2?cluster=true")
    assert (address.user, address.password, address.database) == ("us", PASSWORD, "2")
    assert address.nodes == [("one", 6379), ("::1", 7000)]
    assert address.is_cluster
    assert isinstance(address.tls, ssl.SSLContext)
    assert address.tls.verify_mode is ssl.CERT_REQUIRED
    assert address.text == "one:6379, ::1:7000"
    assert ValkeyAddress("redis://a?sentinel=m").nodes == [("a", 26379)]


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "a}b"])
def test_names_that_are_no_keys_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        ValkeyPlane(share_server().url, "1", name)

"""Planes over a server while the server is away: nothing is raised, nothing hangs, and messages flow again."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rightseat import Owner
from rightseat.errors import ConfigError
from rightseat.live import remote
from rightseat.live.remote import RemotePlane
from rightseat.types.live import ControlMessage
from tests.contract.live.servers import SERVERS, ServedPlanes
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io
ME = Owner("me")


@pytest.fixture(params=list(SERVERS))
async def served(request: pytest.FixtureRequest) -> AsyncIterator[ServedPlanes]:
    needs_own = request.node.get_closest_marker("own_server") is not None
    async with SERVERS[request.param](needs_own) as served:
        yield served


@pytest.fixture
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-open connection is noticed by silence alone: as long as a test may wait."""
    monkeypatch.setattr(RemotePlane, "idle_seconds", 0.2)
    monkeypatch.setattr(RemotePlane, "command_seconds", 0.3)


@pytest.fixture
async def planes(served: ServedPlanes) -> AsyncIterator[tuple[RemotePlane, RemotePlane]]:
    first, second = served.make("1"), served.make("2")
    await first.open()
    await second.open()
    yield first, second
    async with asyncio.timeout(HANG_TIMEOUT):
        await first.close()
        await second.close()


Planes = tuple[RemotePlane, RemotePlane]


async def wait_recovered(first: RemotePlane, second: RemotePlane) -> None:
    """Wait until notifications, messages and broadcasts of one worker reach the other."""
    seen: list[ControlMessage] = []
    second.handle("probe", seen.append)
    second.handle("all", seen.append)

    async def repeat(attempt: Callable[[], Awaitable[object]]) -> None:
        async with asyncio.timeout(HANG_TIMEOUT):
            while not await attempt():
                pass

    async def notify() -> bool:
        with second.watch(ME, "recovered") as watch:
            first.notify(ME, "recovered")
            return await watch.wait(0.1)

    async def send() -> bool:
        await asyncio.sleep(0.01)
        return await first.send("2", ControlMessage("probe"))

    async def broadcast() -> bool:
        await first.broadcast(ControlMessage("all"))
        await asyncio.sleep(0.01)
        return any(message.kind == "all" for message in seen)

    await repeat(notify)
    await repeat(send)
    await wait_until(lambda: any(message.kind == "probe" for message in seen))
    await repeat(broadcast)


async def use_plane(plane: RemotePlane) -> None:
    """What a run does with its plane, whatever state the server is in."""
    async with asyncio.timeout(HANG_TIMEOUT):
        for number in range(100):
            plane.notify(ME, str(number))
        with plane.watch(ME, "here") as watch:
            plane.notify(ME, "here")
            assert await watch.wait(HANG_TIMEOUT), "watches of the same worker need no server"
        await plane.send("2", ControlMessage("stop"))
        await plane.broadcast(ControlMessage("all"))


@pytest.mark.demand("cluster.live_outages")
async def test_reset_connections_come_back(served: ServedPlanes, planes: Planes) -> None:
    for _ in range(3):
        assert served.relay.reset_connections()
        await use_plane(planes[0])
        await wait_recovered(*planes)


@pytest.mark.demand("cluster.live_outages")
async def test_a_server_that_refuses_for_a_while(
    served: ServedPlanes, planes: Planes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, remote.__name__)
    async with served.relay.refuse():
        await wait_until(lambda: planes[0].outages)
        await use_plane(planes[0])
        assert not await planes[0].send("2", ControlMessage("stop"))
        assert not await planes[0].broadcast(ControlMessage("stop"))
    await wait_recovered(*planes)
    await wait_until(lambda: not planes[0].outages)
    assert "is lost" in caplog.text
    assert "is back" in caplog.text


@pytest.mark.demand("cluster.live_outages")
@pytest.mark.usefixtures("short_silence")
async def test_a_half_open_connection_is_noticed(served: ServedPlanes, planes: Planes) -> None:
    async with served.relay.be_silent():
        await use_plane(planes[0])
        await wait_until(lambda: planes[0].outages and planes[1].outages)
    await wait_recovered(*planes)


async def test_latency_delays_and_loses_nothing(served: ServedPlanes, planes: Planes) -> None:
    served.relay.latency = 0.02
    messages: list[ControlMessage] = []
    planes[1].handle("n", messages.append)
    sent = await asyncio.gather(*(planes[0].send("2", ControlMessage("n", body=number)) for number in range(200)))
    assert all(sent)
    await wait_until(lambda: len(messages) == 200)
    assert [message.body for message in messages] == list(range(200))


@pytest.mark.own_server
@pytest.mark.demand("cluster.live_outages")
async def test_a_server_that_is_restarted_empty(served: ServedPlanes, planes: Planes) -> None:
    assert served.restart is not None
    for _ in range(2):
        await asyncio.to_thread(served.restart)
        await use_plane(planes[0])
        await wait_recovered(*planes)


@pytest.mark.usefixtures("short_silence")
@pytest.mark.parametrize("state", ["refuse", "be_silent"])
async def test_close_returns_while_the_server_is_away(served: ServedPlanes, state: str) -> None:
    plane = served.make("1")
    await plane.open()
    async with getattr(served.relay, state)(), asyncio.timeout(HANG_TIMEOUT):
        plane.notify(ME, "t")
        await plane.close()
        plane.notify(ME, "t")
        assert not await plane.send("2", ControlMessage("stop"))


@pytest.mark.demand("cluster.live_unreachable")
@pytest.mark.usefixtures("short_silence")
@pytest.mark.parametrize("state", ["refuse", "be_silent"])
async def test_a_start_without_a_server_says_what_to_do(
    served: ServedPlanes, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    monkeypatch.setattr(remote, "START_SECONDS", 0.5)
    plane = served.make("1")
    async with getattr(served.relay, state)():
        with pytest.raises(ConfigError, match=r"cannot be reached at .*\. Start it, or correct url in \[live\]"):
            await plane.open()
    await plane.close()


async def test_a_start_waits_for_a_server_that_comes_up(served: ServedPlanes) -> None:
    plane = served.make("1")
    async with served.relay.refuse():
        opening = asyncio.create_task(plane.open())
        await asyncio.sleep(0)
    await opening
    await plane.close()


@pytest.mark.demand("cluster.no_foreign_reply")
async def test_a_cancelled_sender_leaves_no_reply_for_another(served: ServedPlanes, planes: Planes) -> None:
    """Replies are told apart by what they say: a worker that is there, and one that is not."""
    first, _ = planes
    served.relay.latency = 0.002
    for _ in range(100):
        cancelled = [asyncio.create_task(first.send("2", ControlMessage("x"))) for _ in range(3)]
        await asyncio.sleep(0.001)
        for task in cancelled:
            task.cancel()
        assert not await first.send("nobody", ControlMessage("x"))
        assert await first.send("2", ControlMessage("x"))
        await asyncio.gather(*cancelled, return_exceptions=True)


@pytest.mark.demand("cluster.live_deployments_apart")
async def test_two_deployments_on_one_server_see_nothing_of_each_other(served: ServedPlanes, planes: Planes) -> None:
    first, second = planes
    stranger = served.make_elsewhere("2")
    await stranger.open()
    received: list[ControlMessage] = []
    own: list[ControlMessage] = []
    for kind in ("a", "b"):
        stranger.handle(kind, received.append)
        second.handle(kind, own.append)
    with stranger.watch(ME, "t") as foreign, second.watch(ME, "t") as watch:
        first.notify(ME, "t")
        assert await first.send("2", ControlMessage("a"))
        assert await first.broadcast(ControlMessage("b"))
        assert await watch.wait(HANG_TIMEOUT)
        await wait_until(lambda: len(own) >= 2)
        # What came would have come before this, which takes the same way.
        friend = served.make_elsewhere("3")
        await friend.open()
        stranger.handle("c", received.append)
        assert await friend.send("2", ControlMessage("c"))
        assert await friend.broadcast(ControlMessage("c"))
        await wait_until(lambda: len(received) >= 2)
        assert not await foreign.wait(0)
    assert {message.kind for message in received} == {"c"}
    assert not await first.send("3", ControlMessage("a"))
    await friend.close()
    await stranger.close()

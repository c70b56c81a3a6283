"""What every live plane does: notifications wake watches of other workers, messages reach their handlers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rightseat import Owner
from rightseat.types.live import ControlMessage, LivePlane
from tests.contract.live.members import MEMBERS, MakePlane
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io
ME, YOU = Owner("me"), Owner("you")


@pytest.fixture(params=list(MEMBERS.values()), ids=list(MEMBERS))
def make_plane(request: pytest.FixtureRequest, tmp_path: Path) -> MakePlane:
    make: MakePlane = request.param(tmp_path)
    return make


@pytest.fixture
async def planes(make_plane: MakePlane) -> AsyncIterator[tuple[LivePlane, LivePlane]]:
    first, second = make_plane("1"), make_plane("2")
    for plane in (first, second):
        await plane.open()
        await plane.open()
    yield first, second
    await first.close()
    await second.close()
    await second.close()


Planes = tuple[LivePlane, LivePlane]


@pytest.mark.demand("scale.runs_followed_anywhere")
async def test_a_notification_wakes_those_who_watch_the_thread(planes: Planes) -> None:
    first, second = planes
    with second.watch(ME, "t") as watch, second.watch(ME, "t") as other, second.watch(YOU, "t") as stranger:
        first.notify(ME, "t")
        first.notify(ME, "t")
        assert await watch.wait(HANG_TIMEOUT)
        assert await other.wait(HANG_TIMEOUT)
        assert not await stranger.wait(0.01)
        assert not await watch.wait(0.01), "notifications of one moment are one"
        second.notify(ME, "t")
        assert await watch.wait(HANG_TIMEOUT), "a worker may have ended what it follows itself"


async def test_a_notification_that_comes_before_the_wait_is_not_lost(planes: Planes) -> None:
    first, second = planes
    with second.watch(ME, "t") as watch, second.watch(ME, "u") as later:
        first.notify(ME, "t")
        first.notify(ME, "u")
        assert await later.wait(HANG_TIMEOUT)
        assert await watch.wait(0)


async def test_thousands_of_threads_are_notified_at_once(planes: Planes) -> None:
    first, second = planes
    with second.watch(ME, "0") as oldest, second.watch(ME, "4999") as newest:
        for number in range(5000):
            first.notify(ME, str(number))
        assert await oldest.wait(HANG_TIMEOUT)
        assert await newest.wait(HANG_TIMEOUT)


@pytest.mark.demand("scale.stop_anywhere")
async def test_a_message_reaches_its_handler(planes: Planes) -> None:
    first, second = planes
    messages: list[ControlMessage] = []
    second.handle("stop", messages.append)
    assert await first.send("2", ControlMessage("stop", "me", "t", "r", {"a": [1, "二"]}))
    assert await first.send("2", ControlMessage("nobody handles this"))
    await wait_until(lambda: messages)
    assert messages == [ControlMessage("stop", "me", "t", "r", {"a": [1, "二"]}, sender="1")]


@pytest.mark.demand("scale.mcp_at_any_worker")
async def test_a_broadcast_reaches_all_other_workers(planes: Planes, make_plane: MakePlane) -> None:
    first, second = planes
    first.notify(ME, "t")
    with second.watch(ME, "t") as watch:
        first.notify(ME, "t")
        assert await watch.wait(HANG_TIMEOUT)
    third = make_plane("3")
    await third.open()
    received: dict[str, list[ControlMessage]] = {"1": [], "2": [], "3": []}
    for plane in (first, second, third):
        plane.handle("ask", received[plane.worker].append)
    assert await first.broadcast(ControlMessage("ask", "me", body={"a": 1}))
    await wait_until(lambda: received["2"] and received["3"])
    await third.close()
    assert await first.broadcast(ControlMessage("ask")), "a worker that is gone is no failure"
    await wait_until(lambda: len(received["2"]) == 2)
    assert [len(messages) for messages in received.values()] == [0, 2, 1]
    assert received["2"][0] == ControlMessage("ask", "me", body={"a": 1}, sender="1")
    await second.close()
    assert await first.broadcast(ControlMessage("ask"))


async def test_a_handler_that_fails_does_not_end_the_others(planes: Planes) -> None:
    first, second = planes
    seen: list[ControlMessage] = []

    def fail(message: ControlMessage) -> None:
        seen.append(message)
        raise RuntimeError("broken")

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: None)
    second.handle("a", fail)
    for _ in range(2):
        assert await first.send("2", ControlMessage("a"))
    await wait_until(lambda: len(seen) == 2)


async def test_a_worker_that_is_gone_gets_nothing_and_breaks_nothing(planes: Planes) -> None:
    first, second = planes
    assert not await first.send("3", ControlMessage("stop"))
    await second.close()
    assert not await first.send("2", ControlMessage("stop"))
    first.notify(ME, "t")
    await first.close()
    first.notify(ME, "t")
    assert not await first.send("2", ControlMessage("stop"))

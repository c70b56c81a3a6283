"""The pump with a socket of the test's own: whole replies, clients that leave, keep-alives, slow readers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from rightseat.errors import RightseatError, StoreFailed
from rightseat.http.reply import EarlyStart, Message, Reply, ResponseStart, SendTimeouts, send_reply
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

LONG_TIMEOUTS = SendTimeouts(keep_alive=10 * HANG_TIMEOUT, send_timeout=10 * HANG_TIMEOUT)
OK = ResponseStart(200, ((b"content-type", b"text/event-stream"),), keep_alive=b": ping\n\n")


class FakeSocket:
    """`blocks(message)` says which message is never taken."""

    def __init__(self, blocks: Callable[[Message], bool] = lambda message: False) -> None:
        self.sent: list[Message] = []
        self.blocks = blocks
        self.disconnected = asyncio.Event()
        self.is_waiting = False

    async def receive(self) -> Message:
        self.is_waiting = True
        await self.disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if self.blocks(message):
            await asyncio.Event().wait()

    @property
    def bodies(self) -> list[bytes]:
        return [message["body"] for message in self.sent if message["type"] == "http.response.body"]


class FakeReply:
    def __init__(self, *parts: ResponseStart | EarlyStart | bytes | asyncio.Event | Exception) -> None:
        self.parts = parts
        self.closed = False

    async def stream(self) -> Reply:
        try:
            for part in self.parts:
                if isinstance(part, asyncio.Event):
                    await part.wait()
                elif isinstance(part, Exception):
                    raise part
                else:
                    yield part
        finally:
            self.closed = True


async def send_within_limit(
    socket: FakeSocket, reply: FakeReply, timeouts: SendTimeouts = LONG_TIMEOUTS, **more: Any
) -> bool:
    async with asyncio.timeout(HANG_TIMEOUT):
        return await send_reply(reply.stream(), socket.receive, socket.send, timeouts=timeouts, **more)


async def test_a_whole_reply() -> None:
    socket, reply = FakeSocket(), FakeReply(OK, b"one", b"two")
    assert await send_within_limit(socket, reply) is True
    assert socket.sent == [
        {"type": "http.response.start", "status": 200, "headers": list(OK.headers)},
        {"type": "http.response.body", "body": b"one", "more_body": True},
        {"type": "http.response.body", "body": b"two", "more_body": True},
        {"type": "http.response.body", "body": b"", "more_body": False},
    ]
    assert reply.closed
    assert len(asyncio.all_tasks()) == 1


async def test_extra_headers_follow_the_replys_own() -> None:
    socket = FakeSocket()
    await send_within_limit(socket, FakeReply(OK), headers=((b"x-request-id", b"7"),))
    assert socket.sent[0]["headers"] == [(b"content-type", b"text/event-stream"), (b"x-request-id", b"7")]


@pytest.mark.parametrize("parts", [(), (OK, b"one")], ids=["before the first byte", "after"])
async def test_the_client_leaving_closes_the_reply(parts: tuple[ResponseStart | bytes, ...]) -> None:
    socket, reply = FakeSocket(), FakeReply(*parts, asyncio.Event())
    task = asyncio.create_task(send_within_limit(socket, reply))
    await wait_until(lambda: socket.is_waiting and len(socket.sent) == len(parts))
    assert not reply.closed
    socket.disconnected.set()
    assert await task is False
    assert reply.closed
    assert len(socket.sent) == len(parts)


async def test_what_a_client_sends_is_not_its_leaving() -> None:
    go = asyncio.Event()
    socket, reply = FakeSocket(), FakeReply(OK, go, b"one")
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        go.set()
        return await socket.receive()

    async with asyncio.timeout(HANG_TIMEOUT):
        assert await send_reply(reply.stream(), receive, socket.send, timeouts=LONG_TIMEOUTS) is True
    assert socket.bodies == [b"one", b""]


SOON = SendTimeouts(keep_alive=10 * HANG_TIMEOUT, send_timeout=10 * HANG_TIMEOUT, first_byte=0.01)
FAILING = ResponseStart(200, OK.headers, OK.keep_alive, failure=b"failed")


async def make_refusal(error: RightseatError) -> Reply:
    yield ResponseStart(error.status, body=b"{}")


def list_statuses(socket: FakeSocket) -> list[int]:
    return [message["status"] for message in socket.sent if message["type"] == "http.response.start"]


@pytest.mark.demand("server.first_byte")
async def test_an_early_start_is_not_sent_where_the_reply_is_soon() -> None:
    socket, reply = FakeSocket(), FakeReply(EarlyStart(OK), ResponseStart(502, body=b"{}"))
    assert await send_within_limit(socket, reply) is True
    assert (list_statuses(socket), socket.bodies) == ([502], [b"{}"])
    socket, reply = FakeSocket(), FakeReply(EarlyStart(OK), OK, b"one")
    assert await send_within_limit(socket, reply) is True
    assert (list_statuses(socket), socket.bodies) == ([200], [b"one", b""])


@pytest.mark.demand("server.first_byte")
@pytest.mark.parametrize("start", [(OK,), ()], ids=["with its start", "an error's frame"])
async def test_an_early_start_is_sent_once_while_the_reply_waits(start: tuple[ResponseStart, ...]) -> None:
    go, early, socket, statuses = asyncio.Event(), EarlyStart(OK), FakeSocket(), list[int]()
    reply = FakeReply(early, go, *start, b"one")
    written: list[bytes] = []

    def direct(data: bytes) -> bool:
        written.append(data)
        return True

    task = asyncio.create_task(send_within_limit(socket, reply, SOON, on_start=statuses.append, direct=direct))
    await wait_until(lambda: len(socket.sent) == 2)
    assert early.sent
    assert (list_statuses(socket), socket.bodies) == ([200], [b": ping\n\n"])
    go.set()
    assert await task is True
    assert statuses == list_statuses(socket) == [200]
    # After its own start the reply writes past `send`.
    bodies = [b": ping\n\n", b""] if start else [b": ping\n\n", b"one", b""]
    assert (socket.bodies, written) == (bodies, [b"one"] if start else [])


@pytest.mark.demand("server.first_byte")
@pytest.mark.parametrize(
    "last", [ValueError("x"), ResponseStart(502, body=b"{}")], ids=["an exception", "a status that is too late"]
)
async def test_a_failure_after_an_early_start_ends_the_stream(last: Exception | ResponseStart) -> None:
    go, socket = asyncio.Event(), FakeSocket()
    reply = FakeReply(EarlyStart(FAILING), go, last)
    task = asyncio.create_task(send_within_limit(socket, reply, SOON, make_failure_reply=make_refusal))
    await wait_until(lambda: len(socket.sent) == 2)
    go.set()
    assert await task is True
    assert (list_statuses(socket), socket.bodies) == ([200], [b": ping\n\n", b"failed"])


@pytest.mark.demand("server.first_byte")
@pytest.mark.parametrize(("error", "status"), [(ValueError("x"), 500), (StoreFailed("Free some space."), 503)])
async def test_a_failure_before_an_early_start_has_its_status(error: Exception, status: int) -> None:
    socket, reply = FakeSocket(), FakeReply(EarlyStart(FAILING), error)
    assert await send_within_limit(socket, reply, make_failure_reply=make_refusal) is True
    assert (list_statuses(socket), socket.bodies) == ([status], [b"{}"])


@pytest.mark.demand("server.first_byte")
async def test_a_part_waits_until_an_early_start_is_out() -> None:
    class SlowSocket(FakeSocket):
        is_open = asyncio.Event()

        async def send(self, message: Message) -> None:
            await super().send(message)
            await self.is_open.wait()

    go, socket = asyncio.Event(), SlowSocket()
    task = asyncio.create_task(send_within_limit(socket, FakeReply(EarlyStart(OK), go, b"one"), SOON))
    await wait_until(lambda: len(socket.sent) == 1)
    go.set()
    await asyncio.sleep(0)
    assert len(socket.sent) == 1
    socket.is_open.set()
    assert await task is True
    assert socket.bodies == [b": ping\n\n", b"one", b""]


@pytest.mark.demand("server.first_byte")
@pytest.mark.parametrize("leaves", [True, False], ids=["leaves", "does not read"])
async def test_a_client_that_goes_during_an_early_start_closes_the_reply(leaves: bool) -> None:
    socket, reply = FakeSocket(lambda message: not leaves), FakeReply(EarlyStart(OK), asyncio.Event())
    timeouts = SendTimeouts(keep_alive=30, send_timeout=10 * HANG_TIMEOUT if leaves else 0.05, first_byte=0.01)
    task = asyncio.create_task(send_within_limit(socket, reply, timeouts))
    await wait_until(lambda: len(socket.sent) >= 1)
    if leaves:
        socket.disconnected.set()
    assert await task is False
    assert reply.closed
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.demand("engine.keep_alive_15_s")
async def test_keep_alives_come_while_idle_after_the_head() -> None:
    begin, go = asyncio.Event(), asyncio.Event()
    socket, reply = FakeSocket(), FakeReply(begin, OK, go, b"one")
    task = asyncio.create_task(send_within_limit(socket, reply, SendTimeouts(keep_alive=0.01, send_timeout=30)))
    await asyncio.sleep(0.1)
    assert socket.sent == []
    begin.set()
    await wait_until(lambda: len(socket.bodies) >= 2)
    assert set(socket.bodies) == {b": ping\n\n"}
    go.set()
    assert await task is True
    assert socket.bodies[-2:] == [b"one", b""]


@pytest.mark.demand("engine.keep_alive_15_s")
async def test_no_keep_alive_while_there_is_something_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    now = loop.time()
    # The time that a machine takes must not look like silence.
    monkeypatch.setattr(loop, "time", lambda: now)

    class Busy(FakeReply):
        async def stream(self) -> AsyncIterator[ResponseStart | bytes]:
            nonlocal now
            yield OK
            for _ in range(30):
                now += 0.01
                await asyncio.sleep(0)
                yield b"word"

    socket = FakeSocket()
    assert await send_within_limit(socket, Busy(), SendTimeouts(keep_alive=0.2, send_timeout=30))
    assert b": ping\n\n" not in socket.bodies
    assert socket.bodies.count(b"word") == 30


async def test_a_reply_without_a_keep_alive_gets_none() -> None:
    go = asyncio.Event()
    socket = FakeSocket()
    task = asyncio.create_task(
        send_within_limit(
            socket, FakeReply(ResponseStart(200), go, b"{}"), SendTimeouts(keep_alive=0.005, send_timeout=30)
        )
    )
    await asyncio.sleep(0.1)
    go.set()
    assert await task
    assert socket.bodies == [b"{}", b""]


async def test_a_reader_that_takes_nothing_is_dropped() -> None:
    socket, reply = FakeSocket(lambda message: message.get("body") == b"big"), FakeReply(OK, b"big", b"more")
    assert await send_within_limit(socket, reply, SendTimeouts(keep_alive=0.01, send_timeout=0.05)) is False
    assert socket.bodies == [b"big"]
    assert reply.closed


async def test_a_stuck_reader_that_leaves_is_noticed_at_once() -> None:
    socket, reply = FakeSocket(lambda message: message.get("body") == b"big"), FakeReply(OK, b"big")
    task = asyncio.create_task(send_within_limit(socket, reply))
    await wait_until(lambda: socket.bodies)
    socket.disconnected.set()
    assert await task is False
    assert reply.closed


async def test_a_reply_that_raises_raises_here() -> None:
    socket, reply = FakeSocket(), FakeReply(OK, b"one", ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        await send_within_limit(socket, reply)
    assert reply.closed
    assert not any(message.get("more_body") is False for message in socket.sent)
    assert len(asyncio.all_tasks()) == 1


async def test_a_cancelled_pump_closes_the_reply() -> None:
    socket, reply = FakeSocket(), FakeReply(OK, asyncio.Event())
    task = asyncio.create_task(send_within_limit(socket, reply))
    await wait_until(lambda: socket.sent)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert reply.closed


@pytest.mark.parametrize("leaves", [True, False])
async def test_a_reader_stuck_on_a_keep_alive_is_dropped_too(leaves: bool) -> None:
    socket, reply = FakeSocket(lambda message: message.get("body") == OK.keep_alive), FakeReply(OK, asyncio.Event())
    pace = SendTimeouts(keep_alive=0.01, send_timeout=10 * HANG_TIMEOUT if leaves else 0.05)
    task = asyncio.create_task(send_reply(reply.stream(), socket.receive, socket.send, timeouts=pace))
    await wait_until(lambda: socket.bodies)
    if leaves:
        socket.disconnected.set()
    done, _ = await asyncio.wait([task], timeout=HANG_TIMEOUT)
    task.cancel()
    await asyncio.wait([task])
    assert done
    assert task.result() is False


async def test_a_keep_alive_that_fails_at_the_end_spoils_nothing() -> None:
    """It may be on its way when the reply ends, and a server takes nothing after that."""
    go = asyncio.Event()

    class Strict(FakeSocket):
        async def send(self, message: Message) -> None:
            await super().send(message)
            if message.get("body") == OK.keep_alive:
                go.set()
                raise RuntimeError("sent after the end")

    socket, reply = Strict(), FakeReply(OK, go, b"one")
    assert await send_within_limit(socket, reply, SendTimeouts(keep_alive=0.05, send_timeout=30)) is True
    assert socket.bodies == [OK.keep_alive, b"one", b""]


async def test_pieces_go_directly_where_the_server_can() -> None:
    """And by `send` where it says that it cannot now, in the same order."""
    socket = FakeSocket()

    def direct(data: bytes) -> bool:
        if data == b"two":
            return False
        socket.sent.append({"type": "direct", "body": data})
        return True

    assert await send_within_limit(socket, FakeReply(OK, b"one", b"two", b"three"), direct=direct) is True
    told = [(message["type"], message.get("body")) for message in socket.sent[1:]]
    body = "http.response.body"
    assert told == [("direct", b"one"), (body, b"two"), ("direct", b"three"), (body, b"")]


@pytest.mark.demand("server.first_byte")
async def test_a_client_that_reads_no_comment_gets_none_before_the_first_event() -> None:
    timeouts = SendTimeouts(keep_alive=0.02, send_timeout=HANG_TIMEOUT, first_byte=0.01)
    go, quiet, other = asyncio.Event(), FakeSocket(), FakeSocket()
    replies = FakeReply(EarlyStart(OK, quiet=True), go, OK, b"one"), FakeReply(EarlyStart(OK), go, OK, b"one")
    tasks = [
        asyncio.create_task(send_within_limit(socket, reply, timeouts))
        for socket, reply in zip((quiet, other), replies, strict=True)
    ]
    await wait_until(lambda: len(other.bodies) >= 4)
    assert (list_statuses(quiet), quiet.bodies) == ([200], [])
    go.set()
    assert await asyncio.gather(*tasks) == [True, True]
    assert quiet.bodies == [b"one", b""]

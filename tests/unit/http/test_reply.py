"""The pump with a socket of the test's own: whole replies, clients that leave, keep-alives, slow readers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from rightseat.http.reply import Message, ResponseStart, SendTimeouts, send_reply
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
    def __init__(self, *parts: ResponseStart | bytes | asyncio.Event | Exception) -> None:
        self.parts = parts
        self.closed = False

    async def stream(self) -> AsyncIterator[ResponseStart | bytes]:
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

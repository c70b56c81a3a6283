"""The way to an agent's server: what goes along, what is refused, what is tried again."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rightseat.agents._peer.client import AgentClient, AgentOptions
from rightseat.agents.hook import OutgoingRequest, load_request_hook
from rightseat.errors import (
    CallerError,
    ConfigError,
    Conflict,
    Incomplete,
    Misused,
    RightseatError,
    UpstreamBusy,
    UpstreamDenied,
    UpstreamError,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamRejected,
    UpstreamTimeout,
)
from rightseat.types.messages import text_message
from rightseat.types.turn import ForwardedProps, Owner, Turn, TurnClient
from tests.kit.answers import UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.connection_faults import close_at_once, send_garbage, send_nothing
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream

pytestmark = pytest.mark.io

TURN = Turn(messages=(text_message("user", "hi"),), owner=Owner("ada"))


@pytest_asyncio.fixture
async def peer() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as upstream:
        upstream.reply = make_json_reply(200, {"ok": True})
        yield upstream


def make_json_reply(status: int, value: Any = None, **headers: str) -> UpstreamReply:
    async def reply(connection: Connection, _request: ReceivedRequest) -> None:
        await write_json(connection, status, value, **headers)

    return reply


async def request_peer(
    peer: FakeUpstream, *, turn: Turn | None = TURN, path: tuple[str, ...] = ("x",), **more: Any
) -> Any:
    options = {"timeout": HANG_TIMEOUT, **more.pop("reach", {})}
    client = AgentClient("desk", AgentOptions(url=f"{peer.origin}/base?k=v", **options))
    try:
        return await client.request_json("POST", path, {"a": 1}, turn=turn, **more)
    finally:
        client.close()


@pytest.mark.demand("agents.agent_takes_headers_env", "copilotkit.headers_forwarded_agents_allow")
async def test_what_goes_along(peer: FakeUpstream) -> None:
    turn = Turn(messages=(), client=TurnClient(headers={"authorization": "Bearer theirs", "x-mine": "1", "x-odd": "é"}))
    assert await request_peer(peer, turn=turn, reach={"headers": {"X-Mine": "2"}}) == {"ok": True}
    (request,) = peer.requests
    assert (request.method, request.target, request.json) == ("POST", "/base/x?k=v", {"a": 1})
    assert request.headers["x-mine"] == "2", "what the operator sets wins"
    assert request.headers["authorization"] == "Bearer theirs"
    assert "x-odd" not in request.headers


@pytest.mark.demand("copilotkit.headers_forwarded_agents_allow")
async def test_headers_of_a_connection_are_ours(peer: FakeUpstream) -> None:
    turn = Turn(
        messages=(),
        client=TurnClient(headers={"content-length": "999", "transfer-encoding": "chunked", "host": "evil"}),
    )
    await request_peer(peer, turn=turn)
    (request,) = peer.requests
    assert request.headers["host"].startswith("127.0.0.1")
    assert request.json == {"a": 1}


@pytest.mark.demand("agents.agent_takes_headers_env")
async def test_the_hook_is_asked_for_each_request(peer: FakeUpstream) -> None:
    seen: list[OutgoingRequest] = []

    def hook(request: OutgoingRequest) -> dict[str, str]:
        seen.append(request)
        return {"X-Number": str(len(seen)), "Authorization": "Bearer own"}

    async def later(request: OutgoingRequest) -> dict[str, str]:
        return hook(request)

    properties = {"tenant": "blue"}
    turn = Turn(
        messages=(), owner=Owner("ada"), client=TurnClient(forwarded=ForwardedProps(properties), headers={"x-a": "b"})
    )
    await request_peer(peer, turn=turn, reach={"on_before_request": hook, "headers": {"Authorization": "Bearer fixed"}})
    await request_peer(peer, turn=None, reach={"on_before_request": later})
    assert [request.headers["x-number"] for request in peer.requests] == ["1", "2"]
    assert peer.requests[0].headers["authorization"] == "Bearer own"
    assert seen[0] == OutgoingRequest("POST", "/base/x", Owner("ada"), {"x-a": "b"}, properties)
    assert seen[1].owner is None


@pytest.mark.parametrize("given", [["x"], {"x": 1}, {"x y": "z"}, {"x": "a\r\nb: c"}])
async def test_a_hook_that_gives_no_headers(peer: FakeUpstream, given: Any) -> None:
    with pytest.raises(Misused, match="on_before_request"):
        await request_peer(peer, reach={"on_before_request": lambda request: given})
    assert not peer.requests


def test_a_hook_that_is_none() -> None:
    assert load_request_hook(None) is None
    assert load_request_hook("json:dumps") is not None
    for wrong in ("json", "json:nothing", "no_such_module_here:x", "json:__name__"):
        with pytest.raises(ConfigError, match="on_before_request"):
            load_request_hook(wrong)


@pytest.mark.demand("agents.ids_never_reach_another")
@pytest.mark.parametrize("id", ["", ".", "..", "a/b", "../threads", "a%2fb", "a b", "é", "a?b", "a#b", "x" * 301])
async def test_an_id_leads_to_no_other_path(peer: FakeUpstream, id: str) -> None:
    with pytest.raises(CallerError):
        await request_peer(peer, path=("threads", id, "state"))
    assert not peer.requests


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (301, UpstreamRejected),
        (307, UpstreamRejected),
        (400, UpstreamRejected),
        (401, UpstreamDenied),
        (403, UpstreamDenied),
        (404, UpstreamRejected),
        (409, Conflict),
        (408, UpstreamTimeout),
        (500, UpstreamError),
    ],
)
async def test_errors_are_ours(peer: FakeUpstream, status: int, error: type[RightseatError]) -> None:
    peer.reply = make_json_reply(status, {"detail": "their own words"}, Location="http://127.0.0.1:1/")
    with pytest.raises(error) as caught:
        await request_peer(peer, reach={"tries": 1})
    assert "their own words" not in caught.value.message
    assert "'desk'" in caught.value.message
    assert len(peer.requests) == 1, "a redirect is not followed"


async def test_what_is_absent_may_be(peer: FakeUpstream) -> None:
    peer.reply = make_json_reply(404, {"detail": "no"})
    assert await request_peer(peer, missing_ok=True) is None


async def test_busy_is_tried_again(peer: FakeUpstream) -> None:
    peer.queue_replies(make_json_reply(503, {}), make_json_reply(429, {}, **{"Retry-After": "0"}))
    assert await request_peer(peer, idempotent=False) == {"ok": True}
    peer.reply = make_json_reply(429, {}, **{"Retry-After": "60"})
    with pytest.raises(UpstreamBusy) as caught:
        await request_peer(peer)
    assert caught.value.retry_after == 60
    assert len(peer.requests) == 4, "nobody is made to wait a minute"


@pytest.mark.parametrize(("repeatable", "count"), [(True, 2), (False, 1)])
async def test_what_may_have_been_taken(peer: FakeUpstream, repeatable: bool, count: int) -> None:
    peer.queue_replies(close_at_once())
    try:
        assert await request_peer(peer, idempotent=repeatable) == {"ok": True}
    except UpstreamRefused:
        assert not repeatable
    assert len(peer.requests) == count


async def test_nobody_there(peer: FakeUpstream) -> None:
    port = peer.port
    async with FakeUpstream() as gone:
        port = gone.port
    reach = AgentClient("desk", AgentOptions(url=f"http://127.0.0.1:{port}", tries=1))
    with pytest.raises(UpstreamRefused):
        await reach.request_json("GET", ("x",))
    reach.close()


async def test_silence_and_garbage(peer: FakeUpstream) -> None:
    peer.reply = send_nothing()
    with pytest.raises(UpstreamTimeout, match="said nothing"):
        await request_peer(peer, reach={"timeout": 0.05, "tries": 1})
    peer.reply = send_garbage()
    with pytest.raises(UpstreamGarbled):
        await request_peer(peer)

    async def html(connection: Connection, _request: ReceivedRequest) -> None:
        await connection.write_head(200, {"Content-Type": "text/html", "Content-Length": "6"})
        await connection.write(b"<html>")

    peer.reply = html
    with pytest.raises(UpstreamGarbled):
        await request_peer(peer)


async def test_a_stream_that_breaks_off_or_falls_silent(peer: FakeUpstream) -> None:
    async def begins(connection: Connection, request: ReceivedRequest) -> None:
        await connection.write_head(200, {"Transfer-Encoding": "chunked"})
        await connection.write_chunk(b"one")
        if request.target.endswith("cut"):
            await connection.fin()
        else:
            await asyncio.Event().wait()

    peer.reply = begins
    for path, error, seconds in (("cut", Incomplete, HANG_TIMEOUT), ("still", UpstreamTimeout, 0.5)):
        reach = AgentClient("desk", AgentOptions(url=peer.origin, timeout=seconds))
        async with await reach.open_stream("GET", (path,)) as answer:
            assert await anext(aiter(answer)) == b"one"
            with pytest.raises(error):
                await anext(aiter(answer))
        if path == "still":
            await peer.wait_closed(1)
        reach.close()


@pytest.mark.parametrize("url", ["desk", "ftp://x", "http://", "http://me:pass@x"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(ConfigError, match="The url of agent 'desk'"):
        AgentClient("desk", AgentOptions(url=url))


def test_a_header_that_http_does_not_take() -> None:
    with pytest.raises(ConfigError, match="header 'x'"):
        AgentClient("desk", AgentOptions(url="http://127.0.0.1:1", headers={"x": "a\nb"}))


@pytest.mark.demand("agents.agent_takes_headers_env")
def test_a_hook_stands_where_the_server_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command `rightseat` does not look there by itself."""
    (tmp_path / "own_tokens.py").write_text("def headers(request): return {}", "utf-8")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    monkeypatch.chdir(tmp_path)
    assert callable(load_request_hook("own_tokens:headers"))
    with pytest.raises(ConfigError, match=r"on_before_request: own_tokens:header: .*Did you mean 'headers'"):
        load_request_hook("own_tokens:header")

"""What is tried again, how often, and what never is."""

import asyncio
import email.utils
import time

import pytest
from msgspec.structs import replace

from rightseat.plugins.http.api import parse_retry_after
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.plugin import ApiServer
from tests.kit.patience import STUCK
from tests.unit.http.fetch.served import Served
from tests.unit.plugins.http.plugged import LOCAL, call, operation, parameter, plugin, tools
from tests.unit.plugins.http.target import Target, said, sent

pytestmark = pytest.mark.io


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_what_may_be_repeated_is_tried_again(api: Target, method: str, status: int) -> None:
    api.replies = [sent(status=status, retry_after="0"), sent(status=status)]
    async with tools(plugin(operation(method, "/x", url=api.url))) as (tool,):
        assert not (await call(tool)).result.failed
    assert len(api.got) == 3


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_not_is_tried_once(api: Target, method: str, status: int) -> None:
    api.replies = [sent(status=status)]
    async with tools(plugin(operation(method, "/x", url=api.url))) as (tool,):
        assert (await call(tool)).error["code"] == f"http_{status}"
    assert len(api.got) == 1


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
async def test_a_post_with_a_key_of_its_own_is_repeated_with_the_same_key(api: Target) -> None:
    api.replies = [sent(status=503)]
    keyed = operation("POST", "/x", parameter("Idempotency-Key", "header"), url=api.url)
    async with tools(plugin(keyed)) as (tool,):
        assert not (await call(tool)).result.failed
        await call(tool)
    first, second, third = (got.headers["idempotency-key"] for got in api.got)
    assert first == second != third


async def test_after_all_tries_the_last_answer_counts(api: Target) -> None:
    api.replies = [said({"try": number}, 503) for number in range(9)]
    async with tools(plugin(operation("GET", "/x", url=api.url))) as (tool,):
        error = (await call(tool)).error
    assert (error["code"], len(api.got)) == ("http_503", 3)
    assert '{"try":2}' in error["message"]


@pytest.mark.parametrize("status", [400, 401, 404, 422, 501])
async def test_other_errors_are_not_tried_again(api: Target, status: int) -> None:
    api.replies = [sent(status=status)]
    async with tools(plugin(operation("GET", "/x", url=api.url))) as (tool,):
        await call(tool)
    assert len(api.got) == 1


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
@pytest.mark.long
async def test_a_short_wait_that_is_asked_for_is_kept_and_a_long_one_is_not(api: Target) -> None:
    gate = PluginPolicy(allow=("127.0.0.1",), max_retry_wait=1.5)
    async with tools(plugin(operation("GET", "/x", url=api.url)), gate) as (tool,):
        api.replies = [sent(status=429, retry_after="1")]
        begun = time.monotonic()
        assert not (await call(tool)).result.failed
        assert time.monotonic() - begun >= 1
        api.replies = [sent(status=429, retry_after="3600")]
        begun = time.monotonic()
        assert (await call(tool)).error["code"] == "http_429"
        assert time.monotonic() - begun < STUCK


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
def test_a_wait_as_a_date() -> None:
    soon = parse_retry_after(email.utils.formatdate(time.time() + 3600, usegmt=True))
    assert soon is not None
    assert 3600 - STUCK < soon <= 3600
    assert parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert [parse_retry_after(text) for text in ("", "soon", "-1", "1" * 400)] == [None, None, None, 111111111.0]


@pytest.mark.demand("plugins.real_http_server_tests")
async def test_a_connection_that_breaks_is_tried_again(api: Target) -> None:
    broken = Served(answers={"/x": b""})
    async with broken:
        servers = (ApiServer(url=broken.url), ApiServer(url=api.url))
        async with tools(plugin(operation("GET", "/x", servers=servers))) as (tool,):
            assert not (await call(tool)).result.failed
    assert broken.requests
    assert len(api.got) == 1


@pytest.mark.demand("plugins.several_servers_variables")
async def test_a_server_that_is_busy_is_passed_over_for_the_next(api: Target) -> None:
    api.replies = [sent(status=503)]
    servers = (ApiServer(url=f"{api.url}/a"), ApiServer(url=f"{api.url}/b"))
    async with tools(plugin(operation("GET", "/x", servers=servers))) as (tool,):
        await call(tool)
    assert [got.path for got in api.got] == ["/a/x", "/b/x"]


async def test_a_server_at_a_private_address_is_passed_over_for_a_public_one(api: Target) -> None:
    servers = (ApiServer(url="http://10.0.0.1"), ApiServer(url=api.url))
    async with tools(plugin(operation("GET", "/x", servers=servers))) as (tool,):
        assert not (await call(tool)).result.failed


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
async def test_a_server_that_hangs_is_given_up(api: Target) -> None:
    async with Served(answers={"/hangs": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"}) as slow:
        made = plugin(operation("GET", "/hangs", url=slow.url))
        async with tools(made, replace(LOCAL, seconds=0.3)) as (tool,):
            assert (await call(tool)).error["code"] == "upstream_timeout"
    # Once: a server that hung hangs again.
    assert len(slow.requests) == 1


async def test_a_call_that_is_cancelled_lets_go_of_its_server() -> None:
    arrived = asyncio.Event()
    left = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        arrived.set()
        assert await reader.read() == b""
        writer.close()
        left.set()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with tools(plugin(operation("GET", "/x", url=url))) as (tool,):
            task = asyncio.create_task(call(tool))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(left.wait(), STUCK)


async def test_closing_and_calling_again(api: Target) -> None:
    async with tools(plugin(operation("GET", "/x", url=api.url))) as (tool,):
        await call(tool)
        assert tool.close is not None
        await tool.close()
        assert not (await call(tool)).result.failed


def test_the_tools_own_limit_leaves_room_for_all_tries() -> None:
    [tool] = make_operation_tools(
        plugin(operation("GET", "/x", url="https://a.example")), PluginPolicy(seconds=10, retries=2)
    )
    assert tool.timeout is not None
    assert tool.timeout >= 30

"""What is tried again, how often, and what never is."""

import asyncio
import email.utils
import time

import pytest
from msgspec.structs import replace

from rightseat.http.retry import parse_retry_after
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.plugin import ApiServer
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.http.fetch.canned_server import CannedServer
from tests.unit.plugins.http.plugin_values import (
    LOCAL_POLICY,
    call_tool,
    make_operation,
    make_parameter,
    make_plugin,
    open_tools,
)
from tests.unit.plugins.http.recording_api import RecordingApi, make_json_response, make_raw_response

pytestmark = pytest.mark.io


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_what_may_be_repeated_is_tried_again(api: RecordingApi, method: str, status: int) -> None:
    api.replies = [make_raw_response(status=status, retry_after="0"), make_raw_response(status=status)]
    async with open_tools(make_plugin(make_operation(method, "/x", url=api.url))) as (tool,):
        assert not (await call_tool(tool)).result.failed
    assert len(api.requests) == 3


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize("status", [429, 500, 503])
async def test_what_may_not_is_tried_once(api: RecordingApi, method: str, status: int) -> None:
    api.replies = [make_raw_response(status=status)]
    async with open_tools(make_plugin(make_operation(method, "/x", url=api.url))) as (tool,):
        assert (await call_tool(tool)).error["code"] == f"http_{status}"
    assert len(api.requests) == 1


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
async def test_a_post_with_a_key_of_its_own_is_repeated_with_the_same_key(api: RecordingApi) -> None:
    api.replies = [make_raw_response(status=503)]
    keyed = make_operation("POST", "/x", make_parameter("Idempotency-Key", "header"), url=api.url)
    async with open_tools(make_plugin(keyed)) as (tool,):
        assert not (await call_tool(tool)).result.failed
        await call_tool(tool)
    first, second, third = (got.headers["idempotency-key"] for got in api.requests)
    assert first == second != third


async def test_after_all_tries_the_last_answer_counts(api: RecordingApi) -> None:
    api.replies = [make_json_response({"try": number}, 503) for number in range(9)]
    async with open_tools(make_plugin(make_operation("GET", "/x", url=api.url))) as (tool,):
        error = (await call_tool(tool)).error
    assert (error["code"], len(api.requests)) == ("http_503", 3)
    assert '{"try":2}' in error["message"]


@pytest.mark.parametrize("status", [400, 401, 404, 422, 501])
async def test_other_errors_are_not_tried_again(api: RecordingApi, status: int) -> None:
    api.replies = [make_raw_response(status=status)]
    async with open_tools(make_plugin(make_operation("GET", "/x", url=api.url))) as (tool,):
        await call_tool(tool)
    assert len(api.requests) == 1


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
@pytest.mark.long
async def test_a_short_wait_that_is_asked_for_is_kept_and_a_long_one_is_not(api: RecordingApi) -> None:
    gate = PluginPolicy(allow=("127.0.0.1",), max_retry_wait=1.5)
    async with open_tools(make_plugin(make_operation("GET", "/x", url=api.url)), gate) as (tool,):
        api.replies = [make_raw_response(status=429, retry_after="1")]
        begun = time.monotonic()
        assert not (await call_tool(tool)).result.failed
        assert time.monotonic() - begun >= 1
        api.replies = [make_raw_response(status=429, retry_after="3600")]
        begun = time.monotonic()
        assert (await call_tool(tool)).error["code"] == "http_429"
        assert time.monotonic() - begun < HANG_TIMEOUT


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
def test_a_wait_as_a_date() -> None:
    soon = parse_retry_after({"retry-after": email.utils.formatdate(time.time() + 3600, usegmt=True)})
    assert soon is not None
    assert 3600 - HANG_TIMEOUT < soon <= 3600
    assert parse_retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    invalid = ("", "soon", "-1", "1" * 400)
    assert [parse_retry_after({"retry-after": text}) for text in invalid] == [None, None, None, None]


@pytest.mark.demand("plugins.real_http_server_tests")
async def test_a_connection_that_breaks_is_tried_again(api: RecordingApi) -> None:
    broken = CannedServer(responses={"/x": b""})
    async with broken:
        servers = (ApiServer(url=broken.url), ApiServer(url=api.url))
        async with open_tools(make_plugin(make_operation("GET", "/x", servers=servers))) as (tool,):
            assert not (await call_tool(tool)).result.failed
    assert broken.requests
    assert len(api.requests) == 1


@pytest.mark.demand("plugins.several_servers_variables")
async def test_a_server_that_is_busy_is_passed_over_for_the_next(api: RecordingApi) -> None:
    api.replies = [make_raw_response(status=503)]
    servers = (ApiServer(url=f"{api.url}/a"), ApiServer(url=f"{api.url}/b"))
    async with open_tools(make_plugin(make_operation("GET", "/x", servers=servers))) as (tool,):
        await call_tool(tool)
    assert [got.path for got in api.requests] == ["/a/x", "/b/x"]


async def test_a_server_at_a_private_address_is_passed_over_for_a_public_one(api: RecordingApi) -> None:
    servers = (ApiServer(url="http://10.0.0.1"), ApiServer(url=api.url))
    async with open_tools(make_plugin(make_operation("GET", "/x", servers=servers))) as (tool,):
        assert not (await call_tool(tool)).result.failed


@pytest.mark.demand("plugins.timeouts_retries_backoff_retry")
async def test_a_server_that_hangs_is_given_up(api: RecordingApi) -> None:
    async with CannedServer(responses={"/hangs": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"}) as slow:
        made = make_plugin(make_operation("GET", "/hangs", url=slow.url))
        async with open_tools(made, replace(LOCAL_POLICY, seconds=0.3)) as (tool,):
            assert (await call_tool(tool)).error["code"] == "upstream_timeout"
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
        async with open_tools(make_plugin(make_operation("GET", "/x", url=url))) as (tool,):
            task = asyncio.create_task(call_tool(tool))
            await arrived.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.wait_for(left.wait(), HANG_TIMEOUT)


async def test_closing_and_calling_again(api: RecordingApi) -> None:
    async with open_tools(make_plugin(make_operation("GET", "/x", url=api.url))) as (tool,):
        await call_tool(tool)
        assert tool.close is not None
        await tool.close()
        assert not (await call_tool(tool)).result.failed


def test_the_tools_own_limit_leaves_room_for_all_tries() -> None:
    [tool] = make_operation_tools(
        make_plugin(make_operation("GET", "/x", url="https://a.example")), PluginPolicy(seconds=10, retries=2)
    )
    assert tool.timeout is not None
    assert tool.timeout >= 30

"""A server without file descriptors: it says so, answers /health, and goes on when there are some again."""

import asyncio
import os
import resource
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.models.openai import model as make_model
from tests.faults.protocols import OPENAI_STREAMED, OPENAI_WHOLE, PROTOCOLS, ProtocolClient
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient, ResponseHead
from tests.kit.connection_faults import stall_stream
from tests.kit.server import RightseatProcess, find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream

pytestmark = [pytest.mark.io]

LIMIT = 64
SERVE = [find_executable(), "serve", "--port", "0"]
# SIGUSR1 opens files until none can be opened, SIGUSR2 closes them.
LEAKING_PROGRAM = """
import os, signal, sys
opened = []

def open_all(*_):
    try:
        while True:
            opened.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        print("all are open", flush=True)

def close_all(*_):
    while opened:
        os.close(opened.pop())

signal.signal(signal.SIGUSR1, open_all)
signal.signal(signal.SIGUSR2, close_all)
from rightseat.cli import main
main()
"""


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    """Set the limit of this process, which is the server's too, to what is open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = os.open(os.devnull, os.O_RDONLY)
    os.close(spare)
    resource.setrlimit(resource.RLIMIT_NOFILE, (spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.demand("security.no_descriptor_is_said")
async def test_it_is_said_and_passes() -> None:
    # Nothing listens there: each request opens a connection.
    model = make_model("kit", {"base_url": "http://127.0.0.1:9/v1", "tries": 1})
    async with serve_runtime(Runtime(model=model)) as server, RawHttpClient(server.url) as client:

        async def ask() -> tuple[int, dict[str, Any]]:
            await client.post_json("/v1/chat/completions", {"messages": [{"role": "user", "content": "hello"}]})
            head = await client.read_head()
            return head.status, (await client.read_json())["error"]

        # Before, without the limit: modules are loaded at the first request.
        assert (await ask())[0] == 502
        with no_descriptor_left():
            status, error = await ask()
        assert (status, error["code"]) == (503, "unavailable")
        assert "ulimit -n" in error["message"]
        assert (await ask())[0] == 502


@asynccontextmanager
async def serve_limited(command: Sequence[str], base_url: str = "") -> AsyncIterator[RightseatProcess]:
    """A server of its own process that may open LIMIT descriptors."""
    line = f"ulimit -n {LIMIT}; exec {shlex.join(command)}"
    model = {"RIGHTSEAT_MODEL": "openai:kit", "OPENAI_API_KEY": "sk-kit", "OPENAI_BASE_URL": base_url}
    env = model if base_url else {"RIGHTSEAT_MODEL": "scripted:demo"}
    async with RightseatProcess(command=["sh", "-c", line], env=env) as server:
        yield server


async def get_json(server: RightseatProcess, path: str) -> tuple[ResponseHead, dict[str, Any]]:
    """The reply on a connection of its own."""
    async with RawHttpClient(server.url) as client:
        await client.get(path)
        return await client.read_head(), await client.read_json()


async def wait_health(server: RightseatProcess, status: str) -> dict[str, Any]:
    """/health, once it says `status`; each request is one that must be answered."""
    limit = time.monotonic() + HANG_TIMEOUT
    while True:
        head, body = await get_json(server, "/health")
        assert head.status == 200
        if body["status"] == status:
            return body
        assert time.monotonic() < limit, body
        await asyncio.sleep(0.05)


async def check_refusals(server: RightseatProcess, protocols: Sequence[ProtocolClient] = PROTOCOLS) -> None:
    """What a server without descriptors answers on new connections, at every door."""
    body = await wait_health(server, "degraded")
    assert "ulimit -n" in body["descriptors"]
    head, body = await get_json(server, "/ready")
    assert (head.status, body["ready"]) == (503, False)
    assert "ulimit -n" in body["descriptors"]
    for protocol in protocols:
        outcome = await protocol(server.url, "hello")
        assert outcome.failures == ["unavailable"], (protocol.name, outcome)
        assert "no file descriptor" in outcome.body.decode()
        if protocol in (OPENAI_STREAMED, OPENAI_WHOLE) or outcome.status != 200:
            assert (outcome.status, outcome.headers["retry-after"]) == (503, "5"), protocol.name


async def check_recovery(server: RightseatProcess, protocols: Sequence[ProtocolClient] = PROTOCOLS) -> None:
    await wait_health(server, "ok")
    for protocol in protocols:
        outcome = await protocol(server.url, "hello")
        assert (outcome.failures, outcome.finished) == ([], True), (protocol.name, outcome)
    assert "Traceback" not in server.stderr


@pytest.mark.demand("security.descriptor_reserve")
async def test_idle_clients_take_no_connection_from_others() -> None:
    async with serve_limited(SERVE) as server, AsyncExitStack() as clients:
        for _ in range(LIMIT + LIMIT // 4):
            await clients.enter_async_context(RawHttpClient(server.url))
        head, _ = await get_json(server, "/health")
        assert head.status == 200
        await check_recovery(server, [OPENAI_WHOLE])


@pytest.mark.demand("security.descriptor_reserve")
async def test_answers_under_way_leave_descriptors_for_health() -> None:
    async with FakeUpstream() as upstream, serve_limited(SERVE, upstream.base_url) as server:
        upstream.reply = stall_stream()
        async with AsyncExitStack() as clients:
            while (await get_json(server, "/health"))[1]["status"] == "ok":
                client = await clients.enter_async_context(RawHttpClient(server.url))
                await OPENAI_STREAMED.send(client, "hello")
                head = await client.read_head()
                assert head.status in (200, 503)
            # Those that were begun go on.
            assert len(upstream.open_connections) > LIMIT // 4
            await check_refusals(server)
        upstream.reply = None
        await check_recovery(server)
        assert server.stderr.count("No file descriptor is left") == 1


@pytest.mark.demand("security.descriptor_reserve")
async def test_files_leave_descriptors_for_health() -> None:
    async with serve_limited([sys.executable, "-c", LEAKING_PROGRAM, *SERVE[1:]]) as server:
        for _ in range(2):
            server.send_signal(signal.SIGUSR1)
            # Nothing was asked before: what the doors load at their first request must be there too.
            await check_refusals(server)
            server.send_signal(signal.SIGUSR2)
            await check_recovery(server)


@pytest.mark.demand("security.descriptor_reserve")
async def test_connections_beyond_the_reserve_wait_and_are_answered() -> None:
    async with serve_limited([sys.executable, "-c", LEAKING_PROGRAM, *SERVE[1:]]) as server:
        server.send_signal(signal.SIGUSR1)
        await wait_health(server, "degraded")
        replies = await asyncio.gather(*(get_json(server, "/health") for _ in range(LIMIT)))
        assert {body["status"] for _, body in replies} == {"degraded"}
        before = server.cpu_seconds
        async with AsyncExitStack() as clients:
            for _ in range(LIMIT // 4):
                await clients.enter_async_context(RawHttpClient(server.url))
            # Connections that say nothing give way.
            await wait_health(server, "degraded")
        assert server.cpu_seconds - before < HANG_TIMEOUT / 4
        server.send_signal(signal.SIGUSR2)
        await check_recovery(server, [OPENAI_WHOLE])

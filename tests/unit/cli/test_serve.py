"""The real command as a child process, on uvloop."""

from __future__ import annotations

import asyncio
import signal
import socket

import pytest

from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io


async def send_raw(server: RightseatProcess, data: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), HANG_TIMEOUT)
    finally:
        writer.close()


def format_get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.demand("engine.serve_prints_card_without")
async def test_it_starts_without_anything_and_ends_well() -> None:
    async with RightseatProcess() as server:
        assert server.url in server.stdout
        assert "scripted:demo" in server.stdout
        assert b" 200 OK" in await send_raw(server, format_get("/health"))
        assert b" 200 OK" in await send_raw(server, format_get("/v1/models"))
        server.send_signal(signal.SIGTERM)
        assert await server.wait_exit() == 0
    assert server.log_lines == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_both_ways_of_stopping_exit_with_zero(number: signal.Signals) -> None:
    async with RightseatProcess() as server:
        server.send_signal(number)
        assert await server.wait_exit() == 0


@pytest.mark.long
async def test_limits_hold_on_uvloop_too() -> None:
    async with RightseatProcess(config="[server]\nheader_timeout = 1\nbody_timeout = 1\n") as server:
        head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
        assert b" 431 " in await send_raw(server, head + b"X: " + b"a" * 1_000_000 + b"\r\n\r\n")
        assert b" 408 " in await send_raw(server, head)
        assert b" 400 " in await send_raw(server, b"nonsense\r\n\r\n")
        half = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc"
        assert b" 408 " in await send_raw(server, half)
        assert b" 200 OK" in await send_raw(server, format_get("/health"))
    assert server.log_lines == []


@pytest.mark.long
async def test_a_reload_by_signal_is_said() -> None:
    async with RightseatProcess(config='[models.a]\nspec = "scripted:demo"\n') as server:
        (server.folder / "rightseat.toml").write_text('[models.b]\nspec = "scripted:demo"\n')
        server.send_signal(signal.SIGHUP)
        await wait_until(lambda: "reloaded" in server.stderr)
        assert b'"b"' in await send_raw(server, format_get("/v1/models"))


async def test_a_short_key_is_warned_of_once_and_works() -> None:
    config = '[auth.keys]\nann = "env:ANN_KEY"\nbob = "env:BOB_KEY"\n'
    env = {"ANN_KEY": "ann-sesame-1", "BOB_KEY": "b" * 16}
    async with RightseatProcess(model="scripted:demo", config=config, env=env) as server:
        async with RawHttpClient(server.url) as client:
            await client.get("/v1/models", {"authorization": "Bearer ann-sesame-1"})
            assert (await client.read_head()).status == 200
        [line] = [line for line in server.stderr.splitlines() if "[auth.keys]" in line]
    assert "warning" in line
    assert "fewer than 16 characters are easily guessed: ann;" in line
    assert "sesame" not in server.stderr


async def test_a_models_server_that_is_not_there_is_named_in_the_log_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}/v1?key=hidden"
    config = f'[models.default]\nspec = "openai:x"\nbase_url = "{url}"\ntries = 1\n'
    async with RightseatProcess(config=config, env={"OPENAI_API_KEY": "sk-test-0123456789"}) as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]})
            assert (await client.read_head()).status == 502
            body = (await client.read_body()).decode()
        await wait_until(lambda: "run failed" in server.stderr)
    [line] = [line for line in server.stderr.splitlines() if "run failed" in line]
    assert line.endswith(f"http://127.0.0.1:{port} was called")
    assert "cannot be reached" in body
    assert str(port) not in body

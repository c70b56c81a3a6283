"""The child-process fixture, with a small program in place of the real server."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import process
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT

pytestmark = pytest.mark.io

PROGRAM = """
import asyncio, os, pathlib, sys

async def main():
    async def serve(reader, writer):
        await reader.readuntil(b"\\r\\n\\r\\n")
        writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok")
        await writer.drain()
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    stop = asyncio.Event()
    if "--deaf" in sys.argv:
        asyncio.get_running_loop().add_signal_handler(15, print, "deaf")
    else:
        asyncio.get_running_loop().add_signal_handler(15, stop.set)
    if "--child" in sys.argv:
        await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(3600)")
    url = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
    print(url, os.environ.get("OPENAI_API_KEY"), flush=True)
    ready = pathlib.Path(os.environ["RIGHTSEAT_READY_FILE"])
    ready.with_suffix(".new").write_text(url)
    ready.with_suffix(".new").rename(ready)
    await stop.wait()

asyncio.run(main())
"""


def make_command(*args: str) -> list[str]:
    return [sys.executable, "-c", PROGRAM, *args]


async def test_it_starts_answers_and_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "must not leak into the child")
    async with RightseatProcess(command=make_command()) as server:
        async with RawHttpClient(server.url) as client:
            await client.get("/")
            assert (await client.read_head()).status == 200
            assert await client.read_body() == b"ok"
        assert server.stdout == f"{server.url} None\n"
        assert server.stderr == ""
        assert 0 < server.startup_cpu_seconds <= server.cpu_seconds < HANG_TIMEOUT
        assert server.rss_bytes > 1_000_000
        assert server.socket_count >= 1
        assert server.thread_count >= 1
        assert server.child_pids == []
        pid, folder = server.pid, server.folder
    assert server.returncode == 0
    assert not process.is_alive(pid)
    assert not folder.exists()
    assert server.stdout.startswith("http://127.0.0.1:")


async def test_a_deaf_server_fails_and_is_killed() -> None:
    server = RightseatProcess(command=make_command("--deaf"), stop_timeout=0.2)
    with pytest.raises(AssertionError, match=r"still running after 0\.2 s"):
        async with server:
            pass
    assert server.returncode == -signal.SIGKILL


async def test_a_child_left_behind_fails_and_is_killed() -> None:
    server = RightseatProcess(command=make_command("--child"), orphan_timeout=0.2)
    with pytest.raises(AssertionError, match="children outlived"):
        async with server:
            (child,) = server.child_pids
    assert not process.is_alive(child)


async def test_an_early_exit_shows_what_was_said() -> None:
    program = "import sys; sys.exit('no such model')"
    with pytest.raises(AssertionError, match=r"exited with 1(.|\n)*no such model"):
        async with RightseatProcess(command=[sys.executable, "-c", program]):
            pytest.fail("it is not running")


def test_the_real_command_line_is_put_together() -> None:
    server = RightseatProcess(model="openai:x", config="[a]\n", args=["--quiet"])
    words = server.command_line()
    assert words[1:6] == ["serve", "--port", "0", "--model", "openai:x"]
    assert words[6] == "--config"
    assert Path(words[7]).read_text() == "[a]\n"
    assert words[8:] == ["--quiet"]
    server.remove_folder()


def test_cpu_of_a_busy_process_grows() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        first = process.measure_cpu_seconds(busy.pid)
        try:
            while process.measure_cpu_seconds(busy.pid) < first + 0.02:
                pass
        finally:
            busy.kill()

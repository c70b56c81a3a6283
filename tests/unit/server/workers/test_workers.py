"""`rightseat serve --workers N`: real processes, with signals and kills as an operator and a kernel send them."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rightseat.server import service
from tests.kit import process
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess, find_executable
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.kit.workers import ask_many, find_workers, get_json, wait_replaced

pytestmark = pytest.mark.io

CHAT = {"messages": [{"role": "user", "content": "hi"}], "stream": True}
CONFIG = '[models.main]\nspec = "scripted:demo"\n'
BLOCKING_TOOL = """
import pathlib, time

async def block() -> str:
    "Hold the event loop."
    pathlib.Path("blocks").touch()
    time.sleep(3)
    return "done"
"""


def make_server(config: str = CONFIG, *, workers: str = "2") -> RightseatProcess:
    return RightseatProcess(config=config, args=["--workers", workers])


def write_script(folder: Path, *turns: dict[str, object]) -> str:
    """The tables of a model that says what `turns` have."""
    file = folder / "script.json"
    file.write_text(json.dumps({"turns": turns}))
    return f'[models.main]\nspec = "scripted:{file}"\n'


def find_run_folder(pid: int) -> Path:
    words = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return next(Path(word.partition("=")[2]) for word in words if word.startswith("RIGHTSEAT_RUN_FOLDER="))


async def post_chat(url: str) -> str:
    """The whole text of one streamed answer."""
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", CHAT)
        assert (await client.read_head()).status == 200
        return (await client.read_body()).decode()


async def scrape(url: str) -> dict[str, float]:
    """The samples of /metrics by name and labels."""
    async with RawHttpClient(url) as client:
        await client.get("/metrics")
        assert (await client.read_head()).status == 200
        lines = (await client.read_body()).decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs if "_created" not in name}


RUNS = 'rightseat_runs_total{assistant="default",reason="stop"}'


@pytest.mark.demand("scale.workers_serve_one_port")
async def test_several_workers_answer_on_one_port() -> None:
    async with make_server() as server:
        assert await ask_many(server.url) == {1, 2}
        assert "2 processes" in server.stdout
        assert server.stdout.count("is ready on") == 1
        assert server.url in server.stdout
        assert len(find_workers(server)) == 2
        assert "[DONE]" in await post_chat(server.url)
        reply = await get_json(server.url)
        assert reply is not None
        assert (reply["status"], reply["workers"]) == ("ok", 2)
        assert await get_json(server.url, "/ready") == {"ready": True}
        folder = find_run_folder(find_workers(server)[1])
        assert folder.stat().st_mode & 0o777 == 0o700
        server.send_signal(signal.SIGTERM)
        assert await server.wait_exit() == 0
        assert not folder.exists()
    assert " [w" in server.stderr
    assert server.log_lines == []


@pytest.mark.long
@pytest.mark.demand("scale.silent_worker_replaced")
async def test_a_stopped_worker_is_replaced() -> None:
    async with make_server(f"{CONFIG}[live]\nlease_seconds = 1\n", workers="2") as server:
        before = find_workers(server)
        os.kill(before[1], signal.SIGSTOP)
        await wait_replaced(server, 1, before[1])
        assert find_workers(server)[2] == before[2]
        assert "no sign of life" in server.stderr


@pytest.mark.long
@pytest.mark.demand("scale.blocked_loop_is_no_death")
async def test_a_worker_whose_loop_is_blocked_lives_on(tmp_path: Path) -> None:
    (tmp_path / "blocking_tools.py").write_text(BLOCKING_TOOL)
    script = write_script(
        tmp_path, {"when": {"tool": "block"}, "say": "over"}, {"when": {}, "calls": [{"name": "block"}]}
    )
    config = f'[live]\nlease_seconds = 1\n{script}[assistants.default]\nmodel = "main"\n'
    server = make_server(f'{config}tools = ["blocking_tools:block"]\n', workers="2")
    (server.folder / "blocking_tools.py").write_text(BLOCKING_TOOL)
    async with server:
        before = find_workers(server)
        assert "over" in await post_chat(server.url)
        assert (server.folder / "blocks").exists()
        assert find_workers(server) == before


@pytest.mark.demand("scale.workers_drain_and_reload")
async def test_sigterm_lets_a_stream_finish(tmp_path: Path) -> None:
    words = [f"{number} " for number in range(40)]
    script = write_script(tmp_path, {"when": {}, "say": words, "pace_ms": 50})
    async with make_server(script, workers="2") as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/chat/completions", CHAT)
            assert (await client.read_head()).status == 200
            await client.read_frame()
            server.send_signal(signal.SIGTERM)
            body = (await client.read_body()).decode()
        assert all(f'"{word}"' in body for word in words[5:])
        assert "[DONE]" in body
        assert await server.wait_exit() == 0


@pytest.mark.long
@pytest.mark.demand("scale.workers_drain_and_reload")
async def test_the_second_interrupt_ends_all_at_once(tmp_path: Path) -> None:
    script = write_script(tmp_path, {"when": {}, "say": ["a"] * 1000, "pace_ms": 100})
    async with make_server(script, workers="2") as server:
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/chat/completions", CHAT)
            assert (await client.read_head()).status == 200
            server.send_signal(signal.SIGINT)
            await wait_until(lambda: "Stopping" in server.stderr)
            server.send_signal(signal.SIGINT)
            assert await server.wait_exit() == 130
        await wait_until(lambda: not process.list_session(server.pid))


@pytest.mark.demand("scale.workers_drain_and_reload")
async def test_sighup_reaches_every_worker() -> None:
    async with make_server() as server:
        config = server.folder / "rightseat.toml"
        config.write_text(CONFIG.replace("models.main", "models.other"))
        server.send_signal(signal.SIGHUP)
        await wait_until(lambda: server.stderr.count("was reloaded") >= 2)
        replies = await asyncio.gather(*(get_json(server.url, "/v1/models") for _ in range(30)))
        assert all("other" in json.dumps(reply) for reply in replies)
        config.write_text("[nonsense]\n")
        server.send_signal(signal.SIGHUP)
        await wait_until(lambda: "was not reloaded" in server.stderr)
        assert await ask_many(server.url) == {1, 2}


@pytest.mark.long
@pytest.mark.demand("scale.crash_loop_is_said")
async def test_a_worker_that_cannot_start_again_is_said_and_the_others_go_on() -> None:
    async with make_server(workers="3") as server:
        (server.folder / "rightseat.toml").write_text("[nonsense]\n")
        os.kill(find_workers(server)[3], signal.SIGKILL)
        await wait_until(lambda: "ended 3 times" in server.stderr)
        assert await ask_many(server.url) == {1, 2}
        assert "[DONE]" in await post_chat(server.url)
        (server.folder / "rightseat.toml").write_text(CONFIG)
        async with asyncio.timeout(HANG_TIMEOUT):
            while await ask_many(server.url) != {1, 2, 3}:
                pass


@pytest.mark.demand("scale.crash_loop_is_said")
def test_a_start_that_fails_says_why_once(tmp_path: Path) -> None:
    config = tmp_path / "rightseat.toml"
    config.write_text('[models.main]\nspec = "scripted:gone.json"\n')
    command = [find_executable(), "serve", "--port", "0", "--workers", "3", "--config", str(config)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
    assert ended.returncode == 1
    assert ended.stderr.count("error: ") == 1
    assert "gone.json" in ended.stderr
    assert ended.stdout == ""


@pytest.mark.demand("scale.crash_loop_is_said")
def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    with service.open_listener("127.0.0.1", 0) as listener:
        port = str(listener.getsockname()[1])
        command = [find_executable(), "serve", "--port", port, "--workers", "2", "--model", "scripted:demo"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)
    assert ended.returncode == 1
    assert f"Port {port} on 127.0.0.1 is in use" in ended.stderr


@pytest.mark.long
@pytest.mark.demand("scale.crash_loop_is_said")
async def test_a_second_server_on_the_port_is_refused(tmp_path: Path) -> None:
    async with make_server(workers="2") as server:
        for workers in ("1", "2"):
            port = str(server.port)
            command = [find_executable(), "serve", "--port", port, "--workers", workers, "--model", "scripted:demo"]
            ended = await asyncio.to_thread(
                subprocess.run, command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_TIMEOUT
            )
            assert ended.returncode == 1
            assert f"Port {port} on 127.0.0.1 is in use" in ended.stderr


@pytest.mark.demand("scale.killed_worker_replaced", "scale.metrics_summed")
async def test_a_killed_worker_is_replaced_and_metrics_never_go_back() -> None:
    async with make_server(workers="3") as server:
        for _ in range(12):
            await post_chat(server.url)
        # Each scrape is on a connection of its own, so at any worker.
        scrapes = [await scrape(server.url) for _ in range(6)]
        assert {samples[RUNS] for samples in scrapes} == {12.0}
        assert {samples["rightseat_workers"] for samples in scrapes} == {3.0}
        assert {samples["rightseat_workers_answered"] for samples in scrapes} == {3.0}
        buckets = {samples['rightseat_run_seconds_count{assistant="default"}'] for samples in scrapes}
        assert buckets == {12.0}
        before = find_workers(server)
        os.kill(before[2], signal.SIGKILL)
        pid = await wait_replaced(server, 2, before[2])
        assert find_workers(server) == {**before, 2: pid}
        assert await ask_many(server.url) == {1, 2, 3}
        assert "Worker 2" in server.stderr
        samples = await scrape(server.url)
        assert samples[RUNS] == 12.0
        assert samples["rightseat_worker_restarts_total"] == 1.0


@pytest.mark.demand("scale.supervisor_killed")
async def test_workers_end_with_a_killed_supervisor() -> None:
    async with make_server(workers="2") as server:
        workers = find_workers(server)
        folder = find_run_folder(workers[1])
        server.send_signal(signal.SIGKILL)
        assert await server.wait_exit() == -signal.SIGKILL
        await wait_until(lambda: not any(map(process.is_alive, workers.values())))
        assert not folder.exists()


SHARED_LISTENER = """
import rightseat.cli.workers as workers
from rightseat.cli import main

workers.BALANCES_PORTS = False
main()
"""


@pytest.mark.long
@pytest.mark.demand("scale.workers_serve_one_port")
async def test_workers_share_a_socket_where_ports_are_not_balanced() -> None:
    words = ["serve", "--port", "0", "--model", "scripted:demo", "--workers", "2"]
    async with RightseatProcess(command=[sys.executable, "-c", SHARED_LISTENER, *words]) as server:
        answered: set[int] = set()
        async with asyncio.timeout(HANG_TIMEOUT):
            while answered != {1, 2}:
                answered |= await ask_many(server.url)
        pid = find_workers(server)[1]
        os.kill(pid, signal.SIGKILL)
        await wait_replaced(server, 1, pid)


@pytest.mark.demand("scale.crash_loop_is_said")
def test_a_ready_file_that_cannot_be_written_ends_the_start(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    env["RIGHTSEAT_READY_FILE"] = str(tmp_path / "gone" / "ready")
    command = [find_executable(), "serve", "--port", "0", "--workers", "2", "--model", "scripted:demo"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False
    )
    assert ended.returncode == 1
    assert "RIGHTSEAT_READY_FILE" in ended.stderr


# Starts a server by a line of its own, stops it once it is ready, and prints what is loaded.
LISTING_PROGRAM = """
import os, pathlib, signal, sys, threading, time
{imports}

def stop():
    while not pathlib.Path("ready").exists():
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGTERM)

os.environ["RIGHTSEAT_READY_FILE"] = "ready"
threading.Thread(target=stop, daemon=True).start()
try:
    {start}
finally:
    print(*sys.modules)
"""
UNUSED_ROOMS = ("plugins", "agents", "mcp", "wiring.demo.", "tools.sandbox.identity", "tools.sandbox.kernel")


@pytest.mark.demand("scale.one_worker_pays_nothing")
def test_one_worker_imports_nothing_of_it() -> None:
    program = LISTING_PROGRAM.format(
        imports="from rightseat.cli import app",
        start='app(["serve", "--port", "0", "--model", "empty", *sys.argv[1:]], standalone_mode=False)',
    )
    for args in ([], ["--workers", "1"]):
        names = set(run_program(program, args).split())
        own = {name.removeprefix("rightseat.") for name in names if name.startswith("rightseat.")}
        of_workers = {name for name in own if any(word in name for word in ("worker", "shared", "live", "takeover"))}
        assert of_workers == {"types.live", "types.workers"}
        assert {name for name in own if name.startswith(UNUSED_ROOMS)} == set()
        assert names & {"ctypes", "http.client", "xml.sax"} == set()


@pytest.mark.demand("scale.one_worker_pays_nothing")
def test_a_server_without_tools_of_functions_loads_no_pydantic() -> None:
    # As a worker starts: the command line itself loads pydantic, to read options.
    program = LISTING_PROGRAM.format(
        imports="from rightseat.cli.serve import ServeArguments, serve",
        start='serve(ServeArguments(port=0, model="empty"))',
    )
    assert {name for name in run_program(program, []).split() if name.startswith("pydantic")} == set()


def run_program(program: str, args: list[str]) -> str:
    """The last line that a program writes, in a folder and home of its own."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder}
        ended = subprocess.run(
            [sys.executable, "-c", program, *args],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=HANG_TIMEOUT,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()[-1]

"""`deploy/haproxy.cfg` under a real HAProxy, with two real servers behind it."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.stores.members import make_schema_name
from tests.kit.answers import answer_tokens
from tests.kit.client import RawHttpClient, ResponseHead
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.faults import begin_stream
from tests.kit.postgres import get_session_server
from tests.kit.server import POLL_SECONDS, RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.upstream import FakeUpstream
from tests.kit.waiting import wait_until
from tests.peers.install import HAPROXY
from tests.peers.prerequisites import require
from tests.unit.server.manifests import HAPROXY as CONFIG

pytestmark = [pytest.mark.peers, pytest.mark.io, pytest.mark.timeout(300)]
CHAT = "/v1/chat/completions"
WORDS = ("one ", "two ", "three")
UNUSED = "127.0.0.1:9"


def make_environment(port: int, *replicas: str) -> dict[str, str]:
    names = {f"REPLICA_{number}": address for number, address in enumerate(replicas, 1)}
    return {**os.environ, "LISTEN_PORT": str(port), **names}


def check_file(file: Path) -> subprocess.CompletedProcess[str]:
    command = [str(require(HAPROXY)), "-c", "-f", str(file)]
    environment = make_environment(8080, UNUSED, UNUSED)
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_TIMEOUT, check=False)


def reserve_port() -> int:
    """A free port: HAProxy does not tell which one it took."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def make_chat(text: str = "Count.", *, stream: bool = False) -> dict[str, Any]:
    return {"model": "m", "stream": stream, "messages": [{"role": "user", "content": text}]}


class GatedReply:
    """Sends the first word, and the others once `open` is set."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        answer = answer_tokens(WORDS)
        frames = answer.encode_frames(request)
        # The role is a frame of its own.
        await begin_stream(connection, answer, 1)
        await self.open.wait()
        for frame in frames[2:]:
            await connection.write_chunk(frame)
        await connection.write_chunk(b"")


@contextlib.contextmanager
def run_haproxy(*replicas: str) -> Iterator[str]:
    """Start HAProxy with the file; yield its URL."""
    port = reserve_port()
    command = [str(require(HAPROXY)), "-db", "-f", str(CONFIG)]
    with subprocess.Popen(
        command, env=make_environment(port, *replicas), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_listening(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()


def wait_listening(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + HANG_TIMEOUT
    while True:
        assert process.poll() is None, f"haproxy ended with {process.returncode}"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert time.monotonic() < deadline, f"haproxy does not listen within {HANG_TIMEOUT} s"
        time.sleep(POLL_SECONDS)


async def ask(url: str, target: str = "/health", value: object | None = None) -> tuple[ResponseHead, bytes]:
    """The reply on a connection of its own."""
    async with RawHttpClient(url) as client:
        await (client.get(target) if value is None else client.post_json(target, value))
        return await client.read_head(), await client.read_body()


async def wait_status(url: str, status: int) -> None:
    """Wait until /ready has this status through HAProxy."""
    async with asyncio.timeout(HANG_TIMEOUT):
        while True:
            with contextlib.suppress(OSError):
                if (await ask(url, "/ready"))[0].status == status:
                    return
            await asyncio.sleep(POLL_SECONDS)


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
async def replicas(upstream: FakeUpstream) -> AsyncIterator[list[RightseatProcess]]:
    require(HAPROXY)
    config = (
        '[server]\ntrusted_proxies = ["127.0.0.0/8"]\n'
        f'[models.m]\nspec = "openai:x"\nbase_url = "{upstream.base_url}"\napi_key = "key"\n'
        f'[store]\nkind = "postgres"\nurl = "env:DATABASE_URL"\nschema = "{make_schema_name()}"\n'
    )
    env = {"DATABASE_URL": get_session_server().url}
    async with RightseatProcess(config=config, env=env) as one, RightseatProcess(config=config, env=env) as two:
        yield [one, two]


@pytest.fixture
async def url(replicas: list[RightseatProcess]) -> AsyncIterator[str]:
    with run_haproxy(*(f"127.0.0.1:{replica.port}" for replica in replicas)) as url:
        await wait_status(url, 200)
        yield url


def count_requests(replica: RightseatProcess, path: str) -> int:
    return sum(path in line for line in replica.stderr.splitlines() if " rightseat.access " in line)


@pytest.mark.demand("cluster.compose")
def test_haproxy_takes_the_file(tmp_path: Path) -> None:
    checked = check_file(CONFIG)
    assert (checked.returncode, "valid" in checked.stdout) == (0, True), checked.stderr
    assert "WARNING" not in checked.stderr
    crooked = tmp_path / CONFIG.name
    crooked.write_text(CONFIG.read_text("utf-8").replace("retry-on conn-failure", "retry-on conn-falure"), "utf-8")
    assert "conn-falure" in check_file(crooked).stderr


@pytest.mark.demand("cluster.compose")
def test_the_hint_for_local_models_is_valid(tmp_path: Path) -> None:
    page = (CONFIG.parents[1] / "docs" / "deploy-cluster.md").read_text("utf-8")
    block = page[page.index("    balance hdr(") :].partition("```")[0]
    hinted = tmp_path / CONFIG.name
    hinted.write_text(CONFIG.read_text("utf-8").replace("    balance roundrobin\n", block), "utf-8")
    checked = check_file(hinted)
    assert (checked.returncode, "WARNING" in checked.stderr) == (0, False), checked.stderr


@pytest.mark.demand("cluster.compose")
async def test_a_stream_comes_through_as_the_model_speaks(upstream: FakeUpstream, url: str) -> None:
    reply = GatedReply()
    upstream.queue_replies(reply)
    async with RawHttpClient(url) as client:
        await client.post_json(CHAT, make_chat(stream=True))
        assert (await client.read_head()).status == 200
        text = ""
        while text != WORDS[0]:
            frame = await client.read_frame()
            assert frame is not None
            text += frame.json["choices"][0]["delta"].get("content") or "" if frame.data else ""
        # The model has not said more until now: nothing waited for it.
        reply.open.set()
        async for frame in client.iterate_frames():
            if frame.data and frame.data != "[DONE]" and (choices := frame.json["choices"]):
                text += choices[0]["delta"].get("content") or ""
        assert text == "".join(WORDS)


@pytest.mark.demand("cluster.compose")
async def test_requests_go_round_and_a_killed_replica_is_not_noticed(
    upstream: FakeUpstream, replicas: list[RightseatProcess], url: str
) -> None:
    for _ in range(4):
        assert (await ask(url, CHAT, make_chat()))[0].status == 200
    await wait_until(lambda: [count_requests(replica, CHAT) for replica in replicas] == [2, 2])
    # A stream at the one that stays.
    reply = GatedReply()
    upstream.queue_replies(reply)
    async with RawHttpClient(url) as client:
        await client.post_json(CHAT, make_chat(stream=True))
        assert (await client.read_head()).status == 200
        await upstream.wait_requests(5)
        # A health check may be under way at the other one.
        await wait_until(lambda: has_no_run(replicas[0]) != has_no_run(replicas[1]))
        gone, left = replicas if has_no_run(replicas[0]) else replicas[::-1]
        gone.send_signal(signal.SIGKILL)
        await gone.wait_exit()
        # At once, before a health check has failed: refused connections are tried at the other one.
        for _ in range(6):
            assert (await ask(url, CHAT, make_chat()))[0].status == 200
        # A request is logged after its answer.
        await wait_until(lambda: count_requests(left, CHAT) >= 8)
        reply.open.set()
        assert b"three" in await client.read_body()


def has_no_run(replica: RightseatProcess) -> bool:
    """Whether no connection of a client to this replica is open: HAProxy keeps none beyond its request."""
    lines = Path(f"/proc/{replica.pid}/net/tcp").read_text("utf-8").splitlines()[1:]
    local, established = f":{replica.port:04X}", "01"
    return not [line for line in lines if line.split()[1].endswith(local) and line.split()[3] == established]


@pytest.mark.demand("cluster.compose")
async def test_a_replica_that_drains_finishes_its_stream_and_gets_no_new_request(
    upstream: FakeUpstream, replicas: list[RightseatProcess], url: str
) -> None:
    reply = GatedReply()
    upstream.queue_replies(reply)
    async with RawHttpClient(url) as client:
        await client.post_json(CHAT, make_chat(stream=True))
        assert (await client.read_head()).status == 200
        drained = next(replica for replica in replicas if not has_no_run(replica))
        drained.send_signal(signal.SIGTERM)
        # HAProxy may ask the one that drains until its next health check: that one answers too.
        for _ in range(8):
            assert (await ask(url, CHAT, make_chat()))[0].status == 200
        reply.open.set()
        assert b"three" in await client.read_body()
        assert await drained.wait_exit() == 0


@pytest.mark.demand("cluster.compose")
async def test_metrics_are_not_told_and_forwarded_headers_of_clients_do_not_count(url: str) -> None:
    assert (await ask(url, "/metrics"))[0].status == 404
    async with RawHttpClient(url) as client:
        await client.get("/", {"X-Forwarded-Host": "evil.example.com", "X-Forwarded-Proto": "https"})
        head, body = await client.read_head(), await client.read_body()
    assert head.status == 200
    assert b"evil.example.com" not in body
    assert json.dumps("https://")[1:-1].encode() + b"127.0.0.1" not in body

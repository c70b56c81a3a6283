"""`deploy/nginx.conf` and `deploy/Caddyfile` under the real programs, with a real server behind them."""

import contextlib
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream
from tests.peers.install import CADDY, NGINX
from tests.peers.prerequisites import require
from tests.peers.test_haproxy import CHAT, WORDS, GatedReply, ask, make_chat, reserve_port, wait_listening

pytestmark = [pytest.mark.peers, pytest.mark.io, pytest.mark.timeout(300), pytest.mark.demand("server.proxies")]

DEPLOY = Path(__file__).parents[2] / "deploy"
NGINX_FILE = DEPLOY / "nginx.conf"
CADDY_FILE = DEPLOY / "Caddyfile"
KEY_COMMAND = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=test")


def write_nginx(folder: Path, text: str) -> list[str]:
    """Write a whole configuration around the file; return the command that starts nginx with it."""
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    whole = f"pid {folder}/pid; error_log stderr; events {{}}\nhttp {{ access_log off; {places}\n{text}\n}}\n"
    (folder / "nginx.conf").write_text(whole, "utf-8")
    return [str(require(NGINX)), "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def write_caddy(folder: Path, text: str) -> list[str]:
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tskip_install_trust\n}\n" + text, "utf-8")
    return [str(require(CADDY)), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def make_command(program: str, folder: Path, server: int, port: int) -> list[str]:
    """Return the command that starts a proxy without TLS on this port, with the file's other lines as they are."""
    if program == "caddy":
        text = CADDY_FILE.read_text("utf-8").replace("copilot.example.com {", f"http://127.0.0.1:{port} {{")
        return write_caddy(folder, text.replace("127.0.0.1:7777", f"127.0.0.1:{server}"))
    text = re.sub(r"^ +ssl_.*\n", "", NGINX_FILE.read_text("utf-8"), flags=re.MULTILINE)
    text = text.replace("listen 80;", f"listen 127.0.0.1:{reserve_port()};")
    text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{port};").replace("127.0.0.1:7777", f"127.0.0.1:{server}")
    return [*write_nginx(folder, text), "-g", "daemon off;"]


@contextlib.contextmanager
def run_proxy(program: str, folder: Path, server: int) -> Iterator[str]:
    port = reserve_port()
    environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    command = make_command(program, folder, server, port)
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            wait_listening(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as upstream:
        yield upstream


@pytest.fixture
async def server(upstream: FakeUpstream) -> AsyncIterator[RightseatProcess]:
    config = (
        '[server]\npublic_url = "https://copilot.example.com"\ntrusted_proxies = ["127.0.0.1"]\n'
        f'[models.m]\nspec = "openai:x"\nbase_url = "{upstream.base_url}"\napi_key = "key"\n'
    )
    async with RightseatProcess(config=config) as process:
        yield process


def test_nginx_takes_the_file(tmp_path: Path) -> None:
    nginx = require(NGINX)
    pair = [str(tmp_path / name) for name in ("certificate.pem", "private.key")]
    subprocess.run([*KEY_COMMAND, "-out", pair[0], "-keyout", pair[1]], check=True, capture_output=True)
    text = NGINX_FILE.read_text("utf-8")
    text = text.replace("/etc/nginx/certs/copilot.example.com.pem", pair[0])
    text = text.replace("/etc/nginx/certs/copilot.example.com.key", pair[1])
    checked = subprocess.run([*write_nginx(tmp_path, text), "-t"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr
    crooked = text.replace("proxy_buffering off", "proxy_bufering off")
    checked = subprocess.run([*write_nginx(tmp_path, crooked), "-t"], capture_output=True, text=True)
    assert (nginx.name, "proxy_bufering" in checked.stderr) == ("nginx", True)


def test_caddy_takes_the_file(tmp_path: Path) -> None:
    command = [str(require(CADDY)), "validate", "--adapter", "caddyfile", "--config"]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    checked = subprocess.run([*command, str(CADDY_FILE)], capture_output=True, text=True, env=environment)
    assert checked.returncode == 0, checked.stderr
    crooked = tmp_path / "Caddyfile"
    crooked.write_text(CADDY_FILE.read_text("utf-8").replace("flush_interval", "flush_intervall"), "utf-8")
    checked = subprocess.run([*command, str(crooked)], capture_output=True, text=True, env=environment)
    assert checked.returncode != 0


@pytest.mark.parametrize("program", ["nginx", "caddy"])
async def test_a_stream_comes_through_as_the_model_speaks(
    program: str, upstream: FakeUpstream, server: RightseatProcess, tmp_path: Path
) -> None:
    reply = GatedReply()
    upstream.queue_replies(reply)
    with run_proxy(program, tmp_path, server.port) as url:
        async with RawHttpClient(url) as client:
            await client.post_json(CHAT, make_chat(stream=True))
            assert (await client.read_head()).status == 200
            text = ""
            while WORDS[0].strip() not in text:
                text += (await client.read_piece()).decode()
            # The model has not said more: nothing waits for the end.
            assert WORDS[-1] not in text
            reply.open.set()
            assert WORDS[-1] in (await client.read_body()).decode()


@pytest.mark.parametrize("program", ["nginx", "caddy"])
async def test_metrics_stay_inside(program: str, server: RightseatProcess, tmp_path: Path) -> None:
    with run_proxy(program, tmp_path, server.port) as url:
        assert (await ask(url))[0].status == 200
        assert (await ask(url, "/metrics"))[0].status == 404
    assert (await ask(server.url, "/metrics"))[0].status == 200

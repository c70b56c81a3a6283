"""Every line that the page, the card at start and /playground/setup hand out runs as it is pasted, with and without
keys. Programs that are not here (Docker, Claude Code, npm) are stand-ins that note how they were called; the requests
that they would send are then sent with what they got."""

import asyncio
import json
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from rightseat.config.load import load_config
from rightseat.server.playground.front_ends import FrontEnd, list_front_ends
from tests.kit.client import RawHttpClient, build_raw_request
from tests.kit.server import RightseatProcess

pytestmark = [pytest.mark.io, pytest.mark.demand("playground.front_ends_connected_by_lines_that_run")]

KEYS = '[auth.keys]\nann = "env:ANN_KEY"\n\n'
SCRIPT = '[models.default]\nspec = "scripted:script.json"\n'
SECRET = "ann-sesame-1"
ANSWER = "It works."
RECORDER = """#!{python}
import json, os, sys
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps(sys.argv) + "\\n")
"""
# As much of OpenAI's library as the lines use, by the standard library alone.
OPENAI = """
import json, urllib.request
from types import SimpleNamespace

class OpenAI:
    def __init__(self, *, base_url, api_key):
        self.base_url, self.api_key = base_url, api_key
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

    def create(self, **body):
        headers = {"content-type": "application/json", "authorization": f"Bearer {self.api_key}"}
        url = f"{self.base_url}/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request) as reply:
            return json.load(reply, object_hook=lambda fields: SimpleNamespace(**fields))
"""
OPENAI_JS = """
export default class OpenAI {
  constructor({ baseURL, apiKey }) {
    const headers = { "content-type": "application/json", authorization: `Bearer ${apiKey}` };
    const create = async (body) =>
      (await fetch(`${baseURL}/chat/completions`, { method: "POST", headers, body: JSON.stringify(body) })).json();
    this.chat = { completions: { create } };
  }
}
"""
AGUI_JS = """
export class HttpAgent {
  constructor({ url, headers = {} }) {
    Object.assign(this, { url, headers });
  }
  async runAgent() {
    const rest = { tools: [], context: [], state: {}, forwardedProps: {} };
    const body = JSON.stringify({ threadId: "t", runId: "r", messages: this.messages, ...rest });
    const headers = { "content-type": "application/json", accept: "text/event-stream", ...this.headers };
    const text = await (await fetch(this.url, { method: "POST", headers, body })).text();
    const lines = text.split("\\n").filter((line) => line.startsWith("data:"));
    const events = lines.map((line) => JSON.parse(line.slice(5)));
    return { newMessages: [{ content: events.map((event) => event.delta ?? "").join("") }] };
  }
}
"""


@dataclass(frozen=True)
class Desk:
    """A server, and a folder with the programs that a person would have."""

    server: RightseatProcess
    folder: Path
    keyed: bool

    @property
    def environment(self) -> dict[str, str]:
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        key = {"RIGHTSEAT_KEY": SECRET} if self.keyed else {}
        return {"PATH": path, "CALLS": str(self.folder / "calls"), "PYTHONPATH": str(self.folder), **key}

    async def run(self, *command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=self.folder,
            env=self.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, f"{command}\n{err.decode()}"
        return out.decode()

    async def run_shell(self, line: str) -> list[str]:
        """Run a line in bash; returns how the stand-in was called."""
        calls = self.folder / "calls"
        calls.unlink(missing_ok=True)
        await self.run("bash", "-c", line)
        arguments: list[str] = json.loads(calls.read_text().splitlines()[-1])
        return arguments

    async def request(self, url: str, headers: Mapping[str, str], body: object = None) -> tuple[int, Any]:
        path = "/" + url.partition("://")[2].partition("/")[2]
        async with RawHttpClient(self.server.url) as client:
            method, data = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
            sent = {"content-type": "application/json", **headers} if data else headers
            # With the port: the server names its address by the Host.
            await client.send(build_raw_request(method, path, data, sent, f"127.0.0.1:{self.server.port}"))
            head = await client.read_head()
            text = await client.read_body()
        return head.status, json.loads(text) if head.status == 200 and text.startswith(b"{") else text

    async def list_models(self, base_url: str, key: str) -> None:
        status, found = await self.request(f"{base_url}/models", {"authorization": f"Bearer {key}"})
        assert (status, found["object"]) == (200, "list")

    async def initialize_mcp(self, url: str, headers: Mapping[str, str]) -> None:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
        accept = {"accept": "application/json, text/event-stream", **headers}
        status, text = await self.request(url, accept, body)
        assert status == 200, text


@pytest_asyncio.fixture(params=["keyed", "open"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    keyed = request.param == "keyed"
    for name in ("docker", "claude", "npm", "pip"):
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(RECORDER.format(python=sys.executable))
        path.chmod(0o755)
    (tmp_path / "openai.py").write_text(OPENAI)
    for package, code in (("openai", OPENAI_JS), ("@ag-ui/client", AGUI_JS)):
        folder = tmp_path / "node_modules" / package
        folder.mkdir(parents=True)
        (folder / "index.mjs").write_text(code)
        (folder / "package.json").write_text(json.dumps({"name": package, "exports": "./index.mjs"}))
    server = RightseatProcess(config=(KEYS if keyed else "") + SCRIPT, env={"ANN_KEY": SECRET} if keyed else {})
    (server.folder / "script.json").write_text(json.dumps({"turns": [{"say": ANSWER}]}))
    async with server:
        yield Desk(server, tmp_path, keyed)


async def fetch_texts(desk: Desk) -> dict[str, list[tuple[str, str, str]]]:
    """Return file, kind and text of each step by front end, as the page shows them at this server."""
    headers = {"authorization": f"Bearer {SECRET}"} if desk.keyed else {}
    status, setup = await desk.request(f"{desk.server.url}/playground/setup", headers)
    assert (status, setup["needs_key"]) == (200, desk.keyed)
    mode = "key" if desk.keyed else "open"
    return {
        client["id"]: [(step["file"], step["kind"], step["text"][mode]) for step in client["steps"]]
        for client in setup["clients"]
    }


def read_docker_environment(arguments: list[str]) -> dict[str, str]:
    pairs = [arguments[index + 1] for index, word in enumerate(arguments) if word == "-e"]
    return dict(pair.split("=", 1) for pair in pairs)


def find_header(text: str, desk: Desk) -> dict[str, str]:
    """Return the header that a text of JavaScript names, with the key that its environment has."""
    match = re.search(r"headers=\{\{ Authorization: `(.*?)` \}\}", text)
    assert (match is not None) == desk.keyed
    return {"authorization": match[1].replace("${process.env.RIGHTSEAT_KEY}", SECRET)} if match else {}


async def test_every_front_end_is_connected_by_its_lines(desk: Desk) -> None:
    texts = await fetch_texts(desk)
    key = SECRET if desk.keyed else "none"
    seen = set()
    for file, _, text in texts.pop("open-webui"):
        if file == "rightseat.toml":
            (desk.folder / file).write_text(text)
            assert load_config(desk.folder / file, env={}).server.hosts == ("host.docker.internal",)
            continue
        environment = read_docker_environment(await desk.run_shell(text))
        await desk.list_models(environment["OPENAI_API_BASE_URL"], environment["OPENAI_API_KEY"])
        seen.add(environment["OPENAI_API_BASE_URL"].partition("://")[2].partition(":")[0])
    assert seen == {"127.0.0.1", "host.docker.internal"}
    (_, kind, url), (_, _, header) = texts.pop("openbb")
    # What is copied is the address and nothing else.
    assert (kind, url) == ("text", desk.server.url)
    credentials = {"x-api-key": header.replace("$RIGHTSEAT_KEY", SECRET)} if desk.keyed else {}
    assert (await desk.request(f"{url}/agents.json", credentials))[0] == 200
    [(_, _, text)] = texts.pop("librechat")
    [endpoint] = yaml.safe_load(text.replace("${RIGHTSEAT_KEY}", SECRET))["endpoints"]["custom"]
    await desk.list_models(endpoint["baseURL"], endpoint["apiKey"])
    assert endpoint["apiKey"] == key
    (_, _, line), (_, _, text) = texts.pop("copilotkit")
    assert (await desk.run_shell(line))[1] == "install"
    [url] = re.findall(r'runtimeUrl="(.*?)"', text)
    status, found = await desk.request(url, find_header(text, desk), {"method": "info"})
    assert (status, "agents" in found) == (200, True)
    [(_, _, line)] = texts.pop("curl")
    answer = json.loads(await desk.run("bash", "-c", line.replace("curl ", "curl -s ")))
    assert answer["choices"][0]["message"]["content"] == ANSWER
    (_, _, line), (_, _, text) = texts.pop("openai-python")
    assert (await desk.run_shell(line))[1:] == ["install", "openai"]
    assert (await desk.run(sys.executable, "-c", text)).strip() == ANSWER
    [(_, _, line)] = texts.pop("claude-code")
    await check_claude_line(desk, line)
    [(_, _, text)] = texts.pop("mcp")
    server = json.loads(text.replace("$RIGHTSEAT_KEY", SECRET))["mcpServers"]["rightseat"]
    await desk.initialize_mcp(server["url"], server.get("headers", {}))
    assert ("headers" in server) == desk.keyed
    # The next test runs them.
    assert set(texts) == {"agui", "openai-javascript"}


async def check_claude_line(desk: Desk, line: str) -> None:
    arguments = await desk.run_shell(line)
    headers = dict([arguments[-1].split(": ", 1)]) if "--header" in arguments else {}
    assert bool(headers) == desk.keyed
    [url] = [word for word in arguments if word.startswith("http://")]
    await desk.initialize_mcp(url, headers)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("client", ["agui", "openai-javascript"])
async def test_the_lines_for_javascript_run(desk: Desk, client: str) -> None:
    (_, _, line), (file, _, text) = (await fetch_texts(desk))[client]
    assert (await desk.run_shell(line))[1] == "install"
    (desk.folder / file).write_text(text)
    assert (await desk.run("node", file)).strip() == ANSWER


async def test_the_lines_of_the_card_run(desk: Desk) -> None:
    """The card at start, the text at / and the page's list have the same lines."""
    headers = {"authorization": f"Bearer {SECRET}"} if desk.keyed else {}
    _, about = await desk.request(f"{desk.server.url}/playground/about", headers)
    hints = {door["name"]: door["hint"] for door in about["doors"]}
    _, root = await desk.request(f"{desk.server.url}/", {"accept": "*/*"})
    for hint in hints.values():
        assert hint in desk.server.stdout
        assert hint in root.decode()
    variables = await desk.run("bash", "-c", f"{hints['openai']}; env")
    environment = dict(line.split("=", 1) for line in variables.splitlines() if line.startswith("OPENAI_"))
    await desk.list_models(environment["OPENAI_BASE_URL"], environment["OPENAI_API_KEY"])
    await check_claude_line(desk, hints["mcp"])
    [url] = re.findall(r'runtimeUrl="(.*?)"', hints["copilotkit"])
    assert (await desk.request(url, find_header(hints["copilotkit"], desk), {"method": "info"}))[0] == 200
    assert desk.keyed == ("process.env.RIGHTSEAT_KEY" in hints["agui"])
    assert desk.keyed == ("X-API-KEY" in hints["openbb"])


def test_no_line_hides_the_key_from_the_shell() -> None:
    """In single quotes a shell fills nothing in."""
    check: Callable[[str], list[str]] = re.compile(r"'[^']*\$RIGHTSEAT_KEY[^']*'").findall
    clients: list[FrontEnd] = list(list_front_ends("http://127.0.0.1:7777"))
    assert len(clients) == 10
    for client in clients:
        for step in client.steps:
            assert set(step.title) == set(client.about) == {"en", "zh"}
            assert not step.note or set(step.note) == {"en", "zh"}
            assert "RIGHTSEAT_KEY" not in step.text.open
            assert step.kind != "shell" or not check(step.text.key)

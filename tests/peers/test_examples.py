"""The examples as their READMEs say: the commands are taken from there and pasted into a shell."""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.docs.examples.test_fastapi import write_script
from tests.docs.shell import PastingShell, on_posix
from tests.docs.test_docs import ROOT, find_blocks
from tests.peers.copilotkit_example import link_packages, list_packages
from tests.peers.install import CURL, NODE
from tests.peers.prerequisites import require
from tests.peers.test_agent_example import SCRIPT as WEATHER_SCRIPT
from tests.peers.test_haproxy import reserve_port

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), on_posix]
EXAMPLES = ROOT / "examples"


def read_lines(name: str) -> tuple[str, ...]:
    """Return the commands of an example's first block."""
    return tuple(find_blocks(EXAMPLES / name / "README.md", "sh")[0].splitlines())


def is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(url) as reply:
            return bool(reply.status == 200)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@pytest.mark.demand("release.example_plugin_flow")
async def test_plugin_flow(tmp_path: Path) -> None:
    require(CURL)
    shell, port = PastingShell(tmp_path), reserve_port()
    shell.copy_folder(EXAMPLES / "plugin-flow", {"8088": str(port)})
    api, check, serve = read_lines("plugin-flow")
    question, approval = find_blocks(EXAMPLES / "plugin-flow" / "README.md", "sh")[1].splitlines()
    items = f"http://127.0.0.1:{port}/items"
    async with shell.start(api, lambda: is_up(items)):
        await shell.run(check)
        async with shell.start_server(serve):
            asked = json.loads(await shell.run(question))["choices"][0]["message"]["content"]
            assert "lamp" in asked
            assert '"amount": 3' in await shell.run(f"curl -s {items}")
            done = json.loads(await shell.run(approval))["choices"][0]["message"]["content"]
            assert done == "Ordered 20 of lamp. Then there are 23."
            assert '"amount": 23' in await shell.run(f"curl -s {items}")


@pytest.mark.demand("release.example_fastapi")
async def test_fastapi(tmp_path: Path) -> None:
    require(CURL)
    shell, port = PastingShell(tmp_path), reserve_port()
    shell.copy_folder(EXAMPLES / "fastapi", {})
    shell.env |= {"UVICORN_PORT": str(port), "RIGHTSEAT_MODEL": write_script(tmp_path)}
    _, serve = read_lines("fastapi")
    address = f"http://127.0.0.1:{port}"
    script = find_blocks(EXAMPLES / "fastapi" / "README.md", "sh")[1].replace("http://127.0.0.1:8000", address)
    async with shell.start(serve, lambda: is_up(address)):
        answer, _, refusal = (await shell.run(script)).rpartition('{"error"')
        assert "A7: a desk lamp, on its way" in answer
        assert '"unauthorized"' in refusal
        assert "Your orders" in await shell.run(f"curl -s {address}/")


@pytest.mark.demand("release.example_agent")
async def test_agent(tmp_path: Path) -> None:
    python = require("openai-py") / "bin"
    shell = PastingShell(tmp_path)
    shell.copy_folder(EXAMPLES / "agent", {})
    (tmp_path / "script.json").write_text(json.dumps(WEATHER_SCRIPT), "utf-8")
    shell.env["RIGHTSEAT_MODEL"] = f"scripted:{tmp_path / 'script.json'}"
    serve, _, run = read_lines("agent")
    async with shell.start_server(serve) as url:
        shell.replace_text(tmp_path / "agent.py", {"http://127.0.0.1:7777": url})
        shell.env["PATH"] = f"{python}:{shell.env['PATH']}"
        answer = await shell.run(f"{run} 2>&1")
    assert "→ get_current_weather" in answer
    assert "It was: " in answer


@pytest.mark.demand("release.example_copilotkit")
async def test_copilotkit(tmp_path: Path) -> None:
    """The page's own server has the page and its script; tests/peers/test_browser_copilotkit.py drives it."""
    require(CURL)
    require(NODE)
    require("copilotkit-react")
    shell, port = PastingShell(tmp_path), reserve_port()
    shell.copy_folder(EXAMPLES / "copilotkit", {"5173": str(port)})
    serve, install, start = read_lines("copilotkit")
    assert install == "npm ci"
    link_packages(tmp_path, list_packages())
    programs = tmp_path / "node_modules" / ".bin"
    programs.mkdir()
    (programs / "esbuild").symlink_to("../esbuild/bin/esbuild")
    page = f"http://127.0.0.1:{port}"
    async with shell.start_server(serve), shell.start(start, lambda: is_up(page)):
        assert "build/main.js" in await shell.run(f"curl -sf {page}/")
        assert len(await shell.run(f"curl -sf {page}/build/main.js")) > 10_000

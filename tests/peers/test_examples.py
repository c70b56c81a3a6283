"""The examples as their READMEs say: the commands are taken from there and pasted into a shell."""

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.docs.examples.test_fastapi import write_script
from tests.docs.shell import PastingShell, on_posix
from tests.docs.test_docs import ROOT, find_blocks
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.browser import launch_chromium
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


def use_embedded_model(shell: PastingShell) -> None:
    """Let the model of this machine answer, as it does for a reader who has set up nothing."""
    del shell.env["RIGHTSEAT_MODEL"]
    shell.env["RIGHTSEAT_CACHE"] = os.environ["RIGHTSEAT_CACHE"]


@pytest.mark.demand("release.example_plugin_flow")
@pytest.mark.model
async def test_plugin_flow_with_the_embedded_model(tmp_path: Path) -> None:
    """Each question that the README names for it is answered from the API."""
    shell, port = PastingShell(tmp_path), reserve_port()
    shell.copy_folder(EXAMPLES / "plugin-flow", {"8088": str(port)})
    use_embedded_model(shell)
    text = (EXAMPLES / "plugin-flow" / "README.md").read_text("utf-8")
    all_items, low_items = re.findall(r"`([A-Z][\w ]+[.?])`", text)
    async with shell.start(read_lines("plugin-flow")[0], lambda: is_up(f"http://127.0.0.1:{port}/items")):
        assert "lamp, shelf and chair" in await shell.run(f"rightseat chat '{all_items}' 2>&1")
        answer = await shell.run(f"rightseat chat '{low_items}' 2>&1")
    assert "lamp" in answer
    assert "chair" not in answer


@asynccontextmanager
async def serve_fastapi(shell: PastingShell) -> AsyncIterator[str]:
    """The app, started as its README says, at the address."""
    port = reserve_port()
    shell.copy_folder(EXAMPLES / "fastapi", {})
    shell.env["UVICORN_PORT"] = str(port)
    _, serve = read_lines("fastapi")
    address = f"http://127.0.0.1:{port}"
    async with shell.start(serve, lambda: is_up(address), patience=2 * HANG_TIMEOUT):
        yield address


async def run_fastapi(shell: PastingShell) -> tuple[str, str]:
    """Return what the commands of the README print: the answer, and the refusal without a token."""
    require(CURL)
    script = find_blocks(EXAMPLES / "fastapi" / "README.md", "sh")[1]
    async with serve_fastapi(shell) as address:
        printed = await shell.run(script.replace("http://127.0.0.1:8000", address))
    answer, _, refusal = printed.rpartition('{"error"')
    return json.loads(answer)["choices"][0]["message"]["content"], refusal


@pytest.mark.demand("release.example_fastapi")
async def test_fastapi(tmp_path: Path) -> None:
    shell = PastingShell(tmp_path)
    shell.env["RIGHTSEAT_MODEL"] = write_script(tmp_path)
    answer, refusal = await run_fastapi(shell)
    assert "A7: a desk lamp, on its way" in answer
    assert '"unauthorized"' in refusal


@pytest.mark.demand("release.example_fastapi")
async def test_the_page_of_fastapi(tmp_path: Path) -> None:
    require("playwright")
    shell = PastingShell(tmp_path)
    shell.env["RIGHTSEAT_MODEL"] = write_script(tmp_path)
    async with serve_fastapi(shell) as address, launch_chromium() as chromium, chromium.open_tab() as tab:
        tab.expect_problem("401|favicon")
        await tab.open_url(address)
        for password, reply in (("wrong", "Wrong name or password."), ("engine", "Hello, ada.")):
            await tab.fill_text("[name=user]", "ada")
            await tab.fill_text("[name=password]", password)
            await tab.click("#login button")
            await tab.wait_visible("#answer", reply)
        await tab.click("#ask button")
        await tab.wait_visible("#answer", "A7: a desk lamp, on its way")


@pytest.mark.demand("release.example_fastapi")
@pytest.mark.model
async def test_fastapi_with_the_embedded_model(tmp_path: Path) -> None:
    shell = PastingShell(tmp_path)
    use_embedded_model(shell)
    answer, _ = await run_fastapi(shell)
    assert "on its way" in answer


async def run_agent(shell: PastingShell) -> str:
    """Return what the script prints: each call, and the answer."""
    python = require("openai-py") / "bin"
    shell.copy_folder(EXAMPLES / "agent", {})
    serve, _, run = read_lines("agent")
    async with shell.start_server(serve, patience=2 * HANG_TIMEOUT) as url:
        shell.replace_text(shell.folder / "agent.py", {"http://127.0.0.1:7777": url})
        shell.env["PATH"] = f"{python}:{shell.env['PATH']}"
        return await shell.run(f"{run} 2>&1")


@pytest.mark.demand("release.example_agent")
async def test_agent(tmp_path: Path) -> None:
    shell = PastingShell(tmp_path)
    (tmp_path / "script.json").write_text(json.dumps(WEATHER_SCRIPT), "utf-8")
    shell.env["RIGHTSEAT_MODEL"] = f"scripted:{tmp_path / 'script.json'}"
    printed = await run_agent(shell)
    assert "→ get_current_weather" in printed
    assert "It was: " in printed


@pytest.mark.demand("release.example_agent")
@pytest.mark.model
async def test_agent_with_the_embedded_model(tmp_path: Path) -> None:
    shell = PastingShell(tmp_path)
    use_embedded_model(shell)
    call, answer = (await run_agent(shell)).splitlines()
    assert call.startswith("→ get_n_day_weather_forecast(")
    assert json.loads(call.partition("(")[2][:-1])["location"] == "London"
    assert answer


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

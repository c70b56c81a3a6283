"""A port or a data folder in use: what is printed starts a second server beside the first, as pasted."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rightseat.config.settings import Config, ServerSettings, StoreSettings
from rightseat.server.second import drop_options, format_second_command
from tests.kit.cases import each_case
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess, find_executable
from tests.kit.timeouts import HANG_TIMEOUT


async def fail_to_serve(folder: Path, *options: str) -> str:
    """What a second `rightseat serve` in the folder says; returns its last line."""
    command = [find_executable(), "serve", "--config", "rightseat.toml", *options]
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    done = await asyncio.to_thread(
        subprocess.run, command, cwd=folder, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT
    )
    assert done.returncode == 1
    assert "in use" in done.stderr
    return done.stderr.splitlines()[-1].strip()


@pytest.mark.demand("first_hour.second_server")
@pytest.mark.io
@pytest.mark.skipif(sys.platform == "win32", reason="the line is run by sh")
@pytest.mark.parametrize("taken", ["port", "folder"])
async def test_the_printed_command_starts_a_second_server(taken: str) -> None:
    config = '[models.default]\nspec = "scripted:demo"\n[store]\npath = "data"\n'
    async with RightseatProcess(config=config) as first:
        line = await fail_to_serve(first.folder, "--port", str(first.port) if taken == "port" else "0")
        command = ["sh", "-c", f"cd '{first.folder}' && exec {line}"]
        async with RightseatProcess(command=command) as second, RawHttpClient(second.url) as client:
            assert second.url != first.url
            await client.get("/health")
            assert (await client.read_head()).status == 200


@each_case(
    ("words", "rest"),
    [
        (["--port", "1", "--model", "local"], ["--model", "local"]),
        (["--port=1", "--data=x", "--host", "::1"], ["--host", "::1"]),
        (["--data"], []),
    ],
)
def test_options_that_get_another_value_are_left_out(words: list[str], rest: list[str]) -> None:
    assert list(drop_options(words)) == rest


@pytest.mark.io
def test_a_store_without_a_folder_needs_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = Config(server=ServerSettings(port=port), store=StoreSettings(kind="memory"))
        command = format_second_command(config, ["pytest"])
    assert "--data" not in command
    assert f"--port {port} " not in f"{command} "

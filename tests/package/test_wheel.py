"""The wheel: built, installed into an empty environment from the lock, and served from an empty folder."""

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.kit.client import Client
from tests.kit.server import Server

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    return made


def test_the_wheel_holds_the_package_and_nothing_that_runs_by_itself(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "rightseat/py.typed" in names
    assert "rightseat/models/demo.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert [name for name in names if name.endswith((".pth", ".so", ".pyc"))] == []
    tops = {name.split("/")[0] for name in names}
    assert all(top == "rightseat" or top.endswith(".dist-info") for top in tops)


@pytest.fixture
def installed(wheel: Path, tmp_path: Path) -> Path:
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    pip = [str(home / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--retries", "5"]
    locked = [*pip, "--require-hashes", "-r", str(ROOT / "requirements" / "run.txt")]
    for command in (locked, [*pip, "--no-deps", str(wheel)]):
        subprocess.run(command, check=True, capture_output=True)
    return home / "bin" / "rightseat"


async def test_the_wheel_serves_from_an_empty_environment(installed: Path) -> None:
    command = [str(installed), "serve", "--port", "0"]
    demo = {"RIGHTSEAT_MODEL": "scripted:demo"}
    async with Server(command=command, patience=60, env=demo) as server, Client(server.url) as client:
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        await client.post("/v1/chat/completions", body)
        assert (await client.head()).status == 200
        text = (await client.json())["choices"][0]["message"]["content"]
    assert text.startswith("Hello! I am rightseat's demo")

"""The wheel: built, installed into an empty environment from the lock, and served from an empty folder."""

import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from checks import assets, packages
from tests.kit.client import Client
from tests.kit.server import Server
from tests.peers import browser
from tests.peers.install import InstallError

ROOT = Path(__file__).parents[2]
DEMO = {"RIGHTSEAT_MODEL": "scripted:demo"}
ANSWER = ".message.assistant"
pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert assets.main() == 0, "could not install what the pages show"
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


def test_the_wheel_holds_the_playground_and_what_others_made_with_their_licences(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    page = (ROOT / "src" / "rightseat" / "playground" / "page").iterdir()
    assert {f"rightseat/playground/page/{path.name}" for path in page} <= names
    assert {f"rightseat/{name}" for name in assets.FILES} <= names
    own = (ROOT / "src" / "rightseat" / "doors" / "copilotkit" / "graphiql").iterdir()
    assert {f"rightseat/doors/copilotkit/graphiql/{path.name}" for path in own} <= names


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it needs, and nothing else."""
    home = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(home)
    python = home / "bin" / "python"
    packages.install(python, ROOT / "requirements" / "run.txt")
    uv = packages.fast(ROOT / ".venv")
    own = [str(python), "-m", "pip", "install"]
    tool = [str(uv), "pip", "install", "--python", str(python)] if uv else own
    bare = [*tool, "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(bare, check=True, capture_output=True)
    return home


def served(home: Path) -> Server:
    command = [str(home / "bin" / "rightseat"), "serve", "--port", "0"]
    return Server(command=command, patience=60, env=DEMO)


async def test_the_wheel_serves_from_an_empty_environment(home: Path) -> None:
    async with served(home) as server, Client(server.url) as client:
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        await client.post("/v1/chat/completions", body)
        assert (await client.head()).status == 200
        text = (await client.json())["choices"][0]["message"]["content"]
    assert text.startswith("Hello! I am rightseat's demo")


def forget(home: Path) -> None:
    [vendor] = home.glob("lib/*/site-packages/rightseat/playground/vendor")
    shutil.rmtree(vendor)


async def test_the_page_of_the_wheel_needs_no_other_host_and_no_npm(home: Path) -> None:
    """The browser finds no host but this machine, and a tab fails the test for asking one. First with the
    charts of the wheel, then as in a clone where npm is not there."""
    try:
        browser.ready()
    except InstallError as error:
        pytest.skip(f"could not install chromium: {error}")
    async with served(home) as server, browser.started() as chromium, chromium.tab() as tab:
        await tab.open(server.url)
        await tab.click(".chip.large >> nth=1")
        await tab.see(".artifact canvas")
        await tab.click(".artifact summary")
        await tab.see(".artifact td", "Jan")
        await tab.see(ANSWER, "The best month was June.")
        await tab.click("[data-view=setup]")
        await tab.see(".lines .good", "charts")
    forget(home)
    async with served(home) as server, browser.started() as chromium, chromium.tab() as tab:
        tab.expect("404|echarts")
        await tab.open(server.url)
        await tab.click(".chip.large >> nth=1")
        await tab.see(".artifact", "“make assets” fetches it")
        await tab.see(".artifact td", "Jan")
        await tab.see(ANSWER, "The best month was June.")
        await tab.click("[data-view=setup]")
        await tab.see(".lines .skipped", "make assets")

"""The wheel: built, installed into an empty environment from the lock, and served from an empty folder."""

import json
import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

import rightseat
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.package.wheels import ROOT, build_wheel, install_offline, install_wheel, make_server

pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]
# Prints what is missing, by module. -W error: an import that warns fails too.
IMPORT_ALL = """
import importlib, json, pkgutil, rightseat
missing, count = {}, 0
for module in pkgutil.walk_packages(rightseat.__path__, "rightseat.", onerror=lambda name: None):
    if module.name.endswith("__main__"):
        continue
    count += 1
    try:
        importlib.import_module(module.name)
    except ImportError as error:
        missing[module.name] = error.name
print(json.dumps([count, missing]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"), with_pages=False)


@pytest.mark.demand("engine.pyproject_src_layout_py")
@pytest.mark.long
def test_the_wheel_holds_the_package_and_nothing_that_runs_by_itself(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "rightseat/py.typed" in names
    assert "rightseat/models/demo.json" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert [name for name in names if name.endswith((".pth", ".so", ".pyc"))] == []
    tops = {name.split("/")[0] for name in names}
    assert all(top == "rightseat" or top.endswith(".dist-info") for top in tops)


@pytest.mark.demand("engine.wheel_built_served_empty")
@pytest.mark.long
async def test_the_wheel_serves_from_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    async with make_server(install_wheel(wheel, tmp_path)) as server, RawHttpClient(server.url) as client:
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        await client.post_json("/v1/chat/completions", body)
        assert (await client.read_head()).status == 200
        text = (await client.read_json())["choices"][0]["message"]["content"]
    assert text.startswith("Hello! I am rightseat's demo")


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment without the clone and without extras."""
    return install_offline(wheel, tmp_path_factory.mktemp("home"))


def run_installed(home: Path, *command: str) -> str:
    """Run a program of the environment in an empty folder; returns what it prints."""
    folder = home.parent / "elsewhere"
    folder.mkdir(exist_ok=True)
    env = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    line = [str(home / "bin" / command[0]), *command[1:]]
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, timeout=HANG_TIMEOUT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.demand("release.fresh_environment")
@pytest.mark.long
def test_every_module_of_the_wheel_is_imported_or_belongs_to_an_extra(home: Path) -> None:
    count, missing = json.loads(run_installed(home, "python", "-P", "-c", IMPORT_ALL))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("-", "_")
        for requirements in project["optional-dependencies"].values()
        for requirement in requirements
    }
    assert {module: name for module, name in missing.items() if name.partition(".")[0] not in extras} == {}
    assert count > 300


@pytest.mark.demand("release.fresh_environment")
@pytest.mark.long
def test_the_wheel_is_typed(home: Path) -> None:
    [package] = home.glob("lib/*/site-packages/rightseat")
    assert (package / "py.typed").is_file()
    [record] = home.glob(f"lib/*/site-packages/rightseat-{rightseat.__version__}.dist-info/RECORD")
    assert "rightseat/py.typed," in record.read_text(encoding="utf-8")


@pytest.mark.demand("release.fresh_environment")
@pytest.mark.long
async def test_the_wheel_tells_its_version_and_its_errors(home: Path) -> None:
    assert run_installed(home, "rightseat", "--version") == f"rightseat {rightseat.__version__}\n"
    async with make_server(home) as server:
        for path in ("/", "/openapi.json", "/docs/errors", "/docs/errors/not_found"):
            async with RawHttpClient(server.url) as client:
                await client.get(path)
                assert (await client.read_head()).status == 200, path
                assert await client.read_body(), path

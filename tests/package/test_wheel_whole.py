"""A wheel without the files of its pages is not built; one with them serves its page and its charts, offline."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checks import assets
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.package.wheels import ROOT, build_wheel, install_offline, make_server
from tests.peers.prerequisites import require_assets

pytestmark = [pytest.mark.io, pytest.mark.timeout(600), pytest.mark.demand("first_hour.wheel_whole")]
BUILT_FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")


def copy_sources(folder: Path) -> Path:
    """What an image is built of, without the files of the pages."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("vendor", "__pycache__"))
    for name in BUILT_FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("in_clone", [True, False])
def test_a_build_without_the_files_of_the_pages_says_what_to_do(tmp_path: Path, in_clone: bool) -> None:
    source = copy_sources(tmp_path)
    if in_clone:
        shutil.copytree(ROOT / "checks", source / "checks", ignore=shutil.ignore_patterns("__pycache__"))
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "out"),
        str(source),
    ]
    env = {name: value for name, value in os.environ.items() if name != "RIGHTSEAT_WITHOUT_PAGES"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=HANG_TIMEOUT)
    assert done.returncode != 0
    assert "Fetch them with `make assets`" in done.stdout + done.stderr
    assert list(tmp_path.glob("out/*.whl")) == []


@pytest.mark.peers
async def test_the_wheel_serves_its_page_and_its_charts_offline(tmp_path: Path) -> None:
    require_assets("echarts")
    home = install_offline(build_wheel(tmp_path), tmp_path)
    names = [name.removeprefix(f"{assets.PLAYGROUND}/") for name in assets.FILES if name.startswith(assets.PLAYGROUND)]
    async with make_server(home) as server:
        for path in ("/", *(f"/playground/vendor/{name}" for name in names)):
            async with RawHttpClient(server.url) as client:
                await client.get(path)
                assert (await client.read_head()).status == 200, path
                assert await client.read_body(), path

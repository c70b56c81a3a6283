"""A stranger's hour: pip installs the built wheel into an empty environment, far from the clone, and every step of
examples/first-hour/first_hour.sh works: page, first answer, own tool, own plugin, a key, doctor."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.docs.lines import list_page_lines
from tests.docs.shell import PastingShell
from tests.docs.test_first_hour import SCRIPT, check_steps
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.package.wheels import ROOT, build_wheel
from tests.peers.install import CURL
from tests.peers.prerequisites import require, require_assets
from tests.peers.test_haproxy import reserve_port

pytestmark = [pytest.mark.peers, pytest.mark.io, pytest.mark.timeout(900)]


def write_constraints(path: Path) -> Path:
    """The versions of the lock, as pip takes them without hashes: the wheel has none there."""
    locked = re.findall(r"^[A-Za-z0-9._-]+==[^\s;\\]+", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE)
    path.write_text("\n".join([*locked, ""]), encoding="utf-8")
    return path


@pytest.mark.demand("release.stranger")
def test_an_hour_with_the_wheel_and_without_the_clone(tmp_path: Path) -> None:
    require(CURL)
    require_assets("echarts")
    wheel = build_wheel(tmp_path)
    shutil.copy(SCRIPT, tmp_path / "first_hour.sh")
    # .ci/run: an empty home and empty caches, and no variable of the caller's but how packages are reached.
    variables = {
        "INSTALL": wheel.name,
        "PYTHON": sys.executable,
        "PORT": reserve_port(),
        "PIP_CONSTRAINT": write_constraints(tmp_path / "constraints.txt"),
    }
    settings = [f"{name}={value}" for name, value in variables.items()]
    inside = 'cd "$0" && exec bash ./first_hour.sh hour'
    command = ["sh", str(ROOT / ".ci" / "run"), "env", *settings, "sh", "-c", inside, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    check_steps(done, "1. Install")
    assert "Everything works." in done.stdout
    python = tmp_path / "hour" / "venv" / "bin" / "python"
    where = [str(python), "-P", "-c", "import rightseat; print(rightseat.__file__)"]
    place = subprocess.run(where, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert place.startswith(str(tmp_path / "hour" / "venv"))
    assert not (tmp_path / "hour" / "rightseat").exists()


@pytest.mark.demand("release.first_pages_run")
async def test_the_line_of_the_readme_installs_and_serves(tmp_path: Path) -> None:
    require_assets("echarts")
    (line,) = list_page_lines("README.md", "pip install")
    # What the package index has after the release, a folder has now.
    wheels = tmp_path / "wheels"
    build_wheel(wheels)
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    shell = PastingShell(tmp_path)
    variables = shell.env | {
        "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}",
        # Besides a folder that the machine itself has its packages from.
        "PIP_FIND_LINKS": " ".join([str(wheels), os.environ.get("PIP_FIND_LINKS", "")]).strip(),
        "PIP_CONSTRAINT": str(write_constraints(tmp_path / "constraints.txt")),
    }
    settings = [f"{name}={value}" for name, value in variables.items()]
    inside = f"cd {shlex.quote(str(tmp_path))} && {line}"
    shell.env = dict(os.environ)
    pasted = shlex.join(["exec", "sh", str(ROOT / ".ci" / "run"), "env", *settings, "sh", "-c", inside])
    async with shell.start_server(pasted, patience=8 * HANG_TIMEOUT) as url, RawHttpClient(url) as client:
        await client.get("/", headers={"Accept": "text/html"})
        await client.read_head()
        page = (await client.read_body()).decode()
    assert '<script type="module"' in page

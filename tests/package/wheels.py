"""The wheel of this tree, built and installed as a person's machine would have it."""

import os
import re
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from checks import packages
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import hold_lock

ROOT = Path(__file__).parents[2]
DEMO = {"RIGHTSEAT_MODEL": "scripted:demo"}


def build_wheel(folder: Path, *, with_pages: bool = True) -> Path:
    env = os.environ | ({} if with_pages else {"RIGHTSEAT_WITHOUT_PAGES": "1"})
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    # Not while another process puts what the pages show into the tree.
    with hold_lock("assets"):
        subprocess.run(command, check=True, capture_output=True, env=env)
    [wheel] = folder.glob("*.whl")
    return wheel


def install_wheel(wheel: Path, folder: Path) -> Path:
    """An environment with the wheel and what it needs, and nothing else."""
    home = folder / "venv"
    venv.create(home)
    python = home / "bin" / "python"
    packages.install(python, ROOT / "requirements" / "run.txt")
    uv = packages.find_uv(ROOT / ".venv")
    own = [str(python), "-m", "pip", "install"]
    tool = [str(uv), "pip", "install", "--python", str(python)] if uv else own
    command = [*tool, "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(command, check=True, capture_output=True)
    return home


def install_offline(wheel: Path, folder: Path) -> Path:
    """An environment with the wheel and the locked packages, which are copied from the environment of the tests: no
    index is asked."""
    home = folder / "offline"
    venv.create(home, with_pip=False)
    [site] = home.glob("lib/*/site-packages")
    for name in re.findall(r"^([A-Za-z0-9._-]+)==", (ROOT / "requirements" / "run.txt").read_text(), re.MULTILINE):
        try:
            package = distribution(name)
        except PackageNotFoundError:
            # For another platform.
            continue
        for file in package.files or ():
            source = Path(str(package.locate_file(file)))
            # Not the programs, which name their interpreter.
            if ".." not in file.parts and source.is_file():
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, site / file)
    pip = packages.find_pip(home / "bin" / "python")
    dead = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9"}
    command = [*pip, "install", "--quiet", "--no-index", "--no-compile", str(wheel)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | dead)
    return home


def make_server(home: Path) -> RightseatProcess:
    command = [str(home / "bin" / "rightseat"), "serve", "--port", "0"]
    return RightseatProcess(command=command, start_timeout=HANG_TIMEOUT, env=DEMO)

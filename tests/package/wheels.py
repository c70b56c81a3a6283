"""The wheel of this tree, built and installed as a person's machine would have it."""

import subprocess
import sys
import venv
from pathlib import Path

from checks import packages
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.install import hold_lock

ROOT = Path(__file__).parents[2]
DEMO = {"RIGHTSEAT_MODEL": "scripted:demo"}


def build_wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    # Not while another process puts what the pages show into the tree.
    with hold_lock("assets"):
        subprocess.run(command, check=True, capture_output=True)
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


def make_server(home: Path) -> RightseatProcess:
    command = [str(home / "bin" / "rightseat"), "serve", "--port", "0"]
    return RightseatProcess(command=command, start_timeout=HANG_TIMEOUT, env=DEMO)

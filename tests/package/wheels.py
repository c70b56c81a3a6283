"""The wheel of this tree, built and installed as a person's machine would have it."""

import subprocess
import sys
import venv
from pathlib import Path

from checks import packages
from tests.kit.patience import STUCK
from tests.kit.server import Server
from tests.peers.install import alone

ROOT = Path(__file__).parents[2]
DEMO = {"RIGHTSEAT_MODEL": "scripted:demo"}


def built(folder: Path) -> Path:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    # Not while another process puts what the pages show into the tree.
    with alone("assets"):
        subprocess.run(build, check=True, capture_output=True)
    [made] = folder.glob("*.whl")
    return made


def installed(wheel: Path, folder: Path) -> Path:
    """An environment with the wheel and what it needs, and nothing else."""
    home = folder / "venv"
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
    return Server(command=command, patience=STUCK, env=DEMO)

"""A foreign server on Node: installed in .peers/NAME, started by a program of ours that is put beside it."""

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.machine import ROOT

ENV = {
    "NODE_ENV": "production",
    # Nothing is sent to anybody from here.
    "COPILOTKIT_TELEMETRY_DISABLED": "true",
    "DO_NOT_TRACK": "1",
}


def get_install_folder(lock: str) -> Path:
    return ROOT / ".peers" / lock


def find_missing(lock: str) -> str:
    if shutil.which("node") is None:
        return "there is no node"
    return "" if (get_install_folder(lock) / "node_modules").is_dir() else f"it is not installed in .peers/{lock}"


def make_command(lock: str, program: str, upstream: str) -> Sequence[str]:
    # Node looks for packages beside the program, not where it was started.
    shutil.copy(ROOT / "bench" / program, get_install_folder(lock))
    return ["node", str(get_install_folder(lock) / program), upstream]


def read_version(lock: str, package: str) -> str:
    about = get_install_folder(lock) / "node_modules" / package / "package.json"
    node = subprocess.run(["node", "--version"], check=True, capture_output=True, text=True).stdout.strip()
    return f"{json.loads(about.read_text(encoding='utf-8'))['version']} on Node {node[1:]}"

"""The stack of OpenBB's official examples, one worker; installed only when it is asked for."""

import subprocess

from bench.doors import OPENBB
from bench.machine import ROOT
from bench.peers import BenchPeer

LOCK = "openbb-example"
PYTHON = ROOT / ".peers" / LOCK / "bin" / "python"


def _missing() -> str:
    return "" if PYTHON.exists() else f"it is not installed in .peers/{LOCK}"


def _version() -> str:
    ask = "from importlib.metadata import version as v; print(v('openbb-ai'), 'with openai', v('openai'))"
    return subprocess.run([PYTHON, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


PEER = BenchPeer(
    name="openbb",
    command=lambda upstream: [str(PYTHON), str(ROOT / "bench" / "launch_openbb.py"), upstream],
    env=lambda _upstream: {"OPENAI_API_KEY": "bench"},
    doors=(OPENBB,),
    find_missing=_missing,
    lock=LOCK,
    version=_version,
    start_timeout=60,
    max_cost_ratios={"CPU per paced token": 1 / 8, "CPU per short stream": 1 / 50},
)

"""LiteLLM's proxy, one worker, without database or callbacks; installed only when it is asked for."""

import secrets
import subprocess

from bench.doors import OPENAI
from bench.machine import ROOT
from bench.peers import BenchPeer

LOCK = "litellm-proxy"
PYTHON = ROOT / ".peers" / LOCK / "bin" / "python"
# It refuses to start without one.
KEY = f"sk-{secrets.token_hex(16)}"


def _missing() -> str:
    return "" if PYTHON.exists() else f"it is not installed in .peers/{LOCK}"


def _version() -> str:
    ask = "from importlib.metadata import version; print(version('litellm'))"
    return subprocess.run([PYTHON, "-c", ask], check=True, capture_output=True, text=True).stdout.strip()


PEER = BenchPeer(
    name="litellm",
    command=lambda upstream: [str(PYTHON), str(ROOT / "bench" / "launch_litellm.py"), upstream],
    env=lambda _upstream: {
        "LITELLM_MASTER_KEY": KEY,
        # Nothing is fetched from outside; logging as its makers advise for production.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
        "LITELLM_LOG": "ERROR",
    },
    doors=(OPENAI,),
    find_missing=_missing,
    lock=LOCK,
    version=_version,
    key=KEY,
    start_timeout=120,
)

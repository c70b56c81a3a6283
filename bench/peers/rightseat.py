"""The real command line, one process, all doors on."""

from importlib.metadata import version
from pathlib import Path

from bench.doors import AGUI, COPILOTKIT, GRAPHQL, OPENAI, OPENBB
from bench.machine import ROOT
from bench.peers import BenchPeer
from tests.kit.server import find_executable

# As LiteLLM is run in production: no line in the log per request.
SERVE = (find_executable(), "serve", "--config", str(ROOT / "bench" / "rightseat.toml"))


def _missing() -> str:
    return "" if Path(find_executable()).exists() else f"there is no {find_executable()}"


PEER = BenchPeer(
    name="rightseat",
    command=lambda _upstream: [*SERVE, "--port", "0", "--model", "openai:bench"],
    env=lambda upstream: {"OPENAI_API_KEY": "bench", "OPENAI_BASE_URL": f"{upstream}/v1"},
    doors=(OPENAI, AGUI, OPENBB, GRAPHQL, COPILOTKIT),
    cli=(find_executable(), "--version"),
    is_ours=True,
    find_missing=_missing,
    version=lambda: version("rightseat"),
)

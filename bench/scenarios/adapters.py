"""CPU per token of each model's adapter, and of the vendor's own SDK alone on the same stream.

Both read paced streams from a server in another process; only the reader's CPU is counted.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from bench.adapters import ADAPTERS
from bench.machine import OWN_ENV, ROOT
from bench.official import SDKS
from bench.rows import ResultRow
from bench.scenarios import Scenario
from bench.session import BenchSession, DriverFailed

ROUNDS = 3
MEASURE = "CPU per token of an adapter"
PIPE = asyncio.subprocess.PIPE
# OpenAI's SDK is no dependency of the project: it is there as a peer.
OPENAI_SDK = ROOT / ".peers" / "openai-py" / "bin" / "python"


async def run(stage: BenchSession) -> Sequence[ResultRow]:
    found: dict[str, list[float]] = {}
    async with serve_wires() as url:
        for _ in range(ROUNDS):
            for name in ADAPTERS:
                figure = await measure_in_child(sys.executable, "bench.adapters", name, url)
                found.setdefault(f"rightseat {name}", []).append(figure)
                python = find_sdk_python(name)
                if python is not None:
                    figure = await measure_in_child(python, "bench.official", name, url)
                    found.setdefault(f"{name}, its SDK alone", []).append(figure)
    if not OPENAI_SDK.exists():
        stage.notes.append("no SDK of OpenAI's beside its adapter: the peer openai-py is not installed")
    return [ResultRow(MEASURE, name, "µs", rounds) for name, rounds in found.items()]


def find_sdk_python(name: str) -> str | None:
    """The Python that has a vendor's SDK."""
    if name not in SDKS:
        return None
    if name.startswith("openai"):
        return str(OPENAI_SDK) if OPENAI_SDK.exists() else None
    return sys.executable


@asynccontextmanager
async def serve_wires() -> AsyncIterator[str]:
    line = (sys.executable, "-m", "bench.adapters", "serve")
    child = await asyncio.create_subprocess_exec(*line, cwd=ROOT, stdin=PIPE, stdout=PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield (await child.stdout.readline()).decode().strip()
    finally:
        child.stdin.close()
        await child.wait()


async def measure_in_child(python: str, module: str, name: str, url: str) -> float:
    child = await asyncio.create_subprocess_exec(
        python, "-m", module, name, url, cwd=ROOT, env={**os.environ, **OWN_ENV}, stdout=PIPE, stderr=PIPE
    )
    out, err = await child.communicate()
    if child.returncode:
        raise DriverFailed(f"{module} {name}: {err.decode()[-2000:]}")
    return float(out)


SCENARIO = Scenario("adapters", run, short=False, order=6)

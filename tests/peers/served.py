"""A peer that is a server: a program in an environment of its own, which says its port as a line of JSON."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.kit.patience import STUCK
from tests.peers.need import require

HERE = Path(__file__).resolve().parent
KEPT = ("PATH", "LANG", "HOME")


def python_of(name: str) -> str:
    """The Python of an installed peer."""
    return str(require(name) / "bin" / "python")


@asynccontextmanager
async def served(name: str, program: str, notes: Path, driven: Callable[[str, str], None]) -> AsyncIterator[str]:
    """The address of a peer, until its input ends. What it says besides is in `notes`."""
    kept = {key: os.environ[key] for key in KEPT if key in os.environ}
    env = {**kept, "LANGSMITH_TRACING": "false"}
    with notes.open("wb") as said:
        process = await asyncio.create_subprocess_exec(
            python_of(name), str(HERE / name / program), stdin=PIPE, stdout=PIPE, stderr=said, env=env
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(STUCK):
            line = await process.stdout.readline()
        assert line, f"{name} did not start: see {notes}"
        told: dict[str, Any] = json.loads(line)
        for package, version in told["versions"].items():
            driven(package, version)
        yield f"http://127.0.0.1:{told['port']}"
    finally:
        process.stdin.close()
        async with asyncio.timeout(STUCK):
            await process.wait()

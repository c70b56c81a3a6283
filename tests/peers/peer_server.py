"""A peer that is a server: a program in an environment of its own, which says its port as a line of JSON."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.kit.timeouts import HANG_TIMEOUT
from tests.peers.prerequisites import require

HERE = Path(__file__).resolve().parent
INHERITED_VARIABLES = ("PATH", "LANG", "HOME")


def find_python(name: str) -> str:
    """The Python of an installed peer."""
    return str(require(name) / "bin" / "python")


@asynccontextmanager
async def serve_peer(
    name: str, program: str, log_file: Path, record_driven: Callable[[str, str], None]
) -> AsyncIterator[str]:
    """The address of a peer, until its input ends. What it says besides is in `notes`."""
    inherited = {key: os.environ[key] for key in INHERITED_VARIABLES if key in os.environ}
    env = {**inherited, "LANGSMITH_TRACING": "false"}
    with log_file.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            find_python(name), str(HERE / name / program), stdin=PIPE, stdout=PIPE, stderr=output, env=env
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(HANG_TIMEOUT):
            line = await process.stdout.readline()
        assert line, f"{name} did not start: see {log_file}"
        ready: dict[str, Any] = json.loads(line)
        for package, version in ready["versions"].items():
            record_driven(package, version)
        yield f"http://127.0.0.1:{ready['port']}"
    finally:
        process.stdin.close()
        async with asyncio.timeout(HANG_TIMEOUT):
            await process.wait()

"""Tools that take their time, for tests of what happens to them when nobody waits any more.

Each is told a folder: it notes there that it began, and what became of it.
"""

import asyncio
import time
from pathlib import Path

from rightseat import tool


def _touch_file(folder: str, name: str) -> Path:
    file = Path(folder) / f"{name}-{time.monotonic_ns()}"
    file.touch()
    return file


@tool
async def nap(folder: str) -> str:
    """Sleeps in the loop."""
    _touch_file(folder, "began")
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        _touch_file(folder, "cancelled")
        raise
    return "slept"


@tool
def doze(folder: str) -> str:
    """Sleeps in a thread, until there is a file called `wake`."""
    _touch_file(folder, "began")
    while not (Path(folder) / "wake").exists():
        time.sleep(0.01)
    return "slept"


@tool(isolate=True)
def hibernate(folder: str) -> str:
    """Sleeps in a process of its own, deaf to everything but a kill."""
    _touch_file(folder, "began")
    time.sleep(3600)
    return "slept"


@tool
async def block() -> str:
    """Sleeps without giving the loop to anyone else, which no tool should do."""
    _block_loop()
    return "slept"


def _block_loop() -> None:
    time.sleep(0.001)

"""Tools that take their time, for tests of what happens to them when nobody waits any more.

Each is told a folder: it notes there that it began, and what became of it.
"""

import asyncio
import time
from pathlib import Path

from yarl import URL

from rightseat import tool
from rightseat.http.client import HttpClient, format_request_head
from tests.kit.timeouts import HANG_TIMEOUT


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


def _block_loop(seconds: float = 0.001) -> None:
    time.sleep(seconds)


@tool
async def block_long(folder: str, seconds: float) -> str:
    """Does the same for longer than a lease."""
    _touch_file(folder, "began")
    _block_loop(seconds)
    return "slept"


@tool
async def hold_connection(url: str) -> str:
    """Asks a server that does not answer."""
    client = HttpClient(URL(url), connect_timeout=HANG_TIMEOUT)
    try:
        head = format_request_head("GET", URL(url), {})
        response = await client.send(head, None, asyncio.get_running_loop().time() + HANG_TIMEOUT)
        await response.wait_for_head()
    finally:
        client.close()
    return "answered"

"""A bench process says where it listens, and ends on SIGTERM."""

import asyncio
import os
import signal
from pathlib import Path


async def announce(server: asyncio.Server) -> None:
    """Writes the address where `rightseat serve` would, then waits for the signal to stop."""
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    write_address(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await stop.wait()
    server.close()


def write_address(url: str) -> None:
    """Write the address into the file where `rightseat serve` would."""
    ready = Path(os.environ["RIGHTSEAT_READY_FILE"])
    fresh = ready.with_suffix(".new")
    fresh.write_text(url)
    fresh.rename(ready)

"""A process with an engine of its own, to be killed: prints the pids of its children once they serve."""

import asyncio
import sys
from pathlib import Path

from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.supervision import ManagedServer
from tests.kit.process import list_tree


async def main(model: str, binary: str | None) -> None:
    engine = ManagedServer(LaunchOptions(Path(model), binary=Path(binary) if binary else None))
    await engine.start()
    assert engine.pid is not None
    print(*list_tree(engine.pid), flush=True)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))

"""A parent that starts an isolated call and waits; the test kills it."""

import asyncio
import sys

from rightseat.tools.subprocess import ToolProcesses


async def main(file: str) -> None:
    await ToolProcesses("tests.unit.tools.isolated", "hangs").call({"file": file})


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))

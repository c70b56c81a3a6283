"""Tools for the isolated children of test_isolate.py: each does one thing that may go wrong."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

from rightseat.tools.function import tool
from rightseat.types.tools import Result


def pid() -> int:
    return os.getpid()


def add(a: int, b: int = 1) -> int:
    return a + b


def day(when: datetime) -> str:
    return f"{when:%A}"


async def later(text: str) -> str:
    await asyncio.sleep(0)
    return text


def fails(message: str) -> None:
    raise ValueError(message)


def prints() -> str:
    print('{"value": "a lie"}')
    sys.stdout.flush()
    os.write(1, b"and past Python\n")
    return "truth"


def hangs(file: str) -> None:
    """Hangs once its pid is on record, and does not listen to a polite request to end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Path(file).with_suffix(".new").write_text(str(os.getpid()), "utf-8")
    Path(file).with_suffix(".new").rename(file)
    while True:
        time.sleep(60)


def breeds(file: str) -> None:
    """Hangs in a process of its own making, whose pid is on record."""
    code = f"from tests.unit.tools.isolated import hangs; hangs({file!r})"
    subprocess.run([sys.executable, "-c", code], check=True)


def crashes() -> None:
    os._exit(7)


def odd() -> object:
    return {"a": object, "n": 1}


def handed() -> Result:
    return Result("no", failed=True)


class Shed:
    @staticmethod
    def inside() -> str:
        return "in a class"


@tool(isolate=True)
def decorated(a: int) -> int:
    """Doubles."""
    return 2 * a

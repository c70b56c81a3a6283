"""Reads a document in a child process: a bomb or a parser bug costs one document, not the server."""

from __future__ import annotations

import asyncio
import os
import sys
from weakref import WeakKeyDictionary

import msgspec

from rightseat.documents.document import NO_MEMORY, Document, Reading
from rightseat.tools.subprocess import kill

AT_ONCE = max(2, (os.cpu_count() or 2) // 2)
# Only what Python needs: a compromised parser finds no keys in its environment.
KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME")

_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def read_apart(data: bytes, reading: Reading) -> Document:
    gate = _gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(AT_ONCE))
    try:
        async with asyncio.timeout(reading.limits.queue):
            await gate.acquire()
    except TimeoutError:
        return reading.failed("was not read, because too many others are being read. Try again in a minute.")
    try:
        return await in_child(data, reading)
    finally:
        gate.release()


async def in_child(data: bytes, reading: Reading) -> Document:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # no modules from the working directory
        "-m",
        "rightseat.documents.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(reading.limits.seconds):
            answer, _ = await process.communicate(msgspec.json.encode(reading) + b"\n" + data)
    except TimeoutError:
        seconds = f"{reading.limits.seconds:g} s"
        return reading.failed(f"takes longer than {seconds} to read. Send a smaller or simpler one.")
    finally:
        if process.returncode is None:
            await kill(process)
    return document_in(answer, process.returncode or 0, reading)


def document_in(answer: bytes, code: int, reading: Reading) -> Document:
    if code == 0:
        try:
            return msgspec.json.decode(answer, type=Document)
        except msgspec.DecodeError:
            pass
    if code == NO_MEMORY:
        return reading.failed("needs too much memory to be read. Send a smaller or simpler one.")
    return reading.failed("cannot be read: it is broken, or made to break its reader. Save it again.")


def environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

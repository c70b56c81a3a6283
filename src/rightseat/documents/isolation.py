"""Reads a document in a child process: a bomb or a parser bug costs one document, not the server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from weakref import WeakKeyDictionary

import msgspec

from rightseat.documents.document import NO_MEMORY_EXIT, Document, ReadRequest
from rightseat.tools.subprocess import kill_session

MAX_CHILDREN = max(2, (os.cpu_count() or 2) // 2)
# Only what Python needs: a compromised parser finds no keys in its environment.
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LD_LIBRARY_PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME")

_semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def read_isolated(data: bytes, request: ReadRequest) -> Document:
    semaphore = _semaphores.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_CHILDREN))
    try:
        async with asyncio.timeout(request.limits.queue):
            await semaphore.acquire()
    except TimeoutError:
        return request.make_failure("was not read, because too many others are being read. Try again in a minute.")
    try:
        return await read_in_child(data, request)
    finally:
        semaphore.release()


async def read_in_child(data: bytes, request: ReadRequest) -> Document:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # no modules from the working directory
        "-m",
        "rightseat.documents.child",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=make_environment(),
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(request.limits.seconds):
            answer, _ = await process.communicate(msgspec.json.encode(request) + b"\n" + data)
    except TimeoutError:
        why = f"takes longer than {request.limits.seconds:g} s to read. Send a smaller or simpler one."
        return request.make_failure(why)
    finally:
        if process.returncode is None:
            await kill_session(process)
    return parse_result(answer, process.returncode or 0, request)


def parse_result(answer: bytes, code: int, request: ReadRequest) -> Document:
    if code == 0:
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(answer, type=Document)
    if code == NO_MEMORY_EXIT:
        return request.make_failure("needs too much memory to be read. Send a smaller or simpler one.")
    return request.make_failure("cannot be read: it is broken, or made to break its reader. Save it again.")


def make_environment() -> dict[str, str]:
    inherited = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {**inherited, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

"""The process of an isolated tool: `python -m rightseat.child MODULE QUALNAME`.

One JSON line in, one JSON line out. It leaves when its standard input ends, so it never outlives the server,
however the server died.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any

import msgspec

from rightseat.isolate import Reply
from rightseat.signature import Signature
from rightseat.tools import Result, Tool, ToolContext, plainly
from rightseat.turn import Turn


def function_of(module: str, qualname: str) -> Callable[..., Any]:
    thing: Any = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    return thing.function if isinstance(thing, Tool) and thing.function else thing


def answer(function: Callable[..., Any], line: bytes) -> bytes:
    """The tool-call boundary, on the far side of the pipe."""
    try:
        values = Signature(function).bind(msgspec.json.decode(line), ToolContext(Turn(messages=())))
        value = function(**values)
        value = asyncio.run(value) if inspect.iscoroutine(value) else value
        result = value if isinstance(value, Result) else Result(value)
        return msgspec.json.encode(Reply(result.content, failed=result.failed), enc_hook=plainly)
    except Exception as error:
        return msgspec.json.encode(Reply(error=f"{type(error).__name__}: {error}"[:500]))


def main(module: str, qualname: str) -> None:
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the tool prints must not get between our lines
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    function = function_of(module, qualname)
    while True:
        out.write(answer(function, lines.get()) + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

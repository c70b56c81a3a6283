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

from rightseat.function import Signature
from rightseat.isolate import Reply
from rightseat.tools import Tool, ToolContext
from rightseat.turn import Turn


def function_of(module: str, qualname: str) -> Callable[..., Any]:
    thing: Any = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    return thing.function if isinstance(thing, Tool) and thing.function else thing


def answer(function: Callable[..., Any], line: bytes) -> Reply:
    values = Signature(function).bind(msgspec.json.decode(line), ToolContext(Turn(messages=())))
    try:
        value = function(**values)
        return Reply(asyncio.run(value) if inspect.iscoroutine(value) else value)
    except Exception as error:  # the tool-call boundary, on the far side of the pipe
        return Reply(error=f"{type(error).__name__}: {error}"[:500])


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
        out.write(msgspec.json.encode(answer(function, lines.get()), enc_hook=str) + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

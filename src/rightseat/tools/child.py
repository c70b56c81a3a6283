"""The process of an isolated tool: `python -m rightseat.tools.child MODULE QUALNAME [CONFINEMENT]`.

One JSON line in, one JSON line out; the line `null` asks for the tool's schema. The process exits when its
standard input ends, so it never outlives the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import io
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rightseat.tools.signature import Signature
from rightseat.tools.subprocess import Confinement, Reply
from rightseat.types.tools import Result, Tool, ToolContext, plainly
from rightseat.types.turn import Turn

LIB = "lib"
Load = Callable[[], Callable[..., Any]]


def function_of(module: str, qualname: str, confinement: Confinement | None = None) -> Callable[..., Any]:
    if confinement is not None and LIB not in sys.modules:
        package(Path(confinement.folder) / LIB)
    thing: Any = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    return thing.function if isinstance(thing, Tool) and thing.function else thing


def package(folder: Path) -> None:
    """Install the plugin's lib/ as the package `lib`, whatever else on the path has that name."""
    # Its files import each other as `lib.name` or as `name`.
    sys.path.append(str(folder))
    init = folder / "__init__.py"
    if init.is_file():
        spec = importlib.util.spec_from_file_location(LIB, init, submodule_search_locations=[str(folder)])
    else:
        spec = importlib.machinery.ModuleSpec(LIB, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    assert spec is not None
    module = sys.modules[LIB] = importlib.util.module_from_spec(spec)
    if spec.loader is not None:
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[LIB]
            raise


def called(function: Callable[..., Any], args: dict[str, Any]) -> Any:
    """Call the function. A class is a tool of the original SDK and gets all parameters twice."""
    if isinstance(function, type):
        made = function(args)
        value = getattr(made, "call", made)(args)
    else:
        value = function(**Signature(function).bind(args, ToolContext(Turn(messages=()))))
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def described(function: Callable[..., Any]) -> dict[str, Any]:
    if isinstance(function, type):
        return {"parameters": getattr(function, "spec", None)}
    signature = Signature(function)
    return {"parameters": signature.schema, "description": signature.summary}


def answer(load: Load, line: bytes) -> bytes:
    """Run one call and return its encoded reply; every exception becomes an error reply."""
    try:
        function = load()
        args = msgspec.json.decode(line)
        value = described(function) if args is None else called(function, args)
        result = value if isinstance(value, Result) else Result(value)
        return msgspec.json.encode(Reply(result.content, failed=result.failed), enc_hook=plainly)
    except SystemExit as error:
        return msgspec.json.encode(Reply(error=f"The tool left by exit({error.code}) instead of returning."))
    except Exception as error:
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        return msgspec.json.encode(Reply(error=said[:500]))


def confine(confinement: Confinement) -> None:
    allow("RLIMIT_AS", confinement.memory)
    allow("RLIMIT_CORE", 0)


def allow(name: str, most: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no resource limits; the parent enforces the timeout
        return
    # A system may lack a limit, or have a lower one already.
    with contextlib.suppress(ValueError, OSError):
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most, hard if name == "RLIMIT_CPU" else most))


def main(module: str, qualname: str, told: str = "") -> None:
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output of the tool must not mix with our lines
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Flush each line, so that output before a crash is not lost.
        sys.stdout.reconfigure(line_buffering=True)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    confinement = msgspec.json.decode(told, type=Confinement) if told else None
    if confinement is not None:
        confine(confinement)
    load = functools.cache(functools.partial(function_of, module, qualname, confinement))
    while True:
        line = lines.get()
        if confinement is not None:
            # CPU time per call. The parent kills late calls; this limit works without it.
            allow("RLIMIT_CPU", int(time.process_time() + confinement.seconds) + 1)
        out.write(answer(load, line) + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

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

from rightseat.tools.function import ToolSignature
from rightseat.tools.sandbox.enter import SandboxEntryFailed, enter_sandbox
from rightseat.tools.sandbox.plan import empty_scratch
from rightseat.tools.subprocess import ChildReply, Confinement
from rightseat.types.json_values import encode_json
from rightseat.types.tools import Result, Tool, ToolContext
from rightseat.types.turn import Turn

LIB_PACKAGE = "lib"
LoadFunction = Callable[[], Callable[..., Any]]


def load_function(module: str, qualname: str, confinement: Confinement | None = None) -> Callable[..., Any]:
    if confinement is not None and module.partition(".")[0] == LIB_PACKAGE and LIB_PACKAGE not in sys.modules:
        install_lib_package(Path(confinement.folder) / LIB_PACKAGE)
    target: Any = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
    return target.function if isinstance(target, Tool) and target.function else target


def install_lib_package(folder: Path) -> None:
    """Install the plugin's lib/ as the package `lib`, whatever else on the path has that name."""
    # Its files import each other as `lib.name` or as `name`.
    sys.path.append(str(folder))
    init = folder / "__init__.py"
    if init.is_file():
        spec = importlib.util.spec_from_file_location(LIB_PACKAGE, init, submodule_search_locations=[str(folder)])
    else:
        spec = importlib.machinery.ModuleSpec(LIB_PACKAGE, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
    assert spec is not None
    module = sys.modules[LIB_PACKAGE] = importlib.util.module_from_spec(spec)
    if spec.loader is not None:
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[LIB_PACKAGE]
            raise


def call_function(function: Callable[..., Any], args: dict[str, Any]) -> Any:
    """Call the function. A class is a tool of the original SDK and gets all parameters twice."""
    if isinstance(function, type):
        instance = function(args)
        value = getattr(instance, "call", instance)(args)
    else:
        value = function(**ToolSignature(function).bind(args, ToolContext(Turn(messages=()))))
    return asyncio.run(value) if inspect.iscoroutine(value) else value


def describe_function(function: Callable[..., Any]) -> dict[str, Any]:
    if isinstance(function, type):
        return {"parameters": getattr(function, "spec", None)}
    signature = ToolSignature(function)
    return {"parameters": signature.schema, "description": signature.summary}


def handle_line(load: LoadFunction, line: bytes) -> bytes:
    """Run one call and return its encoded reply; every exception becomes an error reply."""
    try:
        function = load()
        args = msgspec.json.decode(line)
        value = describe_function(function) if args is None else call_function(function, args)
        result = value if isinstance(value, Result) else Result(value)
        return encode_json(ChildReply(result.content, failed=result.failed))
    except SystemExit as error:
        return msgspec.json.encode(ChildReply(error=f"The tool left by exit({error.code}) instead of returning."))
    except MemoryError:
        return msgspec.json.encode(ChildReply(error="MemoryError", out_of_memory=True))
    except Exception as error:
        message = f"{type(error).__name__}: {error}".removesuffix(": ")
        return msgspec.json.encode(ChildReply(error=message[:500]))


def set_limit(name: str, most: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no resource limits; the parent enforces the timeout
        return
    # A system may lack a limit, or have a lower one already.
    with contextlib.suppress(ValueError, OSError):
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most, hard if name == "RLIMIT_CPU" else most))


def main(module: str, qualname: str, confinement_json: str = "") -> None:
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # output of the tool must not mix with our lines
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Flush each line, so that output before a crash is not lost.
        sys.stdout.reconfigure(line_buffering=True)
    confinement = msgspec.json.decode(confinement_json, type=Confinement) if confinement_json else None
    sandbox = confinement.sandbox if confinement else None
    if sandbox is not None:
        # Before the first thread: the layers are for the thread that enters them and for its children.
        try:
            enter_sandbox(sandbox)
        except SandboxEntryFailed as error:
            sys.exit(f"the sandbox could not be entered: {error}")
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        if sandbox is not None:
            empty_scratch(sandbox)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    if confinement is not None:
        set_limit("RLIMIT_AS", confinement.memory)
        set_limit("RLIMIT_CORE", 0)
    load = functools.cache(functools.partial(load_function, module, qualname, confinement))
    while True:
        line = lines.get()
        if confinement is not None:
            # CPU time per call. The parent kills late calls; this limit works without it.
            set_limit("RLIMIT_CPU", int(time.process_time() + confinement.seconds) + 1)
        out.write(handle_line(load, line) + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The child process that reads one document: `python -m rightseat.documents.child`.

stdin: a line of JSON (ReadRequest), then the bytes. stdout: a Document as JSON. Memory and CPU are limited,
and the process cannot write files.
"""

from __future__ import annotations

import contextlib
import os
import sys

import msgspec

from rightseat.documents.document import NO_MEMORY_EXIT, ReadLimits, ReadRequest
from rightseat.documents.reading import read_as


def limit_resources(limits: ReadLimits) -> None:
    try:
        import resource
    except ImportError:  # Windows: only the parent's time limit holds
        return
    most = {"AS": limits.memory, "CPU": int(limits.seconds) + 1, "FSIZE": 0, "CORE": 0}
    for name, value in most.items():
        # A system may not support a limit, or have a lower hard limit.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


def main() -> int:
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a parser must not get into the result
    request = msgspec.json.decode(sys.stdin.buffer.readline(), type=ReadRequest)
    limit_resources(request.limits)
    try:
        document = read_as(sys.stdin.buffer.read(), request)
        out.write(msgspec.json.encode(document))
        out.flush()
    except MemoryError:
        return NO_MEMORY_EXIT
    return 0


if __name__ == "__main__":
    sys.exit(main())

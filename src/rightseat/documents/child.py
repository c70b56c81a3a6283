"""The process that reads one document: `python -m rightseat.documents.child`, then it ends.

In: a line of JSON (a Reading), then the bytes. Out: a Document as JSON. Whatever a parser does to it, only
this process is hurt: memory and CPU are limited, and it can write no files.
"""

from __future__ import annotations

import contextlib
import os
import sys

import msgspec

from rightseat.documents.document import NO_MEMORY, Limits, Reading
from rightseat.documents.reader import read_as


def restrict(limits: Limits) -> None:
    try:
        import resource
    except ImportError:  # Windows has none of these; the time limit is the parent's
        return
    seconds = int(limits.seconds) + 1
    for what, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        # Not every system knows every limit, and ours may be above one that holds already.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(what, (most, most))


def main() -> int:
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a parser prints must not get into our answer
    reading = msgspec.json.decode(sys.stdin.buffer.readline(), type=Reading)
    restrict(reading.limits)
    try:
        document = read_as(sys.stdin.buffer.read(), reading)
        out.write(msgspec.json.encode(document))
        out.flush()
    except MemoryError:
        return NO_MEMORY
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Query of a script's signature in its own process, for what the syntax does not tell."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from typing import Any

import msgspec

from rightseat.errors import ConfigError
from rightseat.tools.subprocess import Isolated, Reply, command, environment

SECONDS = 10.0


class Unread(ConfigError):
    """The script's process died, timed out or could not load the script."""


def ask(child: Isolated, seconds: float = SECONDS) -> dict[str, Any]:
    """Start the process and return the signature it reports. Blocks: not for the event loop's thread."""
    confined = child.confinement
    process = subprocess.Popen(
        command(child.module, child.qualname, confined),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=confined.folder if confined else None,
        env=environment(confined),
        start_new_session=True,
    )
    timer = threading.Timer(seconds, end, [process])
    timer.start()
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"null\n")
            process.stdin.flush()
        line = process.stdout.readline(1 << 20)
    finally:
        timer.cancel()
        end(process)
        process.communicate()
    return told(line, seconds)


def end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def told(line: bytes, seconds: float) -> dict[str, Any]:
    if not line:
        raise Unread(f"Its process died, or took longer than {seconds:g} s to load.")
    try:
        reply = msgspec.json.decode(line, type=Reply)
    except msgspec.DecodeError:
        raise Unread("What it takes cannot be written as a schema.") from None
    if reply.error:
        raise Unread(f"It cannot be loaded: {reply.error}.")
    return reply.value if isinstance(reply.value, dict) else {}

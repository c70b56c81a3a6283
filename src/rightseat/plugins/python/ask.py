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
from rightseat.tools.subprocess import ChildReply, ToolProcesses, child_command, child_environment

LOAD_TIMEOUT = 10.0


class ScriptLoadError(ConfigError):
    """The script's process died, timed out or could not load the script."""


def describe_in_process(child: ToolProcesses, seconds: float = LOAD_TIMEOUT) -> dict[str, Any]:
    """Start the process and return the signature it reports. Blocks: not for the event loop's thread."""
    confined = child.confinement
    process = subprocess.Popen(
        child_command(child.module, child.qualname, confined),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=confined.folder if confined else None,
        env=child_environment(confined),
        start_new_session=True,
    )
    timer = threading.Timer(seconds, kill_process_group, [process])
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
        kill_process_group(process)
        process.communicate()
    return parse_reply(line, seconds)


def kill_process_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def parse_reply(line: bytes, seconds: float) -> dict[str, Any]:
    if not line:
        raise ScriptLoadError(f"Its process died, or took longer than {seconds:g} s to load.")
    try:
        reply = msgspec.json.decode(line, type=ChildReply)
    except msgspec.DecodeError:
        raise ScriptLoadError("What it takes cannot be written as a schema.") from None
    if reply.error:
        raise ScriptLoadError(f"It cannot be loaded: {reply.error}.")
    return reply.value if isinstance(reply.value, dict) else {}

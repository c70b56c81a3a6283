"""Probe of the sandbox: `python -m rightseat.tools.sandbox.probe PLAN TARGETS` enters the layers as a tool's process
does, attacks the process that started it and the files in TARGETS, and prints the outcome as JSON."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from rightseat.tools.sandbox.enter import SandboxEntryFailed, enter_sandbox
from rightseat.tools.sandbox.kernel import LayerUnavailable, call_libc
from rightseat.tools.sandbox.plan import Layer, SandboxPlan

TARGET_FILE = "target.txt"
_SEIZE = 0x4206


class ProbeOutcome(Struct, frozen=True, kw_only=True):
    layer: Layer | None = None
    """The layer that could not be entered."""
    why: str = ""
    open: tuple[str, ...] = ()
    """Attacks that succeeded."""
    broken: str = ""
    """What an honest tool could not do."""


def run_attacks(targets: Path) -> tuple[str, ...]:
    """Try each attack; return the names of those that succeeded."""
    server = os.getppid()
    file = targets / TARGET_FILE
    attacks: dict[str, Callable[[], object]] = {
        "the server's environment": lambda: Path(f"/proc/{server}/environ").read_bytes(),
        "the server's memory": lambda: open(f"/proc/{server}/mem", "rb").close(),
        "tracing the server": lambda: call_libc("ptrace", _SEIZE, server, ctypes.c_void_p(), ctypes.c_void_p()),
        "signals to the server": lambda: os.kill(server, 0),
        "other files": file.read_bytes,
        "other folders": lambda: os.listdir(targets),
        "writing other files": lambda: file.open("r+b").close(),
        "new files elsewhere": (targets / "new").touch,
        "emptying other files": lambda: os.truncate(file, 0),
        "modes of other files": lambda: file.chmod(0o644),
    }
    return tuple(name for name, attack in attacks.items() if _succeeds(attack))


def _succeeds(attack: Callable[[], object]) -> bool:
    """Run an attack in a process of its own: a service manager's filter may kill it for its system call."""
    attacker = os.fork()
    if attacker:
        return os.waitpid(attacker, 0)[1] == 0
    try:
        attack()
    except (OSError, LayerUnavailable):
        os._exit(1)
    os._exit(0)


def find_broken(plan: SandboxPlan) -> str:
    """Return what an honest tool cannot do; empty if it can work."""
    try:
        os.listdir(plan.folder)
        file = Path(plan.scratch) / "probe"
        file.write_text("probe")
        file.rename(file.with_suffix(".txt"))
        file.with_suffix(".txt").unlink()
        Path(os.devnull).write_bytes(b"")
        open(os.__file__, "rb").close()
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return ""


def print_layer(layer: Layer) -> None:
    """Tell the parent which layer comes next, for the case that a filter kills this process there."""
    print(layer, file=sys.stderr, flush=True)


def probe_sandbox(plan: SandboxPlan, targets: Path) -> ProbeOutcome:
    try:
        enter_sandbox(plan, print_layer)
    except SandboxEntryFailed as error:
        return ProbeOutcome(layer=error.layer, why=error.why)
    return ProbeOutcome(broken=find_broken(plan), open=run_attacks(targets))


if __name__ == "__main__":
    outcome = probe_sandbox(msgspec.json.decode(sys.argv[1], type=SandboxPlan), Path(sys.argv[2]))
    sys.stdout.write(msgspec.json.encode(outcome).decode())

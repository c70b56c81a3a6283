"""SandboxReport: what confines a plugin's Python tools on this machine, found by a child that really attacks."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec
from msgspec import Struct

from rightseat.tools.sandbox.kernel import is_linux
from rightseat.tools.sandbox.landlock import get_landlock_version
from rightseat.tools.sandbox.plan import (
    LAYERS,
    Layer,
    SandboxPlan,
    add_scratch,
    make_environment,
    make_plan,
    remove_scratch,
)
from rightseat.tools.sandbox.probe import TARGET_FILE, ProbeOutcome

PROBE_SECONDS = 30.0
NOT_ROOT = "the server is not root"
# Layers to leave out if an honest tool cannot work inside, the least common first.
REMOVABLE_LAYERS: tuple[Layer, ...] = ("namespace", "uid")


class SandboxReport(Struct, frozen=True, kw_only=True):
    layers: tuple[Layer, ...] = ()
    """Layers that hold together on this machine."""
    missing: dict[Layer, str] = {}
    """Layers that this machine does not have, with the reason."""
    open: tuple[str, ...] = ()
    """Attacks that succeed in spite of the layers."""
    problem: str = ""
    """Why nothing could be tried."""

    @property
    def holds(self) -> bool:
        """Whether every attack failed."""
        return bool(self.layers) and not self.open and not self.problem

    def describe(self) -> str:
        """Return one line: the layers, what is missing and why, what stays open."""
        if self.problem:
            return self.problem
        names = [describe_layer(layer) for layer in self.layers]
        missing = [f"{layer} ({why})" for layer, why in self.missing.items()]
        parts = [f"by {', '.join(names)}" if names else "by nothing"]
        parts += [f"without {', '.join(missing)}"] if missing else []
        parts += [f"still open: {', '.join(self.open)}"] if self.open else []
        return "; ".join(parts)


def describe_layer(layer: Layer) -> str:
    match layer:
        case "namespace":
            return "a mount namespace"
        case "uid":
            return "a user of its own"
        case "landlock":
            return f"Landlock version {get_landlock_version()}"
        case "seccomp":
            return "a seccomp filter"


@functools.cache
def probe_machine() -> SandboxReport:
    """Find the layers that hold on this machine. It takes a few processes at the first call, and blocks."""
    if not is_linux():
        return SandboxReport(problem=f"{platform.system() or sys.platform} has no means to confine a process")
    missing: dict[Layer, str] = {}
    # What holds without a user of its own holds for plugins that only the server's user can read.
    report = _probe_layers(tuple(layer for layer in LAYERS if layer != "uid"), missing)
    if not report.holds or os.geteuid() != 0:
        return report if os.geteuid() == 0 else msgspec.structs.replace(report, missing={**missing, "uid": NOT_ROOT})
    full = _probe_layers(tuple(layer for layer in LAYERS if layer not in missing), missing)
    return full if full.holds else msgspec.structs.replace(report, missing=missing)


def _probe_layers(layers: tuple[Layer, ...], missing: dict[Layer, str]) -> SandboxReport:
    """Probe these layers together, without those that cannot be entered; adds the reasons to `missing`."""
    while layers:
        outcome = run_probe(layers)
        if isinstance(outcome, str):
            return SandboxReport(problem=outcome)
        layer, why = outcome.layer, outcome.why
        if layer is None and outcome.broken:
            layer = next((name for name in REMOVABLE_LAYERS if name in layers), None)
            why = f"tools cannot work in it: {outcome.broken}"
        if layer is None:
            problem = f"tools cannot work: {outcome.broken}" if outcome.broken else ""
            return SandboxReport(layers=layers, missing=dict(missing), open=outcome.open, problem=problem)
        missing[layer] = why
        layers = tuple(name for name in layers if name != layer)
    return SandboxReport(missing=dict(missing))


def run_probe(layers: tuple[Layer, ...]) -> ProbeOutcome | str:
    """Start a child that enters the layers and attacks this process; returns its outcome, or why there is none."""
    try:
        with tempfile.TemporaryDirectory(prefix="rightseat-probe-") as name:
            return _probe_in_folder(Path(name).resolve(), layers)
    except OSError as error:
        return f"no folder for temporary files can be made: {error.strerror}"


def _probe_in_folder(base: Path, layers: tuple[Layer, ...]) -> ProbeOutcome | str:
    targets, folder = base / "targets", base / "plugin"
    for place in (targets, folder):
        place.mkdir()
    # Open to every user: a mode must not pass for a layer.
    for place in (base, targets, folder):
        place.chmod(0o755)
    (targets / TARGET_FILE).write_text("target")
    plan = make_plan(folder, layers)
    if "uid" in layers and "uid" not in plan.layers:
        why = f"other users cannot read Python in {sys.prefix}" if os.geteuid() == 0 else NOT_ROOT
        return ProbeOutcome(layer="uid", why=why)
    try:
        plan = add_scratch(plan)
    except OSError as error:
        if "uid" not in plan.layers:
            raise
        return ProbeOutcome(layer="uid", why=f"its folder cannot be made: {error.strerror}")
    try:
        return _read_outcome(plan, targets)
    finally:
        remove_scratch(plan)


def _read_outcome(plan: SandboxPlan, targets: Path) -> ProbeOutcome | str:
    module = "rightseat.tools.sandbox.probe"
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", module, msgspec.json.encode(plan).decode(), str(targets)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=plan.folder,
            env=make_environment(plan),
            timeout=PROBE_SECONDS,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the probe did not end: {error}"
    try:
        return msgspec.json.decode(done.stdout, type=ProbeOutcome)
    except msgspec.DecodeError:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        layer = next((name for name in LAYERS if lines and name == lines[-1]), None)
        if done.returncode < 0 and layer is not None:
            return ProbeOutcome(layer=layer, why="a filter of system calls killed the process that entered it")
        return f"the probe failed with {done.returncode}: {lines[-1] if lines else 'no output'}"

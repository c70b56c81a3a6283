"""Whoever is measured. To add one: a file here with a `PEER`; the rest is found.

The command must write its address into the file named by RIGHTSEAT_READY_FILE once it accepts
connections; a foreign server needs a few lines around it that do so.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.doors import BenchDoor


@dataclass(frozen=True, slots=True)
class BenchPeer:
    name: str
    command: Callable[[str], Sequence[str]]
    """The upstream's origin → the command line."""
    doors: Sequence[BenchDoor]
    env: Callable[[str], Mapping[str, str]] = lambda _upstream: {}
    cli: Sequence[str] = ()
    """A command that does nothing, to see what the command line's start costs."""
    is_ours: bool = False
    """Ours has limits to keep; others are there to compare."""
    find_missing: Callable[[], str] = lambda: ""
    """Why it cannot run on this machine, or nothing."""
    lock: str = ""
    """The folder in tests/peers that it is installed from; whoever has one runs only when asked for."""
    version: Callable[[], str] = lambda: ""
    key: str = ""
    """What clients show it."""
    max_cost_ratios: Mapping[str, float] | None = None
    """Measure → the part of a foreign peer's cost that ours may have; without it, the scenario's own."""
    start_timeout: float = 20
    """Seconds it may take to start."""

    @property
    def is_foreign(self) -> bool:
        return bool(self.lock)


def all_peers() -> dict[str, BenchPeer]:
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    peers: list[BenchPeer] = [importlib.import_module(f"{__name__}.{name}").PEER for name in names]
    return {peer.name: peer for peer in peers}

"""What is measured. To add one: a file here with a `SCENARIO`; the rest is found."""

import importlib
import pkgutil
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from bench.rows import ResultRow
from bench.session import BenchSession


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    run: Callable[[BenchSession], Awaitable[Sequence[ResultRow]]]
    """In the bench's own process: puts the rounds in order and judges."""
    drive: Callable[[dict[str, Any]], Coroutine[None, None, Any]] | None = None
    """In the driver's process: makes the load; what it gives back travels as JSON."""
    short: bool = True
    """Whether it belongs to the short bench."""
    order: int = 0


def all_scenarios() -> dict[str, Scenario]:
    names = [module.name for module in pkgutil.iter_modules(__path__)]
    found: list[Scenario] = [importlib.import_module(f"{__name__}.{name}").SCENARIO for name in names]
    return {scenario.name: scenario for scenario in sorted(found, key=lambda s: (s.order, s.name))}


def find_scenario(name: str) -> Scenario:
    """Return one scenario without importing the others: a driver is started for each figure."""
    scenario: Scenario = importlib.import_module(f"{__name__}.{name}").SCENARIO
    return scenario

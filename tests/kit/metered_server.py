"""`MeteredServer`: `rightseat serve` as a child process whose event loop is measured."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.kit.loop_meter import REPORT_VARIABLE
from tests.kit.server import RightseatProcess

PROGRAM = Path(__file__).with_name("loop_meter.py")


class LoopDelay(NamedTuple):
    """A long turn of the loop, or a stall. `where` are the places that were sampled most often meanwhile."""

    kind: str
    seconds: float
    where: list[str]

    def __str__(self) -> str:
        return "\n    ".join([f"{self.kind} of {self.seconds * 1000:.0f} ms of CPU", *self.where])


class MeteredServer(RightseatProcess):
    """A server that reports turns of its event loop."""

    def __init__(self, config: str, env: Mapping[str, str] | None = None) -> None:
        super().__init__(config=config, env=env)
        self._env = {**self._env, REPORT_VARIABLE: str(self.report)}

    @property
    def report(self) -> Path:
        return self.folder / "loop.jsonl"

    def command_line(self) -> list[str]:
        _, *arguments = super().command_line()
        return [sys.executable, str(PROGRAM), *arguments]

    def take_delays(self) -> list[LoopDelay]:
        """Return the delays since the last call, the longest first."""
        if not self.report.exists():
            return []
        lines = self.report.read_text().splitlines()
        self.report.unlink()
        return sorted((LoopDelay(**json.loads(line)) for line in lines), key=lambda delay: -delay.seconds)

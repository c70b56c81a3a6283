"""Coverage by area: `python -m checks.coverage_areas`, after the tests of `make coverage` have been measured."""

import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import coverage

AREAS = ("engine", "doors", "models", "plugins")


class AreaCoverage(NamedTuple):
    """Measured lines and branches of one area."""

    area: str
    lines: int
    covered_lines: int
    branches: int
    covered_branches: int

    def format_text(self) -> str:
        return (
            f"{self.area:<8} branches {self.covered_branches / self.branches:6.1%} of {self.branches:5}, "
            f"lines {self.covered_lines / self.lines:6.1%} of {self.lines:5}"
        )


def measure_area(data: coverage.Coverage, area: str) -> AreaCoverage | None:
    """Return what was measured below src/rightseat/AREA; None where nothing was."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        try:
            data.json_report(outfile=str(report), include=[f"*/src/rightseat/{area}/*", f"src/rightseat/{area}/*"])
        except coverage.exceptions.NoDataError:
            return None
        totals = json.loads(report.read_text("utf-8"))["totals"]
    return AreaCoverage(
        area, totals["num_statements"], totals["covered_lines"], totals["num_branches"], totals["covered_branches"]
    )


def main(data_file: str | None = None) -> int:
    data = coverage.Coverage(data_file) if data_file else coverage.Coverage()
    data.load()
    measured = {area: measure_area(data, area) for area in AREAS}
    for area, result in measured.items():
        print(result.format_text() if result else f"{area:<8} nothing was measured")
    return 0 if all(measured.values()) else 1


if __name__ == "__main__":
    sys.exit(main())

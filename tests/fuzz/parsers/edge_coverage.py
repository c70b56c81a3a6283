"""Coverage of one run: which steps from line to line were taken in the traced files, and how often.

`sys.settrace` is the one means that every Python from 3.11 on has; it costs a microsecond for each line of a traced
file, and nothing in the lines of others.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = Path(__file__).resolve().parents[3] / "src" / "rightseat"
LINE_BITS = 20
# A loop that runs a hundred times instead of twice is a finding, a hundred and one times is none.
COUNT_LIMITS = (1, 2, 3, 7, 15, 31, 127)


class EdgeCoverage:
    """Recorder of edges in the files whose path below src/rightseat begins with one of `places`."""

    def __init__(self, places: tuple[str, ...]) -> None:
        self._prefixes = tuple(str(SOURCE / place) for place in places)
        # By id: the hash of a code object costs as much as its length. `_known` keeps the ids valid.
        self._numbers: dict[int, int] = {}
        self._known: list[CodeType] = []
        self._counts: dict[int, int] = {}

    def record(self, function: Callable[[], object]) -> set[tuple[int, int]]:
        """Call the function; return its edges, each with the bucket of its count. An exception passes through."""
        self._counts = {}
        before = sys.gettrace()
        sys.settrace(self._trace_call)
        try:
            function()
        finally:
            sys.settrace(before)
        return self.get_edges()

    def get_edges(self) -> set[tuple[int, int]]:
        """Return the edges of the last run, also of one that raised."""
        return {(edge, sum(count > limit for limit in COUNT_LIMITS)) for edge, count in self._counts.items() if count}

    def _trace_call(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        number = self._numbers.get(id(code))
        if number is None:
            self._known.append(code)
            number = len(self._known) if code.co_filename.startswith(self._prefixes) else 0
            self._numbers[id(code)] = number
        return self._make_line_tracer(number << 2 * LINE_BITS) if number else None

    def _make_line_tracer(self, base: int) -> Any:
        counts = self._counts
        previous = 0

        def trace_line(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal previous
            if event == "line":
                line = frame.f_lineno
                edge = base | previous << LINE_BITS | line
                counts[edge] = counts.get(edge, 0) + 1
                previous = line
            return trace_line

        return trace_line

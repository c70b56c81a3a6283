"""Program that runs the `rightseat` command and measures its event loop; `tests.kit.metered_server` starts it.

A turn of the loop is measured in CPU seconds of the loop's thread: other work on the machine does not count. A
stall is measured in CPU seconds of the process between two heartbeats of the loop. It also shows a worker thread
that holds the interpreter's lock for the whole time of one call, such as a search by `re`.
"""

import asyncio
import json
import os
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

HEARTBEAT = 0.005
SAMPLE_SECONDS = 0.01
WORTH_REPORTING = 0.03
REPORT_VARIABLE = "RIGHTSEAT_LOOP_REPORT"


class LoopMeter:
    """Meter of all turns of this process's event loop. Each long turn and stall is a line of `report`."""

    def __init__(self, report: Path) -> None:
        self.report = report
        self.thread = threading.get_ident()
        self.turn_started = 0.0
        self.samples: Counter[str] = Counter()
        self.beat_at = 0.0
        self.has_heartbeat = False

    def install(self) -> None:
        """Measure each turn of the loops that this thread runs."""
        run_once = asyncio.base_events.BaseEventLoop._run_once  # type: ignore[attr-defined]
        meter = self

        def run_metered_turn(loop: Any) -> None:
            if not meter.has_heartbeat:
                meter.has_heartbeat = True
                meter.beat(loop)
            started = time.thread_time()
            meter.turn_started = time.monotonic()
            run_once(loop)
            meter.turn_started = 0.0
            meter.note("turn", time.thread_time() - started)

        asyncio.base_events.BaseEventLoop._run_once = run_metered_turn  # type: ignore[attr-defined]
        threading.Thread(target=self.sample_stacks, daemon=True).start()

    def beat(self, loop: asyncio.AbstractEventLoop) -> None:
        now = time.process_time()
        if self.beat_at:
            self.note("stall", now - self.beat_at)
        self.beat_at = now
        loop.call_later(HEARTBEAT, self.beat, loop)

    def note(self, kind: str, seconds: float) -> None:
        if seconds < WORTH_REPORTING:
            if kind == "stall":
                self.samples.clear()
            return
        where = [place for place, _ in self.samples.most_common(3)]
        with self.report.open("a") as file:
            file.write(json.dumps({"kind": kind, "seconds": round(seconds, 4), "where": where}) + "\n")

    def sample_stacks(self) -> None:
        """Count where this process's threads are while the loop does not come round."""
        own = threading.get_ident()
        while True:
            time.sleep(SAMPLE_SECONDS)
            for ident, frame in sys._current_frames().items():
                if ident != own and is_busy(frame):
                    name = "loop" if ident == self.thread else "worker"
                    self.samples[f"{name}: {format_place(frame)}"] += 1


def is_busy(frame: FrameType) -> bool:
    return frame.f_code.co_name not in ("select", "wait", "_worker", "poll", "get", "_wait_for_tstate_lock")


def format_place(frame: FrameType) -> str:
    calls = [f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in traceback.extract_stack(frame)]
    return " < ".join(reversed(calls[-8:]))


def serve() -> None:
    # uvloop's turns cannot be measured from Python.
    sys.modules["uvloop"] = None  # type: ignore[assignment]
    LoopMeter(Path(os.environ[REPORT_VARIABLE])).install()
    from rightseat.cli import main

    main()


if __name__ == "__main__":
    # The folder of this file is no place for imports: its modules have common names.
    sys.path.pop(0)
    serve()


def measure_slowness() -> float:
    """Return the CPU time of a fixed piece of work, in units of what it takes on a server of 2024 (10 ms)."""
    seconds = []
    for _ in range(5):
        started = time.process_time()
        total = 0
        for number in range(200_000):
            total += number * number
        seconds.append(time.process_time() - started)
    return min(seconds) / 0.01

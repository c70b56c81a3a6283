"""The `rightseat` command, with a report on stderr of each call of time.sleep where an event loop runs.

`Sleepless` starts it as `tests.kit.server.Server` starts the installed command.
"""

import asyncio
import sys
import time
import traceback
from pathlib import Path
from unittest.mock import patch

from tests.kit.server import RightseatProcess

ROOT = Path(__file__).parents[2]
REPORT = "time.sleep was called in the event loop"
_sleep = time.sleep


class SleepReportingProcess(RightseatProcess):
    """A server process that reports its blocking sleeps. `env` must put ROOT into PYTHONPATH."""

    def command_line(self) -> list[str]:
        return [sys.executable, "-m", "tests.faults.sleep_report", *super().command_line()[1:]]

    @property
    def blocking_sleeps(self) -> list[str]:
        """The reports so far, each with the place of the call."""
        return [line for line in self.stderr.splitlines() if line.startswith(REPORT)]


def sleep_and_report(seconds: float) -> None:
    """Sleeps as time.sleep does; writes who called it where an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        caller = traceback.extract_stack(limit=2)[0]
        print(f"{REPORT}: {seconds} s at {caller.filename}:{caller.lineno}", file=sys.stderr, flush=True)
    _sleep(seconds)


if __name__ == "__main__":
    with patch("time.sleep", sleep_and_report):
        # Imported here: a module that keeps time.sleep under a name of its own must get the patched one.
        from rightseat.cli import main

        main()

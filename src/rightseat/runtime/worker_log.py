"""WorkerLog: what happens among workers, in lines that name their runs and repeat nothing each second."""

from __future__ import annotations

import asyncio
import contextvars
import logging

from rightseat.runtime.incidents import current_run

LOST_SECONDS = 1.0
"""Time in which runs that are another worker's by now are said in one line."""
MAX_NAMED = 10
MAX_ID = 64


class WorkerLog:
    """Lines about runs of other workers. None has the id of the request that happened to find something out."""

    def __init__(self, log: logging.Logger) -> None:
        self.log = log
        self.is_blind = False
        """Whether the store could not be asked for runs of dead workers."""
        self.lost: list[tuple[str, str]] = []
        """Threads and runs that another worker has by now, and that are not said yet."""
        self.timer: asyncio.TimerHandle | None = None

    def say(self, text: str, *values: object) -> None:
        contextvars.Context().run(self.log.warning, text, *values)

    def say_of_run(self, thread: str, run: str, text: str) -> None:
        """Log a line with the ids of a run, as its own lines have them."""
        context = contextvars.Context()
        context.run(current_run.set, (thread, run))
        context.run(self.log.warning, text)

    def note_sweep(self, *, has_failed: bool) -> None:
        """Note whether the store could be asked for runs of dead workers."""
        if has_failed and not self.is_blind:
            self.say("runs of dead workers cannot be looked for until it works again: the store failed")
        elif self.is_blind and not has_failed:
            self.say("runs of dead workers are looked for again")
        self.is_blind = has_failed

    def note_lost(self, thread: str, run: str) -> None:
        """Note a run of this worker that is stopped here because another one has it. Many are lost together."""
        self.lost.append((thread, run))
        if self.timer is None:
            self.timer = asyncio.get_running_loop().call_later(LOST_SECONDS, self.say_lost)

    def say_lost(self) -> None:
        """Log the runs that were lost in the last moment."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        lost, self.lost = self.lost, []
        if not lost:
            return
        names = ", ".join(f"{run[:MAX_ID]} of thread {thread[:MAX_ID]}" for thread, run in lost[:MAX_NAMED])
        more = f" and {len(lost) - MAX_NAMED} more" if len(lost) > MAX_NAMED else ""
        self.say(
            "this worker was taken for dead, since it stood still or was cut off from the store. Others have %d of its "
            "runs, which are stopped here: %s%s",
            len(lost),
            names,
            more,
        )

"""What every test must leave behind: nothing.

A test goes red when an async generator is finalised by the garbage collector or is still open when its loop
closes, when a task is still running then, and when asyncio logs an error (a destroyed pending task, an
exception nobody retrieved). test_conftest.py proves each of these.
"""

import asyncio
import gc
import itertools
import json
import logging
import os
from asyncio import base_events, runners
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import AsyncGeneratorType

import pytest
from hypothesis import settings

from rightseat import secret

EXAMPLES = 100 if os.environ.get("RIGHTSEAT_VOLUME") == "full" else 25
settings.register_profile("house", derandomize=True, deadline=None, database=None, max_examples=EXAMPLES)
settings.load_profile("house")

# Transports and servers that were told to stop may need a few turns of the loop to do so.
GRACE_SECONDS = 0.2
FREEZE_EVERY = 20
torn_down = itertools.count(1)
leaks: list[str] = []


def name_of(stream: AsyncGeneratorType[object, object]) -> str:
    return f"{stream.__qualname__} ({stream.ag_code.co_filename}:{stream.ag_code.co_firstlineno})"


class WatchedLoop(base_events.BaseEventLoop):
    """Never made: its two methods replace those of every asyncio loop."""

    _asyncgens: set[AsyncGeneratorType[object, object]]

    def _asyncgen_finalizer_hook(self, stream: AsyncGeneratorType[object, object]) -> None:
        leaks.append(f"async generator finalised by the garbage collector: {name_of(stream)}")
        finalize(self, stream)

    async def shutdown_asyncgens(self) -> None:
        still = "async generator still open when its loop closed"
        # One without a frame has ended, though an exception's traceback may still hold it.
        leaks.extend(f"{still}: {name_of(s)}" for s in self._asyncgens if s.ag_frame is not None)
        await shutdown(self)


def cancel_all_tasks(loop: asyncio.AbstractEventLoop) -> None:
    running = asyncio.all_tasks(loop)
    if running:
        _, running = loop.run_until_complete(asyncio.wait(running, timeout=GRACE_SECONDS))
    leaks.extend(f"task left running: {task!r}" for task in running)
    cancel(loop)


class ErrorLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        leaks.append(f"asyncio logged an error: {record.getMessage()}")


# Hooks are set anew each time a loop runs, so only the loop's own methods see every generator.
finalize = vars(base_events.BaseEventLoop)["_asyncgen_finalizer_hook"]
shutdown = vars(base_events.BaseEventLoop)["shutdown_asyncgens"]
cancel = vars(runners)["_cancel_all_tasks"]


def pytest_configure() -> None:
    for method in ("_asyncgen_finalizer_hook", "shutdown_asyncgens"):
        setattr(base_events.BaseEventLoop, method, vars(WatchedLoop)[method])
    vars(runners)["_cancel_all_tasks"] = cancel_all_tasks
    logging.getLogger("asyncio").addHandler(ErrorLog(logging.ERROR))


def pytest_collection_finish() -> None:
    # What is imported by now stays: the collection after each test then costs about a millisecond.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None]:
    yield
    gc.collect()
    if next(torn_down) % FREEZE_EVERY == 0:
        # What was imported and cached meanwhile stays too.
        gc.freeze()
    found, leaks[:] = leaks[:], []
    if found:
        pytest.fail("\n".join(found), pytrace=False)


@pytest.fixture(scope="session")
def driven() -> Callable[[str, str], None]:
    """Notes for the end of `make test` that a real client of this name and version was driven."""

    def note(name: str, version: str) -> None:
        if record := os.environ.get("RIGHTSEAT_DRIVEN"):
            with Path(record).open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"name": name, "version": version}) + "\n")

    return note


@pytest.fixture(autouse=True)
def own_secrets() -> Iterator[None]:
    """Secrets that a test makes are not masked in the next one's words."""
    before = set(secret._known)
    yield
    secret._known.intersection_update(before)

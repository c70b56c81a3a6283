"""What holds for every test.

Nothing is left behind: a test goes red when an async generator is finalised by the garbage collector or is
still open when its loop closes, when a task is still running then, and when asyncio logs an error (a
destroyed pending task, an exception nobody retrieved).

Marks are true: a test that opens a socket or starts a process without the mark `io` goes red, so that `make
quick` runs neither. The embedded model's weights are there for tests marked `model` and for no others.

test_conftest.py proves each of these.
"""

import asyncio
import functools
import gc
import itertools
import json
import logging
import os
import sys
import tempfile
from asyncio import base_events, runners
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from types import AsyncGeneratorType
from typing import Any

import pytest
from hypothesis import settings

from rightseat.config import secret
from tests.kit import embedded
from tests.kit.rounds import limit_rounds
from tests.kit.watchdog import TestWatchdog

settings.register_profile("rightseat", derandomize=True, deadline=None, database=None, max_examples=limit_rounds(100))
settings.load_profile("rightseat")

# Transports and servers that were told to stop may need a few turns of the loop to do so.
GRACE_SECONDS = 5.0
FREEZE_EVERY = 20
teardown_counter = itertools.count(1)
leaks: list[str] = []
IO_EVENTS = {"socket.bind", "socket.connect", "subprocess.Popen", "os.fork", "os.posix_spawn"}
io_events: set[str] = set()
watchdog = TestWatchdog()
empty_cache = tempfile.TemporaryDirectory(prefix="rightseat-no-weights-")


def describe_generator(stream: AsyncGeneratorType[object, object]) -> str:
    return f"{stream.__qualname__} ({stream.ag_code.co_filename}:{stream.ag_code.co_firstlineno})"


class WatchedLoop(base_events.BaseEventLoop):
    """Never made: its two methods replace those of every asyncio loop."""

    _asyncgens: set[AsyncGeneratorType[object, object]]

    def _asyncgen_finalizer_hook(self, stream: AsyncGeneratorType[object, object]) -> None:
        leaks.append(f"async generator finalised by the garbage collector: {describe_generator(stream)}")
        finalize(self, stream)

    async def shutdown_asyncgens(self) -> None:
        still = "async generator still open when its loop closed"
        # One without a frame has ended, though an exception's traceback may still hold it.
        leaks.extend(f"{still}: {describe_generator(s)}" for s in self._asyncgens if s.ag_frame is not None)
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


def record_io(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: remembers what a test did that `make quick` promises not to do."""
    # urllib3 looks whether there is IPv6, by this bind, when it is imported.
    if event in IO_EVENTS and arguments[1:] != (("::1", 0),):
        io_events.add(event)


def pytest_configure() -> None:
    sys.addaudithook(record_io)
    for method in ("_asyncgen_finalizer_hook", "shutdown_asyncgens"):
        setattr(base_events.BaseEventLoop, method, vars(WatchedLoop)[method])
    vars(runners)["_cancel_all_tasks"] = cancel_all_tasks
    logging.getLogger("asyncio").addHandler(ErrorLog(logging.ERROR))


def pytest_unconfigure() -> None:
    # Only if a test has asked for it.
    if valkey := sys.modules.get("tests.kit.valkey"):
        valkey.stop_shared_server()


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: Any) -> bool | None:
    if settings.method != "thread":
        return None
    watchdog.start(item, settings)
    return True


@pytest.hookimpl(optionalhook=True)
def pytest_timeout_cancel_timer(item: pytest.Item) -> None:
    watchdog.cancel()


def pytest_collection_finish() -> None:
    # What is imported by now stays: the collection after each test then costs about a millisecond.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_spare_pairs(items)
    for item in items:
        if item.get_closest_marker("model") and isinstance(item, pytest.Function):
            # First of all: fixtures of a module or a session may need the weights as well.
            item.fixturenames.insert(0, "embedded_weights")


def mark_spare_pairs(items: list[pytest.Item]) -> None:
    """Mark as `long` those pairs of a test marked `spread` that `make test` can spare: each value is in one left."""
    groups: dict[tuple[object, str], list[pytest.Function]] = {}
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("spread"):
            groups.setdefault((item.parent, item.originalname), []).append(item)
    for group in groups.values():
        first, second = (number_values(group, name) for name in next(group[0].iter_markers("spread")).args)
        size = 1 + min(max(first), max(second))
        for item, number, other in zip(group, first, second, strict=True):
            if number % size != other % size:
                item.add_marker(pytest.mark.long)


def number_values(items: list[pytest.Function], name: str) -> list[int]:
    """Return the number of each item's value of a parameter, in the order in which the values come."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(id(item.callspec.params[name]), len(numbers)) for item in items]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    """Point RIGHTSEAT_CACHE at the weights for a test marked `model`, at an empty folder for any other."""
    before = os.environ.get("RIGHTSEAT_CACHE")
    folder = embedded.CACHE_FOLDER if item.get_closest_marker("model") else empty_cache.name
    os.environ["RIGHTSEAT_CACHE"] = str(folder)
    io_events.clear()
    try:
        return (yield)
    finally:
        os.environ.pop("RIGHTSEAT_CACHE", None)
        if before is not None:
            os.environ["RIGHTSEAT_CACHE"] = before


@pytest.fixture(scope="session")
def embedded_weights(request: pytest.FixtureRequest) -> Path:
    """The embedded model's weights, fetched if need be. "Could not fetch" is told apart from "failed"."""
    capture = request.config.pluginmanager.getplugin("capturemanager")
    try:
        with capture.global_and_fixture_disabled():
            return embedded.fetch_weights(embedded.CACHE_FOLDER)
    except embedded.WeightsFetchError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    yield
    gc.collect()
    if io_events and not any(map(item.get_closest_marker, ("io", "peers", "model"))):
        leaks.append(f"mark this test with pytest.mark.io: it did {', '.join(sorted(io_events))}")
    if next(teardown_counter) % FREEZE_EVERY == 0:
        # What was imported and cached meanwhile stays too.
        gc.freeze()
    problems, leaks[:] = leaks[:], []
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


@pytest.fixture(scope="session")
def record_driven() -> Callable[[str, str], None]:
    """Notes for the summary of `make test-all` that a real client of this name and version was driven."""

    def note(name: str, version: str) -> None:
        if record := os.environ.get("RIGHTSEAT_DRIVEN"):
            with Path(record).open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"name": name, "version": version}) + "\n")

    return note


@pytest.fixture(autouse=True)
def restore_secrets() -> Iterator[None]:
    """Secrets that a test makes are not masked in the next one's words."""
    before = set(secret._known)
    yield
    secret._known.intersection_update(before)


@pytest.fixture(scope="module", autouse=True)
def cache_template_probes(request: pytest.FixtureRequest) -> Iterator[None]:
    """A chat template is probed once in a test process, for a probe is a child process; test_template.py tests it."""
    template = sys.modules.get("rightseat.models.llamacpp.template")
    if template is None or request.path.name == "test_template.py":
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template, "probe_in_child", cache_probe(template.probe_in_child))
        yield


cache_probe = functools.cache(functools.cache)
"""A probe with a cache, always the same one for the same function."""


def pytest_xdist_auto_num_workers() -> int | None:
    """Return half as many workers again as there are cores: many tests wait for a process or a socket."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + cores // 2

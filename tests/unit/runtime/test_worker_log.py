"""What workers log of each other: as the console shows it, with the ids of the runs and without those of requests."""

import asyncio
import io
import logging
from collections.abc import Iterator

import pytest

from rightseat.cli.log import ConsoleFormatter
from rightseat.errors import StoreFailed
from rightseat.http.endpoint import REQUEST_ID
from rightseat.runtime import shared_threads, worker_log
from rightseat.types.threads import RUN_RESTARTED
from tests.kit.waiting import wait_until
from tests.unit.runtime.shared_workers import ME, MakeWorkers, Workers, reading, wait_for_words
from tests.unit.runtime.test_takeover import StepRunner, let_go_on, start_steps


class ConsoleLines:
    """Lines of the console, of one logger."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    def find(self, text: str) -> list[str]:
        return [line for line in self.stream.getvalue().splitlines() if text in line]


@pytest.fixture
def console() -> Iterator[ConsoleLines]:
    lines = ConsoleLines()
    handler = logging.StreamHandler(lines.stream)
    handler.setFormatter(ConsoleFormatter())
    logger = logging.getLogger("rightseat")
    logger.addHandler(handler)
    REQUEST_ID.set("req-of-another")
    yield lines
    logger.removeHandler(handler)


async def test_a_store_that_is_away_is_said_once_and_so_is_its_return(
    workers: Workers, console: ConsoleLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_threads, "SWEEP_SECONDS", 0.001)
    is_away, calls = True, 0

    async def wait_sweeps() -> None:
        nonlocal calls
        calls = 0
        await wait_until(lambda: calls > 5)

    async def list_workers() -> set[str]:
        nonlocal calls
        calls += 1
        if is_away:
            raise StoreFailed("away")
        return set()

    monkeypatch.setattr(workers.b.store, "list_lease_workers", list_workers)
    await workers.b.open()
    for number in (1, 2):
        is_away = True
        await wait_sweeps()
        assert len(console.find("cannot be looked for")) == number
        assert len(console.find("are looked for again")) == number - 1
        is_away = False
        await wait_sweeps()
        assert len(console.find("are looked for again")) == number
    assert not console.find("req-of-another")


async def test_a_run_that_is_taken_over_is_named(workers: Workers, console: ConsoleLines) -> None:
    runner = StepRunner()
    let_go_on(workers, runner)
    await start_steps(workers, runner)
    await wait_until(lambda: len(runner.done) == 1)
    workers.kill(workers.a)
    await workers.b.sweep_once()
    [line] = console.find("is taken over here")
    assert "[t r1]" in line
    runner.gate.set()
    await wait_until(lambda: not workers.b.active_runs)
    assert not console.find("restarted")


async def test_a_run_that_cannot_go_on_is_said_to_be_ended(workers: Workers, console: ConsoleLines) -> None:
    worker = workers.b
    await workers.start(workers.a)
    workers.model.say("a")
    worker.get_runner = lambda turn: None
    async with reading(worker.follow(ME, "t")) as seen:
        await wait_for_words(seen, "a")
        workers.kill(workers.a)
        await worker.sweep_once()
        await wait_until(lambda: seen[-1][1] == RUN_RESTARTED)
    [line] = console.find("was ended as restarted")
    assert "[t r1]" in line
    assert not console.find("is taken over here")


async def test_the_runs_that_a_worker_has_lost_are_said_in_one_line(
    make_workers: MakeWorkers, console: ConsoleLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_log, "LOST_SECONDS", 0.05)
    workers = make_workers()
    await workers.start(workers.a)
    workers.model.say("a")
    workers.b.get_runner = lambda turn: None
    async with reading(workers.b.follow(ME, "t")) as seen:
        await wait_for_words(seen, "a")
        workers.kill(workers.a)
        await workers.b.sweep_once()
        workers.model.say("late")
        await wait_until(lambda: console.find("taken for dead"))
    await asyncio.sleep(0.1)
    [line] = console.find("taken for dead")
    assert "1 of its runs" in line
    assert "r1 of thread t" in line
    assert not console.find("req-of-another r1")

"""Logs of leases in PostgreSQL: who listens is told what may be shown, and what never may."""

import asyncio
from typing import Any

import pytest

from rightseat.stores.postgres import writer
from rightseat.types.events import RunFinished, RunStarted, TextDelta, TextStart
from rightseat.types.messages import text_message
from rightseat.types.threads import NumberedEntry, UserInput
from tests.contract.stores.sample_runs import ME
from tests.contract.stores.test_postgres import open_stores
from tests.contract.stores.test_postgres_outages import open_behind
from tests.kit.faulty_relay import FaultyRelay
from tests.kit.postgres import get_session_server
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io
DELTAS: list[NumberedEntry] = [(number, TextDelta("m", f"{number} ")) for number in range(1, 40)]


class Told:
    """Calls of a listener."""

    def __init__(self) -> None:
        self.shown = 0
        self.is_lost = False
        self.calls = 0

    def __call__(self, number: int, is_lost: bool) -> None:
        self.calls += 1
        if is_lost:
            self.is_lost = True
        else:
            self.shown = max(number, self.shown)


async def test_a_listener_is_told_of_what_the_database_has(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        told = Told()
        log = store.open_entry_log(ME, "t", lease.fence, told)
        for number, entry in DELTAS:
            log.append(number, entry)
        assert told.calls == 0
        await wait_until(lambda: told.shown)
        # All of them in one window.
        assert (told.calls, told.shown) == (1, len(DELTAS))
        assert [number for number, _ in await other.read_entries(ME, "t")] == [len(DELTAS)]
        log.append(len(DELTAS) + 1, RunFinished("stop"))
        await wait_until(lambda: told.shown == len(DELTAS) + 1)
        assert not store.writer.logs


async def test_a_run_s_first_entries_are_written_with_its_answer_s_beginning(url: str, schema: str) -> None:
    async with open_stores(url, schema, 1) as (store,):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        told = Told()
        log = store.open_entry_log(ME, "t", lease.fence, told)
        log.append(1, UserInput((text_message("user", "Hello"),)))
        log.append(2, RunStarted("t", "r"))
        await asyncio.sleep(0)
        log.append(3, TextStart("m"))
        log.append(4, TextDelta("m", "Hi"))
        await wait_until(lambda: told.shown == 4)
        assert told.calls == 1


async def test_a_run_s_first_entries_do_not_wait_for_an_answer(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        told = Told()
        log = store.open_entry_log(ME, "t", lease.fence, told)
        log.append(1, RunStarted("t", "r"))
        await wait_until(lambda: told.shown == 1)
        assert await other.read_entries(ME, "t") == [(1, RunStarted("t", "r"))]


async def test_what_another_has_by_now_is_never_shown(url: str, schema: str) -> None:
    async with open_stores(url, schema) as (store, other):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        kept = await store.begin_run(ME, "u", "r", assistant="", name="")
        told, others_told = Told(), Told()
        log = store.open_entry_log(ME, "t", lease.fence, told)
        others_log = store.open_entry_log(ME, "u", kept.fence, others_told)
        holder = await other.get_lease_holder(ME, "t")
        assert holder is not None
        assert await other.take_over_run(ME, "t", holder) is not None
        log.append(1, TextDelta("m", "x"))
        others_log.append(1, TextDelta("m", "y"))
        await wait_until(lambda: told.is_lost and others_told.shown)
        assert (told.shown, others_told.is_lost) == (0, False)
        assert await other.read_entries(ME, "t") == []
        assert len(store.writer.logs) == 1


async def test_a_listener_that_fails_is_no_other_run_s_fault(url: str, schema: str) -> None:
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))

    def fail(number: int, is_lost: bool) -> None:
        raise RuntimeError("cannot be shown")

    async with open_stores(url, schema, 1) as (store,):
        told = Told()
        for thread, listener in (("a", fail), ("b", told)):
            lease = await store.begin_run(ME, thread, "r", assistant="", name="")
            store.open_entry_log(ME, thread, lease.fence, listener).append(1, TextDelta("m", "x"))
        await wait_until(lambda: told.shown == 1)
        assert [str(context["exception"]) for context in reported] == ["cannot be shown"]
        assert await store.read_entries(ME, "a") == [(1, TextDelta("m", "x"))]


@pytest.mark.parametrize("is_taken", [False, True], ids=["kept", "another's by then"])
async def test_what_comes_while_the_database_is_away_is_shown_at_once(url: str, schema: str, is_taken: bool) -> None:
    async with (
        FaultyRelay(get_session_server().home / ".s.PGSQL.5432") as relay,
        open_behind(relay, schema, 1) as (store,),
        open_stores(url, schema, 1) as (other,),
    ):
        lease = await store.begin_run(ME, "t", "r", assistant="", name="")
        told = Told()
        log = store.open_entry_log(ME, "t", lease.fence, told)
        async with relay.refuse():
            for number, entry in DELTAS:
                log.append(number, entry)
                calls = told.calls
                await asyncio.sleep(0)
                assert told.calls <= calls + 1
            await wait_until(lambda: told.shown == len(DELTAS))
            assert store.writer.is_away
            if is_taken:
                holder = await other.get_lease_holder(ME, "t")
                assert holder is not None
                assert await other.take_over_run(ME, "t", holder) is not None
        await wait_until(lambda: not store.writer.count and store.writer.task is None)
        assert told.is_lost is is_taken
        assert (await other.read_entries(ME, "t") == []) is is_taken


async def test_a_lease_that_is_forgotten_loses_no_entry(url: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts of one lease in one window would be taken for one."""
    monkeypatch.setattr(writer, "MAX_LOGS", 2)
    async with open_stores(url, schema, 1) as (store,):
        leases = {name: await store.begin_run(ME, name, "r", assistant="", name="") for name in "abcd"}
        for number, entry in DELTAS:
            for name, lease in leases.items():
                store.append_entries(ME, name, number, [entry], lease.fence)
            if number % 5 == 0:
                await asyncio.sleep(0)
        for name in leases:
            entries = await store.read_entries(ME, name)
            texts = "".join(entry.text for _, entry in entries if isinstance(entry, TextDelta))
            assert texts == "".join(f"{number} " for number, _ in DELTAS)
        assert len(store.writer.logs) <= len(leases)

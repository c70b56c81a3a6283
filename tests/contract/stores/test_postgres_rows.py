"""Rows of a text in PostgreSQL: one for each window while it is written, few when it is over."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from rightseat.stores.postgres import statements, windows
from rightseat.stores.postgres.prepared import TextRow
from rightseat.stores.postgres.store import PostgresStore
from rightseat.stores.postgres.writer import EntryWriter
from rightseat.types.events import (
    CallArgs,
    CallEnd,
    CallStart,
    ReasoningDelta,
    ReasoningEnd,
    ReasoningStart,
    RunFailed,
    RunFinished,
    RunStarted,
    TextDelta,
    TextEnd,
    TextStart,
)
from rightseat.types.threads import Lease, NumberedEntry, ThreadEntry
from tests.contract.stores.sample_runs import ME, join_deltas, read_all_entries
from tests.contract.stores.test_postgres import open_stores, query
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.io
NOT_TWICE = "WHERE m.is_new AND m.b IS NOT NULL"
TOKENS = [f"token{number} é🙂\0 " for number in range(300)]
TURN: list[ThreadEntry] = [
    RunStarted("t", "r"),
    ReasoningStart("x"),
    *(ReasoningDelta("x", token) for token in TOKENS[:20]),
    ReasoningEnd("x"),
    TextStart("m"),
    *(TextDelta("m", token) for token in TOKENS),
    TextEnd("m"),
    CallStart("c", "find", "m"),
    *(CallArgs("c", token) for token in TOKENS[:40]),
    CallEnd("c"),
    RunFinished("calls"),
]
NUMBERED: list[NumberedEntry] = list(enumerate(TURN, 1))


@asynccontextmanager
async def begin(url: str, schema: str) -> AsyncIterator[tuple[PostgresStore, PostgresStore, Lease]]:
    async with open_stores(url, schema) as (store, other):
        yield store, other, await store.begin_run(ME, "t", "r", assistant="", name="")


async def write_singly(store: PostgresStore, lease: Lease, numbered: Sequence[NumberedEntry]) -> None:
    """Write each entry in a window of its own, as a model's tokens come."""
    for number, entry in numbered:
        await store.append_entries(ME, "t", number, [entry], lease.fence)


def list_rows(url: str, schema: str) -> list[tuple[int, int]]:
    return query(url, schema, "SELECT first, last FROM {s}.entries ORDER BY last")


def check_cover(rows: Sequence[tuple[int, int]], last: int) -> None:
    """Check that each number is in one row."""
    assert rows[0][0] == 1
    assert rows[-1][1] == last
    assert all(after[0] == before[1] + 1 for before, after in pairwise(rows))


@pytest.mark.demand("cluster.rows_folded")
async def test_a_text_is_few_rows_when_it_is_over_and_is_read_from_any_number(url: str, schema: str) -> None:
    async with begin(url, schema) as (store, other, lease):
        await write_singly(store, lease, NUMBERED)
        rows = list_rows(url, schema)
        check_cover(rows, len(TURN))
        assert len(rows) == 11
        for after in range(len(TURN) + 1):
            entries = await read_all_entries(other, after=after)
            assert join_deltas(entries) == join_deltas(NUMBERED[after:])
            assert [number for number, _ in entries][-1:] == ([len(TURN)] if after < len(TURN) else [])
        assert await other.run_start(ME, "t", 100) == 0
        [(size,)] = query(url, schema, "SELECT sum(octet_length(body)) FROM {s}.entries")
        thread = await other.get_thread(ME, "t")
        assert thread is not None
        assert (thread.size, thread.last) == (size, len(TURN))


@pytest.mark.demand("cluster.rows_folded")
async def test_a_follower_elsewhere_sees_each_token_once_while_rows_are_folded(url: str, schema: str) -> None:
    async with begin(url, schema) as (store, other, lease):
        seen: list[NumberedEntry] = []
        for number, entry in NUMBERED:
            await store.append_entries(ME, "t", number, [entry], lease.fence)
            if number % 7 in (0, 3, 4):
                seen += await read_all_entries(other, after=seen[-1][0] if seen else 0)
        seen += await read_all_entries(other, after=seen[-1][0])
        assert join_deltas(seen) == join_deltas(NUMBERED)
        assert all(before[0] < after[0] for before, after in pairwise(seen))


async def test_entries_of_many_at_once_are_folded_the_same(url: str, schema: str) -> None:
    async with begin(url, schema) as (store, other, lease):
        number = 0
        while number < len(TURN):
            part = NUMBERED[number : number + 1 + number % 9]
            await store.append_entries(ME, "t", part[0][0], [entry for _, entry in part], lease.fence)
            number += len(part)
        rows = list_rows(url, schema)
        check_cover(rows, len(TURN))
        assert len(rows) == 11
        for after in range(0, len(TURN), 5):
            assert join_deltas(await read_all_entries(other, after=after)) == join_deltas(NUMBERED[after:])


async def test_a_long_text_is_folded_before_its_end(url: str, schema: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "MAX_ROW_ENTRIES", 16)
    async with begin(url, schema) as (store, other, lease):
        entries: list[ThreadEntry] = [TextStart("m"), *(TextDelta("m", token) for token in TOKENS[:100])]
        numbered = list(enumerate(entries, 1))
        await write_singly(store, lease, numbered)
        rows = list_rows(url, schema)
        check_cover(rows, 101)
        assert [last - first + 1 for first, last in rows] == [1, *[16] * 6, *[1] * 4]
        assert join_deltas(await read_all_entries(other, after=20)) == join_deltas(numbered[20:])


async def test_texts_of_two_messages_are_not_mixed(url: str, schema: str) -> None:
    async with begin(url, schema) as (store, other, lease):
        ids = "aaabbbababaaa"
        entries: list[ThreadEntry] = [TextDelta(id, f"{id}{n} ") for n, id in enumerate(ids)]
        numbered = list(enumerate(entries, 1))
        await write_singly(store, lease, numbered)
        await store.append_entries(ME, "t", len(ids) + 1, [RunFinished("stop")], lease.fence)
        assert [last - first + 1 for first, last in list_rows(url, schema)] == [3, 3, 1, 1, 1, 1, 3, 1]
        assert join_deltas((await read_all_entries(other))[:-1]) == join_deltas(numbered)


async def test_a_process_that_lost_its_lease_folds_nothing(url: str, schema: str) -> None:
    async with begin(url, schema) as (store, other, lease):
        await write_singly(store, lease, NUMBERED[:50])
        assert await other.end_orphaned_runs({store.worker})
        before = query(url, schema, "SELECT first, last, cuts, body FROM {s}.entries ORDER BY last")
        stored = store.append_entries(ME, "t", 51, [TextEnd("m")], lease.fence)
        assert isinstance((await asyncio.gather(stored, return_exceptions=True))[0], Exception)
        assert query(url, schema, "SELECT first, last, cuts, body FROM {s}.entries ORDER BY last") == before
        assert not store.writer.logs


async def test_the_text_of_a_dead_process_is_folded_with_its_end(url: str, schema: str) -> None:
    async with begin(url, schema) as (store, other, lease):
        await write_singly(store, lease, NUMBERED[:200])
        seen = await read_all_entries(other)
        assert await other.end_orphaned_runs({store.worker})
        assert len(list_rows(url, schema)) == 8
        for after in range(0, 201, 3):
            entries = await read_all_entries(other, after=after)
            assert join_deltas(entries[:-2]) == join_deltas(NUMBERED[after:200])
            assert [type(entry) for _, entry in entries[-2:]] == [TextEnd, RunFailed]
        assert join_deltas(seen) == join_deltas(NUMBERED[:200])
        [(size,)] = query(url, schema, "SELECT sum(octet_length(body)) FROM {s}.entries")
        thread = await other.get_thread(ME, "t")
        assert thread is not None
        assert thread.size == size


# A statement whose connection broke may reach the server late


async def write_late(store: PostgresStore, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a turn; then let the server have every statement once more, as if each had been sent twice."""
    sent: list[dict[str, bytes | None]] = []
    execute = EntryWriter.execute

    async def note(writer: EntryWriter, values: dict[str, bytes | None]) -> list[TextRow]:
        sent.append(values)
        return await execute(writer, values)

    monkeypatch.setattr(EntryWriter, "execute", note)
    await write_singly(store, lease, NUMBERED)
    for values in sent:
        assert await execute(store.writer, values) == []


@pytest.mark.demand("cluster.rows_folded")
async def test_a_statement_that_comes_late_changes_nothing(
    url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with begin(url, schema) as (store, other, lease):
        await write_late(store, lease, monkeypatch)
        assert len(list_rows(url, schema)) == 11
        assert join_deltas(await read_all_entries(other)) == join_deltas(NUMBERED)
        [(size,)] = query(url, schema, "SELECT sum(octet_length(body)) FROM {s}.entries")
        thread = await other.get_thread(ME, "t")
        assert thread is not None
        assert thread.size == size


async def test_without_the_look_at_the_last_number_it_doubles_texts(
    url: str, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = statements.APPEND_ENTRIES
    assert statement.count(NOT_TWICE) == 1
    monkeypatch.setattr(statements, "APPEND_ENTRIES", statement.replace(NOT_TWICE, "WHERE m.b IS NOT NULL"))
    async with begin(url, schema) as (store, other, lease):
        await write_late(store, lease, monkeypatch)
        assert join_deltas(await read_all_entries(other)) != join_deltas(NUMBERED)


async def test_a_fault_of_this_program_is_said_and_holds_nothing(
    url: str, schema: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with begin(url, schema) as (store, other, lease):
        with monkeypatch.context() as patch:
            patch.setattr(store.writer, "write", lambda window: 1 / 0)
            await store.append_entries(ME, "t", 1, [TURN[0]], lease.fence)
        await wait_until(lambda: "ZeroDivisionError" in caplog.text)
        await store.append_entries(ME, "t", 2, [TURN[1]], lease.fence)
        assert [number for number, _ in await read_all_entries(other)] == [2]

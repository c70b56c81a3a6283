"""PostgresThreads: threads, their leases and entries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from rightseat.errors import Conflict, StoreFailed
from rightseat.stores.encoding import LOST_RUN, RUN_LOST, decode_entry, encode_entry, encode_json
from rightseat.stores.postgres import statements as sql
from rightseat.stores.postgres.database import RETRY_PAUSE, PostgresDatabase, Row, Session
from rightseat.stores.postgres.health import LOST, RETRY_SECONDS
from rightseat.stores.postgres.keys import encode_key, escape_text, label_key, unescape_text
from rightseat.stores.postgres.lease_log import ThreadKey
from rightseat.stores.postgres.windows import fold_rows, merge_row_group
from rightseat.types.stores import collect_ids_and_tokens
from rightseat.types.threads import (
    PAGE_BYTES,
    RUN_NUMBERS,
    EntryRow,
    Lease,
    LeaseHolder,
    NumberedEntry,
    OrphanedRun,
    RequestedStop,
    RunEnded,
    Thread,
    ThreadBusy,
    find_take_over_number,
    is_retryable,
    make_restart_entries,
)
from rightseat.types.turn import Owner

RunRecord = Mapping[str, Any]
"""Row of a run's record, as BEGIN_RUN has it; its `body` is None if the run has none."""
PAGE_ROWS = 2000
TRUE = b"t"
"""A column that is true, as text."""
NO_LIMIT = (1 << 63) - 1


class BegunRun(Lease, frozen=True):
    """Lease with what retention needs to know of the thread."""

    size: int = 0
    is_new: bool = False


class PostgresThreads:
    def __init__(self, database: PostgresDatabase, clock: Callable[[], float] | None, worker: str) -> None:
        self.database = database
        self.clock = clock
        self.worker = worker
        self.leaving: dict[ThreadKey, asyncio.Task[None]] = {}
        """Leases whose callers have left, until they are released."""

    def make_values(self, key: ThreadKey, **more: Any) -> dict[str, Any]:
        now = self.clock() if self.clock else None
        return {"owner": encode_key(key[0]), "thread": encode_key(key[1]), "now": now, **more}

    async def has_thread(self, key: ThreadKey) -> bool:
        return bool(await self.database.execute(sql.HAS_THREAD, self.make_values(key), again=True))

    # Leases

    async def begin_run(
        self, key: ThreadKey, run: str, assistant: str, name: str, digest: str, record: RunRecord
    ) -> BegunRun:
        """Lease the thread and keep the record; raises ThreadBusy or RunEnded. Who leaves meanwhile has neither."""
        while leaving := self.leaving.get(key):
            await asyncio.wait([leaving])
        values = {**record} | self.make_values(
            key,
            run=escape_text(run),
            run_key=encode_key(run),
            worker=self.worker,
            digest=digest,
            name=escape_text(name),
            assistant=escape_text(assistant),
            owner_label=label_key(key[0]),
            thread_label=label_key(key[1]),
        )
        task = self.database.start(self.database.watch(self.take_thread(key, values)))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            self.leaving[key] = self.database.start(self.release_after(task, key, values))
            raise

    async def take_thread(self, key: ThreadKey, values: dict[str, Any]) -> BegunRun:
        """Take the thread with one statement, or find out in a transaction why it cannot be had."""
        is_again, deadline = False, time.monotonic() + RETRY_SECONDS
        while True:
            try:
                if rows := await self.database.fetch_prepared(sql.BEGIN_RUN, values):
                    *numbers, is_new, is_noted = rows[0]
                    if is_noted == TRUE:
                        last, fence, size = (int(number or 0) for number in numbers)
                        return BegunRun(last, fence, size=size, is_new=is_new == TRUE)
                    # The same run began and ended within this statement: look at it.
                    await self.database.fetch(sql.RELEASE_LEASE, values)
                if begun := await self.take_locked(key, values):
                    return begun
            except ThreadBusy as busy:
                if is_again and (busy.holder.run, busy.holder.worker) == (values["run"], self.worker):
                    # The statement before had been committed when its connection broke.
                    return BegunRun(busy.holder.before, busy.holder.fence)
                raise
            except StoreFailed as error:
                is_late = self.database.health.is_away or time.monotonic() > deadline
                if not isinstance(error.__cause__, LOST) or is_late:
                    raise
                is_again = True
                await asyncio.sleep(RETRY_PAUSE)

    async def take_locked(self, key: ThreadKey, values: dict[str, Any]) -> BegunRun | None:
        """Take the thread while it is locked; None if there is none."""
        async with self.database.transaction() as transaction:
            rows = await transaction.execute(sql.LOCK_THREAD, values)
            if not rows:
                return None
            if rows[0][0] is not None:
                raise ThreadBusy(decode_holder(rows[0]))
            if values["digest"] and (ended := await self.find_ended_run(transaction, values)):
                raise ended
            last, fence, size, _ = (await transaction.execute(sql.TAKE_THREAD, values))[0]
            if values["body"] is not None:
                await transaction.execute(sql.PUT_RECORD, {**values, "assistant": ""})
            return BegunRun(last, fence, size=size)

    async def find_ended_run(self, transaction: Session, values: dict[str, Any]) -> RunEnded | None:
        """Return where a run with this id and digest is; None if there is none, or it did nothing."""
        rows = await transaction.execute(sql.FIND_RUN, values)
        if not rows:
            return None
        if rows[0][0] == LOST_RUN:
            raise Conflict(RUN_LOST)
        entries = await transaction.execute(sql.RUN_ENTRIES, {**values, "number": rows[0][0]})
        if is_retryable([row.entry for row in decode_entries(entries)]):
            return None
        return RunEnded(entries[0][0] - 1, entries[-1][1])

    async def release_after(self, task: asyncio.Task[BegunRun], key: ThreadKey, values: dict[str, Any]) -> None:
        """Release what a caller has begun that has left; its thread is deleted if it was created for it."""
        try:
            await asyncio.wait([task])
            error = task.exception()
            # Not if the thread was busy: the same run may have it, begun by an earlier request.
            if error is None or isinstance(error, StoreFailed):
                await self.database.execute(sql.RELEASE_LEASE, values, again=True)
                if values["body"] is not None:
                    await self.database.execute(sql.DROP_RECORD, values, again=True)
        finally:
            del self.leaving[key]

    async def get_lease_holder(self, key: ThreadKey) -> LeaseHolder | None:
        rows = await self.database.execute(sql.GET_HOLDER, self.make_values(key), again=True)
        return decode_holder(rows[0]) if rows else None

    async def request_stop(self, key: ThreadKey, run: str) -> bool:
        values = self.make_values(key, run=escape_text(run))
        return bool(await self.database.execute(sql.REQUEST_STOP, values, again=True))

    async def list_stop_requests(self) -> list[RequestedStop]:
        rows = await self.database.execute(sql.LIST_STOPS, {"worker": self.worker}, again=True)
        return [
            RequestedStop(Owner(owner), thread, run) for owner, thread, run in (map(unescape_text, row) for row in rows)
        ]

    async def list_lease_workers(self) -> set[str]:
        return {worker for (worker,) in await self.database.execute(sql.LIST_WORKERS, {}, again=True)}

    async def list_orphaned_runs(self, dead_workers: Collection[str]) -> list[OrphanedRun]:
        rows = await self.database.execute(sql.LIST_ORPHANS, {"workers": list(dead_workers)}, again=True)
        return [
            OrphanedRun(Owner(owner), thread, run) for owner, thread, run in (map(unescape_text, row) for row in rows)
        ]

    async def take_over_run(self, key: ThreadKey, holder: LeaseHolder) -> Lease | None:
        """Lease the thread of a run to this process, if the holder still has it."""
        return await self.database.finish(self.database.watch(self.take_over_locked(key, holder)))

    async def take_over_locked(self, key: ThreadKey, holder: LeaseHolder) -> Lease | None:
        values = self.make_values(key, worker=self.worker, fence=holder.fence, next=holder.fence + 1)
        async with self.database.transaction() as transaction:
            # Locked first: entries that the holder is writing are seen by the next statement, or refused.
            rows = await transaction.execute(sql.LOCK_THREAD, values)
            if not rows or rows[0][0] is None or decode_holder(rows[0]) != holder:
                return None
            ((last,),) = await transaction.execute(sql.TAKE_OVER, values)
            return Lease(holder.before, holder.fence + 1, find_take_over_number(holder.before, last))

    async def end_orphaned_runs(
        self, dead_workers: Collection[str], keep: Collection[OrphanedRun]
    ) -> list[OrphanedRun]:
        """End the runs of dead workers, but those of `keep`. The ends have numbers after the reserved ones: a client
        may have seen entries that were not stored. Threads that another process ends now are left to it."""
        values = {
            "workers": list(dead_workers),
            "owners": [encode_key(run.owner.name) for run in keep],
            "threads": [encode_key(run.thread) for run in keep],
            "runs": [escape_text(run.run) for run in keep],
        }
        ended: list[OrphanedRun] = []
        while batch := await self.database.finish(self.database.watch(self.end_batch(values))):
            ended += batch
        return ended

    async def end_batch(self, orphans: dict[str, Any]) -> list[OrphanedRun]:
        ended: list[OrphanedRun] = []
        async with self.database.transaction() as transaction:
            for orphan in await transaction.execute(sql.LOCK_ORPHANS, orphans):
                owner, thread, owner_name, thread_name, run, last, fence, before = orphan
                name, id, run = map(unescape_text, (owner_name, thread_name, run))
                values = {"owner": owner, "thread": thread, "number": fence}
                rows = decode_entries(await transaction.execute(sql.RUN_ENTRIES, values))
                ends = make_restart_entries([row.entry for row in rows], id, run)
                first = max(last, before + RUN_NUMBERS) + 1
                ending = encode_ending(rows, list(enumerate(ends, first)))
                values |= {**ending, "fence": fence, "now": self.clock() if self.clock else None}
                await transaction.execute(sql.END_ORPHAN, values)
                ended.append(OrphanedRun(Owner(name), id, run))
        return ended

    # Entries

    async def read_entries(self, key: ThreadKey, after: int, until: int | None) -> list[NumberedEntry]:
        limits = {"after": after, "until": NO_LIMIT if until is None else until}
        values = self.make_values(key, **limits, limit=PAGE_ROWS, bytes=PAGE_BYTES)
        rows = await self.database.execute(sql.READ_ENTRIES, values, again=True)
        return [numbered for row in decode_entries(rows) if (numbered := row.slice(after, until))]

    async def run_start(self, key: ThreadKey, number: int) -> int:
        rows = await self.database.execute(sql.RUN_START, self.make_values(key, number=number), again=True)
        first = rows[0][0] if rows else None
        return first - 1 if first else 0

    # Threads

    async def get_thread(self, key: ThreadKey) -> Thread | None:
        rows = await self.database.execute(sql.GET_THREAD, self.make_values(key), again=True)
        return decode_thread(rows[0]) if rows else None

    async def list_threads(
        self, owner: str, assistant: str | None, archived: bool, limit: int, offset: int
    ) -> list[Thread]:
        values = {
            "owner": encode_key(owner),
            "assistant": None if assistant is None else escape_text(assistant),
            "archived": archived,
            "limit": limit,
            "offset": offset,
        }
        return [decode_thread(row) for row in await self.database.execute(sql.LIST_THREADS, values, again=True)]

    async def update_thread(self, key: ThreadKey, name: str | None, archived: bool | None) -> Thread | None:
        values = self.make_values(key, name=None if name is None else escape_text(name), archived=archived)
        rows = await self.database.execute(sql.UPDATE_THREAD, values, again=True)
        return decode_thread(rows[0]) if rows else None

    async def delete_thread(self, key: ThreadKey) -> bool:
        """Delete a thread with its continuations, tool results and checkpoints."""
        return await self.database.finish(self.database.watch(self.delete_with_records(key)))

    async def delete_with_records(self, key: ThreadKey) -> bool:
        async with self.database.transaction() as transaction:
            values = self.make_values(key, running=True)
            entries = decode_entries(await transaction.execute(sql.CALL_ENTRIES, values))
            calls, tokens = collect_ids_and_tokens([row.entry for row in entries])
            values |= {"calls": list(map(encode_key, calls)), "tokens": list(map(encode_key, tokens))}
            values["prefix"] = escape_text(f"{key[1]}/")
            await transaction.execute(sql.DROP_THREAD_RECORDS, values)
            return bool(await transaction.execute(sql.DELETE_THREAD, values))


def decode_holder(row: Row) -> LeaseHolder:
    run, worker, fence, before = row
    return LeaseHolder(unescape_text(run), worker, fence, before)


def decode_thread(row: Row) -> Thread:
    id, name, assistant, created, updated, last, size, archived, run = row
    return Thread(
        id=unescape_text(id),
        name=unescape_text(name),
        assistant=unescape_text(assistant),
        created=created,
        updated=updated,
        last=last,
        size=size,
        archived=archived,
        run=unescape_text(run),
    )


def encode_ending(rows: Sequence[EntryRow], ends: Sequence[NumberedEntry]) -> dict[str, Any]:
    """Encode the end of a run whose worker is dead: its last entries, and one row for each text that is in many."""
    added, folded, size = [EntryRow(number, number, entry) for number, entry in ends], list[int](), 0
    for group in fold_rows(rows):
        row = merge_row_group(group)
        folded += [old.last for old in group if old.last != row.last]
        size -= sum(len(encode_entry(old.entry) or b"") for old in group)
        added.append(row)
    bodies = [(row, body) for row in added if (body := encode_entry(row.entry))]
    return {
        "firsts": [row.first for row, _ in bodies],
        "numbers": [row.last for row, _ in bodies],
        "cuts": [encode_json(row.offsets).decode() for row, _ in bodies],
        "bodies": [body.decode() for _, body in bodies],
        "folded": folded,
        "last": ends[-1][0],
        "size": size + sum(len(body) for _, body in bodies),
    }


def decode_entries(rows: Iterable[Row]) -> list[EntryRow]:
    return [row for line in rows if (row := decode_entry(*line))]

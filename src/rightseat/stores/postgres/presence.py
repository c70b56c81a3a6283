"""ReplicaPresence: which of the processes that share a database are alive.

Each one holds an advisory lock on a connection of its own, which the server frees when that connection ends, and writes
a beat every two seconds from a thread of its own: an event loop that is blocked is no dead process. Dead is who has no
lock and no beat for SILENCE_SECONDS, or no beat for the lease. Whoever was cut off from the database judges nobody
until it has been back for a lease, and nobody is judged until the server has run for a lease: the others may have been
cut off too. Who has not been confirmed for a while begins no effect: others may have taken over what it runs.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Collection, Iterator
from importlib.metadata import version
from typing import Any

import psycopg
from msgspec import Struct

from rightseat.errors import StoreFailed
from rightseat.stores.postgres import statements as sql
from rightseat.stores.postgres.database import PostgresDatabase, Row
from rightseat.stores.postgres.health import hang_up
from rightseat.stores.postgres.schema import name_schema
from rightseat.types.fencing import CONFIRM_SECONDS

log = logging.getLogger(__name__)
BEAT_SECONDS = 2.0
BEATS_PER_LEASE = 4
SILENCE_SECONDS = 3.0
MAX_LOCK = (1 << 64) - 1
HANG_UP_SECONDS = 4.0
"""Longest wait for the answer to a beat: a half-open connection tells nothing by itself."""
JUDGE_SECONDS = BEAT_SECONDS + HANG_UP_SECONDS
"""Age of the last confirmed beat up to which this process may take others for dead."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
MARGIN_SECONDS = 2.0
"""Time before the end of the lease from which on no effect begins."""
ANSWER_SECONDS = SILENCE_SECONDS - BEAT_SECONDS
"""Time without an answer to a beat from which on no effect begins: the lock may be free by now."""
LOOK_SECONDS = 0.05
NOT_CONFIRMED = (
    "The database does not confirm that this process runs: others may go on with its work. What has an effect does not "
    "begin until it does. Try again in a moment."
)


def make_worker_name() -> str:
    """Make a name that no process has had."""
    return secrets.token_hex(8)


def parse_lock(worker: str) -> int:
    """Return the number of a worker's lock; that of a name that is none of ours is 0, which nobody holds."""
    try:
        return int.from_bytes(bytes.fromhex(worker), "big", signed=True) if len(worker) == 16 else 0
    except ValueError:
        return 0


class ReplicaInfo(Struct, frozen=True):
    """Row of a process, with what tells whether it is alive."""

    worker: str
    address: str
    version: str
    beat_age: float
    """Seconds since its last beat."""
    is_alive: bool


def list_replicas(connection: psycopg.Connection[Row], schema: str) -> list[ReplicaInfo]:
    """List the processes that have joined and not left. One that was killed has not left."""
    held = {(high << 32) | low for high, low in connection.execute(sql.LIST_LOCKS).fetchall()}
    replicas = []
    for worker, address, release, age in connection.execute(name_schema(sql.LIST_REPLICAS, schema)).fetchall():
        has_lock = parse_lock(worker) & MAX_LOCK in held
        replicas.append(ReplicaInfo(worker, address, release, age, has_lock or age < SILENCE_SECONDS))
    return replicas


def list_open_replicas(connection: psycopg.Connection[Row], schema: str) -> list[ReplicaInfo]:
    """List the processes that may use the tables at this moment."""
    return [replica for replica in list_replicas(connection, schema) if replica.is_alive]


@contextlib.contextmanager
def limit_answer(connection: psycopg.Connection[Row]) -> Iterator[None]:
    """Hang a connection up whose statement has no answer in time."""
    timer = threading.Timer(HANG_UP_SECONDS, hang_up, (connection,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class ReplicaPresence:
    def __init__(self, database: PostgresDatabase, lease_seconds: float) -> None:
        self.database = database
        self.worker = make_worker_name()
        self.lease_seconds = lease_seconds
        self.connection: psycopg.Connection[Row] | None = None
        self.is_locked = False
        self.is_over = threading.Event()
        self.judges_after = 0.0
        """Moment, by the monotonic clock, from which this process may take others for dead."""
        self.confirmed = 0.0
        """Moment of the last beat that the database has taken; minus infinity while there is no connection."""
        self.pending = 0.0
        """Moment of the beat that has no answer yet; 0 if none is on its way."""
        self.lapses = 0
        """How often the others may have taken this process for dead."""
        self.replicas = 1
        """How many processes were alive at the last beat, this one included."""
        self.config = ""
        """Digest of the configuration, which each beat tells."""
        self.other_configs = 0
        """Processes that were alive at the last beat and had another configuration."""
        self.thread = threading.Thread(target=self.beat, name="rightseat-presence", daemon=True)

    def join(self, connection: psycopg.Connection[Row]) -> None:
        """Join on this connection, and begin to beat."""
        sent = time.monotonic()
        self.enter(connection)
        self.confirmed = sent
        self.thread.start()
        # A process that ends in order, as after an error of its configuration, is no loss that doctor tells of.
        atexit.register(self.leave)

    def enter(self, connection: psycopg.Connection[Row]) -> None:
        self.is_locked = False
        with limit_answer(connection):
            self.write_beat(connection)
        self.connection = connection

    def rejoin(self) -> None:
        connection = psycopg.connect(self.database.url, autocommit=True)
        try:
            self.enter(connection)
        except psycopg.Error:
            connection.close()
            raise

    def execute(self, connection: psycopg.Connection[Row], text: str, parameters: dict[str, Any]) -> Any:
        return connection.execute(self.database.get_statement(text), parameters)

    def write_beat(self, connection: psycopg.Connection[Row]) -> None:
        if not self.is_locked:
            # Locked before the row is there. A connection that broke may have the lock until the server notices.
            row = self.execute(connection, sql.LOCK_REPLICA, {"lock": parse_lock(self.worker)}).fetchone()
            self.is_locked = bool(row and row[0])
        address = f"{socket.gethostname()}:{os.getpid()}"
        values: dict[str, Any] = {"worker": self.worker, "address": address, "version": version("rightseat")}
        values |= {"lease": self.lease_seconds, "config": self.config}
        replicas, self.other_configs = self.execute(connection, sql.JOIN, values).fetchone()
        self.replicas = max(replicas, 1)

    # In the thread

    def beat(self) -> None:
        pause = interval = min(BEAT_SECONDS, self.lease_seconds / BEATS_PER_LEASE)
        while not self.is_over.wait(pause):
            sent = self.pending = time.monotonic()
            try:
                if self.connection is None:
                    self.rejoin()
                    self.judges_after = time.monotonic() + self.lease_seconds
                else:
                    with limit_answer(self.connection):
                        self.write_beat(self.connection)
                self.lapses += sent - self.confirmed > self.confirmed_seconds
                self.confirmed, self.pending, pause = sent, 0.0, interval
            except psycopg.Error:
                self.confirmed = float("-inf")
                if self.connection is not None:
                    log.warning("this process cannot tell the others that it is alive: the database is away")
                    pause = FIRST_PAUSE
                self.disconnect()
                self.judges_after = float("inf")
                pause = min(pause * 2, LONGEST_PAUSE)

    def disconnect(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            with contextlib.suppress(psycopg.Error):
                connection.close()

    # In the event loop

    async def find_dead(self, workers: Collection[str]) -> set[str]:
        """Return those of the workers that have ended; nobody while the database is away."""
        others = sorted(set(workers) - {self.worker})
        now = time.monotonic()
        # Whoever cannot beat may be cut off, and so may the others.
        if not others or now < self.judges_after or now - self.confirmed > JUDGE_SECONDS:
            return set()
        values = {
            "workers": others,
            "locks": [parse_lock(worker) for worker in others],
            "lease": self.lease_seconds,
            "silence": SILENCE_SECONDS,
        }
        try:
            rows = await self.database.execute(sql.FIND_DEAD, values, again=True)
        except StoreFailed:
            return set()
        return {row[0] for row in rows}

    @property
    def confirmed_seconds(self) -> float:
        """How long a beat confirms this process."""
        return max(self.lease_seconds - MARGIN_SECONDS, self.lease_seconds / 2)

    @property
    def is_confirmed(self) -> bool:
        """Whether the others take this process for alive, and will for a moment."""
        now, pending = time.monotonic(), self.pending
        is_late = pending > 0 and now > pending + ANSWER_SECONDS
        return not self.is_over.is_set() and not is_late and now < self.confirmed + self.confirmed_seconds

    async def confirm(self) -> int:
        """Wait until this process is confirmed; return how often it was not. StoreFailed after CONFIRM_SECONDS."""
        deadline = time.monotonic() + CONFIRM_SECONDS
        while not self.is_confirmed:
            if time.monotonic() > deadline or self.is_over.is_set():
                raise StoreFailed(NOT_CONFIRMED)
            await asyncio.sleep(LOOK_SECONDS)
        return self.lapses

    async def close(self) -> None:
        await asyncio.to_thread(self.leave)

    def leave(self) -> None:
        """Free the lock and delete the row: from now on this process counts as dead."""
        if self.is_over.is_set():
            return
        self.is_over.set()
        atexit.unregister(self.leave)
        if self.thread.is_alive():
            self.thread.join()
        if self.connection is not None:
            with contextlib.suppress(psycopg.Error), limit_answer(self.connection):
                self.execute(self.connection, sql.LEAVE, {"worker": self.worker})
        self.disconnect()

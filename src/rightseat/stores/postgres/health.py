"""DatabaseHealth: whether the database answers this process, and since when it does not.

The first lost connection begins an outage, and the first statement that succeeds ends it. While an outage is young,
statements wait for its end. Later they fail at once, and one probe alone looks whether the database is back: a request
does not wait for what is known to be away.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import select
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

log = logging.getLogger(__name__)
UNREACHABLE = (
    "What must be kept cannot be: the database cannot be reached. Look whether PostgreSQL runs, and at [store] url. "
    "What waits is kept once it answers."
)
REFUSED = "What must be kept cannot be: the database refused it. Its log, and ours, say why."
LOST = (psycopg.OperationalError, psycopg.InterfaceError, PoolTimeout)
RETRY_SECONDS = 3.0
"""Age of an outage up to which statements are tried again."""
FIRST_PROBE, LONGEST_PROBE = 0.05, 2.0
"""Shortest and longest pause of the probe."""
RETRY_AFTER = 5.0
"""Seconds after which a client that was refused may ask again."""


def describe_error(error: psycopg.Error, url: str) -> str:
    """Return the first line of an error, without the password."""
    text = (error.diag.message_primary or str(error).strip() or type(error).__name__).splitlines()[0]
    password = str(conninfo_to_dict(url).get("password") or "")
    return (text.replace(password, "***") if password else text).rstrip(". ") + "."


def hang_up(connection: psycopg.AsyncConnection[Any] | psycopg.Connection[Any], *, has_time: bool = True) -> bool:
    """Shut a connection's socket down, so that a statement that waits on it fails now; a cancel would need the server.
    Return False if there is an answer to read and it has time: then this process was late, and not the server."""
    with suppress(psycopg.Error, OSError), socket.socket(fileno=os.dup(connection.fileno())) as peer:
        if has_time and select.select([peer], [], [], 0)[0]:
            return False
        peer.shutdown(socket.SHUT_RDWR)
    return True


def is_connection_lost(error: Exception) -> bool:
    """Whether an error says that the server cannot be reached, and not that it refuses a statement."""
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    return isinstance(error, LOST) and (state is None or state.startswith(("08", "57P")))


class DatabaseHealth:
    def __init__(self, url: str, on_return: Callable[[], Awaitable[None]] | None = None) -> None:
        self.url = url
        self.on_return = on_return
        """Called by the probe when the database is back, before statements use it."""
        self.listeners: list[Callable[[], None]] = []
        """Called by the probe after that."""
        self.failure = ""
        """What is wrong and what to do; empty if nothing is. Said once in the log."""
        self.since: float | None = None
        """Wall-clock time of the first failure of this outage."""
        self.began = 0.0
        self.probe: asyncio.Task[None] | None = None

    @property
    def is_away(self) -> bool:
        """Whether the database has been unreachable for so long that statements fail at once."""
        return self.since is not None and time.monotonic() - self.began > RETRY_SECONDS

    def note(self, error: BaseException) -> None:
        """Note why a statement failed for good."""
        message = UNREACHABLE if isinstance(error, LOST) else REFUSED
        if self.failure != message:
            reason = describe_error(error, self.url) if isinstance(error, psycopg.Error) else type(error).__name__
            log.error("the store failed: %s %s", reason, message)
        self.failure = message

    def limit(self, connection: psycopg.AsyncConnection[Any], seconds: float) -> AnswerLimit:
        """Return the limit of a statement: `with` it, a connection without an answer in time is hung up."""
        return AnswerLimit(self, connection, seconds)

    def note_lost(self, ago: float = 0.0) -> None:
        """Note a lost connection, and begin to look for the database."""
        if self.since is None:
            self.since, self.began = time.time() - ago, time.monotonic() - ago
        if self.probe is None:
            self.probe = asyncio.create_task(self.look())

    def clear(self) -> None:
        self.since = None
        if self.failure:
            log.warning("the store works again")
            self.failure = ""

    async def look(self) -> None:
        """Connect now and then, until something has ended the outage."""
        pause = FIRST_PROBE
        try:
            while self.since is not None:
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))
                pause = min(pause * 2, LONGEST_PROBE)
                with suppress(psycopg.Error):
                    await (await psycopg.AsyncConnection.connect(self.url)).close()
                    if self.is_away and self.on_return is not None:
                        await self.on_return()
                    self.clear()
                    for listener in self.listeners:
                        listener()
        finally:
            self.probe = None

    async def close(self) -> None:
        if self.probe is not None:
            self.probe.cancel()
            await asyncio.wait([self.probe])


class AnswerLimit:
    """Limit of the time that a statement has: a half-open connection tells nothing by itself."""

    __slots__ = ("connection", "health", "loop", "seconds", "timer")

    def __init__(self, health: DatabaseHealth, connection: psycopg.AsyncConnection[Any], seconds: float) -> None:
        self.health = health
        self.connection = connection
        self.seconds = seconds
        self.loop = asyncio.get_running_loop()

    def __enter__(self) -> None:
        self.timer = self.loop.call_later(self.seconds, self.on_silence, True)

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()

    def on_silence(self, has_time: bool) -> None:
        if hang_up(self.connection, has_time=has_time):
            self.health.note_lost(self.seconds)
        elif has_time:
            # The rest of an answer that has begun may never come.
            self.timer = self.loop.call_later(self.seconds, self.on_silence, False)

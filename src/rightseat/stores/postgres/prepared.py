"""PreparedStatement: one statement that is run very often, by the functions of the client library itself.

A cursor of psycopg costs several times what the library needs to send a statement and to read its result. The writer of
entries runs one for every window, and the first token of every run waits for its lease, so both do without.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import psycopg
from psycopg import pq
from psycopg.errors import InvalidSqlStatementName, error_from_result

_numbers = count(1)
NAMED = re.compile(rb"%\((\w+)\)s")
SUCCEEDED = (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK)
Result = pq.abc.PGresult
TextRow = tuple[bytes | None, ...]


class PreparedStatement:
    """A statement on a connection that nobody else uses from `open` to `close`. Columns are texts."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], text: bytes) -> None:
        self.connection = connection
        self.wire = connection.pgconn
        self.names = tuple(dict.fromkeys(name.decode() for name in NAMED.findall(text)))
        self.text = NAMED.sub(lambda match: b"$%d" % (self.names.index(match[1].decode()) + 1), text)
        # Its own: a connection that was given back may be lent again, and still has the statement before.
        self.name = b"rightseat_%d" % next(_numbers)
        self.is_prepared = False
        self.is_blocked = False
        """Whether the socket has not taken all of what is sent."""
        self.results: list[Result] = []
        self.done: asyncio.Future[list[Result]] | None = None
        """Results of what runs now."""
        self.loop = asyncio.get_running_loop()
        self.descriptor = connection.fileno()
        self.is_open = False

    def open(self) -> PreparedStatement:
        """Begin to read what the server sends on the connection."""
        self.is_open = True
        self.loop.add_reader(self.descriptor, self.receive)
        return self

    async def run_once(self, parameters: Mapping[str, Any]) -> list[TextRow]:
        """Run the statement on a connection that others use before and after it. Parameters are as a cursor takes
        them: texts, numbers, bytes and None."""
        values = [parameters[name] for name in self.names]
        self.open()
        try:
            return await self.execute(list(map(encode_value, values)), [isinstance(value, bytes) for value in values])
        finally:
            self.close()

    async def run(self, values: Mapping[str, bytes | None]) -> list[TextRow]:
        """Run the statement with values that are texts, and return its rows."""
        return await self.execute([values[name] for name in self.names])

    async def execute(self, values: Sequence[bytes | None], are_binary: Sequence[bool] | None = None) -> list[TextRow]:
        """Run the statement and return its rows. One runs at a time. Raises what a cursor would raise."""
        for _ in range(2):
            if not self.is_prepared:
                self.wire.send_prepare(self.name, self.text)
                await self.wait_results()
                self.is_prepared = True
            self.wire.send_query_prepared(self.name, values, are_binary)
            try:
                (result,) = await self.wait_results()
                break
            except InvalidSqlStatementName:
                # Forgotten: psycopg does so with all statements of a connection after a rollback.
                self.is_prepared = False
        else:
            raise psycopg.OperationalError("the connection keeps no prepared statements")
        columns = range(result.nfields)
        return [tuple(result.get_value(row, column) for column in columns) for row in range(result.ntuples)]

    async def wait_results(self) -> list[Result]:
        self.results, self.done = [], self.loop.create_future()
        self.send()
        results = await self.done
        for result in results:
            if result.status not in SUCCEEDED:
                if self.wire.status != pq.ConnStatus.OK:
                    raise psycopg.OperationalError("the connection is lost")
                raise error_from_result(result)
        return results

    def send(self) -> None:
        """Send what the library still has, now and whenever the socket takes more."""
        try:
            is_blocked = self.wire.flush() != 0
        except psycopg.Error as error:
            self.fail(error)
            return
        if is_blocked and not self.is_blocked:
            self.loop.add_writer(self.descriptor, self.send)
        elif self.is_blocked and not is_blocked:
            self.loop.remove_writer(self.descriptor)
        self.is_blocked = is_blocked

    def receive(self) -> None:
        """Read what the server has sent, and settle the future when the statement has ended."""
        is_whole = False
        try:
            self.wire.consume_input()
            while not self.wire.is_busy():
                result = self.wire.get_result()
                if result is None:
                    is_whole = True
                    break
                self.results.append(result)
        except psycopg.Error as error:
            self.fail(error)
            return
        if is_whole and self.done is not None and not self.done.done() and self.results:
            self.done.set_result(self.results)
        else:
            # uvloop stops watching a socket that has an error, after one call: the rest of its input would stay unread.
            self.loop.remove_reader(self.descriptor)
            self.loop.add_reader(self.descriptor, self.receive)

    def fail(self, error: psycopg.Error) -> None:
        """End what runs with an error; the connection is of no use any more."""
        self.close()
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)

    def close(self) -> None:
        """Leave the connection to others. A second call does nothing: its descriptor may be another connection's."""
        if self.is_open:
            self.is_open = False
            self.loop.remove_reader(self.descriptor)
            self.loop.remove_writer(self.descriptor)


def encode_value(value: str | float | bytes | None) -> bytes | None:
    """Encode a value as the server reads it: bytes are sent as they are, others as texts."""
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else repr(value)).encode()

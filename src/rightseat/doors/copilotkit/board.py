"""The response's lists for graphql-core, which reads them while they grow. Each reader starts at the
beginning, because a document may select a list twice."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from rightseat.doors.copilotkit.frames import LISTS
from rightseat.doors.copilotkit.read import Asked
from rightseat.doors.copilotkit.story import Status


class Log:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.over = False
        self.changed = asyncio.Event()

    def add(self, item: Any) -> None:
        self.items.append(item)
        self.ring()

    def close(self) -> None:
        self.over = True
        self.ring()

    def ring(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def read(self, info: object = None) -> Reading:
        return Reading(self)


class Reading:
    """Iterator of a GrowingList. Not a generator: graphql-core may drop it anywhere, and nothing needs
    closing."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.place = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while self.place >= len(self.log.items):
            if self.log.over:
                raise StopAsyncIteration
            await self.log.changed.wait()
        self.place += 1
        return self.log.items[self.place - 1]


class Board:
    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.size = 0
        self.over = False
        self.messages = Log()
        self.events = Log()
        self.chunks: dict[int, Log] = {}
        self.statuses: dict[int, asyncio.Future[Status]] = {}
        self.status_of_all: asyncio.Future[Status] = asyncio.get_running_loop().create_future()

    @property
    def root(self) -> dict[str, Any]:
        return {
            "__typename": "CopilotResponse",
            "threadId": self.asked.turn.thread,
            "runId": self.asked.run,
            "extensions": None,
            "status": self.status_of_all,
            "messages": self.messages.read,
            "metaEvents": self.events.read,
        }

    def message(self, kind: str, fields: dict[str, Any]) -> int:
        number = len(self.messages.items)
        status = self.statuses[number] = asyncio.get_running_loop().create_future()
        item = {**fields, "__typename": kind, "status": status}
        if streamed := LISTS.get(kind):
            log = self.chunks[number] = Log()
            item[streamed] = log.read
        self.size += len(fields.get("result", "")) + len(fields.get("state", ""))
        self.messages.add(item)
        return number

    def chunk(self, number: int, text: str) -> None:
        self.size += len(text)
        self.chunks[number].add(text)

    def status(self, number: int, status: Status) -> None:
        self.statuses.pop(number).set_result(status)
        if number in self.chunks:
            self.chunks.pop(number).close()

    def meta(self, fields: dict[str, Any]) -> None:
        self.events.add(fields)

    def end(self, status: Status) -> None:
        self.over = True
        self.messages.close()
        self.events.close()
        self.status_of_all.set_result(status)

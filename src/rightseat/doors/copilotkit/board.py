"""The response's lists for graphql-core, which reads them while they grow. Each reader starts at the
beginning, because a document may select a list twice."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from rightseat.doors.copilotkit.frames import STREAMED_FIELDS
from rightseat.doors.copilotkit.read import CopilotKitRequest
from rightseat.doors.copilotkit.story import Status


class GrowingList:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.closed = False
        self.changed = asyncio.Event()

    def append(self, item: Any) -> None:
        self.items.append(item)
        self.notify_readers()

    def close(self) -> None:
        self.closed = True
        self.notify_readers()

    def notify_readers(self) -> None:
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def make_reader(self, info: object = None) -> GrowingListReader:
        return GrowingListReader(self)


class GrowingListReader:
    """Iterator of a GrowingList. Not a generator: graphql-core may drop it anywhere, and nothing needs
    closing."""

    def __init__(self, items: GrowingList) -> None:
        self.source = items
        self.index = 0

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        while self.index >= len(self.source.items):
            if self.source.closed:
                raise StopAsyncIteration
            await self.source.changed.wait()
        self.index += 1
        return self.source.items[self.index - 1]


class IncrementalLists:
    def __init__(self, request: CopilotKitRequest) -> None:
        self.request = request
        self.size = 0
        self.finished = False
        self.messages = GrowingList()
        self.meta_events = GrowingList()
        self.chunks: dict[int, GrowingList] = {}
        self.statuses: dict[int, asyncio.Future[Status]] = {}
        self.response_status: asyncio.Future[Status] = asyncio.get_running_loop().create_future()

    @property
    def root_value(self) -> dict[str, Any]:
        return {
            "__typename": "CopilotResponse",
            "threadId": self.request.turn.thread,
            "runId": self.request.run,
            "extensions": None,
            "status": self.response_status,
            "messages": self.messages.make_reader,
            "metaEvents": self.meta_events.make_reader,
        }

    def add_message(self, kind: str, fields: dict[str, Any]) -> int:
        number = len(self.messages.items)
        status = self.statuses[number] = asyncio.get_running_loop().create_future()
        item = {**fields, "__typename": kind, "status": status}
        if field := STREAMED_FIELDS.get(kind):
            log = self.chunks[number] = GrowingList()
            item[field] = log.make_reader
        self.size += len(fields.get("result", "")) + len(fields.get("state", ""))
        self.messages.append(item)
        return number

    def add_chunk(self, number: int, text: str) -> None:
        self.size += len(text)
        self.chunks[number].append(text)

    def set_status(self, number: int, status: Status) -> None:
        self.statuses.pop(number).set_result(status)
        if number in self.chunks:
            self.chunks.pop(number).close()

    def add_meta_event(self, fields: dict[str, Any]) -> None:
        self.meta_events.append(fields)

    def finish(self, status: Status) -> None:
        self.finished = True
        self.messages.close()
        self.meta_events.close()
        self.response_status.set_result(status)

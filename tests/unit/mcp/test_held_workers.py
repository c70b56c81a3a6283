"""Calls that wait inside a server of the older era, made by one of two workers and answered at the other."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel

from rightseat.live.memory import MemoryHub, MemoryPlane
from rightseat.mcp.connect import McpServerConfig
from rightseat.mcp.held_calls import HeldCallLink
from rightseat.mcp.tool_sources import McpServers
from rightseat.runtime.worker_messages import WorkerMessages
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Custom, Event
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, ToolContext
from rightseat.types.turn import Owner, Turn
from tests.kit.waiting import wait_until
from tests.unit.mcp.tool_calls import list_tools, serve_over_http

pytestmark = [pytest.mark.io, pytest.mark.demand("scale.held_calls")]
RED, BLUE = {"colour": "red"}, {"colour": "blue"}


class Colour(BaseModel):
    colour: str


@dataclass
class Painter:
    """A server whose tool asks twice in a call."""

    begun: int = 0
    cancelled: int = 0
    ask_twice: bool = True
    result_size: int = 0
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    def make_app(self) -> Any:
        server = MCPServer("painter", log_level="ERROR")

        @server.tool()
        async def paint(ctx: Context) -> str:
            self.begun += 1
            first = await ctx.elicit("Which colour?", Colour)
            assert first.action == "accept"
            await ctx.report_progress(1, 2, "half")
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            if not self.ask_twice:
                return "x" * self.result_size or str(first.data.colour)
            second = await ctx.elicit("And then?", Colour)
            assert second.action == "accept"
            return f"{first.data.colour} {second.data.colour}"

        return server.streamable_http_app()


@asynccontextmanager
async def serve_workers(painter: Painter, *, linked: bool = True) -> AsyncIterator[list[McpServers]]:
    hub, store = MemoryHub(), MemoryStore()
    async with serve_over_http(painter.make_app()) as url, AsyncExitStack() as stack:
        workers: list[McpServers] = []
        for name in ("1", "2"):
            link = HeldCallLink(WorkerMessages(MemoryPlane(hub, name), store)) if linked else None
            config = McpServerConfig(name="painter", url=url, older=True)
            servers = McpServers([config], link=link)
            await servers.start()
            stack.push_async_callback(servers.close)
            await servers.connections["painter"].connection.start()
            workers.append(servers)
        yield workers


async def paint(
    servers: McpServers, pause: Pause | None = None, answers: Sequence[Any] = (), owner: str = "ada"
) -> list[Event | Result | Pause]:
    tool = (await list_tools(servers))["painter__paint"]
    assert tool.call is not None
    turn = Turn(messages=(), owner=Owner(owner))
    context = ToolContext(turn, "c", pause.state if pause else None, tuple(answers))
    async with closing(tool.call({}, context)) as items:
        return [item async for item in items]


def get_pause(items: list[Event | Result | Pause]) -> Pause:
    assert isinstance(items[-1], Pause), items
    return items[-1]


def get_error(items: list[Event | Result | Pause]) -> str:
    assert isinstance(items[-1], Result)
    assert items[-1].failed
    code: str = items[-1].content["error"]["code"]
    return code


@pytest.mark.parametrize("linked", [True, False], ids=["", "twin without a link"])
async def test_each_question_is_answered_at_the_other_worker(linked: bool) -> None:
    painter = Painter()
    painter.go_on.set()
    async with serve_workers(painter, linked=linked) as (a, b):
        first = get_pause(await paint(a))
        answered = await paint(b, first, [RED])
        if not linked:
            assert get_error(answered) == "expired"
            return
        progress, second = answered
        assert isinstance(progress, Custom)
        assert progress.value["message"] == "half"
        assert isinstance(second, Pause)
        assert second.asks[0].message == "And then?"
        assert (await paint(b, second, [RED, BLUE]))[-1] == Result({"result": "red blue"})
        assert painter.begun == 1
        for worker in (a, b):
            assert get_error(await paint(worker, second, [RED, BLUE])) == "expired"


async def test_the_second_question_is_answered_where_the_call_is() -> None:
    painter = Painter()
    painter.go_on.set()
    async with serve_workers(painter) as (a, b):
        second = get_pause(await paint(b, get_pause(await paint(a)), [RED]))
        assert (await paint(a, second, [RED, BLUE]))[-1] == Result({"result": "red blue"})


async def test_a_result_may_be_large() -> None:
    painter = Painter(ask_twice=False, result_size=200_000)
    painter.go_on.set()
    async with serve_workers(painter) as (a, b):
        assert (await paint(b, get_pause(await paint(a)), [RED]))[-1] == Result({"result": "x" * 200_000})


async def test_another_users_answer_is_refused() -> None:
    painter = Painter(ask_twice=False)
    painter.go_on.set()
    async with serve_workers(painter) as (a, b):
        pause = get_pause(await paint(a))
        assert get_error(await paint(b, pause, [BLUE], owner="bob")) == "expired"
        assert (await paint(b, pause, [RED]))[-1] == Result({"result": "red"})


async def test_a_client_that_leaves_cancels_the_call_at_the_other_worker() -> None:
    painter = Painter()
    async with serve_workers(painter) as (a, b):
        answering = asyncio.create_task(paint(b, get_pause(await paint(a)), [RED]))
        connection = a.connections["painter"].connection
        assert a.link is not None
        await wait_until(lambda: not connection.held_calls)
        answering.cancel()
        await asyncio.wait([answering])
        await wait_until(lambda: painter.cancelled == 1)
        await wait_until(lambda: a.link is not None and not a.link.relays)
        assert not connection.active_calls


async def test_a_worker_that_ends_says_so_to_who_waits() -> None:
    async with serve_workers(Painter()) as (a, b):
        answering = asyncio.create_task(paint(b, get_pause(await paint(a)), [RED]))
        connection = a.connections["painter"].connection
        await wait_until(lambda: not connection.held_calls)
        await a.close()
        assert get_error(await answering) == "expired"
        await wait_until(lambda: a.link is not None and not a.link.relays)


async def test_a_worker_that_is_gone_has_no_call() -> None:
    async with serve_workers(Painter()) as (a, b):
        pause = get_pause(await paint(a))
        assert a.link is not None
        await a.link.messages.plane.close()
        assert get_error(await paint(b, pause, [RED])) == "expired"

"""An operation called by hand: with a person's own arguments, past no model, under the same rules."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from msgspec import Struct

from rightseat.door import Request
from rightseat.errors import CallerError, NotFound, RightseatError
from rightseat.library import Runtime
from rightseat.messages import said
from rightseat.outbound.watching import watching
from rightseat.schema import checker
from rightseat.streams import closing
from rightseat.tools import Pause, Result, Tool, ToolContext, failure
from rightseat.turn import Turn

SECONDS = 60


class Attempt(Struct, frozen=True, kw_only=True):
    tool: str
    arguments: dict[str, Any] = {}
    approved: bool = False
    """A person has said yes to a call that needs it."""


async def tried(runtime: Runtime, given: Attempt, request: Request) -> dict[str, Any]:
    tool = found(runtime, given.tool)
    problem = tool.check(given.arguments) if tool.check else checker(tool.parameters).problem(given.arguments)
    if problem:
        raise CallerError(f"arguments: {problem}", param="arguments")
    if tool.confirm and not given.approved:
        return {"confirm": f"{tool.name} changes something. Call it with these arguments?"}
    began = time.perf_counter()
    with watching() as seen:
        result = await called(tool, given.arguments, request)
    took = round((time.perf_counter() - began) * 1000)
    if isinstance(result, Pause):
        asks = [{"message": ask.message, "schema": ask.schema} for ask in result.asks]
        return {"asks": asks, "requests": seen, "ms": took}
    return {"result": result.text, "failed": result.failed, "requests": seen, "ms": took}


def found(runtime: Runtime, name: str) -> Tool:
    entry = runtime.plugins.by_name.get(name) if runtime.plugins else None
    if entry is None:
        raise NotFound(f"No plugin has a tool called {name[:64]!r}.", param="tool")
    return entry.tool


async def called(tool: Tool, arguments: dict[str, Any], request: Request) -> Result | Pause:
    assert tool.call is not None, "a plugin's tool runs here"
    turn = Turn(messages=(said("user", f"Call {tool.name}."),), owner=request.owner, base=request.base)
    last: Result | Pause | None = None
    try:
        async with asyncio.timeout(tool.timeout or SECONDS):
            async with closing(tool.call(arguments, ToolContext(turn, "call_playground"))) as items:
                async for item in items:
                    last = item if isinstance(item, Result | Pause) else last
    except TimeoutError:
        return failure("timeout", f"{tool.name} took too long and was stopped.")
    except RightseatError as error:
        return failure(error.code, error.message)
    return last or Result()

"""`@tool`: make a tool of a typed Python function; the schema comes from its signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, overload

from rightseat.errors import ConfigError
from rightseat.tools.signature import Signature
from rightseat.tools.subprocess import Isolated
from rightseat.tools.thread_pool import Threads
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import Asked, Pause, Result, Tool, ToolCall, ToolContext, failure

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_threads = Threads()

Function = Callable[..., Any]


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    confirm: bool = False,
    timeout: float | None = None,
    isolate: bool = False,
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    confirm: bool = False,
    timeout: float | None = None,
    isolate: bool = False,
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function. `confirm`: a person must approve each call. `isolate`: run it in a child
    process that can be killed. A parameter annotated ToolContext gets the context; the schema omits it."""

    def wrap(function: Function) -> Tool:
        signature = Signature(function)
        title = name or function.__name__
        _check(title, function, signature, isolate)
        child = Isolated(function.__module__, function.__qualname__) if isolate else None
        return Tool(
            name=title,
            description=description or signature.summary,
            parameters=signature.schema,
            call=_isolated(child) if child else _inline(function, signature),
            confirm=confirm,
            timeout=timeout,
            function=function,
            close=child.close if child else None,
        )

    return wrap if function is None else wrap(function)


def _check(title: str, function: Function, signature: Signature, isolate: bool) -> None:
    if not NAME.fullmatch(title):
        raise ConfigError(f"Tool name {title!r}: use letters, digits, _ and -, at most 64.")
    if inspect.isgeneratorfunction(function):
        raise ConfigError(f"Tool {title}: write it as `async def` to yield events.")
    if isolate and signature.context is not None:
        raise ConfigError(f"Tool {title}: an isolated tool runs elsewhere and has no ToolContext.")
    if isolate and inspect.isasyncgenfunction(function):
        raise ConfigError(f"Tool {title}: an isolated tool runs elsewhere and cannot yield events.")


def as_tool(thing: Tool | Function) -> Tool:
    return thing if isinstance(thing, Tool) else tool(thing)


def _inline(function: Function, signature: Signature) -> ToolCall:
    if inspect.isasyncgenfunction(function):

        async def streams(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
            try:
                async with closing(function(**signature.bind(args, ctx))) as items:
                    async for item in items:
                        yield item
            except Asked as asked:
                yield Pause((asked.ask,))

        return streams

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        values = signature.bind(args, ctx)
        try:
            if inspect.iscoroutinefunction(function):
                value = await function(**values)
            else:
                value = await _threads.run(lambda: function(**values))
        except Asked as asked:
            yield Pause((asked.ask,))
            return
        yield value if isinstance(value, Result) else Result(value)

    return call


def _isolated(child: Isolated) -> ToolCall:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        reply = await child.call(args)
        yield failure("tool_failed", reply.error) if reply.error else Result(reply.value, reply.failed)

    return call

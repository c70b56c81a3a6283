"""`@tool`: make a tool of a typed Python function; the schema comes from its signature and docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, overload

from rightseat.errors import ConfigError
from rightseat.tools.signature import ToolSignature
from rightseat.tools.subprocess import ToolProcesses
from rightseat.tools.thread_pool import ToolThreadRunner
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import AskSignal, Pause, Result, Tool, ToolContext, ToolHandler, error_result

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_thread_runner = ToolThreadRunner()

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
        signature = ToolSignature(function)
        title = name or function.__name__
        _check_function(title, function, signature, isolate)
        child = ToolProcesses(function.__module__, function.__qualname__) if isolate else None
        return Tool(
            name=title,
            description=description or signature.summary,
            parameters=signature.schema,
            call=_make_process_handler(child) if child else _make_inline_handler(function, signature),
            confirm=confirm,
            timeout=timeout,
            function=function,
            close=child.close if child else None,
        )

    return wrap if function is None else wrap(function)


def _check_function(title: str, function: Function, signature: ToolSignature, isolate: bool) -> None:
    if not TOOL_NAME.fullmatch(title):
        raise ConfigError(f"Tool name {title!r}: use letters, digits, _ and -, at most 64.")
    if inspect.isgeneratorfunction(function):
        raise ConfigError(f"Tool {title}: write it as `async def` to yield events.")
    if isolate and signature.context is not None:
        raise ConfigError(f"Tool {title}: an isolated tool runs elsewhere and has no ToolContext.")
    if isolate and inspect.isasyncgenfunction(function):
        raise ConfigError(f"Tool {title}: an isolated tool runs elsewhere and cannot yield events.")


def as_tool(function: Tool | Function) -> Tool:
    return function if isinstance(function, Tool) else tool(function)


def _make_inline_handler(function: Function, signature: ToolSignature) -> ToolHandler:
    if inspect.isasyncgenfunction(function):

        async def streams(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
            try:
                async with closing(function(**signature.bind(args, ctx))) as items:
                    async for item in items:
                        yield item
            except AskSignal as signal:
                yield Pause((signal.ask,))

        return streams

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        values = signature.bind(args, ctx)
        try:
            if inspect.iscoroutinefunction(function):
                value = await function(**values)
            else:
                value = await _thread_runner.run(lambda: function(**values))
        except AskSignal as signal:
            yield Pause((signal.ask,))
            return
        yield value if isinstance(value, Result) else Result(value)

    return call


def _make_process_handler(processes: ToolProcesses) -> ToolHandler:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        reply = await processes.call(args)
        yield error_result("tool_failed", reply.error) if reply.error else Result(reply.value, reply.failed)

    return call

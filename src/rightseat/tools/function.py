"""`@tool`: make a tool of a typed Python function; the schema comes from its signature and docstring."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import re
import threading
import typing
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Annotated, Any, overload

from rightseat.errors import ConfigError, ToolThreadsExhausted
from rightseat.tools.subprocess import ToolProcesses
from rightseat.types.events import Event
from rightseat.types.streams import closing
from rightseat.types.tools import (
    EFFECTS,
    AskSignal,
    Effect,
    Pause,
    Result,
    Tool,
    ToolContext,
    ToolHandler,
    error_result,
)

_PARAM_SECTION = r"(?:Args|Arguments|Parameters):\s*$"
Function = Callable[..., Any]
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_ABANDONED = 16
_VALUE_KEYS = ("default", "examples", "example", "const", "enum")


class ToolSignature:
    """Schema of a function's parameters, and conversion of arguments to typed values."""

    def __init__(self, function: Callable[..., Any]) -> None:
        # Imported here: it takes a fifth of a start, and a server without tools of functions needs none of it.
        from pydantic.errors import PydanticUserError

        try:
            self.parse(function)
        except (NameError, TypeError, PydanticUserError) as error:
            why = str(error).splitlines()[0]
            raise ConfigError(f"Tool {function.__name__}: its annotations cannot be read: {why}") from error

    def parse(self, function: Callable[..., Any]) -> None:
        from pydantic import Field, create_model

        doc = inspect.getdoc(function) or ""
        self.summary = re.split(rf"(?m)^\s*$|^\s*{_PARAM_SECTION}|^\s*:param", doc, maxsplit=1)[0].strip()
        param_docs = parse_param_docs(doc)
        hints = typing.get_type_hints(function, include_extras=True)
        self.context: str | None = None
        self.names: list[str] = []
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise ConfigError(
                    f"Tool {function.__name__}: parameter {parameter} is positional-only. Make it a normal parameter."
                )
            hint = hints.get(parameter.name, Any)
            if hint is ToolContext or ToolContext in typing.get_args(hint):
                self.context = parameter.name
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            # Numbered fields with the name as alias: a parameter may be called `schema`, `copy` or `_x`.
            hint = Annotated[hint, Field(alias=parameter.name)]
            if param_doc := param_docs.get(parameter.name):
                hint = Annotated[hint, Field(description=param_doc)]
            fields[f"field{len(self.names)}"] = (hint, default)
            self.names.append(parameter.name)
        self.model = create_model(function.__name__, **fields)
        self.schema = strip_titles(self.model.model_json_schema())

    def bind(self, args: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        """Return the typed arguments with defaults, and the context if the function takes it."""
        model = self.model.model_validate(args)
        values = {name: getattr(model, f"field{number}") for number, name in enumerate(self.names)}
        return values if self.context is None else {**values, self.context: ctx}


def parse_param_docs(doc: str) -> dict[str, str]:
    """Return the description of each parameter from a docstring in Google or Sphinx (`:param`) style."""
    docs = dict(re.findall(r"^\s*:param\s+(?:[^:\s]+\s+)?(\w+):\s*(.+)$", doc, re.MULTILINE))
    section = re.search(rf"^{_PARAM_SECTION}\n((?:[ \t]+.*\n?|\n)+)", doc, re.MULTILINE)
    name, margin = "", 0
    for line in section[1].splitlines() if section else ():
        indent = len(line) - len(line.lstrip())
        match = re.fullmatch(r"\s+(\w+)\s*(?:\([^)]*\))?:\s*(.*)", line)
        if match and (not name or indent <= margin):
            name, margin = match[1], indent
            docs[name] = match[2]
        elif name and line.strip():
            docs[name] = f"{docs[name]} {line.strip()}".strip()
    return docs


def strip_titles(schema: Any) -> Any:
    """Remove pydantic's titles: they repeat the field names and cost tokens."""
    if isinstance(schema, list):
        return [strip_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    stripped = {}
    for key, item in schema.items():
        if key in ("properties", "$defs"):
            stripped[key] = {name: strip_titles(value) for name, value in item.items()}
        elif not (key == "title" and isinstance(item, str)):
            stripped[key] = item if key in _VALUE_KEYS else strip_titles(item)
    return stripped


class ToolThreadRunner:
    """Runs tools written as plain `def` in OS threads of their own."""

    def __init__(self, limit: int = MAX_ABANDONED) -> None:
        self.limit = limit
        self.abandoned = 0

    async def run(self, work: Callable[[], Any]) -> Any:
        """Return the value of `work()`, run in a thread of its own."""
        if self.abandoned >= self.limit:
            raise ToolThreadsExhausted(
                f"{self.abandoned} earlier tool calls are still running after their timeout. Add a timeout "
                "inside the tool, or mark it @tool(isolate=True) so that it can be killed."
            )
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def target() -> None:
            value: Any = None
            error: BaseException | None = None
            try:
                value = context.run(work)
            except BaseException as caught:  # raised again in the caller's task
                error = caught
            # The loop is closed: nobody waits.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self.settle, future, value, error)

        # Daemon: an abandoned thread must not block the exit of the process.
        threading.Thread(target=target, name="rightseat-tool", daemon=True).start()
        try:
            return await future
        except asyncio.CancelledError:
            # A finished thread is not counted: nothing would decrement the counter.
            if future.cancelled():
                self.abandoned += 1
            raise

    def settle(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        if future.done():
            self.abandoned -= 1
        elif error is None:
            future.set_result(value)
        elif isinstance(error, StopIteration | SystemExit | KeyboardInterrupt):
            # A Future refuses StopIteration; the others would end the server.
            future.set_exception(RuntimeError(f"the tool raised {type(error).__name__}"))
        else:
            future.set_exception(error)


_thread_runner = ToolThreadRunner()


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
    effect: Effect = "writes",
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
    effect: Effect = "writes",
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function. `confirm`: a person must approve each call. `isolate`: run it in a child
    process that can be killed. `effect`: the strongest that a call may have; one that only "reads" may run
    again after a crash. A parameter annotated ToolContext gets the context; the schema omits it."""

    def wrap(function: Function) -> Tool:
        signature = ToolSignature(function)
        title = name or function.__name__
        _check_function(title, function, signature, isolate)
        if effect not in EFFECTS:
            raise ConfigError(f"Tool {title}: effect {effect!r:.64}: use reads, writes or dangerous.")
        child = ToolProcesses(function.__module__, function.__qualname__) if isolate else None
        return Tool(
            name=title,
            description=description or signature.summary,
            parameters=signature.schema,
            call=_make_process_handler(child) if child else _make_inline_handler(function, signature),
            confirm=confirm,
            timeout=timeout,
            function=function,
            effect=effect,
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
    """Return a Tool as it is, and a function as a Tool. Raises ConfigError for anything else."""
    if isinstance(function, Tool):
        return function
    if not callable(function):
        advice = "Give functions, or tools that @rightseat.tool has made, such as tools=[add]."
        raise ConfigError(f"tools: {function!r:.64} is a {type(function).__name__}, not a function or a tool. {advice}")
    return tool(function)


def as_tools(functions: Iterable[Tool | Function]) -> tuple[Tool, ...]:
    """Return the tools of an argument `tools`. Raises ConfigError if it is no list of functions and tools."""
    if not isinstance(functions, Iterable):
        raise ConfigError(f"tools: a {type(functions).__name__} is no list. Give a list of functions: tools=[add].")
    return tuple(map(as_tool, functions))


def _make_inline_handler(function: Function, signature: ToolSignature) -> ToolHandler:
    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        values = signature.bind(args, ctx)
        try:
            if inspect.isasyncgenfunction(function):
                async with closing(function(**values)) as items:
                    async for item in items:
                        yield item
                return
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

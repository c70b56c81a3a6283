"""`@tool`: a typed Python function becomes a tool, its schema taken from signature and docstring."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import AsyncIterator, Callable
from typing import Any, overload

import pydantic

from rightseat.errors import ConfigError
from rightseat.events import Event
from rightseat.isolate import Isolated
from rightseat.threads import Threads
from rightseat.tools import Asked, Pause, Result, Tool, ToolCall, ToolContext, failure

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
    """Make a tool of a function. `confirm`: a person must say yes first. `isolate`: run it in a child process
    that can be killed. A parameter annotated ToolContext gets the call's context and is not in the schema."""

    def wrap(function: Function) -> Tool:
        signature = Signature(function)
        title = name or function.__name__
        if not NAME.fullmatch(title):
            raise ConfigError(f"Tool name {title!r}: use letters, digits, _ and -, at most 64.")
        return Tool(
            name=title,
            description=description or signature.summary,
            parameters=signature.schema,
            call=_isolated(function, signature) if isolate else _inline(function, signature),
            confirm=confirm,
            timeout=timeout,
            function=function,
        )

    return wrap if function is None else wrap(function)


def as_tool(thing: Tool | Function) -> Tool:
    return thing if isinstance(thing, Tool) else tool(thing)


class Signature:
    """A function's parameters as a pydantic model: the schema going out, the typed values coming in."""

    def __init__(self, function: Function) -> None:
        doc = inspect.getdoc(function) or ""
        self.summary = re.split(r"\n\s*\n|\n\s*(?:Args|Parameters|:param)", doc, maxsplit=1)[0].strip()
        notes = parameter_notes(doc)
        hints = typing.get_type_hints(function, include_extras=True)
        self.context: str | None = None
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise ConfigError(f"Tool {function.__name__}: parameter {parameter} cannot be given by name.")
            hint = hints.get(parameter.name, Any)
            if hint is ToolContext:
                self.context = parameter.name
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            note = notes.get(parameter.name)
            fields[parameter.name] = (hint, pydantic.Field(default, description=note) if note else default)
        self.model = pydantic.create_model(function.__name__, **fields)
        self.schema = without_titles(self.model.model_json_schema())

    def bind(self, args: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        model = self.model.model_validate(args)
        values = {name: getattr(model, name) for name in type(model).model_fields}
        return values if self.context is None else {**values, self.context: ctx}


def parameter_notes(doc: str) -> dict[str, str]:
    """What a docstring says of each parameter, in Google's form (`name: text`) or Sphinx's (`:param`)."""
    notes = dict(re.findall(r"^\s*:param\s+(?:[^:\s]+\s+)?(\w+):\s*(.+)$", doc, re.MULTILINE))
    section = re.search(r"^(?:Args|Arguments|Parameters):\s*\n((?:[ \t]+.*\n?|\n)+)", doc, re.MULTILINE)
    if section:
        notes |= dict(re.findall(r"^[ \t]+(\w+)\s*(?:\([^)]*\))?:\s*(.+)$", section[1], re.MULTILINE))
    return notes


def without_titles(schema: Any) -> Any:
    """Pydantic titles every field after its name; a model pays for each such word and learns nothing."""
    if isinstance(schema, list):
        return [without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs"}
    return {
        key: {name: without_titles(value) for name, value in item.items()}
        if key in named
        else without_titles(item)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str))
    }


def _inline(function: Function, signature: Signature) -> ToolCall:
    if inspect.isasyncgenfunction(function):

        async def streams(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
            async for item in function(**signature.bind(args, ctx)):
                yield item

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


def _isolated(function: Function, signature: Signature) -> ToolCall:
    if signature.context is not None:
        raise ConfigError(
            f"Tool {function.__name__}: an isolated tool runs elsewhere and has no ToolContext."
        )
    child = Isolated(function.__module__, function.__qualname__)

    async def call(args: dict[str, Any], ctx: ToolContext) -> AsyncIterator[Event | Result | Pause]:
        reply = await child.call(args)
        yield failure("tool_failed", reply.error) if reply.error else Result(reply.value)

    return call

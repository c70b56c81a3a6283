"""Plugins as values, and their tools called: what a test says is what the document would."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from rightseat.config.secret import Secret
from rightseat.errors import RightseatError
from rightseat.plugins.http.policy import PluginPolicy
from rightseat.plugins.http.tools import make_operation_tools
from rightseat.plugins.plugin import (
    ApiServer,
    AuthKind,
    Operation,
    OperationResponse,
    Parameter,
    ParameterLocation,
    Plugin,
    PluginAuth,
    RequestBody,
)
from rightseat.types.events import Artifact
from rightseat.types.messages import Message, text_message
from rightseat.types.streams import closing
from rightseat.types.tools import Pause, Result, Tool, ToolContext, error_result
from rightseat.types.turn import Owner, Turn, TurnClient

LOCAL_POLICY = PluginPolicy(allow=("127.0.0.1",), max_retry_wait=0.2)


def make_parameter(name: str, place: ParameterLocation, schema: Any = None, **more: Any) -> Parameter:
    more.setdefault("style", "simple" if place in ("path", "header") else "form")
    more.setdefault("explode", more["style"] == "form")
    more.setdefault("required", place == "path")
    more.setdefault("argument", name)
    return Parameter(name=name, place=place, schema=schema or {}, **more)


def make_operation(
    method: str, path: str, *parameters: Parameter, body: RequestBody | None = None, url: str = "", **more: Any
) -> Operation:
    properties = {one.argument: one.schema for one in parameters}
    required = [one.argument for one in parameters if one.required]
    if body is not None:
        inner = body.schema.get("properties") or {}
        properties |= {key: inner.get(name, {}) for name, key in body.fields.items()}
        required += [body.fields[name] for name in body.schema.get("required") or () if name in body.fields]
        if not body.fields:
            properties[body.argument] = body.schema
            required += [body.argument] if body.required else []
    arguments = {"type": "object", "properties": properties, "required": required}
    more.setdefault("arguments", arguments)
    more.setdefault("name", "act")
    more.setdefault("description", "It acts.")
    servers = more.pop("servers", None) or (ApiServer(url=url),)
    return Operation(
        id=f"{method} {path}", method=method, path=path, parameters=parameters, body=body, servers=servers, **more
    )


def make_object_body(media: str, required: list[str] | None = None, **properties: Any) -> RequestBody:
    schema = {"type": "object", "properties": properties, "required": required or []}
    return RequestBody(media=media, schema=schema, required=True, fields={name: name for name in properties})


def make_response(schema: Any, status: str = "200", media: str = "application/json", **more: Any) -> OperationResponse:
    return OperationResponse(status=status, schema=schema, media=media, **more)


def make_auth(kind: AuthKind, args: dict[str, str] | None = None, **options: Any) -> PluginAuth:
    secrets = {name: Secret(value) for name, value in (args or {}).items()}
    return PluginAuth(kind=kind, args=secrets, options=options)


def make_plugin(*operations: Operation, auth: tuple[PluginAuth, ...] = (), id: str = "shop") -> Plugin:
    return Plugin(id=id, folder=Path("/nowhere"), name="Shop", description="A shop.", auth=auth, operations=operations)


@asynccontextmanager
async def open_tools(loaded: Plugin, policy: PluginPolicy = LOCAL_POLICY) -> AsyncIterator[tuple[Tool, ...]]:
    found = make_operation_tools(loaded, policy)
    try:
        yield found
    finally:
        for one in found:
            assert one.close is not None
            await one.close()


class ToolOutput:
    """What a call yielded."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.last = items[-1]

    @property
    def result(self) -> Result:
        assert isinstance(self.last, Result), self.last
        return self.last

    @property
    def text(self) -> str:
        assert not self.result.failed, self.result
        return self.result.text

    @property
    def error(self) -> dict[str, str]:
        assert self.result.failed, self.result
        found: dict[str, str] = self.result.content["error"]
        return found

    @property
    def pause(self) -> Pause:
        assert isinstance(self.last, Pause), self.last
        return self.last

    @property
    def artifact(self) -> Artifact:
        return next(item for item in self.items if isinstance(item, Artifact))


async def call_tool(
    tool: Tool,
    arguments: dict[str, Any] | None = None,
    *,
    messages: tuple[Message, ...] = (text_message("user", "hi"),),
    headers: dict[str, str] | None = None,
    owner: str = "local",
    after: Pause | None = None,
    answer: Any = None,
    budget: int | None = None,
) -> ToolOutput:
    """One call as Batch makes it; `after` a pause with the answer to it."""
    turn = Turn(messages=messages, client=TurnClient(headers=headers or {}), owner=Owner(owner))
    state, replies = (after.state, (answer,)) if after is not None else (None, ())
    context = ToolContext(turn, "call-1", state, replies, budget=budget)
    assert tool.call is not None
    assert tool.check is not None
    if after is None and (problem := tool.check(arguments or {})):
        return ToolOutput([error_result("invalid_arguments", problem)])
    try:
        async with closing(tool.call(arguments or {}, context)) as items:
            return ToolOutput([item async for item in items])
    except RightseatError as error:
        return ToolOutput([error_result(error.code, error.message)])

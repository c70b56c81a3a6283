"""The GraphQL schema with its resolvers, which take the request from the context."""

from __future__ import annotations

import functools
from typing import Any, Protocol

from graphql import GraphQLError, GraphQLResolveInfo, GraphQLSchema, build_schema
from graphql.type import (
    GraphQLDeferDirective,
    GraphQLInputObjectType,
    GraphQLObjectType,
    GraphQLStreamDirective,
)

from rightseat.doors.copilotkit.failures import extensions
from rightseat.doors.copilotkit.read import no_agent
from rightseat.doors.copilotkit.recall import recalled
from rightseat.doors.copilotkit.sdl import SDL
from rightseat.errors import CallerError, RightseatError
from rightseat.http.endpoint import Host, Request


class Room(Protocol):
    """The part of ExecutionContext that resolvers use."""

    @property
    def host(self) -> Host: ...

    @property
    def request(self) -> Request: ...

    def begin(self, data: dict[str, Any], properties: dict[str, Any] | None) -> dict[str, Any]:
        """Start the run; return the root value of the response."""
        ...


@functools.cache
def schema() -> GraphQLSchema:
    plain = build_schema(SDL)
    options = plain.to_kwargs()
    options["directives"] = (*options["directives"], GraphQLDeferDirective, GraphQLStreamDirective)
    made = GraphQLSchema(**options)
    resolve(made.query_type, "hello", lambda _, info: "Hello World")
    resolve(made.query_type, "availableAgents", available_agents)
    resolve(made.query_type, "loadAgentState", load_agent_state)
    resolve(made.mutation_type, "generateCopilotResponse", generate)
    return made


def input_type() -> GraphQLInputObjectType:
    found = schema().type_map["GenerateCopilotResponseInput"]
    assert isinstance(found, GraphQLInputObjectType)
    return found


def resolve(kind: GraphQLObjectType | None, field: str, resolver: Any) -> None:
    assert kind is not None
    kind.fields[field].resolve = resolver


def generate(
    _: Any, info: GraphQLResolveInfo[Room], data: dict[str, Any], properties: dict[str, Any] | None = None
) -> Any:
    try:
        if not isinstance(properties, dict | None):
            raise CallerError("properties: expected an object.", param="properties")
        return info.context.begin(data, properties)
    except RightseatError as error:
        raise told(error) from error


def available_agents(_: Any, info: GraphQLResolveInfo[Room]) -> Any:
    host = info.context.host
    found = []
    for name in host.responders:
        about = host.described(name)
        words = (about.description or about.title) if about else ""
        found.append({"id": name, "name": name, "description": words})
    return {"agents": found}


async def load_agent_state(_: Any, info: GraphQLResolveInfo[Room], data: dict[str, Any]) -> Any:
    host = info.context.host
    if data["agentName"] not in host.responders:
        error = no_agent(data["agentName"], host)
        raise told(error) from error
    if len(data["threadId"]) > 200:
        long = CallerError("data.threadId: at most 200 characters.", param="data.threadId")
        raise told(long) from long
    try:
        return await recalled(info.context.request.owner, data["threadId"], data["agentName"], host)
    except RightseatError as error:
        raise told(error) from error


def told(error: RightseatError) -> GraphQLError:
    return GraphQLError(error.message, extensions=extensions(error))

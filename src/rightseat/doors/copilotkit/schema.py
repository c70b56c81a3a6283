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

from rightseat.doors.copilotkit.failures import make_extensions
from rightseat.doors.copilotkit.read import make_agent_not_found
from rightseat.doors.copilotkit.recall import make_agent_state_response
from rightseat.doors.copilotkit.sdl import SDL
from rightseat.errors import CallerError, RightseatError
from rightseat.http.endpoint import Host, Request


class ResolverContext(Protocol):
    """The part of ExecutionContext that resolvers use."""

    @property
    def host(self) -> Host: ...

    @property
    def request(self) -> Request: ...

    def begin_run(self, data: dict[str, Any], properties: dict[str, Any] | None) -> dict[str, Any]:
        """Start the run; return the root value of the response."""
        ...


@functools.cache
def get_schema() -> GraphQLSchema:
    base_schema = build_schema(SDL)
    options = base_schema.to_kwargs()
    options["directives"] = (*options["directives"], GraphQLDeferDirective, GraphQLStreamDirective)
    graphql_schema = GraphQLSchema(**options)
    set_resolver(graphql_schema.query_type, "hello", lambda _, info: "Hello World")
    set_resolver(graphql_schema.query_type, "availableAgents", resolve_available_agents)
    set_resolver(graphql_schema.query_type, "loadAgentState", resolve_load_agent_state)
    set_resolver(graphql_schema.mutation_type, "generateCopilotResponse", resolve_generate_response)
    return graphql_schema


def get_input_type() -> GraphQLInputObjectType:
    graphql_type = get_schema().type_map["GenerateCopilotResponseInput"]
    assert isinstance(graphql_type, GraphQLInputObjectType)
    return graphql_type


def set_resolver(kind: GraphQLObjectType | None, field: str, resolver: Any) -> None:
    assert kind is not None
    kind.fields[field].resolve = resolver


def resolve_generate_response(
    _: Any,
    info: GraphQLResolveInfo[ResolverContext],
    data: dict[str, Any],
    properties: dict[str, Any] | None = None,
) -> Any:
    try:
        if not isinstance(properties, dict | None):
            raise CallerError("properties: expected an object.", param="properties")
        return info.context.begin_run(data, properties)
    except RightseatError as error:
        raise to_graphql_error(error) from error


def resolve_available_agents(_: Any, info: GraphQLResolveInfo[ResolverContext]) -> Any:
    host = info.context.host
    agents = []
    for name in host.responders:
        description = host.describe(name)
        summary = (description.description or description.title) if description else ""
        agents.append({"id": name, "name": name, "description": summary})
    return {"agents": agents}


async def resolve_load_agent_state(
    _: Any, info: GraphQLResolveInfo[ResolverContext], data: dict[str, Any]
) -> Any:
    host = info.context.host
    if data["agentName"] not in host.responders:
        error = make_agent_not_found(data["agentName"], host)
        raise to_graphql_error(error) from error
    if len(data["threadId"]) > 200:
        long = CallerError("data.threadId: at most 200 characters.", param="data.threadId")
        raise to_graphql_error(long) from long
    try:
        return await make_agent_state_response(
            info.context.request.owner, data["threadId"], data["agentName"], host
        )
    except RightseatError as error:
        raise to_graphql_error(error) from error


def to_graphql_error(error: RightseatError) -> GraphQLError:
    return GraphQLError(error.message, extensions=make_extensions(error))

"""The GraphQL schema with its resolvers, which take the request from the context."""

from __future__ import annotations

import functools
from typing import Any, Protocol

from graphql import GraphQLError, GraphQLResolveInfo, GraphQLSchema, build_schema
from graphql.type import GraphQLDeferDirective, GraphQLInputObjectType, GraphQLObjectType, GraphQLStreamDirective

from rightseat.doors.copilotkit.failures import make_extensions
from rightseat.doors.copilotkit.read import make_agent_not_found
from rightseat.doors.copilotkit.threads import make_agent_state_response
from rightseat.errors import CallerError, RightseatError
from rightseat.http.endpoint import Host, Request

SCALARS = """
scalar DateTimeISO
scalar JSON @specifiedBy(url: "http://www.ecma-international.org/publications/files/ECMA-ST/ECMA-404.pdf")
scalar JSONObject @specifiedBy(url: "http://www.ecma-international.org/publications/files/ECMA-ST/ECMA-404.pdf")

enum MessageRole { user assistant system tool developer }
enum MessageStatusCode { Pending Success Failed }
enum ResponseStatusCode { Pending Success Failed }
enum FailedResponseStatusReason { GUARDRAILS_VALIDATION_FAILED MESSAGE_STREAM_INTERRUPTED UNKNOWN_ERROR }
enum MetaEventName { LangGraphInterruptEvent CopilotKitLangGraphInterruptEvent }
enum CopilotRequestType { Chat Task TextareaCompletion TextareaPopover Suggestion }
enum ActionInputAvailability { disabled enabled remote }
"""

INPUT_TYPES = """
type Query {
  hello: String!
  availableAgents: AgentsResponse!
  loadAgentState(data: LoadAgentStateInput!): LoadAgentStateResponse!
}
type Mutation {
  generateCopilotResponse(data: GenerateCopilotResponseInput!, properties: JSONObject): CopilotResponse!
}

input LoadAgentStateInput { threadId: String!  agentName: String! }
input GenerateCopilotResponseInput {
  metadata: GenerateCopilotResponseMetadataInput!
  threadId: String
  runId: String
  messages: [MessageInput!]!
  frontend: FrontendInput!
  cloud: CloudInput
  forwardedParameters: ForwardedParametersInput
  agentSession: AgentSessionInput
  agentState: AgentStateInput
  agentStates: [AgentStateInput!]
  extensions: ExtensionsInput
  metaEvents: [MetaEventInput!]
  context: [CopilotContextInput!]
}
input GenerateCopilotResponseMetadataInput { requestType: CopilotRequestType }
input FrontendInput { toDeprecate_fullContext: String  actions: [ActionInput!]!  url: String }
input ActionInput {
  name: String!
  description: String!
  jsonSchema: String!
  available: ActionInputAvailability
}
input CloudInput { guardrails: GuardrailsInput }
input GuardrailsInput { inputValidationRules: GuardrailsRuleInput! }
input GuardrailsRuleInput { allowList: [String!] = []  denyList: [String!] = [] }
input ForwardedParametersInput {
  model: String
  maxTokens: Float
  stop: [String!]
  toolChoice: String
  toolChoiceFunctionName: String
  temperature: Float
}
input AgentSessionInput { agentName: String!  threadId: String  nodeName: String }
input AgentStateInput { agentName: String!  state: String!  config: String }
input ExtensionsInput { openaiAssistantAPI: OpenAIApiAssistantAPIInput }
input OpenAIApiAssistantAPIInput { runId: String  threadId: String }
input MetaEventInput { name: MetaEventName!  value: String!  response: String  messages: [MessageInput!] }
input CopilotContextInput { description: String!  value: String! }

input MessageInput {
  id: String!
  createdAt: DateTimeISO!
  textMessage: TextMessageInput
  actionExecutionMessage: ActionExecutionMessageInput
  resultMessage: ResultMessageInput
  agentStateMessage: AgentStateMessageInput
  imageMessage: ImageMessageInput
}
input TextMessageInput { content: String!  parentMessageId: String  role: MessageRole! }
input ActionExecutionMessageInput {
  name: String!
  arguments: String!
  parentMessageId: String
  scope: String @deprecated(reason: "This field will be removed in a future version")
}
input ResultMessageInput {
  actionExecutionId: String!
  actionName: String!
  parentMessageId: String
  result: String!
}
input AgentStateMessageInput {
  threadId: String!
  agentName: String!
  role: MessageRole!
  state: String!
  running: Boolean!
  nodeName: String!
  runId: String!
  active: Boolean!
}
input ImageMessageInput { format: String!  bytes: String!  parentMessageId: String  role: MessageRole! }
"""

OUTPUT_TYPES = """
type AgentsResponse { agents: [Agent!]! }
type Agent { id: String!  name: String!  description: String! }
type LoadAgentStateResponse { threadId: String!  threadExists: Boolean!  state: String!  messages: String! }

type CopilotResponse {
  threadId: String!
  status: ResponseStatus!
  runId: String
  messages: [BaseMessageOutput!]!
  extensions: ExtensionsResponse
  metaEvents: [BaseMetaEvent!]
}
type ExtensionsResponse { openaiAssistantAPI: OpenAIApiAssistantAPIResponse }
type OpenAIApiAssistantAPIResponse { runId: String  threadId: String }

union ResponseStatus = PendingResponseStatus | SuccessResponseStatus | FailedResponseStatus
interface BaseResponseStatus { code: ResponseStatusCode! }
type PendingResponseStatus implements BaseResponseStatus { code: ResponseStatusCode! }
type SuccessResponseStatus implements BaseResponseStatus { code: ResponseStatusCode! }
type FailedResponseStatus implements BaseResponseStatus {
  code: ResponseStatusCode!
  reason: FailedResponseStatusReason!
  details: JSON
}

union MessageStatus = PendingMessageStatus | SuccessMessageStatus | FailedMessageStatus
type PendingMessageStatus { code: MessageStatusCode! }
type SuccessMessageStatus { code: MessageStatusCode! }
type FailedMessageStatus { code: MessageStatusCode!  reason: String! }

interface BaseMessageOutput { id: String!  createdAt: DateTimeISO!  status: MessageStatus! }
type TextMessageOutput implements BaseMessageOutput {
  id: String!
  createdAt: DateTimeISO!
  status: MessageStatus!
  role: MessageRole!
  content: [String!]!
  parentMessageId: String
}
type ActionExecutionMessageOutput implements BaseMessageOutput {
  id: String!
  createdAt: DateTimeISO!
  status: MessageStatus!
  name: String!
  scope: String @deprecated(reason: "This field will be removed in a future version")
  arguments: [String!]!
  parentMessageId: String
}
type ResultMessageOutput implements BaseMessageOutput {
  id: String!
  createdAt: DateTimeISO!
  status: MessageStatus!
  actionExecutionId: String!
  actionName: String!
  result: String!
}
type AgentStateMessageOutput implements BaseMessageOutput {
  id: String!
  createdAt: DateTimeISO!
  status: MessageStatus!
  threadId: String!
  agentName: String!
  nodeName: String!
  runId: String!
  active: Boolean!
  role: MessageRole!
  state: String!
  running: Boolean!
}
type ImageMessageOutput implements BaseMessageOutput {
  id: String!
  createdAt: DateTimeISO!
  status: MessageStatus!
  format: String!
  bytes: String!
  role: MessageRole!
  parentMessageId: String
}

interface BaseMetaEvent { type: String!  name: MetaEventName! }
type LangGraphInterruptEvent implements BaseMetaEvent {
  type: String!
  name: MetaEventName!
  value: String!
  response: String
}
type CopilotKitLangGraphInterruptEvent implements BaseMetaEvent {
  type: String!
  name: MetaEventName!
  data: CopilotKitLangGraphInterruptEventData!
  response: String
}
type CopilotKitLangGraphInterruptEventData { value: String!  messages: [BaseMessageOutput!]! }
"""

SDL = SCALARS + INPUT_TYPES + OUTPUT_TYPES


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
    _: Any, info: GraphQLResolveInfo[ResolverContext], data: dict[str, Any], properties: dict[str, Any] | None = None
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


async def resolve_load_agent_state(_: Any, info: GraphQLResolveInfo[ResolverContext], data: dict[str, Any]) -> Any:
    host = info.context.host
    if data["agentName"] not in host.responders:
        error = make_agent_not_found(data["agentName"], host)
        raise to_graphql_error(error) from error
    if len(data["threadId"]) > 200:
        long = CallerError("data.threadId: at most 200 characters.", param="data.threadId")
        raise to_graphql_error(long) from long
    try:
        return await make_agent_state_response(info.context.request.owner, data["threadId"], data["agentName"], host)
    except RightseatError as error:
        raise to_graphql_error(error) from error


def to_graphql_error(error: RightseatError) -> GraphQLError:
    return GraphQLError(error.message, extensions=make_extensions(error))

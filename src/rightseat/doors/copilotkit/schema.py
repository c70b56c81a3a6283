"""The GraphQL schema. Its root fields are resolved by RootResolvers, all others by name."""

from __future__ import annotations

import functools

from graphql import GraphQLSchema, build_schema
from graphql.type import GraphQLDeferDirective, GraphQLInputObjectType, GraphQLStreamDirective

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


@functools.cache
def get_schema() -> GraphQLSchema:
    base_schema = build_schema(SDL)
    options = base_schema.to_kwargs()
    options["directives"] = (*options["directives"], GraphQLDeferDirective, GraphQLStreamDirective)
    return GraphQLSchema(**options)


def get_input_type() -> GraphQLInputObjectType:
    graphql_type = get_schema().type_map["GenerateCopilotResponseInput"]
    assert isinstance(graphql_type, GraphQLInputObjectType)
    return graphql_type

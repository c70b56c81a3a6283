"""Input types of the GraphQL operations. Unknown fields are errors, as in GraphQL."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from rightseat.types.messages import MAX_MESSAGES, MAX_TOOLS

Id = Annotated[str, Meta(max_length=200)]
Role = Literal["user", "assistant", "system", "tool", "developer"]
ActionName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.:/-]{1,128}\Z")]
ImageFormat = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9.+-]{1,32}\Z")]
RequestType = Literal["Chat", "Task", "TextareaCompletion", "TextareaPopover", "Suggestion"]


class CopilotKitBody(Struct, rename="camel"):
    """A body of either kind that comes to this URL: a GraphQL request, or a method of the single endpoint."""

    query: str | UnsetType | None = UNSET
    operation_name: str | None = None
    # Undecoded: a ResponsePlan decodes them into Structs.
    variables: Raw = field(default_factory=Raw)
    method: Any = UNSET


class GraphQLInput(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pass


class GenerateCopilotResponseMetadataInput(GraphQLInput):
    request_type: RequestType | None = None


class TextMessageInput(GraphQLInput):
    content: str
    role: Role
    parent_message_id: str | None = None


class ActionExecutionMessageInput(GraphQLInput):
    name: str
    arguments: str
    parent_message_id: str | None = None
    scope: str | None = None


class ResultMessageInput(GraphQLInput):
    action_execution_id: str
    action_name: str
    result: str
    parent_message_id: str | None = None


class AgentStateMessageInput(GraphQLInput):
    thread_id: str
    agent_name: str
    role: Role
    state: str
    running: bool
    node_name: str
    run_id: str
    active: bool


class ImageMessageInput(GraphQLInput):
    format: ImageFormat
    bytes: str
    role: Role
    parent_message_id: str | None = None


class MessageInput(GraphQLInput):
    id: str | None = None
    created_at: str | None = None
    text_message: TextMessageInput | None = None
    action_execution_message: ActionExecutionMessageInput | None = None
    result_message: ResultMessageInput | None = None
    agent_state_message: AgentStateMessageInput | None = None
    image_message: ImageMessageInput | None = None


class ActionInput(GraphQLInput):
    name: ActionName
    description: str
    json_schema: str
    available: Literal["disabled", "enabled", "remote"] | None = None


class FrontendInput(GraphQLInput, rename={"full_context": "toDeprecate_fullContext"}):
    actions: Annotated[list[ActionInput], Meta(max_length=MAX_TOOLS)]
    url: str | None = None
    full_context: str | None = None


class GuardrailsRuleInput(GraphQLInput):
    allow_list: list[str] | None = None
    deny_list: list[str] | None = None


class GuardrailsInput(GraphQLInput):
    input_validation_rules: GuardrailsRuleInput


class CloudInput(GraphQLInput):
    guardrails: GuardrailsInput | None = None


class ForwardedParametersInput(GraphQLInput):
    model: str | None = None
    max_tokens: float | None = None
    stop: list[str] | None = None
    tool_choice: str | None = None
    tool_choice_function_name: str | None = None
    temperature: float | None = None


class AgentSessionInput(GraphQLInput):
    agent_name: str
    thread_id: Id | None = None
    node_name: str | None = None


class AgentStateInput(GraphQLInput):
    agent_name: str
    state: str
    config: str | None = None


class OpenAIAssistantsInput(GraphQLInput, rename={"run_id": "runId", "thread_id": "threadId"}):
    run_id: str | None = None
    thread_id: str | None = None


class ExtensionsInput(GraphQLInput, rename={"assistants": "openaiAssistantAPI"}):
    assistants: OpenAIAssistantsInput | None = None


class MetaEventInput(GraphQLInput):
    name: Literal["LangGraphInterruptEvent", "CopilotKitLangGraphInterruptEvent"]
    value: str
    response: str | None = None
    messages: Annotated[list[MessageInput], Meta(max_length=MAX_MESSAGES)] | None = None


class CopilotContextInput(GraphQLInput):
    description: str
    value: str


class GenerateCopilotResponseInput(GraphQLInput):
    metadata: GenerateCopilotResponseMetadataInput
    messages: Annotated[list[MessageInput], Meta(max_length=MAX_MESSAGES)]
    frontend: FrontendInput
    thread_id: Id | None = None
    run_id: Id | None = None
    cloud: CloudInput | None = None
    forwarded_parameters: ForwardedParametersInput | None = None
    agent_session: AgentSessionInput | None = None
    agent_state: AgentStateInput | None = None
    agent_states: list[AgentStateInput] | None = None
    extensions: ExtensionsInput | None = None
    meta_events: list[MetaEventInput] | None = None
    context: Annotated[list[CopilotContextInput], Meta(max_length=MAX_TOOLS)] | None = None

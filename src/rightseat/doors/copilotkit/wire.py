"""Input types of the GraphQL operations. Unknown fields are errors, as in GraphQL."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

Id = Annotated[str, Meta(max_length=200)]
Role = Literal["user", "assistant", "system", "tool", "developer"]
ActionName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.:/-]{1,128}\Z")]
Format = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9.+-]{1,32}\Z")]
RequestType = Literal["Chat", "Task", "TextareaCompletion", "TextareaPopover", "Suggestion"]


class Posted(Struct, rename="camel"):
    """A body of either kind that comes to this URL: a GraphQL request, or a method of the single endpoint."""

    query: str | UnsetType | None = UNSET
    operation_name: str | None = None
    # Undecoded: a ResponsePlan decodes them into Structs.
    variables: Raw = field(default_factory=Raw)
    method: Any = UNSET


class Wire(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pass


class Metadata(Wire):
    request_type: RequestType | None = None


class SaidText(Wire):
    content: str
    role: Role
    parent_message_id: str | None = None


class SaidCall(Wire):
    name: str
    arguments: str
    parent_message_id: str | None = None
    scope: str | None = None


class SaidResult(Wire):
    action_execution_id: str
    action_name: str
    result: str
    parent_message_id: str | None = None


class SaidState(Wire):
    thread_id: str
    agent_name: str
    role: Role
    state: str
    running: bool
    node_name: str
    run_id: str
    active: bool


class SaidImage(Wire):
    format: Format
    bytes: str
    role: Role
    parent_message_id: str | None = None


class WireMessage(Wire):
    id: str
    created_at: str
    text_message: SaidText | None = None
    action_execution_message: SaidCall | None = None
    result_message: SaidResult | None = None
    agent_state_message: SaidState | None = None
    image_message: SaidImage | None = None


class Action(Wire):
    name: ActionName
    description: str
    json_schema: str
    available: Literal["disabled", "enabled", "remote"] | None = None


class Frontend(Wire, rename={"full_context": "toDeprecate_fullContext"}):
    actions: list[Action]
    url: str | None = None
    full_context: str | None = None


class Rules(Wire):
    allow_list: list[str] | None = None
    deny_list: list[str] | None = None


class Guardrails(Wire):
    input_validation_rules: Rules


class Cloud(Wire):
    guardrails: Guardrails | None = None


class Parameters(Wire):
    model: str | None = None
    max_tokens: float | None = None
    stop: list[str] | None = None
    tool_choice: str | None = None
    tool_choice_function_name: str | None = None
    temperature: float | None = None


class Session(Wire):
    agent_name: str
    thread_id: Id | None = None
    node_name: str | None = None


class AgentState(Wire):
    agent_name: str
    state: str
    config: str | None = None


class Assistants(Wire, rename={"run_id": "runId", "thread_id": "threadId"}):
    run_id: str | None = None
    thread_id: str | None = None


class Extensions(Wire, rename={"assistants": "openaiAssistantAPI"}):
    assistants: Assistants | None = None


class MetaEvent(Wire):
    name: Literal["LangGraphInterruptEvent", "CopilotKitLangGraphInterruptEvent"]
    value: str
    response: str | None = None
    messages: list[WireMessage] | None = None


class Context(Wire):
    description: str
    value: str


class Data(Wire):
    metadata: Metadata
    messages: list[WireMessage]
    frontend: Frontend
    thread_id: Id | None = None
    run_id: Id | None = None
    cloud: Cloud | None = None
    forwarded_parameters: Parameters | None = None
    agent_session: Session | None = None
    agent_state: AgentState | None = None
    agent_states: list[AgentState] | None = None
    extensions: Extensions | None = None
    meta_events: list[MetaEvent] | None = None
    context: list[Context] | None = None

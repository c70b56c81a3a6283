"""The names of CopilotKit's runtime, for those who write to its description: each stands on a part of rightseat.

`runtime` has CopilotRuntime, `adapters` the service adapters, `event_source` what an adapter emits its events to,
`chat_request` what an adapter is asked, `endpoints` the remote endpoints, and `errors` the errors.
"""

from rightseat.copilotkit.adapters import (
    AnthropicAdapter,
    CopilotServiceAdapter,
    EmptyAdapter,
    GoogleAdapter,
    LangChainAdapter,
    ModelAdapter,
    OpenAIAdapter,
)
from rightseat.copilotkit.chat_request import (
    ActionExecutionMessage,
    CopilotRuntimeRequest,
    CopilotRuntimeResponse,
    ImageMessage,
    MessageRole,
    ResultMessage,
    TextMessage,
)
from rightseat.copilotkit.endpoints import CopilotKitEndpoint, EndpointType, LangGraphPlatformEndpoint
from rightseat.copilotkit.errors import (
    CopilotKitAgentDiscoveryError,
    CopilotKitApiDiscoveryError,
    CopilotKitError,
    CopilotKitLowLevelError,
    CopilotKitMisuseError,
)
from rightseat.copilotkit.event_source import RuntimeEventSource, RuntimeEventStream
from rightseat.copilotkit.runtime import CopilotRuntime
from rightseat.doors.copilotkit.runtime_events import (
    ActionExecutionArgs,
    ActionExecutionEnd,
    ActionExecutionResult,
    ActionExecutionStart,
    AgentStateMessage,
    MetaEvent,
    RuntimeEvent,
    RuntimeEventTypes,
    TextMessageContent,
    TextMessageEnd,
    TextMessageStart,
)
from rightseat.doors.copilotkit.wire import (
    ActionExecutionMessageInput,
    ActionInput,
    AgentSessionInput,
    AgentStateInput,
    AgentStateMessageInput,
    CloudInput,
    ExtensionsInput,
    ForwardedParametersInput,
    FrontendInput,
    GenerateCopilotResponseInput,
    GenerateCopilotResponseMetadataInput,
    ImageMessageInput,
    MessageInput,
    MetaEventInput,
    ResultMessageInput,
    TextMessageInput,
)

# The longer names of the TypeScript runtime.
CopilotRuntimeChatCompletionRequest = CopilotRuntimeRequest
CopilotRuntimeChatCompletionResponse = CopilotRuntimeResponse

__all__ = [
    "ActionExecutionArgs",
    "ActionExecutionEnd",
    "ActionExecutionMessage",
    "ActionExecutionMessageInput",
    "ActionExecutionResult",
    "ActionExecutionStart",
    "ActionInput",
    "AgentSessionInput",
    "AgentStateInput",
    "AgentStateMessage",
    "AgentStateMessageInput",
    "AnthropicAdapter",
    "CloudInput",
    "CopilotKitAgentDiscoveryError",
    "CopilotKitApiDiscoveryError",
    "CopilotKitEndpoint",
    "CopilotKitError",
    "CopilotKitLowLevelError",
    "CopilotKitMisuseError",
    "CopilotRuntime",
    "CopilotRuntimeChatCompletionRequest",
    "CopilotRuntimeChatCompletionResponse",
    "CopilotRuntimeRequest",
    "CopilotRuntimeResponse",
    "CopilotServiceAdapter",
    "EmptyAdapter",
    "EndpointType",
    "ExtensionsInput",
    "ForwardedParametersInput",
    "FrontendInput",
    "GenerateCopilotResponseInput",
    "GenerateCopilotResponseMetadataInput",
    "GoogleAdapter",
    "ImageMessage",
    "ImageMessageInput",
    "LangChainAdapter",
    "LangGraphPlatformEndpoint",
    "MessageInput",
    "MessageRole",
    "MetaEvent",
    "MetaEventInput",
    "ModelAdapter",
    "OpenAIAdapter",
    "ResultMessage",
    "ResultMessageInput",
    "RuntimeEvent",
    "RuntimeEventSource",
    "RuntimeEventStream",
    "RuntimeEventTypes",
    "TextMessage",
    "TextMessageContent",
    "TextMessageEnd",
    "TextMessageInput",
    "TextMessageStart",
]

"""Request shapes of the OpenAI API. Unknown fields are ignored; a wrong type is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

# An identifier that the client chooses.
ClientKey = Annotated[str, Meta(max_length=256)]
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class TextPart(Struct, tag="text"):
    text: str


class RefusalPart(Struct, tag="refusal"):
    refusal: str


class ImageUrl(Struct):
    url: str
    detail: str | None = None


class ImagePart(Struct, tag="image_url"):
    image_url: ImageUrl


class FileRef(Struct):
    file_data: str | None = None
    file_id: str | None = None
    filename: str | None = None


class FilePart(Struct, tag="file"):
    file: FileRef


ContentPart = TextPart | RefusalPart | ImagePart | FilePart


class ChatFunctionCall(Struct):
    name: str
    arguments: str = ""


class ChatToolCall(Struct):
    id: str
    function: ChatFunctionCall


class ChatMessage(Struct):
    role: Role
    content: str | list[ContentPart] | None = None
    name: str | None = None
    tool_calls: list[ChatToolCall] | None = None
    tool_call_id: str | None = None
    function_call: ChatFunctionCall | None = None


class ChatFunction(Struct):
    name: Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.:/-]{1,128}\Z")]
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(Struct):
    type: Literal["function"]
    function: ChatFunction


class FunctionName(Struct):
    name: str


class NamedToolChoice(Struct):
    type: Literal["function"]
    function: FunctionName


class StreamOptions(Struct):
    include_usage: bool | None = None


class JsonSchema(Struct):
    schema: dict[str, Any]
    name: str = "answer"
    strict: bool | None = None
    description: str | None = None


class TextFormat(Struct, tag="text"):
    pass


class JsonObjectFormat(Struct, tag="json_object"):
    pass


class JsonSchemaFormat(Struct, tag="json_schema"):
    json_schema: JsonSchema


ResponseFormat = TextFormat | JsonObjectFormat | JsonSchemaFormat


class ChatRequest(Struct, kw_only=True):
    messages: list[ChatMessage]
    """May be empty where a flow or plugin has a question of its own."""
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: list[ToolDefinition] | None = None
    tool_choice: Literal["auto", "none", "required"] | NamedToolChoice | None = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    n: Annotated[int, Meta(ge=1, le=8)] | None = None
    # Forwarded to the upstream unchanged, where they are set.
    logprobs: bool | UnsetType | None = UNSET
    top_logprobs: int | UnsetType | None = UNSET
    frequency_penalty: float | UnsetType | None = UNSET
    presence_penalty: float | UnsetType | None = UNSET
    logit_bias: dict[str, int | float] | UnsetType | None = UNSET
    reasoning_effort: str | UnsetType | None = UNSET
    response_format: ResponseFormat | UnsetType | None = UNSET
    functions: list[Any] | None = None
    user: str | UnsetType | None = UNSET
    prompt_cache_key: ClientKey | UnsetType | None = UNSET
    # Extensions of ours: the conversation's id, and the conversation it was forked from.
    session_id: ClientKey | None = None
    parent_session_id: ClientKey | None = None
    # Limits server tools to these plugins; the request's own tools stay.
    plugins: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=100)] | None = None


PASSTHROUGH_FIELDS = (
    "logprobs",
    "top_logprobs",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "reasoning_effort",
    "user",
    "prompt_cache_key",
)


class CompletionRequest(Struct, kw_only=True):
    """The older form: a text to go on with, or its tokens. A chat model takes it as a user message."""

    prompt: str | Annotated[list[str | int | list[int]], Meta(min_length=1)]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    frequency_penalty: float | UnsetType | None = UNSET
    presence_penalty: float | UnsetType | None = UNSET
    user: str | UnsetType | None = UNSET
    n: Literal[1] | None = None
    best_of: Literal[1] | None = None
    echo: bool | None = None
    suffix: Literal[""] | None = None
    logprobs: Annotated[int, Meta(ge=0, le=5)] | None = None
    logit_bias: dict[str, int | float] | UnsetType | None = UNSET
    grammar: Annotated[str, Meta(max_length=1 << 20)] | None = None
    """Extension of ours: a GBNF grammar for the output."""


class EmbeddingRequest(Struct, kw_only=True):
    input: str | list[str | int | list[int]]
    model: str | None = None
    dimensions: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    encoding_format: Literal["float", "base64"] | UnsetType = UNSET
    user: str | UnsetType = UNSET

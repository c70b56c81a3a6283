"""Request shapes of the OpenAI API. Unknown fields are ignored; a wrong type is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from rightseat.types.messages import MAX_MESSAGES, MAX_TOOLS

# An identifier that the client chooses.
ClientKey = Annotated[str, Meta(max_length=256)]
# -1 is llama-server's word for no limit.
TokenLimit = Annotated[int, Meta(ge=-1)]
StopText = Annotated[str, Meta(max_length=1000)]
# False bans a token.
LogitBias = int | float | bool
Role = Literal["system", "developer", "user", "assistant", "tool", "function"]


class TextPart(Struct, tag="text"):
    text: str


class InputTextPart(Struct, tag="input_text"):
    """Text as the responses API names it; some clients send it here too."""

    text: str


class OutputTextPart(Struct, tag="output_text"):
    text: str


class RefusalPart(Struct, tag="refusal"):
    refusal: str


class ImageUrl(Struct):
    url: str
    detail: str | None = None


class ImagePart(Struct, tag="image_url"):
    image_url: ImageUrl | str


class FileRef(Struct):
    file_data: str | None = None
    file_id: str | None = None
    filename: str | None = None


class FilePart(Struct, tag="file"):
    file: FileRef


class AudioData(Struct):
    data: str
    format: str = "wav"


class AudioPart(Struct, tag="input_audio"):
    input_audio: AudioData


class ThinkingPart(Struct, tag="thinking"):
    """A thought in Anthropic's shape."""

    thinking: str = ""


class RedactedThinkingPart(Struct, tag="redacted_thinking"):
    pass


class ReasoningPart(Struct, tag="reasoning"):
    text: str | None = None
    reasoning: str | None = None


ThoughtPart = ThinkingPart | RedactedThinkingPart | ReasoningPart
ContentPart = TextPart | InputTextPart | OutputTextPart | RefusalPart | ImagePart | FilePart | AudioPart | ThoughtPart


class ChatFunctionCall(Struct):
    name: str
    arguments: str | dict[str, Any] | None = None


class ChatCustomCall(Struct):
    name: str
    input: str = ""


class ChatToolCall(Struct):
    """A call: of a function, or of a custom tool."""

    id: str | None = None
    function: ChatFunctionCall | None = None
    custom: ChatCustomCall | None = None


class ChatMessage(Struct):
    role: Role
    content: str | list[str | ContentPart] | None = None
    name: str | None = None
    tool_calls: list[ChatToolCall] | None = None
    tool_call_id: str | None = None
    function_call: ChatFunctionCall | None = None
    refusal: str | None = None
    # The thoughts of an assistant message: a text, at some servers an object that only they read.
    reasoning_content: Any = None
    reasoning: Any = None
    thinking: Any = None


ToolName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_.:/-]{1,128}\Z")]


class ChatFunction(Struct):
    name: ToolName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class ToolDefinition(Struct, tag="function"):
    function: ChatFunction


class CustomGrammar(Struct):
    definition: str
    syntax: Literal["lark", "regex"]


class GrammarFormat(Struct, tag="grammar"):
    grammar: CustomGrammar


class TextFormat(Struct, tag="text"):
    pass


class CustomTool(Struct):
    name: ToolName
    description: str | None = None
    format: TextFormat | GrammarFormat | None = None


class CustomToolDefinition(Struct, tag="custom"):
    """A tool that takes one text."""

    custom: CustomTool


class FunctionName(Struct):
    name: str


class NamedToolChoice(Struct, tag="function"):
    function: FunctionName


class CustomToolChoice(Struct, tag="custom"):
    custom: FunctionName


class AllowedTool(Struct):
    """A tool's name, by chat completions in `function` or `custom`, by the responses API beside `type`."""

    name: str | None = None
    function: FunctionName | None = None
    custom: FunctionName | None = None


class AllowedTools(Struct):
    mode: Literal["auto", "required"]
    tools: list[AllowedTool]


class AllowedToolsChoice(Struct, tag="allowed_tools"):
    allowed_tools: AllowedTools | None = None
    # By the responses API the same two fields without a level between.
    mode: Literal["auto", "required"] = "auto"
    tools: list[AllowedTool] = []


SelectedTools = NamedToolChoice | CustomToolChoice | AllowedToolsChoice


class StreamOptions(Struct):
    include_usage: bool | None = None


class JsonSchema(Struct):
    schema: dict[str, Any]
    name: str = "answer"
    strict: bool | None = None
    description: str | None = None


class JsonObjectFormat(Struct, tag="json_object"):
    schema: dict[str, Any] | None = None
    """llama-server's extension."""


class JsonSchemaFormat(Struct, tag="json_schema"):
    json_schema: JsonSchema


ResponseFormat = TextFormat | JsonObjectFormat | JsonSchemaFormat


class LoraScale(Struct):
    id: int
    scale: float


class SamplingFields(Struct, kw_only=True):
    """Settings of chat and completion requests; the model says which of them it takes. `fields.py` has them all."""

    frequency_penalty: float | UnsetType | None = UNSET
    presence_penalty: float | UnsetType | None = UNSET
    logit_bias: dict[str, LogitBias] | list[tuple[int | str, LogitBias]] | UnsetType | None = UNSET
    user: str | UnsetType | None = UNSET
    # llama-server's
    n_predict: int | UnsetType | None = UNSET
    n_probs: Annotated[int, Meta(ge=0)] | UnsetType | None = UNSET
    n_cmpl: Annotated[int, Meta(ge=1, le=8)] | UnsetType | None = UNSET
    grammar: Annotated[str, Meta(max_length=1 << 20)] | UnsetType | None = UNSET
    json_schema: dict[str, Any] | UnsetType | None = UNSET
    top_k: int | UnsetType | None = UNSET
    min_p: float | UnsetType | None = UNSET
    typical_p: float | UnsetType | None = UNSET
    typ_p: float | UnsetType | None = UNSET
    top_n_sigma: float | UnsetType | None = UNSET
    xtc_probability: float | UnsetType | None = UNSET
    xtc_threshold: float | UnsetType | None = UNSET
    dynatemp_range: float | UnsetType | None = UNSET
    dynatemp_exponent: float | UnsetType | None = UNSET
    repeat_penalty: float | UnsetType | None = UNSET
    repeat_last_n: int | UnsetType | None = UNSET
    dry_multiplier: float | UnsetType | None = UNSET
    dry_base: float | UnsetType | None = UNSET
    dry_allowed_length: int | UnsetType | None = UNSET
    dry_penalty_last_n: int | UnsetType | None = UNSET
    dry_sequence_breakers: list[str] | UnsetType | None = UNSET
    mirostat: Literal[0, 1, 2] | UnsetType | None = UNSET
    mirostat_tau: float | UnsetType | None = UNSET
    mirostat_eta: float | UnsetType | None = UNSET
    adaptive_target: float | UnsetType | None = UNSET
    adaptive_decay: float | UnsetType | None = UNSET
    samplers: list[str] | str | UnsetType | None = UNSET
    min_keep: int | UnsetType | None = UNSET
    ignore_eos: bool | UnsetType | None = UNSET
    cache_prompt: bool | UnsetType | None = UNSET
    lora: list[LoraScale] | UnsetType | None = UNSET
    n_keep: int | UnsetType | None = UNSET
    n_discard: int | UnsetType | None = UNSET
    n_indent: int | UnsetType | None = UNSET
    n_cache_reuse: int | UnsetType | None = UNSET
    t_max_predict_ms: int | UnsetType | None = UNSET
    backend_sampling: bool | UnsetType | None = UNSET


class ChatRequest(SamplingFields, kw_only=True):
    messages: Annotated[list[ChatMessage], Meta(max_length=MAX_MESSAGES)]
    """May be empty where a flow or plugin has a question of its own."""
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Annotated[list[ToolDefinition | CustomToolDefinition], Meta(max_length=MAX_TOOLS)] | None = None
    tool_choice: Literal["auto", "none", "required"] | SelectedTools | None = None
    # The function API of 2023.
    functions: Annotated[list[ChatFunction], Meta(max_length=MAX_TOOLS)] | None = None
    function_call: Literal["auto", "none"] | FunctionName | None = None
    parallel_tool_calls: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: TokenLimit | None = None
    max_completion_tokens: TokenLimit | None = None
    stop: StopText | Annotated[list[StopText], Meta(max_length=64)] | None = None
    seed: int | None = None
    n: Annotated[int, Meta(ge=1, le=8)] | None = None
    logprobs: bool | UnsetType | None = UNSET
    top_logprobs: int | UnsetType | None = UNSET
    reasoning_effort: str | UnsetType | None = UNSET
    # How much a model thinks, in the words of llama-server, Qwen, DeepSeek and OpenRouter; models check the values.
    chat_template_kwargs: Any = UNSET
    enable_thinking: Any = UNSET
    thinking: Any = UNSET
    reasoning: Any = UNSET
    thinking_budget_tokens: Any = UNSET
    reasoning_budget_tokens: Any = UNSET
    verbosity: str | UnsetType | None = UNSET
    prediction: dict[str, Any] | UnsetType | None = UNSET
    service_tier: str | UnsetType | None = UNSET
    safety_identifier: str | UnsetType | None = UNSET
    web_search_options: dict[str, Any] | UnsetType | None = UNSET
    prompt_cache_key: ClientKey | UnsetType | None = UNSET
    prompt_cache_options: dict[str, Any] | UnsetType | None = UNSET
    prompt_cache_retention: str | UnsetType | None = UNSET
    continue_final_message: bool | str | UnsetType | None = UNSET
    add_generation_prompt: bool | None = None
    response_format: ResponseFormat | UnsetType | None = UNSET
    # Extensions of ours: the conversation's id, and the conversation it was forked from.
    session_id: ClientKey | None = None
    parent_session_id: ClientKey | None = None
    # Limits server tools to these plugins; the request's own tools stay.
    plugins: Annotated[list[Annotated[str, Meta(max_length=200)]], Meta(max_length=100)] | None = None
    # As in OpenAI's Responses API: "disabled" refuses a conversation that does not fit the model.
    truncation: Literal["auto", "disabled"] | None = None


class CompletionRequest(SamplingFields, kw_only=True):
    """The older form: a text to go on with, or its tokens. A chat model takes it as a user message."""

    prompt: str | Annotated[list[str | int | list[int]], Meta(min_length=1)]
    model: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_tokens: TokenLimit | None = None
    stop: StopText | Annotated[list[StopText], Meta(max_length=64)] | None = None
    seed: int | None = None
    n: Annotated[int, Meta(ge=1, le=8)] | None = None
    echo: bool | None = None
    suffix: str | None = None
    logprobs: Annotated[int, Meta(ge=0, le=5)] | None = None


class EmbeddingRequest(Struct, kw_only=True):
    input: str | list[str | int | list[int]]
    model: str | None = None
    dimensions: Annotated[int, Meta(ge=1)] | UnsetType | None = UNSET
    encoding_format: Literal["float", "base64"] | UnsetType | None = UNSET
    user: str | UnsetType | None = UNSET
    embd_normalize: int | UnsetType | None = UNSET
    """llama-server's."""

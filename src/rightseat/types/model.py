"""The Model protocol and the Prompt that it takes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from rightseat.types.chunks import ModelChunk
from rightseat.types.messages import ImageMessagePart, Message


class ToolSpec(Struct, frozen=True):
    """Name, description and JSON Schema of a tool, as sent to a model."""

    name: str
    description: str
    parameters: dict[str, Any]
    strict: bool = False
    """Whether the client asks the vendor to enforce the schema."""


class ToolChoice(Struct, frozen=True):
    mode: Literal["auto", "none", "required", "named"] = "auto"
    name: str | None = None


class SamplingSettings(Struct, frozen=True, kw_only=True):
    """Sampling options of the caller. None means not set; 0 and False are values.

    `extra` holds further fields for OpenAI-compatible upstreams; other models ignore them.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    parallel_calls: bool | None = None
    extra: dict[str, Any] = {}


class RawPrompt(Struct, frozen=True):
    """Text or tokens to continue without a chat template: for models with `completes`."""

    text: str | tuple[int, ...]
    grammar: str = ""
    """GBNF grammar of the output."""
    logprobs: int | None = None
    """Number of alternatives reported for each token; None: no probabilities."""
    echo: bool = False


class Prompt(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    output_schema: dict[str, Any] | None = None
    settings: SamplingSettings = SamplingSettings()
    conversation: str | None = None
    parent: str | None = None
    """Id of the conversation that this one was forked from."""
    raw: RawPrompt | None = None
    """Replaces all other fields except `settings`."""

    @property
    def callable_tools(self) -> tuple[ToolSpec, ...]:
        """Tools that `tool_choice` allows: none, the named one, or all."""
        choice = self.tool_choice
        if choice.mode == "none":
            return ()
        return tuple(tool for tool in self.tools if choice.mode != "named" or tool.name == choice.name)

    @property
    def requires_tool_call(self) -> bool:
        """Whether the model has to call a tool."""
        return self.tool_choice.mode in ("required", "named") and bool(self.callable_tools)


class Model(Protocol):
    """Streams the answer to one prompt. Closing the iterator must cancel the work behind it."""

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]: ...


class Capabilities(Struct, frozen=True, kw_only=True):
    """Capabilities of a model. `context` is None where it is unknown."""

    tools: bool = True
    parallel: bool = True
    """Several tool calls in one answer."""
    schema: bool = True
    """The model itself enforces an output schema."""
    images: bool = False
    reasoning: bool = False
    context: int | None = None


THOUSAND = 1000
_TEXT = Capabilities(schema=False)
_VISION = Capabilities(images=True)
_VISION_REASONING = Capabilities(images=True, reasoning=True)
_NO_TOOLS = Capabilities(tools=False, parallel=False, schema=False)

_OPENAI = (
    (r"gpt-4\.1", replace(_VISION, context=1047 * THOUSAND)),
    (r"(gpt|chatgpt)-4o.*(audio|realtime|transcribe|tts)", replace(_VISION, images=False, context=128 * THOUSAND)),
    (r"gpt-4o-mini-search|gpt-4o-search", replace(_NO_TOOLS, schema=True, context=128 * THOUSAND)),
    (r"chatgpt-4o", replace(_NO_TOOLS, images=True, context=128 * THOUSAND)),
    (r"gpt-4o", replace(_VISION, context=128 * THOUSAND)),
    (r"gpt-4-turbo", replace(_VISION, schema=False, context=128 * THOUSAND)),
    (r"gpt-4-(0125|1106)-preview", replace(_TEXT, context=128 * THOUSAND)),
    (r"gpt-4-vision", replace(_NO_TOOLS, images=True, context=128 * THOUSAND)),
    (r"gpt-audio", replace(_TEXT, context=128 * THOUSAND)),
    (r"gpt-4-32k", replace(_TEXT, context=32 * THOUSAND)),
    (r"gpt-4", replace(_TEXT, context=8 * THOUSAND)),
    (r"gpt-3\.5-turbo-instruct", replace(_NO_TOOLS, context=4 * THOUSAND)),
    (r"gpt-3\.5", replace(_TEXT, context=16 * THOUSAND)),
    (r"gpt-5.*-chat", replace(_VISION, context=128 * THOUSAND)),
    (r"gpt-5(\.[1-3])?(?!\.)", replace(_VISION_REASONING, context=400 * THOUSAND)),
    (r"gpt-\d", _VISION_REASONING),
    (r"o1-(mini|preview)", replace(_NO_TOOLS, reasoning=True, context=128 * THOUSAND)),
    (r"o3-mini", Capabilities(parallel=False, reasoning=True, context=200 * THOUSAND)),
    (r"o[1-9]", replace(_VISION_REASONING, parallel=False, context=200 * THOUSAND)),
    (r"codex", replace(_VISION_REASONING, context=200 * THOUSAND)),
    (r"gpt-oss", Capabilities(reasoning=True, context=131 * THOUSAND)),
)

# Open-weight families, served by an OpenAI-compatible server, Ollama or llama.cpp.
_OPEN_WEIGHTS = (
    (r"gpt-oss", Capabilities(reasoning=True, context=131 * THOUSAND)),
    (r"deepseek-(r1|reasoner)", Capabilities(schema=False, reasoning=True)),
    (r"qwq", Capabilities(reasoning=True)),
    (r"magistral", _VISION_REASONING),
    (r"qwen.*(vl|omni)|llava|pixtral|gemma-?3|llama-?4|llama-?3\.2-(11b|90b)|minicpm-v|internvl", _VISION),
    (r"qwen-?3(?!\.\d)", Capabilities(reasoning=True)),
)

_CLAUDE = (
    (r"claude-(2|instant)", replace(_NO_TOOLS, context=100 * THOUSAND)),
    (r"claude-3-haiku|claude-3-sonnet|claude-3-opus", replace(_VISION, schema=False, context=200 * THOUSAND)),
    (r"claude-3-5", replace(_VISION, schema=False, context=200 * THOUSAND)),
    (r"claude-3-7", replace(_VISION_REASONING, schema=False, context=200 * THOUSAND)),
    (r"claude-(opus|sonnet)-4-(0|2025)", replace(_VISION_REASONING, schema=False, context=200 * THOUSAND)),
    (r"claude-(opus|sonnet|haiku)-4-[1-5]", replace(_VISION_REASONING, context=200 * THOUSAND)),
    (r"claude", _VISION_REASONING),
)

_GEMINI = (
    (r"gemini-1\.0|gemini-pro$", replace(_TEXT, context=32 * THOUSAND)),
    (r"gemini-1\.5-pro", replace(_VISION, context=2097 * THOUSAND)),
    (r"gemini-(1\.5|2\.0)-flash-lite", replace(_VISION, context=1048 * THOUSAND)),
    (r"gemini-2\.0.*thinking", replace(_VISION_REASONING, tools=False, parallel=False, context=1048 * THOUSAND)),
    (r"gemini.*(-image|-tts|-transcribe)", replace(_NO_TOOLS, images=True, context=32 * THOUSAND)),
    (r"gemini-(1\.5|2\.0)", replace(_VISION, context=1048 * THOUSAND)),
    (r"gemini-[23]", replace(_VISION_REASONING, context=1048 * THOUSAND)),
    (r"gemini", _VISION_REASONING),
    (r"gemma", replace(_NO_TOOLS, images=True, context=128 * THOUSAND)),
)

_FAMILIES: dict[str, tuple[tuple[tuple[str, Capabilities], ...], Capabilities]] = {
    "openai": (_OPENAI, _VISION),
    "azure": (_OPENAI, _VISION),
    "compatible": (_OPEN_WEIGHTS, _VISION),
    "anthropic": (_CLAUDE, _VISION_REASONING),
    "google": (_GEMINI, _VISION_REASONING),
    "langchain": ((*_OPENAI, *_CLAUDE, *_GEMINI, *_OPEN_WEIGHTS), replace(_VISION, schema=False)),
    "local": (_OPEN_WEIGHTS, Capabilities()),
    "empty": ((), _VISION),
}
"""Provider → its families and the default for other names. `compatible` is any OpenAI-compatible server that
is not OpenAI's. Defaults allow images: the upstream refuses them if need be."""


CAPABILITY_KEYS = Capabilities.__struct_fields__


def lookup_capabilities(provider: str, name: str) -> Capabilities:
    """Return the capabilities of a model; a fine-tune has those of its base model."""
    return find_listed_capabilities(provider, name) or _FAMILIES.get(provider, ((), Capabilities()))[1]


def find_listed_capabilities(provider: str, name: str) -> Capabilities | None:
    """Return the table entry of a model's family; None where `lookup_capabilities` uses the default."""
    base_name = base_model_name(name)
    families = _FAMILIES.get(provider, ((), None))[0]
    return next((capabilities for pattern, capabilities in families if re.match(pattern, base_name)), None)


def base_model_name(name: str) -> str:
    """Strip the folder, the vendor and the `ft:` prefix from a model's name."""
    return name.lower().removeprefix("ft:").rsplit("/", 1)[-1]


def override_capabilities(capabilities: Capabilities, options: Mapping[str, Any]) -> Capabilities:
    """Return the capabilities with the values of a model's options over them."""
    return replace(capabilities, **{key: options[key] for key in CAPABILITY_KEYS if options.get(key) is not None})


def capabilities_of(model: Any) -> Capabilities:
    """Return the capabilities that a model declares, else the defaults."""
    capabilities = getattr(model, "capabilities", None)
    return (
        capabilities
        if isinstance(capabilities, Capabilities)
        else Capabilities(images=bool(getattr(model, "images", True)))
    )


def supports_images(model: Any) -> bool:
    """Whether a model is known to take images."""
    images = getattr(model, "images", None)
    if images is None:
        capabilities = getattr(model, "capabilities", None)
        images = isinstance(capabilities, Capabilities) and capabilities.images
    return bool(images)


class BoundModel(Struct, frozen=True):
    """Model of an assistant. `context` is the configured window, else that of the table."""

    model: Model
    context: int | None = None
    capabilities: Capabilities = Capabilities()

    @classmethod
    def from_model(cls, model: Model, context: int | None = None) -> BoundModel:
        capabilities = capabilities_of(model)
        return cls(model, context or capabilities.context, capabilities)


def has_images(prompt: Prompt) -> bool:
    return any(type(part) is ImageMessagePart for message in prompt.messages for part in message.parts)

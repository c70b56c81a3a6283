"""Model, its Capabilities, wrappers of models, and the Prompt that a model takes."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast, runtime_checkable
from weakref import WeakValueDictionary

from msgspec import Struct

from rightseat.errors import ConfigError
from rightseat.types.chunks import ModelChunk
from rightseat.types.events import Usage
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, MessagePart


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
    allowed: tuple[str, ...] = ()
    """Names of the tools that may be called, where it is not all."""


class SamplingSettings(Struct, frozen=True, kw_only=True):
    """Sampling options of the caller. None means not set; 0 and False are values.

    `extra` holds further settings by name. `Capabilities.settings` says which of all these a model takes;
    `types/settings.py` refuses the others.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    parallel_calls: bool | None = None
    extra: dict[str, Any] = {}


# The settings of a model that declares none: those that most chat APIs have.
COMMON_SETTINGS = frozenset(
    {"temperature", "top_p", "max_tokens", "stop", "seed", "parallel_tool_calls"}
    | {"frequency_penalty", "presence_penalty", "logprobs", "top_logprobs", "logit_bias", "reasoning_effort"}
    | {"user", "prompt_cache_key", "response_format"}
)


class InfillPrompt(Struct, frozen=True):
    """What surrounds a gap that the model fills in; the text before it is RawPrompt's."""

    suffix: str
    files: tuple[tuple[str, str], ...] = ()
    """Name and text of other files, for context."""
    begun: str = ""
    """Start of the text in the gap."""


class RawPrompt(Struct, frozen=True):
    """Text or tokens to continue without a chat template: for models that are CompletesText."""

    text: str | tuple[int | str, ...]
    """A text, or tokens with texts between them."""
    grammar: str = ""
    """GBNF grammar of the output."""
    logprobs: int | None = None
    """Number of alternatives reported for each token; None: no probabilities."""
    echo: bool = False
    schema: dict[str, Any] | None = None
    """JSON Schema of the output, instead of a grammar."""
    infill: InfillPrompt | None = None
    media: tuple[str, ...] = ()
    """Images in base64, one for each MEDIA_MARKER in `text`."""
    options: dict[str, Any] = {}
    """Further fields of llama-server's /completion, which the door has checked."""
    reports: bool = False
    """Whether chunks carry tokens, probabilities and timings as llama-server tells them."""


# Place of an image in a raw prompt, as llama-server's clients write it.
MEDIA_MARKER = "<__media__>"


class Prompt(Struct, frozen=True, kw_only=True):
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: ToolChoice = ToolChoice()
    output_schema: dict[str, Any] | None = None
    settings: SamplingSettings = SamplingSettings()
    conversation: str | None = None
    parent: str | None = None
    """Id of the conversation that this one was forked from."""
    known_answer: str = ""
    """Answer that rules have computed; only models with `Capabilities.needs_rules` are given one, and give it on."""
    raw: RawPrompt | None = None
    """Replaces all other fields except `settings`."""

    @property
    def callable_tools(self) -> tuple[ToolSpec, ...]:
        """Tools that `tool_choice` allows: none, the named one, the allowed ones, or all."""
        choice = self.tool_choice
        if choice.mode == "none":
            return ()
        tools = (tool for tool in self.tools if choice.mode != "named" or tool.name == choice.name)
        return tuple(tool for tool in tools if not choice.allowed or tool.name in choice.allowed)

    @property
    def requires_tool_call(self) -> bool:
        return self.tool_choice.mode in ("required", "named") and bool(self.callable_tools)


class Capabilities(Struct, frozen=True, kw_only=True):
    """Capabilities of a model. `context` is None where it is unknown."""

    tools: bool = True
    parallel: bool = True
    """Several tool calls in one answer."""
    schema: bool = True
    """The model itself enforces an output schema."""
    images: bool = False
    audio: bool = False
    allowed_tools: bool = False
    """The model's server takes all tools and the names of those that may be called."""
    reasoning: bool = False
    context: int | None = None
    advertises_images: bool | None = None
    """Whether clients are told that images are accepted; None: as `images` says."""
    enforces_schema: bool = False
    """Every answer under a schema is valid, so that it may be streamed unchecked."""
    max_output: int | None = None
    """Most tokens of one answer, where the vendor refuses a request for more."""
    needs_rules: bool = False
    """The model is too small to choose among tools and to compute: doors decide for it by rules."""
    text_only: bool = False
    """Files and images are named to the model, not sent."""
    settings: frozenset[str] = COMMON_SETTINGS
    """Names of the sampling settings that the model takes; a request with another one is refused."""
    ignored_settings: tuple[str, ...] = ()
    """Names of sampling settings that are left out instead of refused."""

    @property
    def supports_images(self) -> bool:
        """Whether the model is known to take images."""
        return self.images if self.advertises_images is None else self.advertises_images


# Undeclared capabilities: images are sent, since the upstream refuses them if need be, but not advertised.
UNDECLARED = Capabilities(images=True, advertises_images=False)


class ModelInfo(Struct, frozen=True):
    """Provider, name and prices of a model; costs are per million tokens, None if unknown."""

    provider: str
    model: str
    input_cost: float | None = None
    output_cost: float | None = None

    def compute_cost(self, usage: Usage) -> float:
        return (usage.input * (self.input_cost or 0) + usage.output * (self.output_cost or 0)) / 1_000_000


class ModelLike(Protocol):
    """Anything with `stream`: a Model, or an object that `adapt_model` makes one of."""

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]: ...


class Model(ABC):
    """Base of models: only `stream` is required. Further abilities are the protocols below."""

    name: str = ""
    capabilities: Capabilities = UNDECLARED
    address: str | None = None
    """URL of a remote model, which `rightseat doctor` probes."""
    versioned: bool = True
    """Whether `address` ends with the API version."""
    weights: Path | None = None
    """GGUF file of a local model."""

    @abstractmethod
    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        """Stream the answer to one prompt. Closing the iterator must cancel the work behind it."""

    @property
    def ready(self) -> bool:
        """Whether prompts are accepted now."""
        return True

    @property
    def info(self) -> ModelInfo:
        """Provider and name, as metrics and bills show them."""
        return derive_model_info(self, self.name)

    async def start(self) -> None:
        """Prepare the model before its first prompt."""
        return

    async def close(self) -> None:
        """Release connections and processes; `close` may be called twice."""
        return


def derive_model_info(model: object, name: str) -> ModelInfo:
    """Return the info of a model that was passed as an object: its class names the provider."""
    provider = type(model).__name__.removesuffix("Model").lower() or "model"
    return ModelInfo(provider, (name or provider)[:100])


@runtime_checkable
class Embeds(Protocol):
    async def embed(self, body: dict[str, Any], /) -> dict[str, Any]:
        """Answer an OpenAI embeddings request."""


@runtime_checkable
class Tokenizes(Protocol):
    async def tokenize(self, text: str, /, *, add: bool, special: bool, pieces: bool) -> list[Any]:
        """Return token ids; with `pieces`, objects with `id` and `piece`."""

    async def detokenize(self, tokens: list[int], /) -> str: ...


@runtime_checkable
class CountsTokens(Protocol):
    """A model that counts tokens by its own chat template and tokenizer."""

    async def find_context(self) -> int | None:
        """Return the context window in tokens; None if it is unknown."""

    async def count_prompt_tokens(self, prompt: Prompt, /) -> int:
        """Return the tokens of a whole prompt with its tools, as it is sent."""

    async def count_message_tokens(self, messages: Sequence[Message], /) -> list[int]:
        """Return the tokens that each message adds to a prompt."""


@runtime_checkable
class Reranks(Protocol):
    async def rerank(self, query: str, documents: list[str], /) -> tuple[list[float], Usage]:
        """Return the relevance of each document to the query."""


@runtime_checkable
class HasEngine(Protocol):
    """A model whose engine is a llama-server: what that server's own routes tell."""

    async def render_prompt(self, prompt: Prompt, /) -> str:
        """Return the text that the chat template makes of a prompt."""

    async def get_engine_props(self) -> dict[str, Any]:
        """Return llama-server's properties without paths of this machine."""

    async def list_engine_slots(self) -> list[dict[str, Any]]:
        """Return the state of each slot without prompts and settings of its user."""


@runtime_checkable
class CompletesText(Protocol):
    completes: bool
    """Whether `stream` takes a Prompt with `raw`."""


class ModelWrapper(Model):
    """Base of model wrappers: all but `stream` is the inner model's. `info`: other than the inner model's."""

    def __init__(self, model: Model, info: ModelInfo | None = None) -> None:
        self.model = model
        self.name = model.name
        self.capabilities = model.capabilities
        self.address = model.address
        self.versioned = model.versioned
        self.weights = model.weights
        self._info = info or model.info

    @property
    def ready(self) -> bool:
        return self.model.ready

    @property
    def info(self) -> ModelInfo:
        return self._info

    async def start(self) -> None:
        await self.model.start()

    async def close(self) -> None:
        await self.model.close()


class AdaptedModel(Model):
    """A Model around an object that has `stream` and any of Model's other attributes."""

    def __init__(self, source: Any) -> None:
        self.source = source
        self.name = str(getattr(source, "name", ""))
        capabilities = getattr(source, "capabilities", None)
        # Other libraries' models may have an attribute of this name.
        self.capabilities = capabilities if isinstance(capabilities, Capabilities) else UNDECLARED
        self.address = getattr(source, "address", None)

    def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        return cast(ModelLike, self.source).stream(prompt)

    @property
    def ready(self) -> bool:
        return bool(getattr(self.source, "ready", True))

    @property
    def info(self) -> ModelInfo:
        return derive_model_info(self.source, self.name)

    async def start(self) -> None:
        if (start := getattr(self.source, "start", None)) is not None:
            await start()

    async def close(self) -> None:
        if (close := getattr(self.source, "close", None)) is not None:
            await close()


# By the id of the source, which the adapted model keeps alive: assistants that share a source share its model.
ADAPTED_MODELS: WeakValueDictionary[int, AdaptedModel] = WeakValueDictionary()


def adapt_model(model: ModelLike) -> Model:
    """Return a Model as it is, and another object with `stream` as an AdaptedModel, the same one each time. Raises
    ConfigError for anything else."""
    check_model(model)
    if isinstance(model, Model):
        return model
    adapted = ADAPTED_MODELS.get(id(model))
    if adapted is None:
        adapted = ADAPTED_MODELS[id(model)] = AdaptedModel(model)
    return adapted


def check_model(model: object) -> None:
    """Raise ConfigError for an object that cannot be a model: its `stream` is missing or no async generator."""
    if isinstance(model, type):
        raise ConfigError(f"model: {model.__name__} is a class. Give an object of it, such as {model.__name__}().")
    name, stream = type(model).__name__, getattr(model, "stream", None)
    if isinstance(model, str):
        raise ConfigError("model: a spec is for Runtime(model=…). Give an Assistant an object with `stream`.")
    if not callable(stream):
        advice = "Give a spec such as 'openai:gpt-5-mini', or an object with `async def stream(self, prompt)`."
        raise ConfigError(f"model: {name} has no method stream. {advice}")
    if inspect.isgeneratorfunction(stream) or inspect.iscoroutinefunction(stream):
        advice = "Write `async def stream(self, prompt)` and yield chunks such as rightseat.TextChunk in it."
        raise ConfigError(f"model: the method stream of {name} is no async generator. {advice}")


Ability = TypeVar("Ability")


def find_protocol(model: Model | None, protocol: type[Ability]) -> Ability | None:
    """Return the model, or the one that it wraps, which implements a protocol; None if none does."""
    inner: Any = model
    while not isinstance(inner, protocol):
        if not isinstance(inner, ModelWrapper | AdaptedModel):
            return None
        inner = inner.model if isinstance(inner, ModelWrapper) else inner.source
    return inner


def unwrap_model(model: Model) -> object:
    """Return the object that was passed as a model, without its wrappers."""
    inner: Any = model
    while isinstance(inner, ModelWrapper | AdaptedModel):
        inner = inner.model if isinstance(inner, ModelWrapper) else inner.source
    return inner


class BoundModel(Struct, frozen=True):
    """Model of an assistant. `context` is the configured window, else that of the table."""

    model: Model
    context: int | None = None

    @classmethod
    def from_model(cls, model: ModelLike, context: int | None = None) -> BoundModel:
        adapted = adapt_model(model)
        return cls(adapted, context or adapted.capabilities.context)


def is_audio(part: MessagePart) -> bool:
    return type(part) is FileMessagePart and (part.media_type or "").startswith("audio/")


def has_audio(prompt: Prompt) -> bool:
    return any(is_audio(part) for message in prompt.messages for part in message.parts)


def has_images(prompt: Prompt) -> bool:
    return any(type(part) is ImageMessagePart for message in prompt.messages for part in message.parts)

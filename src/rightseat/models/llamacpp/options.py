"""Make a local model from the specs `local`, `local:PATH.gguf` and `llama-server:URL` and their options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from rightseat.config.secret import Secret
from rightseat.errors import ConfigError
from rightseat.models.llamacpp import formats, gguf, prefixes, weights
from rightseat.models.llamacpp.client import address
from rightseat.models.llamacpp.embedding import Embedder
from rightseat.models.llamacpp.engine import Attached
from rightseat.models.llamacpp.known import of_file, of_server, wanted
from rightseat.models.llamacpp.local import Local
from rightseat.models.llamacpp.model import Manner
from rightseat.models.llamacpp.pool import Shared
from rightseat.models.llamacpp.process import Launch, Rules
from rightseat.types.nearest import meant

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Pooling = Literal["mean", "cls", "last"]
S = TypeVar("S", bound="Spoken")
# Best settings for the embedded model, measured in evals/local.md.
_EMBEDDED = {"temperature": 0.2, "choice": "likelihood", "tool_format": "signatures", "max_tokens": 512}


class Spoken(Struct, frozen=True, kw_only=True):
    """How a model is spoken to, wherever it runs."""

    tool_format: str | None = None
    """How tools are called; not given: found by the chat template."""
    chat_template: str | None = None
    """A file, `chatml`, or a template's name in the GGUF; not given: the model's own."""
    publish: Literal["typescript", "json"] = "typescript"
    """How tools are shown to a model whose template knows none."""
    reasoning: Literal["content", "reasoning"] = "content"
    """Where the thought before a call goes: into the answer's text, or beside it."""
    max_tokens: Count = 2048
    """Tokens of an answer where the caller names no limit."""
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    """Where the caller names none; not given: the engine's own, and 0.2 for the embedded model."""
    choice: Literal["model", "likelihood"] | None = None
    """Who says which tool is meant, where a template knows none: the model, or how likely each tool makes the
    question; not given: the latter for the embedded model, which is too small to say it."""
    connect_timeout: Seconds = 10
    """Seconds for a connection."""
    first_token_timeout: Seconds = 600
    """Seconds for the first token; a long prompt on a small machine takes minutes."""
    idle_timeout: Seconds = 60
    """Seconds between two tokens."""

    @property
    def manner(self) -> Manner:
        return Manner(
            tool_format=self.tool_format,
            publish=self.publish,
            thought=self.reasoning,
            max_tokens=self.max_tokens,
            temperature=self.temperature,
            choice=self.choice or "model",
        )


class LocalOptions(Spoken, frozen=True, kw_only=True):
    context: Annotated[int, Meta(ge=256)] = 4096
    """Tokens of each slot, prompt and answer together."""
    slots: Annotated[int, Meta(ge=1, le=64)] = 2
    """Answers at the same time; more wait."""
    threads: Count | None = None
    """Threads of the engine; not given: one less than there are cores."""
    gpu_layers: Annotated[int, Meta(ge=0)] | None = None
    """Layers on the graphics card; not given: as many as fit, where the engine has one."""
    llama_server: str | None = None
    """A llama-server program to start instead of the built-in engine."""
    lora: str | None = None
    """A LoRA adapter, as a GGUF file."""
    cache_mib: Annotated[int, Meta(ge=0)] = 512
    """Memory for prompts that may come again, in MiB."""
    prompt_cache: str | None = None
    """A folder for prompts on file; not given: one in the user's cache folder."""
    precache: tuple[str, ...] = ()
    """Text files with long system prompts: read at the first start, from file at all later ones."""
    start_timeout: Seconds = 120
    """Seconds for loading the weights."""
    embedding: str | None = None
    """A GGUF file for /v1/embeddings, run beside the model from the first text on."""
    pooling: Pooling | None = None
    """How tokens become one vector; with no `embedding`, the model's own weights are used for it."""


class AttachedOptions(Spoken, frozen=True, kw_only=True):
    api_key: str | None = None
    """The server's key, as it got with --api-key."""


def local(name: str, options: Mapping[str, Any]) -> Local:
    """Make a model from the GGUF file `name`, or the embedded model if `name` is empty."""
    spec = f"local:{name}" if name else "local"
    known = _read(spec, options if name else {**_EMBEDDED, **options}, LocalOptions)
    adapted = not name and known.lora is None and known.llama_server is None
    if not name and not adapted and "tool_format" not in options:
        known = replace(known, tool_format=None)
    path = _weights(name, "The model") if name else weights.path()
    rules = _rules(known, known.start_timeout)
    launch = Launch(
        path,
        context=known.context,
        slots=known.slots,
        threads=known.threads,
        gpu_layers=known.gpu_layers,
        cache_mib=known.cache_mib,
        saves=_saves(known),
        lora=_adapter() if adapted else _file(known.lora, "lora:") if known.lora else None,
        lora_rests=adapted,
        binary=_file(known.llama_server, "llama_server:") if known.llama_server else None,
    )
    return Local(
        path.stem,
        Shared(launch, rules),
        of_file(path, wanted(known.chat_template)),
        manner=replace(known.manner, adapter=adapted, precache=tuple(map(_text, known.precache))),
        embedder=_embedder(launch, known, rules),
        weights=path,
        context=known.context,
    )


def attached(name: str, options: Mapping[str, Any]) -> Local:
    """Make a model from a running llama-server; `name` is its address."""
    spec = f"llama-server:{name}"
    known = _read(spec, options, AttachedOptions)
    url = str(address(name))
    server = Attached(url, Secret(known.api_key) if known.api_key else None, _rules(known, Rules().start))
    return Local(
        name,
        server,
        of_server(wanted(known.chat_template)),
        manner=known.manner,
        embedder=Embedder(server, starts=False),
        address=url.rstrip("/") + "/v1",
    )


def _read(spec: str, options: Mapping[str, Any], kind: type[S]) -> S:
    keys = kind.__struct_fields__
    for key in options:
        if key not in keys:
            raise ConfigError(f"The model {spec} has no option {key!r}. {meant(key, keys)}", param=key)
    try:
        known = msgspec.convert(options, kind)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The model {spec} has a wrong option: {error}") from error
    if known.tool_format:
        formats.named(known.tool_format)
    return known


def _rules(known: Spoken, start: float) -> Rules:
    return Rules(
        start=start,
        connect=known.connect_timeout,
        first_token=known.first_token_timeout,
        idle=known.idle_timeout,
    )


def _adapter() -> Path:
    """Return the LoRA adapter that teaches the embedded model to call tools (docs/embedded-model.md)."""
    return Path(__file__).parent / "adapter" / "smollm2-135m-tools.gguf"


def _file(given: str, what: str) -> Path:
    path = Path(given).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"{what} {given} is not a file here. Check the path; it starts at the folder of rightseat.toml, "
            "else at the working folder."
        )
    return path.absolute()


def _weights(given: str, what: str) -> Path:
    """Return the path after checking the GGUF magic: the engine's own error for such files is unhelpful."""
    path = _file(given, what)
    try:
        with path.open("rb") as file:
            begins = file.read(4)
    except OSError as error:
        raise ConfigError(f"{what} {given} cannot be read: {error.strerror}.") from None
    if begins != b"GGUF":
        raise ConfigError(f"{what} {given} is not a GGUF file: convert it first, or name another.")
    return path


def _text(name: str) -> str:
    """Read a system prompt, in the same way as an assistant's `system_file`."""
    path = _file(name, "precache:")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"precache: {name} cannot be read as text.", param="precache") from None


def _saves(known: LocalOptions) -> Path | None:
    given = (
        Path(known.prompt_cache).expanduser() if known.prompt_cache else weights.cache_folder() / "prompts"
    )
    found = prefixes.folder(given.absolute())
    if found is None and known.precache:
        raise ConfigError(
            f"precache: nothing can be kept in {given}. Name a folder of yours as prompt_cache."
        )
    return found


def _embedder(launch: Launch, known: LocalOptions, rules: Rules) -> Embedder | None:
    if known.embedding is None and known.pooling is None:
        return None
    path = _weights(known.embedding, "embedding:") if known.embedding else launch.model
    second = Launch(
        path,
        context=known.context,
        slots=known.slots,
        threads=known.threads,
        gpu_layers=known.gpu_layers,
        embedding=True,
        pooling=known.pooling or _pooling(path),
        binary=launch.binary,
    )
    return Embedder(Shared(second, rules))


def _pooling(path: Path) -> Pooling | None:
    """Return "mean", or None if the GGUF file names its own pooling type."""
    header = gguf.read(path)
    return None if header.values.get(f"{header.architecture}.pooling_type") else "mean"

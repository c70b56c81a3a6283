"""Make a local model from `local`, `local:PATH.gguf`, `local:NAME` or `llama-server:URL`, and its options."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta
from msgspec.structs import replace

from rightseat.config.options import parse_options
from rightseat.config.secret import Secret
from rightseat.errors import ConfigError, GgufError
from rightseat.models._vendor.exchange import Timeouts
from rightseat.models.llamacpp import curated, formats, gguf, prefix_cache, pulled, weights
from rightseat.models.llamacpp.child import LaunchOptions
from rightseat.models.llamacpp.client import parse_server_url
from rightseat.models.llamacpp.embedded.model import EmbeddedModel
from rightseat.models.llamacpp.embedder import Embedder, EmbeddingOverflow
from rightseat.models.llamacpp.machine import get_machine
from rightseat.models.llamacpp.machine_settings import USUAL_CONTEXT, MachineSettings, choose_machine_settings
from rightseat.models.llamacpp.model import LlamaCppModel, PromptOptions, describe_from_file, describe_from_server
from rightseat.models.llamacpp.process import SupervisionPolicy
from rightseat.models.llamacpp.rerank import Reranker
from rightseat.models.llamacpp.supervision import AttachedServer, SharedServer
from rightseat.models.llamacpp.template import find_template_file, parse_template_choice
from rightseat.types.model import Model

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Pooling = Literal["mean", "cls", "last"]
S = TypeVar("S", bound="CommonOptions")
# Best settings for the embedded model, measured in evals/local.md.
EMBEDDED_DEFAULTS = {"temperature": 0.2, "choice": "likelihood", "tool_format": "signatures", "max_tokens": 512}
_POOLING_LAST = 3  # llama.cpp's number
# Thinking would take minutes where the processor answers.
_CURATED_DEFAULTS = {"thinking": False}

# The LoRA adapter that teaches the embedded model to call tools (docs/embedded-model.md).
_EMBEDDED_ADAPTER = Path(__file__).parent / "adapter" / "smollm2-135m-tools.gguf"


class CommonOptions(PromptOptions, frozen=True, kw_only=True):
    """How a model is spoken to, wherever it runs."""

    connect_timeout: Seconds = 10
    """Seconds for connecting to the engine."""
    first_token_timeout: Seconds = 600
    """Seconds until the first token. A long prompt takes minutes on a small machine."""
    idle_timeout: Seconds = 60
    """Seconds between two tokens."""
    embedding_overflow: EmbeddingOverflow = "refuse"
    """What happens to a text with more tokens than /v1/embeddings takes: `refuse` answers with an error, `cut` embeds
    its beginning, `average` embeds its pieces and returns the mean of their vectors."""

    @property
    def timeouts(self) -> Timeouts:
        return Timeouts(self.connect_timeout, self.first_token_timeout, self.idle_timeout)


class LocalOptions(CommonOptions, frozen=True, kw_only=True):
    context: Annotated[int, Meta(ge=256)] | None = None
    """Tokens of each slot, for prompt and answer together. Without it, as many as the model was trained for and the
    machine's memory allows, 32768 at most."""
    slots: Annotated[int, Meta(ge=1, le=64)] = 2
    """The most answers at the same time. Further requests wait."""
    threads: Count | None = None
    """Threads of the engine. Without it, one for each physical core, with one processor left free, 16 at most."""
    batch: Annotated[int, Meta(ge=1, le=8192)] | None = None
    """Tokens of a prompt that are processed at once. A batch cannot be interrupted. Without it, 64 to 512 by the
    machine's cores and memory and the model's size; with a GPU, as the engine decides."""
    gpu_layers: Annotated[int, Meta(ge=0)] | None = None
    """Layers to put on the GPU. Without it, as many as fit, if the engine supports a GPU."""
    llama_server: str | None = None
    """A llama-server program to start instead of the built-in engine."""
    lora: str | None = None
    """A LoRA adapter, as a GGUF file."""
    cache_mib: Annotated[int, Meta(ge=0)] = 512
    """Memory for cached prompts, in MiB."""
    prompt_cache: str | None = None
    """A folder for prompts cached on disk. Without it, a folder in the user's cache folder."""
    precache: tuple[str, ...] = ()
    """Text files with long system prompts. The model processes each at the first start and loads the saved state at
    later starts."""
    session_file: str | None = None
    """A file for the conversations in the engine's slots: read at the start, written when the server stops. Only for a
    server with one worker."""
    start_timeout: Seconds = 120
    """Seconds for loading the weights."""
    embedding: str | None = None
    """A GGUF file that serves /v1/embeddings, in a second engine that starts with the first request."""
    pooling: Pooling | None = None
    """How the vectors of tokens become one. Without `embedding`, the model's own weights serve /v1/embeddings."""

    rerank: str | None = None
    """A GGUF file of a reranking model that serves /rerank, in another engine that starts with the first request."""
    mmproj: str | None = None
    """A GGUF file of the model's encoder of images or audio. With it the model takes them. A pulled model's is found
    in its folder (mmproj*.gguf)."""


class AttachedOptions(CommonOptions, frozen=True, kw_only=True):
    api_key: str | None = None
    """The key that the server was started with (--api-key)."""


def make_local_model(name: str, options: Mapping[str, Any]) -> Model:
    """Make a model from the GGUF file or the pulled model `name`; the embedded model if `name` is empty. With its
    adapter, the embedded model is an EmbeddedModel."""
    model = make_unchecked_model(name, options)
    return EmbeddedModel(model) if model.has_adapter else model


def make_unchecked_model(name: str, options: Mapping[str, Any]) -> LlamaCppModel:
    """Make a local model whose answers are those of the weights, the embedded one too."""
    spec = f"local:{name}" if name else "local"
    settings = _parse_options(spec, {**_find_defaults(name), **options}, LocalOptions)
    uses_adapter = not name and settings.lora is None and settings.llama_server is None
    if not name and not uses_adapter and "tool_format" not in options:
        settings = replace(settings, tool_format=None)
    path = _find_model_file(name) if name else weights.require_weights()
    policy = SupervisionPolicy(start_timeout=settings.start_timeout, timeouts=settings.timeouts)
    chosen = _choose_settings(path, settings)
    mmproj = _find_mmproj(name, settings)
    launch = LaunchOptions(
        path,
        context=chosen.context,
        slots=settings.slots,
        threads=chosen.threads,
        batch=settings.batch,
        cpu_batch=chosen.batch,
        gpu_layers=settings.gpu_layers,
        cache_mib=settings.cache_mib,
        # The engine saves no slots that may hold images.
        slot_save_path=None if mmproj else _prompt_cache_folder(settings),
        lora=_EMBEDDED_ADAPTER if uses_adapter else _check_file(settings.lora, "lora:") if settings.lora else None,
        lora_on_request=uses_adapter,
        chat_template=find_template_file(settings.chat_template),
        binary=check_binary(settings.llama_server) if settings.llama_server else None,
        mmproj=mmproj,
    )
    return LlamaCppModel(
        path.stem,
        SharedServer(launch, policy),
        describe_from_file(path, parse_template_choice(settings.chat_template)),
        options=settings,
        has_adapter=uses_adapter,
        precached_prompts=tuple(map(_read_text_file, settings.precache)),
        embedder=_make_embedder(launch, settings, policy),
        weights=path,
        context=chosen.context,
        reranker=_make_reranker(launch, settings, policy),
        sees_images=_encodes(mmproj, "vision"),
        hears=_encodes(mmproj, "audio"),
        session_file=_check_session_file(settings, launch),
    )


def _choose_settings(path: Path, settings: LocalOptions) -> MachineSettings:
    """Return the settings by the machine, with the options that are set in their place."""
    header, size = None, 0
    # The engine reports a missing or broken file at its start, and `rightseat doctor` before.
    with suppress(GgufError, OSError):
        size = path.stat().st_size
        header = gguf.read_header(path) if settings.context is None else None
    chosen = choose_machine_settings(get_machine(), header, weights_bytes=size, slots=settings.slots)
    return replace(chosen, threads=settings.threads or chosen.threads, context=settings.context or chosen.context)


def make_attached_model(name: str, options: Mapping[str, Any]) -> LlamaCppModel:
    """Make a model from a running llama-server; `name` is its address."""
    settings = _parse_options(f"llama-server:{name}", options, AttachedOptions)
    url = str(parse_server_url(name))
    key = Secret(settings.api_key) if settings.api_key else None
    server = AttachedServer(url, key, SupervisionPolicy(timeouts=settings.timeouts))
    return LlamaCppModel(
        name,
        server,
        describe_from_server(parse_template_choice(settings.chat_template)),
        options=settings,
        embedder=Embedder(server, owns_server=False, overflow=settings.embedding_overflow),
        reranker=Reranker(server, owns_server=False),
        address=url.rstrip("/") + "/v1",
    )


def _parse_options(spec: str, options: Mapping[str, Any], options_type: type[S]) -> S:
    settings = parse_options(f"The model {spec}", options, options_type)
    if settings.tool_format:
        formats.get_format(settings.tool_format)
    return settings


def _check_file(name: str, label: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"{label} {name} is not a file here. Check the path; it starts at the folder of rightseat.toml, "
            "else at the working folder."
        )
    return path.absolute()


def _find_defaults(name: str) -> Mapping[str, Any]:
    if not name:
        return EMBEDDED_DEFAULTS
    return _CURATED_DEFAULTS if curated.find_curated(name) and not Path(name).is_file() else {}


def _find_model_file(name: str) -> Path:
    """Return the path of the GGUF file `name`, else of the pulled model of that name."""
    if pulled.is_model_name(name) and not Path(name).is_file():
        if path := pulled.find_pulled_path(name):
            return path
        if pulled.find_pulled(name) or curated.find_curated(name):
            raise ConfigError(f"The model {name} is not here yet. Fetch it: rightseat models pull {name}")
    return _check_gguf_file(name, "The model")


def _check_gguf_file(name: str, label: str) -> Path:
    """Return the path after checking the GGUF magic: the engine's own error for such files is unhelpful."""
    path = _check_file(name, label)
    try:
        with path.open("rb") as file:
            begins = file.read(4)
    except OSError as error:
        raise ConfigError(f"{label} {name} cannot be read: {error.strerror}.") from None
    if begins != b"GGUF":
        raise ConfigError(f"{label} {name} is not a GGUF file: convert it first, or name another.")
    return path


def _read_text_file(name: str) -> str:
    """Read a system prompt, in the same way as an assistant's `system_file`."""
    path = _check_file(name, "precache:")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"precache: {name} cannot be read as text.", param="precache") from None


def check_binary(name: str, platform: str = sys.platform) -> Path:
    """Return the path of a llama-server program; raises ConfigError where there is none, or none can be started."""
    if platform == "win32":
        raise ConfigError(
            "llama_server: rightseat cannot start llama-server on Windows. Start it yourself and name its URL with "
            "--endpoint, or leave --llama-server out: the built-in engine runs there.",
            param="llama_server",
        )
    return _check_file(name, "llama_server:")


def _prompt_cache_folder(settings: LocalOptions) -> Path | None:
    wanted = Path(settings.prompt_cache).expanduser() if settings.prompt_cache else weights.cache_folder() / "prompts"
    folder = prefix_cache.prepare_folder(wanted.absolute())
    if folder is None and settings.precache:
        raise ConfigError(f"precache: cannot write to {wanted}. Name a writable folder as prompt_cache.")
    return folder


def _check_session_file(settings: LocalOptions, launch: LaunchOptions) -> Path | None:
    """Return the place of the session file; ConfigError where none can be kept."""
    if settings.session_file is None:
        return None
    path = Path(settings.session_file).expanduser().absolute()
    if launch.mmproj is not None:
        raise ConfigError("session_file: not with mmproj, since the engine saves no slots that may hold images.")
    if launch.slot_save_path is None:
        raise ConfigError("session_file: the folder of prompt_cache cannot be written. Name a writable one.")
    if path.is_dir() or not path.parent.is_dir():
        raise ConfigError(f"session_file: {path} is no place for a file. Name a file in a folder that exists.")
    return path


def _make_embedder(launch: LaunchOptions, settings: LocalOptions, policy: SupervisionPolicy) -> Embedder | None:
    if settings.embedding is None and settings.pooling is None:
        return None
    path = _check_gguf_file(settings.embedding, "embedding:") if settings.embedding else launch.model
    header = gguf.read_header(path)
    wanted = settings.context or USUAL_CONTEXT
    context = min(wanted, header.context_length or wanted)
    pooling = settings.pooling or _default_pooling(header)
    second = LaunchOptions(
        path,
        context=context,
        slots=settings.slots,
        threads=launch.threads,
        gpu_layers=settings.gpu_layers,
        embedding=True,
        pooling=pooling,
        binary=launch.binary,
    )
    # With the pooling `last` the engine keeps a place of the context free for an answer.
    pools_last = pooling == "last" or (pooling is None and header.values.get(_pooling_key(header)) == _POOLING_LAST)
    window = context - 1 if pools_last else context
    return Embedder(SharedServer(second, policy), overflow=settings.embedding_overflow, window=window)


def _make_reranker(launch: LaunchOptions, settings: LocalOptions, policy: SupervisionPolicy) -> Reranker | None:
    if settings.rerank is None:
        return None
    second = LaunchOptions(
        _check_gguf_file(settings.rerank, "rerank:"),
        context=settings.context or USUAL_CONTEXT,
        slots=settings.slots,
        threads=launch.threads,
        gpu_layers=settings.gpu_layers,
        embedding=True,
        pooling="rank",
        binary=launch.binary,
    )
    return Reranker(SharedServer(second, policy))


def _encodes(mmproj: Path | None, kind: Literal["vision", "audio"]) -> bool:
    return mmproj is not None and bool(gguf.read_header(mmproj).values.get(f"clip.has_{kind}_encoder"))


def _find_mmproj(name: str, settings: LocalOptions) -> Path | None:
    """Return the image encoder: the one that is set, else the one beside a pulled model."""
    if settings.mmproj is None:
        return pulled.find_projector(name)
    path = _check_gguf_file(settings.mmproj, "mmproj:")
    if gguf.read_header(path).architecture != "clip":
        raise ConfigError(
            f"mmproj: {settings.mmproj} is a model, not an image encoder. Name the file that comes beside the model, "
            "usually mmproj-*.gguf.",
            param="mmproj",
        )
    if settings.precache:
        raise ConfigError("precache: not with mmproj, since the engine saves no slots that may hold images.")
    return path


def _default_pooling(header: gguf.GgufHeader) -> Pooling | None:
    """Return "mean", or None if the GGUF file names its own pooling type."""
    return None if header.values.get(_pooling_key(header)) else "mean"


def _pooling_key(header: gguf.GgufHeader) -> str:
    return f"{header.architecture}.pooling_type"

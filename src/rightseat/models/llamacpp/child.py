"""Child process of a local model: `python -m rightseat.models.llamacpp.child`.

It reads one JSON line (LaunchRequest) from stdin, which includes the API key: arguments and environment are
visible to other users. It writes one JSON line (LaunchResult): the server's URL, or an error. The process
exits when its stdin closes, so it never outlives its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from rightseat.models.llamacpp.machine import get_machine
from rightseat.models.llamacpp.machine_settings import BATCHES, choose_threads

HOST = "127.0.0.1"
_PR_SET_PDEATHSIG = 1


class LaunchOptions(Struct, frozen=True):
    """What to run. `context` is per slot; `threads` None: as the machine has cores; `batch` is the user's choice,
    `cpu_batch` the one without a GPU where the user made none; `pooling` is for embedding models whose file names
    no pooling, "rank" for rerankers; `lora_on_request`: the adapter applies only to requests that enable it;
    `chat_template` is a file whose template replaces the model's own; `binary` is a llama-server to spawn instead of
    xllamacpp; `mmproj` is the image encoder."""

    model: Path
    context: int = 4096
    slots: int = 2
    threads: int | None = None
    batch: int | None = None
    cpu_batch: int = BATCHES[-1]
    gpu_layers: int | None = None
    cache_mib: int = 512
    embedding: bool = False
    pooling: Literal["mean", "cls", "last", "rank"] | None = None
    lora: Path | None = None
    lora_on_request: bool = False
    slot_save_path: Path | None = None
    chat_template: Path | None = None
    binary: Path | None = None
    mmproj: Path | None = None

    def describe(self) -> str:
        """Return threads, slots, context and batch in words, for the log and `rightseat doctor`."""
        threads, slots = count_threads(self), self.slots
        # A llama-server program and an engine with a GPU choose their own batch.
        decided = self.binary or get_machine().gpu or sys.platform == "darwin"
        batch = self.batch or (None if decided else self.cpu_batch)
        return (
            f"{threads} thread{'' if threads == 1 else 's'}, {slots} slot{'' if slots == 1 else 's'} "
            f"of {self.context} tokens{f', batch {batch}' if batch else ''}"
        )


class LaunchRequest(Struct, frozen=True):
    launch: LaunchOptions
    key: str
    parent: int

    def encode(self) -> bytes:
        return msgspec.json.encode(self, enc_hook=str) + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> LaunchRequest:
        return msgspec.json.decode(line, type=cls, dec_hook=lambda kind, value: kind(value))


class LaunchResult(Struct, frozen=True, omit_defaults=True):
    url: str = ""
    error: str = ""


def count_threads(launch: LaunchOptions) -> int:
    return choose_threads(get_machine()) if launch.threads is None else launch.threads


def die_with_parent() -> None:
    """Ask the kernel (Linux only) to kill this process when its parent exits, even inside native code."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def start_server(launch: LaunchOptions, key: str) -> tuple[str, object]:
    """Load the model and listen; returns the URL and the server object, which must stay referenced."""
    # Spinning engine threads would also take the event loop's core.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    # Imported by name because it has no type stubs.
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(launch.model)
    params.hostnames = [HOST]
    params.port = 0
    params.api_keys = [key]
    params.n_ctx = launch.context * launch.slots
    params.n_parallel = launch.slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = count_threads(launch)
    params.cache_ram_mib = launch.cache_mib
    if launch.gpu_layers is not None:
        params.n_gpu_layers = launch.gpu_layers
    has_gpu = any(not str(device.get("name", "")).startswith("CPU") for device in xllamacpp.get_device_info())
    if launch.embedding:
        # An embedding engine takes a whole text in one batch.
        params.n_batch = params.n_ubatch = launch.context
        # Else texts of different lengths are split in one batch, and the mean is that of a part.
        params.kv_unified = True
    elif launch.batch is not None or not has_gpu:
        params.n_batch = params.n_ubatch = launch.batch or launch.cpu_batch
    params.embedding = launch.embedding
    if launch.pooling is not None:
        kinds = xllamacpp.llama_pooling_type
        params.pooling_type = getattr(kinds, f"LLAMA_POOLING_TYPE_{launch.pooling.upper()}")
    params.endpoint_slots = True
    params.warmup = False
    params.ui = False
    params.cors_origins = ""
    params.use_jinja = True
    if launch.chat_template is not None:
        params.chat_template = launch.chat_template.read_text("utf-8")
    if launch.slot_save_path is not None:
        params.slot_save_path = os.path.join(launch.slot_save_path, "")
    if launch.lora is not None:
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = str(launch.lora), 0.0 if launch.lora_on_request else 1.0
        params.lora_adapters = [adapter]
    if launch.mmproj is not None:
        params.mmproj.path = str(launch.mmproj)
    server = open_server(xllamacpp, params)
    return server.listening_address, server


def open_server(xllamacpp: Any, params: Any) -> Any:
    """Return the server; without the configured chat template if the engine cannot parse it."""
    try:
        return xllamacpp.Server(params)
    except RuntimeError:
        if not params.chat_template:
            raise
        # Prompts that we render need no template there.
        params.chat_template = ""
        return xllamacpp.Server(params)


def spawn_binary(launch: LaunchOptions, key: str) -> tuple[str, subprocess.Popen[bytes]]:
    """Spawn the user's own llama-server binary; returns its URL and process."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    key_file, write = os.pipe()
    os.write(write, key.encode() + b"\n")
    os.close(write)
    command = [str(launch.binary), "--model", str(launch.model), "--host", HOST, "--port", str(port)]
    command += ["--api-key-file", f"/dev/fd/{key_file}"]
    command += ["--ctx-size", str(launch.context * launch.slots), "--parallel", str(launch.slots)]
    command += ["--threads", str(count_threads(launch)), "--slots", "--no-warmup"]
    size = launch.context if launch.embedding else launch.batch
    batch = None if size is None else str(size)
    command += ["--batch-size", batch, "--ubatch-size", batch] if batch else []
    command += [] if launch.gpu_layers is None else ["--n-gpu-layers", str(launch.gpu_layers)]
    command += ["--embeddings", "--kv-unified"] if launch.embedding else []
    command += ["--pooling", launch.pooling] if launch.pooling else []
    command += ["--lora", str(launch.lora)] if launch.lora else []
    command += ["--mmproj", str(launch.mmproj)] if launch.mmproj else []
    command += ["--slot-save-path", str(launch.slot_save_path)] if launch.slot_save_path else []
    command += ["--jinja", "--chat-template-file", str(launch.chat_template)] if launch.chat_template else []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[key_file], preexec_fn=die_with_parent)
    os.close(key_file)
    return f"http://{HOST}:{port}", process


def exit_on_stdin_close(on_close: Callable[[], None]) -> None:
    def read() -> None:
        while os.read(0, 4096):
            pass
        on_close()
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()


def main() -> None:
    die_with_parent()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # the engine's output must not mix with our result line
    request = LaunchRequest.decode(_read_line())
    if os.name == "posix" and os.getppid() != request.parent:
        return  # the parent died before PR_SET_PDEATHSIG took effect
    try:
        if request.launch.binary is not None:
            url, process = spawn_binary(request.launch, request.key)
            exit_on_stdin_close(process.kill)
            out.write(msgspec.json.encode(LaunchResult(url)) + b"\n")
            sys.exit(process.wait() and 1)
        exit_on_stdin_close(lambda: None)
        url, server = start_server(request.launch, request.key)
    except (OSError, RuntimeError, ValueError, TypeError, ImportError) as error:
        out.write(msgspec.json.encode(LaunchResult(error=f"{type(error).__name__}: {error}"[:500])) + b"\n")
        sys.exit(1)
    out.write(msgspec.json.encode(LaunchResult(url)) + b"\n")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    del server


def _read_line() -> bytes:
    # Unbuffered, byte by byte: the rest of stdin belongs to the thread that waits for its end.
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line


if __name__ == "__main__":
    main()

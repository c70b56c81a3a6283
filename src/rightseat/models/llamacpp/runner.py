"""Child process of a local model: `python -m rightseat.models.llamacpp.runner`.

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
from typing import Any

import msgspec
from msgspec import Struct

HOST = "127.0.0.1"
CPU_BATCH_SIZE = 64
_PR_SET_PDEATHSIG = 1


class LaunchRequest(Struct, frozen=True):
    """What to run. `context` is per slot; `binary` is a llama-server to spawn instead of xllamacpp."""

    model: str
    key: str
    parent: int
    context: int
    slots: int
    threads: int
    cache_mib: int
    gpu_layers: int | None = None
    embedding: bool = False
    pooling: str | None = None
    lora: str | None = None
    lora_rests: bool = False
    saves: str | None = None
    binary: str | None = None


class LaunchResult(Struct, frozen=True, omit_defaults=True):
    url: str = ""
    error: str = ""


def die_with_parent() -> None:
    """Ask the kernel (Linux only) to kill this process when its parent exits, even inside native code."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def is_cpu_only(devices: list[dict[str, Any]]) -> bool:
    """Return whether none of the devices is a GPU."""
    return all(str(device.get("name", "")).startswith("CPU") for device in devices)


def start_server(request: LaunchRequest) -> tuple[str, object]:
    """Load the model and listen; returns the URL and the server object, which must stay referenced."""
    # Spinning engine threads would also take the event loop's core.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    # Imported by name because it has no type stubs.
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = request.model
    params.hostnames = [HOST]
    params.port = 0
    params.api_keys = [request.key]
    params.n_ctx = request.context * request.slots
    params.n_parallel = request.slots
    params.cpuparams.n_threads = request.threads
    params.cpuparams_batch.n_threads = request.threads
    params.cache_ram_mib = request.cache_mib
    if request.gpu_layers is not None:
        params.n_gpu_layers = request.gpu_layers
    if not request.embedding and is_cpu_only(xllamacpp.get_device_info()):
        # A batch cannot be interrupted: cancellation and other completions wait for its end. On a CPU small
        # batches are as fast.
        params.n_batch = params.n_ubatch = CPU_BATCH_SIZE
    params.embedding = request.embedding
    if request.pooling is not None:
        kinds = xllamacpp.llama_pooling_type
        params.pooling_type = getattr(kinds, f"LLAMA_POOLING_TYPE_{request.pooling.upper()}")
    params.endpoint_slots = True
    params.warmup = False
    params.ui = False
    params.cors_origins = ""
    if request.saves is not None:
        params.slot_save_path = os.path.join(request.saves, "")
    if request.lora is not None:
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = request.lora, 0.0 if request.lora_rests else 1.0
        params.lora_adapters = [adapter]
    server = xllamacpp.Server(params)
    return server.listening_address, server


def spawn_binary(request: LaunchRequest, binary: str) -> tuple[str, subprocess.Popen[bytes]]:
    """Spawn the user's own llama-server binary; returns its URL and process."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    key, write = os.pipe()
    os.write(write, request.key.encode() + b"\n")
    os.close(write)
    command = [binary, "--model", request.model, "--host", HOST, "--port", str(port)]
    command += ["--api-key-file", f"/dev/fd/{key}"]
    command += ["--ctx-size", str(request.context * request.slots), "--parallel", str(request.slots)]
    command += ["--threads", str(request.threads), "--slots", "--no-warmup"]
    command += [] if request.gpu_layers is None else ["--n-gpu-layers", str(request.gpu_layers)]
    command += ["--embeddings"] if request.embedding else []
    command += ["--pooling", request.pooling] if request.pooling else []
    command += ["--lora", request.lora] if request.lora else []
    command += ["--slot-save-path", request.saves] if request.saves else []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[key], preexec_fn=die_with_parent)
    os.close(key)
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
    request = msgspec.json.decode(_read_line(), type=LaunchRequest)
    if os.name == "posix" and os.getppid() != request.parent:
        return  # the parent died before PR_SET_PDEATHSIG took effect
    try:
        if request.binary is not None:
            url, process = spawn_binary(request, request.binary)
            exit_on_stdin_close(process.kill)
            out.write(msgspec.json.encode(LaunchResult(url)) + b"\n")
            sys.exit(process.wait() and 1)
        exit_on_stdin_close(lambda: None)
        url, server = start_server(request)
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

"""The process of the local model: `python -m rightseat.models.llamacpp.runner`.

One JSON line on standard input says what to run, and holds the key: arguments and environment could be seen
by others. One JSON line comes back: where the server listens, or why there is none. The process leaves when
its standard input ends, so it never outlives its parent, however that died.
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
BATCH = 64
_PR_SET_PDEATHSIG = 1


class Order(Struct, frozen=True):
    """What the parent wants run. `context` is each slot's; `binary` is a llama-server to use instead."""

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


class Ready(Struct, frozen=True, omit_defaults=True):
    url: str = ""
    error: str = ""


def die_with_parent() -> None:
    """Linux only: the kernel kills this process when its parent ends, even while it is in foreign code."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def on_processor(devices: list[dict[str, Any]]) -> bool:
    """Whether there is no graphics card among them."""
    return all(str(device.get("name", "")).startswith("CPU") for device in devices)


def serve(order: Order) -> tuple[str, object]:
    """Loads the model and listens. The second value is the server, which lives as long as it is held."""
    # Threads of the engine that spin while they wait would take the event loop's core too.
    os.environ["OMP_WAIT_POLICY"] = "passive"
    # By name: it has no types.
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = order.model
    params.hostnames = [HOST]
    params.port = 0
    params.api_keys = [order.key]
    params.n_ctx = order.context * order.slots
    params.n_parallel = order.slots
    params.cpuparams.n_threads = order.threads
    params.cpuparams_batch.n_threads = order.threads
    params.cache_ram_mib = order.cache_mib
    if order.gpu_layers is not None:
        params.n_gpu_layers = order.gpu_layers
    if not order.embedding and on_processor(xllamacpp.get_device_info()):
        # A batch is read in one go: whoever leaves meanwhile, and every other answer, waits for its end. On a
        # processor small ones are as fast.
        params.n_batch = params.n_ubatch = BATCH
    params.embedding = order.embedding
    if order.pooling is not None:
        kinds = xllamacpp.llama_pooling_type
        params.pooling_type = getattr(kinds, f"LLAMA_POOLING_TYPE_{order.pooling.upper()}")
    params.endpoint_slots = True
    params.warmup = False
    params.ui = False
    params.cors_origins = ""
    if order.saves is not None:
        params.slot_save_path = os.path.join(order.saves, "")
    if order.lora is not None:
        adapter = xllamacpp.CommonAdapterLoraInfo()
        adapter.path, adapter.scale = order.lora, 0.0 if order.lora_rests else 1.0
        params.lora_adapters = [adapter]
    server = xllamacpp.Server(params)
    return server.listening_address, server


def spawn(order: Order, binary: str) -> tuple[str, subprocess.Popen[bytes]]:
    """The same by a llama-server of the user's own."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        port = free.getsockname()[1]
    key, write = os.pipe()
    os.write(write, order.key.encode() + b"\n")
    os.close(write)
    command = [binary, "--model", order.model, "--host", HOST, "--port", str(port)]
    command += ["--api-key-file", f"/dev/fd/{key}"]
    command += ["--ctx-size", str(order.context * order.slots), "--parallel", str(order.slots)]
    command += ["--threads", str(order.threads), "--slots", "--no-warmup"]
    command += [] if order.gpu_layers is None else ["--n-gpu-layers", str(order.gpu_layers)]
    command += ["--embeddings"] if order.embedding else []
    command += ["--pooling", order.pooling] if order.pooling else []
    command += ["--lora", order.lora] if order.lora else []
    command += ["--slot-save-path", order.saves] if order.saves else []
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[key], preexec_fn=die_with_parent)
    os.close(key)
    return f"http://{HOST}:{port}", process


def leave_with_input(end: Callable[[], None]) -> None:
    def read() -> None:
        while os.read(0, 4096):
            pass
        end()
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()


def main() -> None:
    die_with_parent()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what the engine prints must not get in front of our line
    order = msgspec.json.decode(_line(), type=Order)
    if os.name == "posix" and os.getppid() != order.parent:
        return  # the parent died before we asked to be told
    try:
        if order.binary is not None:
            url, process = spawn(order, order.binary)
            leave_with_input(process.kill)
            out.write(msgspec.json.encode(Ready(url)) + b"\n")
            sys.exit(process.wait() and 1)
        leave_with_input(lambda: None)
        url, server = serve(order)
    except (OSError, RuntimeError, ValueError, TypeError, ImportError) as error:
        out.write(msgspec.json.encode(Ready(error=f"{type(error).__name__}: {error}"[:500])) + b"\n")
        sys.exit(1)
    out.write(msgspec.json.encode(Ready(url)) + b"\n")
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    del server


def _line() -> bytes:
    # Byte by byte and unbuffered: what follows belongs to the thread that waits for the end.
    line = b""
    while (byte := os.read(0, 1)) not in (b"", b"\n"):
        line += byte
    return line


if __name__ == "__main__":
    main()

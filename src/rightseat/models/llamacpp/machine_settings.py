"""Threads, context and batch of a local model, chosen by the machine and the header of its GGUF file."""

from __future__ import annotations

from msgspec import Struct

from rightseat.models.llamacpp.gguf import GgufHeader
from rightseat.models.llamacpp.machine import Machine

MAX_THREADS = 16
"""More threads wait for the memory and for each other."""
USUAL_CONTEXT = 4096
MAX_CONTEXT = 32768
MAX_GPU_CONTEXT = 8192
"""A context may lie in the memory of the graphics card, whose size is not known."""
MIN_CONTEXT = 1024
BATCHES = (512, 256, 128, 64)
SMALL_MEMORY_BATCH = 128
# A batch cannot be interrupted: cancellation and other answers wait for its end. One slow core (Neoverse N1) was
# measured at 37.6 tokens of 98 MB of weights per second, with batches of 64 to 512 alike: this is two seconds of it.
_BATCH_BYTES_PER_THREAD = 7_400_000_000
_SMALL_MEMORY = 2 << 30
_STEP = 1024
_CACHE_ELEMENT_BYTES = 2


class MachineSettings(Struct, frozen=True):
    """Settings of the engine. `context` is for each slot; `batch` is for an engine without a GPU."""

    threads: int
    context: int
    batch: int


def choose_machine_settings(
    machine: Machine, header: GgufHeader | None, *, weights_bytes: int, slots: int
) -> MachineSettings:
    """Choose the settings of a model on a machine. `header` is None where the file cannot be read."""
    threads = choose_threads(machine)
    return MachineSettings(
        threads,
        _choose_context(machine, header, weights_bytes=weights_bytes, slots=slots),
        _choose_batch(machine, threads, weights_bytes),
    )


def choose_threads(machine: Machine) -> int:
    """Return a thread for each core, so that one processor is left to the event loop."""
    return max(1, min(machine.cores, machine.processors - 1, MAX_THREADS))


def count_cache_bytes(header: GgufHeader) -> int | None:
    """Return the bytes of keys and values that one token takes in the context; None if the header does not say.

    Layers with a sliding window or without attention take less: the result is an upper limit.
    """
    layers = _read_size(header, "block_count")
    heads = _read_size(header, "attention.head_count")
    cached_heads = _read_size(header, "attention.head_count_kv") or heads
    width = _read_size(header, "embedding_length")
    default = width // heads if width and heads else None
    key = _read_size(header, "attention.key_length") or default
    value = _read_size(header, "attention.value_length") or default
    if not (layers and cached_heads and key and value):
        return None
    return layers * cached_heads * (key + value) * _CACHE_ELEMENT_BYTES


def _read_size(header: GgufHeader, name: str) -> int | None:
    value = header.values.get(f"{header.architecture}.{name}")
    return value if type(value) is int and value > 0 else None


def _choose_context(machine: Machine, header: GgufHeader | None, *, weights_bytes: int, slots: int) -> int:
    """Return the tokens of each slot. All slots take at most half of the memory that the weights leave free, or
    three quarters for the first 4096 tokens; the rest is for the prompt cache and other programs."""
    trained = header.context_length if header else None
    most = min(trained or USUAL_CONTEXT, MAX_GPU_CONTEXT if machine.gpu else MAX_CONTEXT)
    token_bytes = count_cache_bytes(header) if header else None
    if token_bytes is None:
        return min(most, USUAL_CONTEXT)
    tokens = max(0, machine.free - weights_bytes) // (token_bytes * slots)
    fitting = max(tokens // 2, min(tokens * 3 // 4, USUAL_CONTEXT))
    return min(most, max(MIN_CONTEXT, fitting // _STEP * _STEP))


def _choose_batch(machine: Machine, threads: int, weights_bytes: int) -> int:
    largest = threads * _BATCH_BYTES_PER_THREAD // max(1, weights_bytes)
    if machine.free < _SMALL_MEMORY:
        # The engine reserves a row of the vocabulary for each token of a batch.
        largest = min(largest, SMALL_MEMORY_BATCH)
    return next((batch for batch in BATCHES if batch <= largest), BATCHES[-1])

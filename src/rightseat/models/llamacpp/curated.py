"""Curated list of local models that call tools well, with what each one costs on this machine.

Sizes and checksums are those of the files that the models' authors published. A checksum pins a file: a mirror
cannot replace it unnoticed.
"""

from __future__ import annotations

from dataclasses import dataclass

# Each token reads all weights once. A thread read 2.8 GB of them per second of processor time with the embedded model
# on a Neoverse-N1 core; usual memory gives 40 GB per second at most. No larger model was measured, and no GPU.
THREAD_BYTES_PER_SECOND = 3e9
MEMORY_BYTES_PER_SECOND = 40e9
# Two slots of 4,096 tokens, the defaults of a local model, and the engine itself.
CONTEXT_TOKENS = 8192
ENGINE_BYTES = 400_000_000


@dataclass(frozen=True, slots=True)
class CuratedModel:
    """A GGUF file on the hub. `state_bytes`: memory of one token of context. `cores`: with fewer it writes too slowly
    for a conversation."""

    name: str
    repo: str
    file: str
    size: int
    sha256: str
    licence: str
    state_bytes: int
    good_for: str = ""
    cores: int = 1

    @property
    def source(self) -> str:
        return f"hf:{self.repo}/{self.file}"

    @property
    def memory(self) -> int:
        """Memory in bytes that the model needs with the default options."""
        return self.size + CONTEXT_TOKENS * self.state_bytes + ENGINE_BYTES


CURATED_MODELS = (
    CuratedModel(
        name="qwen3-0.6b",
        repo="Qwen/Qwen3-0.6B-GGUF",
        file="Qwen3-0.6B-Q8_0.gguf",
        size=639_446_688,
        sha256="9465e63a22add5354d9bb4b99e90117043c7124007664907259bd16d043bb031",
        licence="Apache-2.0",
        state_bytes=114_688,
        cores=1,
        good_for="short questions and single tool calls",
    ),
    CuratedModel(
        name="qwen3-1.7b",
        repo="Qwen/Qwen3-1.7B-GGUF",
        file="Qwen3-1.7B-Q8_0.gguf",
        size=1_834_426_016,
        sha256="061b54daade076b5d3362dac252678d17da8c68f07560be70818cace6590cb1a",
        licence="Apache-2.0",
        state_bytes=114_688,
        cores=2,
        good_for="everyday questions and tool calls",
    ),
    CuratedModel(
        name="qwen3-4b",
        repo="Qwen/Qwen3-4B-GGUF",
        file="Qwen3-4B-Q4_K_M.gguf",
        size=2_497_280_256,
        sha256="7485fe6f11af29433bc51cab58009521f205840f5b4ae3a32fa7f92e8534fdf5",
        licence="Apache-2.0",
        state_bytes=147_456,
        cores=4,
        good_for="several tools, tables and longer texts",
    ),
    CuratedModel(
        name="qwen3-8b",
        repo="Qwen/Qwen3-8B-GGUF",
        file="Qwen3-8B-Q4_K_M.gguf",
        size=5_027_783_488,
        sha256="d98cdcbd03e17ce47681435b5150e34c1417f50b5c0019dd560e4882c5745785",
        licence="Apache-2.0",
        state_bytes=147_456,
        cores=8,
        good_for="the best answers of this list",
    ),
)


def find_curated(name: str) -> CuratedModel | None:
    return next((model for model in CURATED_MODELS if model.name == name), None)


def suggest_model(memory_bytes: int, *, cores: int | None = None, larger_than: int = 0) -> str | None:
    """Return the name of the largest model that needs at most three quarters of the memory; None if none fits.

    `larger_than`: size of the present model's file in bytes.
    """
    fitting = [
        model
        for model in CURATED_MODELS
        if model.memory <= memory_bytes * 3 // 4
        and (cores is None or model.cores <= cores)
        and model.size > larger_than * 1.2
    ]
    return max(fitting, key=lambda model: model.size).name if fitting else None


def estimate_speed(size: int, threads: int) -> float:
    """Estimate the tokens in a second of a model of `size` bytes on the processor."""
    return min(threads * THREAD_BYTES_PER_SECOND, MEMORY_BYTES_PER_SECOND) / size

"""Next better local model: the largest of a short list that this machine can run well."""

from __future__ import annotations

from msgspec import Struct


class SuggestedModel(Struct, frozen=True):
    """Model to suggest: sizes in bytes. `cores`: with fewer it writes too slowly for a conversation."""

    name: str
    file_bytes: int
    memory_bytes: int
    cores: int


SUGGESTED_MODELS = (
    SuggestedModel("qwen3-8b", 5_000_000_000, 8_000_000_000, 8),
    SuggestedModel("qwen3-4b", 2_500_000_000, 5_000_000_000, 4),
    SuggestedModel("qwen3-1.7b", 1_300_000_000, 3_000_000_000, 2),
    SuggestedModel("qwen3-0.6b", 500_000_000, 1_500_000_000, 1),
)


def suggest_model(memory_bytes: int, *, cores: int | None = None, larger_than: int = 0) -> str | None:
    """Return the name of the largest model that needs at most three quarters of the memory; None if none fits.

    `larger_than`: size of the present model's file in bytes.
    """
    usable = memory_bytes * 3 // 4
    return next(
        (
            model.name
            for model in SUGGESTED_MODELS
            if model.memory_bytes <= usable
            and (cores is None or model.cores <= cores)
            and model.file_bytes > larger_than * 1.2
        ),
        None,
    )

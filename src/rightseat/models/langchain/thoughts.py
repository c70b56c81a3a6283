"""Signed thinking blocks: assembled from chunks, sent back with the next turn."""

from __future__ import annotations

from typing import Any

from rightseat.types.messages import Message

PROVIDER = "langchain"
THINKING_TYPES = ("thinking", "redacted_thinking", "reasoning")
_SIGNATURE_KEYS = ("signature", "data", "encrypted_content", "extras")


class SignedThinkingBlocks:
    def __init__(self) -> None:
        self._blocks: dict[Any, dict[str, Any]] = {}

    def add(self, block: dict[str, Any]) -> str:
        """Merge a streamed block into its predecessor; return its text."""
        key = block.get("index", len(self._blocks))
        merged = self._blocks.setdefault(key, {})
        for name, value in block.items():
            previous = merged.get(name)
            grows = (
                name not in ("type", "id", "index") and isinstance(previous, str) and isinstance(value, str)
            )
            merged[name] = previous + value if grows and previous is not None else value
        return _extract_text(block)

    def make_blob(self, model: str) -> Any:
        """Return the signed blocks for an opaque part, or None if none is signed."""
        blocks = [
            {name: value for name, value in block.items() if name != "index"}
            for block in self._blocks.values()
            if any(block.get(name) for name in _SIGNATURE_KEYS)
        ]
        return {"model": model, "blocks": blocks} if blocks else None


def _extract_text(block: dict[str, Any]) -> str:
    for name in ("thinking", "reasoning", "text"):
        if isinstance(text := block.get(name), str):
            return text
    summary = block.get("summary")
    parts = [one.get("text") for one in summary if isinstance(one, dict)] if isinstance(summary, list) else []
    return "".join(part for part in parts if isinstance(part, str))


def read_signed_blocks(message: Message, model: str) -> list[dict[str, Any]]:
    """Return the signed blocks of a message, if `model` wrote it."""
    for opaque in message.opaque:
        blob = opaque.blob
        if opaque.provider == PROVIDER and isinstance(blob, dict) and blob.get("model") == model:
            blocks = blob.get("blocks")
            return (
                [dict(block) for block in blocks if isinstance(block, dict)]
                if isinstance(blocks, list)
                else []
            )
    return []

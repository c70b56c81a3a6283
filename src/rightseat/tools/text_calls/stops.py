"""Stop sequences for text inside an envelope, which the upstream cannot apply."""

from __future__ import annotations

from collections.abc import Iterable

from rightseat.types.chunks import ModelChunk, TextChunk


class StopSequenceFilter:
    """Passes chunks up to the first stop sequence in their text; a possible beginning of one is held back."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = tuple(word for word in words if word)
        self._longest = max(map(len, self._words), default=1) - 1
        self._held = ""
        self.stopped = False

    def filter(self, chunks: Iterable[ModelChunk], *, last: bool = False) -> list[ModelChunk]:
        """Return the chunks up to a stop sequence. `last`: no more chunks follow."""
        if not self._words:
            return [*chunks]
        passed: list[ModelChunk] = []
        for chunk in chunks:
            if self.stopped:
                break
            if isinstance(chunk, TextChunk):
                passed.append(TextChunk(self._push(chunk.text)))
            else:
                passed += [TextChunk(self._flush()), chunk]
        if last:
            passed.append(TextChunk(self._flush()))
        return [chunk for chunk in passed if chunk != TextChunk("")]

    def _push(self, text: str) -> str:
        text = self._held + text
        positions = [at for at in (text.find(word) for word in self._words) if at >= 0]
        if positions:
            self.stopped, self._held = True, ""
            return text[: min(positions)]
        keep = len(text) - self._partial_length(text)
        self._held = text[keep:]
        return text[:keep]

    def _flush(self) -> str:
        held, self._held = self._held, ""
        return held

    def _partial_length(self, text: str) -> int:
        """Return how many of the last characters may begin a stop sequence."""
        sizes = range(min(len(text), self._longest), 0, -1)
        return next((size for size in sizes if any(w.startswith(text[-size:]) for w in self._words)), 0)

"""Thoughts between tags at the start of a model's text: tags of known models, and the parser that splits them off."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rightseat.tools.text_calls.reader import SPACE, ModelTextReader, ParseSteps
from rightseat.types.chunks import ModelChunk, ReasoningChunk, TextChunk, UsageChunk

THINKING_TAGS = (
    ("<think>", "</think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
)
"""Opening and closing tag of thoughts, by family of models."""


def parse_thought(reader: ModelTextReader, open_tag: str, close_tag: str, *, opened: bool) -> ParseSteps[None]:
    """Parse a thought, if there is one, and the white space around it. `opened`: its opening tag came before."""
    begun = opened
    if not begun:
        yield from reader.skip_space()
        begun = yield from reader.accept(open_tag)
    if begun:
        yield from reader.skip_space()
        yield from reader.text_until(close_tag, emit=reader.emit_reasoning)
        yield from reader.skip_space()


class ThoughtSplitter:
    """Splits the thought at the start of a streamed answer off, for servers that leave it in the text.

    `opened`: the answer starts inside a thought, because the server's prompt has opened it. `done`: no later chunk can
    be part of a thought. `on_thought` receives each piece.
    """

    def __init__(self, on_thought: Callable[[str], None], *, opened: bool = False) -> None:
        self.done = False
        self._on_thought = on_thought
        self._held: list[TextChunk] = []
        self._reader: ModelTextReader | None = None
        if opened:
            self._begin_thought(*THINKING_TAGS[0])

    def feed(self, chunks: Iterable[ModelChunk]) -> list[ModelChunk]:
        out: list[ModelChunk] = []
        for chunk in chunks:
            if self.done or isinstance(chunk, UsageChunk):
                out.append(chunk)
            elif isinstance(chunk, TextChunk):
                out += self._feed_text(chunk)
            else:
                # A call, or a thought in a field of its own.
                out += [*self.close(), chunk]
        return out

    def close(self) -> list[ModelChunk]:
        """End the text; return what was held back. A thought without an end stays a thought."""
        self.done = True
        held: list[ModelChunk] = [*self._held]
        self._held = []
        return held if self._reader is None else self._report(self._reader.close())

    def _feed_text(self, chunk: TextChunk) -> list[ModelChunk]:
        if self._reader is not None:
            return self._report(self._reader.feed(chunk.text))
        self._held.append(chunk)
        text = "".join(held.text for held in self._held).lstrip(SPACE)
        for open_tag, close_tag in THINKING_TAGS:
            if text.startswith(open_tag):
                self._held = []
                return self._report(self._begin_thought(open_tag, close_tag).feed(text[len(open_tag) :]))
        if any(open_tag.startswith(text) for open_tag, _ in THINKING_TAGS):
            return []
        return self.close()

    def _begin_thought(self, open_tag: str, close_tag: str) -> ModelTextReader:
        def parse(reader: ModelTextReader) -> ParseSteps[None]:
            yield from parse_thought(reader, open_tag, close_tag, opened=True)
            self.done = True
            yield from reader.text_until()

        self._reader = ModelTextReader(parse)
        return self._reader

    def _report(self, chunks: list[ModelChunk]) -> list[ModelChunk]:
        for chunk in chunks:
            if isinstance(chunk, ReasoningChunk):
                self._on_thought(chunk.text)
        return chunks

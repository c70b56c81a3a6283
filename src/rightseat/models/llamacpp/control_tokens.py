"""Keep control tokens in user and tool text from acting as control tokens.

A prompt is one string, and llama.cpp reads `<|im_end|>` in it as the end of a message, whoever wrote it. Two
halves of a control token that are tokenized separately are plain text. So `ControlTokens.mark` inserts a mark
after the first character of every control token in foreign text before rendering; after rendering,
`tokenize_prompt` splits the prompt at the marks, tokenizes the parts one by one and returns token ids instead
of text. A prompt without marks (nearly always) is sent as text, and so is one with very many: an invisible character
splits its control tokens, because each part would be a request to the server.

The mark is a Unicode noncharacter; marks already in foreign text are dropped.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Protocol

MARK = "\ufdd0"
# Splits a control token where the engine takes text only. It is invisible and joins words.
WORD_JOINER = "\u2060"
_MAX_PARTS = 64
# The shape of control tokens, for servers whose vocabulary is unknown.
_CANDIDATE_PATTERN = re.compile(r"<[^<>\n]{1,64}>|\[[^\[\]\n]{1,32}\]")
_MAX_LOOKUPS = 512
_MAX_KNOWN = 4096


class TrustedText(str):
    """Text written by us (a format's markup): its control tokens stay active."""

    __slots__ = ()


class Tokenizer(Protocol):
    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]: ...


class ControlTokens:
    """The control tokens of one vocabulary."""

    def __init__(self, tokens: Iterable[str]) -> None:
        # A one-character token cannot be split.
        self.tokens = frozenset(token for token in tokens if len(token) > 1)
        self._lengths = sorted({len(token) for token in self.tokens})
        firsts = "".join(sorted({re.escape(token[0]) for token in self.tokens}))
        self._first_character = re.compile(f"[{firsts}]") if firsts else None

    def mark(self, value: Any) -> Any:
        """Return the value with all control tokens marked, also in dict keys; TrustedText stays as is."""
        if isinstance(value, TrustedText):
            return value
        if isinstance(value, str):
            return self._mark_text(value)
        if isinstance(value, dict):
            return {self.mark(key): self.mark(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mark(item) for item in value]
        return value

    def _mark_text(self, text: str) -> str:
        text = text.replace(MARK, "")
        if self._first_character is None:
            return text
        # Check every start position, since tokens may overlap. A vocabulary has thousands of tokens but few
        # lengths, so set lookups are cheaper than one large pattern.
        begins = (match.start() for match in self._first_character.finditer(text))
        cuts = [at + 1 for at in begins if any(text[at : at + n] in self.tokens for n in self._lengths)]
        if not cuts:
            return text
        return MARK.join(text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True))


def select_control_tokens(control: Iterable[str], added: Iterable[str], source: str) -> ControlTokens:
    """Return the control tokens of a model. `added` tokens count only if the template `source` writes them,
    such as `<tool_call>`; others (spaces, HTML tags) are ordinary words to most models."""
    return ControlTokens([*control, *(token for token in added if token.strip() and token in source)])


class ControlTokenDiscovery:
    """Finds control tokens of an attached server: text that looks like one and is a single token there."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._is_control: OrderedDict[str, bool] = OrderedDict()

    async def find_control_tokens(self, *values: Any) -> ControlTokens:
        candidates = sorted({look for text in _iter_texts(values) for look in _CANDIDATE_PATTERN.findall(text)})
        # Candidates beyond the lookup limit count as control tokens without asking the server.
        unknown = [look for look in candidates if look not in self._is_control][:_MAX_LOOKUPS]
        counts = await asyncio.gather(*(self._tokenizer.tokenize(look) for look in unknown))
        for look, tokens in zip(unknown, counts, strict=True):
            self._is_control[look] = len(tokens) == 1
        control_tokens = ControlTokens(look for look in candidates if self._is_control.get(look, True))
        while len(self._is_control) > _MAX_KNOWN:
            self._is_control.popitem(last=False)
        return control_tokens


def _iter_texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _iter_texts(key)
            yield from _iter_texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iter_texts(item)


async def tokenize_prompt(rendered: str, tokenizer: Tokenizer) -> str | list[int]:
    """Return what to send as `prompt`: the text, or token ids if it contains marked control tokens."""
    if MARK not in rendered:
        return rendered
    if rendered.count(MARK) >= _MAX_PARTS:
        return rendered.replace(MARK, WORD_JOINER)
    pieces = [piece for piece in rendered.split(MARK) if piece]
    tokens = await asyncio.gather(
        *(tokenizer.tokenize(piece, special=True, add=number == 0) for number, piece in enumerate(pieces))
    )
    return [token for part in tokens for token in part]

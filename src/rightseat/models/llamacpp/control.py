"""Control tokens in what people and tools write are text.

A prompt is one string, and llama.cpp reads `<|im_end|>` in it as the end of a message, whoever wrote it. Its
tokenizer cannot be told which part is whose, but two halves of a control token that are tokenised apart are
plain text. So: before rendering, every control token in foreign text gets a mark after its first character
(`Control.mark`); after rendering, the prompt is cut at the marks, the pieces are tokenised one by one, and
the numbers are sent instead of the text (`prompt`). Without marks, nearly always, the text itself goes out.

The mark is a character that Unicode keeps for such use; in foreign text it is dropped.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, Protocol

MARK = "\ufdd0"
# What control tokens look like, for a server whose vocabulary we cannot read.
_LOOKS = re.compile(r"<[^<>\n]{1,64}>|\[[^\[\]\n]{1,32}\]")
_CANDIDATES = 512
_REMEMBERED = 4096


class Trusted(str):
    """Text of our own (a format's markup): its control tokens are meant."""

    __slots__ = ()


class Tokenizer(Protocol):
    async def tokenize(self, text: str, *, special: bool = True, add: bool = False) -> list[int]: ...


class Control:
    """The control tokens of one vocabulary."""

    def __init__(self, tokens: Iterable[str]) -> None:
        # One character cannot be cut in two.
        self.tokens = frozenset(token for token in tokens if len(token) > 1)
        self._lengths = sorted({len(token) for token in self.tokens})
        firsts = "".join(sorted({re.escape(token[0]) for token in self.tokens}))
        self._first = re.compile(f"[{firsts}]") if firsts else None

    def mark(self, value: Any) -> Any:
        """The same value with every control token in it marked, also in keys; Trusted text stays."""
        if isinstance(value, Trusted):
            return value
        if isinstance(value, str):
            return self._marked(value)
        if isinstance(value, dict):
            return {self.mark(key): self.mark(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.mark(item) for item in value]
        return value

    def _marked(self, text: str) -> str:
        text = text.replace(MARK, "")
        if self._first is None:
            return text
        # Every place where one begins, as they may overlap. A vocabulary has thousands of tokens but few
        # lengths: looking them up costs less than a pattern of them all.
        begins = (match.start() for match in self._first.finditer(text))
        cuts = [at + 1 for at in begins if any(text[at : at + n] in self.tokens for n in self._lengths)]
        if not cuts:
            return text
        return MARK.join(text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True))


def of_model(control: Iterable[str], added: Iterable[str], source: str) -> Control:
    """`added` tokens are words to most models (spaces, tags of HTML); those that the template itself writes,
    such as `<tool_call>`, are not."""
    return Control([*control, *(token for token in added if token.strip() and token in source)])


class Discovery:
    """Control tokens of an attached server: whatever looks like one and is a single token there."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known: OrderedDict[str, bool] = OrderedDict()

    async def control(self, *values: Any) -> Control:
        """The control tokens within these values."""
        looks = sorted({look for text in _texts(values) for look in _LOOKS.findall(text)})
        # Beyond a measure nobody is asked: what looks like a control token is cut.
        asked = [look for look in looks if look not in self._known][:_CANDIDATES]
        counts = await asyncio.gather(*(self._tokenizer.tokenize(look) for look in asked))
        for look, tokens in zip(asked, counts, strict=True):
            self._known[look] = len(tokens) == 1
        found = Control(look for look in looks if self._known.get(look, True))
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


async def prompt(rendered: str, tokenizer: Tokenizer) -> str | list[int]:
    """What to send as `prompt`: the text, or its tokens where a foreign control token stands in it."""
    if MARK not in rendered:
        return rendered
    pieces = [piece for piece in rendered.split(MARK) if piece]
    tokens = await asyncio.gather(
        *(tokenizer.tokenize(piece, special=True, add=number == 0) for number, piece in enumerate(pieces))
    )
    return [token for part in tokens for token in part]


async def adds_start(tokenizer: Tokenizer) -> bool:
    """Whether the server puts the model's first token before every prompt. It is the same for all of them."""
    return bool(await tokenizer.tokenize("", add=True))


def without_double_start(rendered: str, bos: str, adds: bool) -> str:
    """Many templates write the first token that the server would add too; two of them confuse a model."""
    return rendered.removeprefix(bos) if adds else rendered

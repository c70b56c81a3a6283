"""Counts of tokens by a llama-server's tokenizer, kept by text: each text of a conversation is tokenized once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from rightseat.models.llamacpp.control_tokens import Tokenizer
from rightseat.models.llamacpp.media import IMAGE_TOKENS
from rightseat.types.messages import Message, TextMessagePart
from rightseat.types.text import estimate_tokens

CALL_OVERHEAD = 24
"""Tokens around a call's name and arguments: markup, keys and quotes."""
_MAX_COUNTS = 1 << 16
MAX_TOKENIZED_CHARS = 1 << 20
"""Longer texts are estimated: no window holds them, and the server would tokenize for seconds."""
_TOKENIZED_AT_ONCE = 4

TextKey = tuple[int, int]


class TokenCounts:
    """Token counts of one vocabulary, by length and hash of the text."""

    def __init__(self) -> None:
        self._counts: OrderedDict[TextKey, int] = OrderedDict()
        self._requests = asyncio.Semaphore(_TOKENIZED_AT_ONCE)

    async def count_texts(self, texts: Sequence[str], tokenizer: Tokenizer) -> list[int]:
        keys = [(len(text), hash(text)) for text in texts]
        unknown = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._counts}
        counts = await asyncio.gather(*(self._count_text(text, tokenizer) for text in unknown.values()))
        known = dict(zip(unknown, counts, strict=True))
        for key in keys:
            known.setdefault(key, self._counts.get(key, 0))
            self._counts[key] = known[key]
            self._counts.move_to_end(key)
        while len(self._counts) > _MAX_COUNTS:
            self._counts.popitem(last=False)
        return [known[key] for key in keys]

    async def _count_text(self, text: str, tokenizer: Tokenizer) -> int:
        if len(text) > MAX_TOKENIZED_CHARS:
            return estimate_tokens(text)
        if not text:
            return 0
        async with self._requests:
            return len(await tokenizer.tokenize(text, special=False))


async def count_message_tokens(
    messages: Sequence[Message], counts: TokenCounts, tokenizer: Tokenizer, overhead: int
) -> list[int]:
    """Return the tokens of each message. `overhead`: tokens that the chat template writes around each."""
    texts = [list(_list_texts(message)) for message in messages]
    numbers = iter(await counts.count_texts([text for group in texts for text in group], tokenizer))
    sums = [sum(next(numbers) for _ in group) for group in texts]
    return [
        number + overhead + len(message.calls) * CALL_OVERHEAD + _count_images(message) * IMAGE_TOKENS
        for number, message in zip(sums, messages, strict=True)
    ]


def _count_images(message: Message) -> int:
    return sum(not isinstance(part, TextMessagePart) for part in message.parts)


def _list_texts(message: Message) -> Iterable[str]:
    yield message.text
    for call in message.calls:
        yield call.name
        yield call.arguments

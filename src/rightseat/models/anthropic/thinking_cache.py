"""In-memory cache of signed thinking blocks of earlier turns.

Within a turn the engine keeps them, but clients post back only text and calls. The key is a digest of the
conversation id, all user texts before the answer, and the answer itself. The oldest entries are evicted.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.types.chunks import ModelChunk, ProviderDataChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.messages import Message, ProviderData
from rightseat.types.model import Prompt

CACHE_BYTES = 8 << 20


class ThinkingCache:
    def __init__(self, max_bytes: int = CACHE_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()

    def store(self, prompt: Prompt, answer: Iterable[ModelChunk]) -> None:
        """Store the thinking blocks of an answer, if it has any."""
        texts: list[str] = []
        calls: dict[int, tuple[str, list[str]]] = {}
        opaque: ProviderDataChunk | None = None
        for chunk in answer:
            match chunk:
                case TextChunk(words):
                    texts.append(words)
                case ToolCallStart(index, name):
                    calls[index] = (name, [])
                case ToolCallArgs(index, json):
                    calls[index][1].append(json)
                case ProviderDataChunk():
                    opaque = chunk
                case _:
                    pass
        if opaque is None or prompt.conversation is None:
            return
        digest = _digest_questions(prompt.conversation, prompt.messages)
        tool_calls = [(name, "".join(pieces)) for name, pieces in calls.values()]
        self._put(_make_key(digest, "".join(texts), tool_calls), msgspec.json.encode([opaque.provider, opaque.blob]))

    def restore(self, prompt: Prompt) -> Prompt:
        """Return the prompt with thinking blocks restored to assistant messages that lack them."""
        if prompt.conversation is None or not self._entries:
            return prompt
        digest = _digest_questions(prompt.conversation, ())
        messages: list[Message] = []
        for message in prompt.messages:
            if message.role == "user":
                _update_digest(digest, message.text)
            elif message.role == "assistant" and not message.opaque:
                tool_calls = [(call.name, call.arguments) for call in message.calls]
                message = replace(message, opaque=self._get(_make_key(digest.copy(), message.text, tool_calls)))
            messages.append(message)
        return replace(prompt, messages=tuple(messages))

    def _get(self, key: bytes) -> tuple[ProviderData, ...]:
        if key not in self._entries:
            return ()
        self._entries.move_to_end(key)
        provider, blob = msgspec.json.decode(self._entries[key])
        return (ProviderData(provider, blob),)

    def _put(self, key: bytes, thought: bytes) -> None:
        self._size += len(thought) - len(self._entries.pop(key, b""))
        self._entries[key] = thought
        while self._size > self._max_bytes:
            self._size -= len(self._entries.popitem(last=False)[1])


def _digest_questions(conversation: str, messages: Iterable[Message]) -> Any:
    digest = hashlib.sha256()
    user_texts = (message.text for message in messages if message.role == "user")
    for text in (conversation, *user_texts):
        _update_digest(digest, text)
    return digest


def _make_key(digest: Any, text: str, calls: list[tuple[str, str]]) -> bytes:
    _update_digest(digest, text)
    for name, arguments in calls:
        _update_digest(digest, name)
        _update_digest(digest, _normalize_json(arguments))
    key: bytes = digest.digest()
    return key


def _update_digest(digest: Any, text: str) -> None:
    data = text.encode("utf-8", "replace")
    digest.update(b"%d:%b" % (len(data), data))


def _normalize_json(arguments: str) -> str:
    """Return JSON in canonical form, so that a client's formatting does not matter."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return arguments

"""In-memory cache of thoughts of earlier answers, such as signed thinking blocks and `reasoning_content`.

Within a turn the engine keeps them, but clients post back only text and calls. An answer with calls is found by
their ids, which the engine makes and no client can guess; another one by a digest of the conversation id, all user
texts before the answer, and the answer itself. The oldest entries are evicted.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

import msgspec
from msgspec.structs import replace

from rightseat.types.chunks import ModelChunk, ProviderDataChunk, TextChunk, ToolCallArgs, ToolCallStart
from rightseat.types.messages import Message, ProviderData, is_client_reasoning, merge_client_reasoning
from rightseat.types.model import Prompt

CACHE_BYTES = 8 << 20


class ThinkingCache:
    """Cache of one model's thoughts. `split_blob` returns the part of a blob that belongs to one call: for vendors
    that take the calls of an answer as several messages, as some clients post them."""

    def __init__(self, max_bytes: int = CACHE_BYTES, *, split_blob: Callable[[Any, int], Any] | None = None) -> None:
        self._max_bytes = max_bytes
        self._split_blob = split_blob
        self._size = 0
        # A long conversation is written into a request in a worker thread.
        self._lock = Lock()
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
        self._put(_make_key(digest, "".join(texts), tool_calls), opaque.provider, opaque.blob)

    def restore(self, prompt: Prompt) -> Prompt:
        """Return the prompt with thoughts restored to assistant messages that lack them. Those of other messages are
        stored by the ids of their calls."""
        digest = None if prompt.conversation is None else _digest_questions(prompt.conversation, ())
        messages: list[Message] = []
        for message in prompt.messages:
            if message.role == "user" and digest is not None:
                _update_digest(digest, message.text)
            elif message.role == "assistant":
                self._store_by_calls(message)
                message = replace(message, opaque=self._find_opaque(message, digest))
            messages.append(message)
        return replace(prompt, messages=tuple(messages))

    def _find_opaque(self, message: Message, digest: Any) -> tuple[ProviderData, ...]:
        given = message.opaque
        if given and not all(map(is_client_reasoning, given)):
            return given
        found = self._get(_make_call_key(message)) if message.calls else ()
        if not found and digest is not None:
            tool_calls = [(call.name, call.arguments) for call in message.calls]
            found = self._get(_make_key(digest.copy(), message.text, tool_calls))
        # The client's own text replaces that of the cache, but not what only the vendor can read.
        return tuple(merge_client_reasoning(part, given) for part in found) or given

    def _store_by_calls(self, message: Message) -> None:
        for part in message.opaque:
            if not message.calls or is_client_reasoning(part):
                continue
            self._put(_make_call_key(message), part.provider, part.blob)
            if self._split_blob is not None and len(message.calls) > 1:
                for number, call in enumerate(message.calls):
                    single = replace(message, calls=(call,))
                    self._put(_make_call_key(single), part.provider, self._split_blob(part.blob, number))

    def _get(self, key: bytes) -> tuple[ProviderData, ...]:
        with self._lock:
            if key not in self._entries:
                return ()
            self._entries.move_to_end(key)
            entry = self._entries[key]
        provider, blob = msgspec.json.decode(entry)
        return (ProviderData(provider, blob),)

    def _put(self, key: bytes, provider: str, blob: Any) -> None:
        entry = msgspec.json.encode([provider, blob])
        with self._lock:
            self._size += len(entry) - len(self._entries.pop(key, b""))
            self._entries[key] = entry
            while self._size > self._max_bytes:
                self._size -= len(self._entries.popitem(last=False)[1])


def _digest_questions(conversation: str, messages: Iterable[Message]) -> Any:
    digest = hashlib.sha256()
    user_texts = (message.text for message in messages if message.role == "user")
    for text in (conversation, *user_texts):
        _update_digest(digest, text)
    return digest


def _make_call_key(message: Message) -> bytes:
    digest = hashlib.sha256(b"calls")
    for call in message.calls:
        _update_digest(digest, call.id)
    return digest.digest()


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

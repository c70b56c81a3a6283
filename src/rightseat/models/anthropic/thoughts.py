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

from rightseat.types import chunks as fragments
from rightseat.types.chunks import CallArgs, CallName, Fragment, Text
from rightseat.types.messages import Message, Opaque
from rightseat.types.model import Prompt

ROOM = 8 << 20

_Called = list[tuple[str, str]]


class Thoughts:
    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._size = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    def keep(self, prompt: Prompt, answer: Iterable[Fragment]) -> None:
        """Store the thinking blocks of an answer, if it has any."""
        texts: list[str] = []
        calls: dict[int, tuple[str, list[str]]] = {}
        thought: fragments.Opaque | None = None
        for fragment in answer:
            match fragment:
                case Text(words):
                    texts.append(words)
                case CallName(index, name):
                    calls[index] = (name, [])
                case CallArgs(index, json):
                    calls[index][1].append(json)
                case fragments.Opaque():
                    thought = fragment
                case _:
                    pass
        if thought is None or prompt.conversation is None:
            return
        asked = _asked(prompt.conversation, prompt.messages)
        called = [(name, "".join(pieces)) for name, pieces in calls.values()]
        self._put(_key(asked, "".join(texts), called), msgspec.json.encode([thought.provider, thought.blob]))

    def recalled(self, prompt: Prompt) -> Prompt:
        """Return the prompt with thinking blocks restored to assistant messages that lack them."""
        if prompt.conversation is None or not self._kept:
            return prompt
        asked = _asked(prompt.conversation, ())
        found: list[Message] = []
        for message in prompt.messages:
            if message.role == "user":
                _add(asked, message.text)
            elif message.role == "assistant" and not message.opaque:
                called = [(call.name, call.arguments) for call in message.calls]
                message = replace(message, opaque=self._get(_key(asked.copy(), message.text, called)))
            found.append(message)
        return replace(prompt, messages=tuple(found))

    def _get(self, key: bytes) -> tuple[Opaque, ...]:
        if key not in self._kept:
            return ()
        self._kept.move_to_end(key)
        provider, blob = msgspec.json.decode(self._kept[key])
        return (Opaque(provider, blob),)

    def _put(self, key: bytes, thought: bytes) -> None:
        self._size += len(thought) - len(self._kept.pop(key, b""))
        self._kept[key] = thought
        while self._size > self._room:
            self._size -= len(self._kept.popitem(last=False)[1])


def _asked(conversation: str, messages: Iterable[Message]) -> Any:
    digest = hashlib.sha256()
    said = (message.text for message in messages if message.role == "user")
    for words in (conversation, *said):
        _add(digest, words)
    return digest


def _key(digest: Any, text: str, calls: _Called) -> bytes:
    _add(digest, text)
    for name, arguments in calls:
        _add(digest, name)
        _add(digest, _plain(arguments))
    found: bytes = digest.digest()
    return found


def _add(digest: Any, words: str) -> None:
    data = words.encode("utf-8", "replace")
    digest.update(b"%d:%b" % (len(data), data))


def _plain(arguments: str) -> str:
    """Return JSON in canonical form, so that a client's formatting does not matter."""
    try:
        return msgspec.json.encode(msgspec.json.decode(arguments), order="sorted").decode()
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return arguments

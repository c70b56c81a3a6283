"""Keys and texts as PostgreSQL can hold them: without NUL and lone surrogates, and short where an index has them."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

MAX_KEY_BYTES = 512
"""Longest key that is kept as it is. The index entries of a row must fit in a third of a page."""
ESCAPE = "\ue000"
HASHED = "\ue001"
"""First character of a key that stands for a longer one."""
_UNSTORABLE = re.compile(f"[\0{ESCAPE}{HASHED}\ud800-\udfff]")
_ESCAPED = re.compile(f"{ESCAPE}([0-9a-f]{{4}})")


def escape_text(text: str) -> str:
    """Return the text with escapes for characters that PostgreSQL does not hold; `unescape_text` restores them."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNSTORABLE.sub(lambda match: f"{ESCAPE}{ord(match[0]):04x}", text)


def unescape_text(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if ESCAPE in text else text


@lru_cache(4096)
def encode_key(text: str) -> str:
    """Return the text as a key: itself, or a hash if it is long."""
    if len(text) <= MAX_KEY_BYTES // 4:
        return escape_text(text)
    escaped = escape_text(text)
    encoded = escaped.encode()
    return escaped if len(encoded) <= MAX_KEY_BYTES else HASHED + hashlib.sha256(encoded).hexdigest()


def label_key(text: str) -> str | None:
    """Return the text that a hashed key stands for, to be kept beside it; None if the key is the text."""
    return escape_text(text) if encode_key(text).startswith(HASHED) else None

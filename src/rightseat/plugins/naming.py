"""Tool names for models: stable over restarts and valid for every model API."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container

MAX_TOOL_NAME_LENGTH = 64
HASH_LENGTH = 6
DISALLOWED = re.compile(r"[^a-zA-Z0-9_-]+")


def make_tool_name(plugin: str, tool: str, taken: Container[str] = ()) -> str:
    """Return `{plugin}_{tool}` in ASCII letters, digits, _ and -, at most 64 long and not in `taken`.

    Other characters and overlong names are replaced by a hash of the original, so that names stay unique and
    stable.
    """
    first, second = make_ascii_word(plugin, "p"), make_ascii_word(tool, "t")
    name = f"{first}_{second}"
    if len(name) <= MAX_TOOL_NAME_LENGTH and name not in taken:
        return name
    mark = hash_text(f"{plugin}\0{tool}")
    return f"{name[: MAX_TOOL_NAME_LENGTH - HASH_LENGTH - 1].rstrip('_-')}_{mark}"


def make_ascii_word(text: str, otherwise: str) -> str:
    """Return the text as one ASCII word, with a hash appended where characters were lost."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    word = DISALLOWED.sub("_", plain).strip("_")
    if text.isascii() and word:
        return word
    return f"{word or otherwise}{'_' if word else ''}{hash_text(text)}"


def hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_LENGTH]

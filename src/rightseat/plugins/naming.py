"""Tool names for models: stable over restarts and valid for every model API."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container

LONGEST = 64
DIGEST = 6
OTHER = re.compile(r"[^a-zA-Z0-9_-]+")


def named(plugin: str, tool: str, taken: Container[str] = ()) -> str:
    """Return `{plugin}_{tool}` in ASCII letters, digits, _ and -, at most 64 long and not in `taken`.

    Other characters and overlong names are replaced by a hash of the original, so that names stay unique and
    stable.
    """
    first, second = ascii_word(plugin, "p"), ascii_word(tool, "t")
    name = f"{first}_{second}"
    if len(name) <= LONGEST and name not in taken:
        return name
    mark = digest(f"{plugin}\0{tool}")
    return f"{name[: LONGEST - DIGEST - 1].rstrip('_-')}_{mark}"


def ascii_word(text: str, otherwise: str) -> str:
    """Return the text as one ASCII word, with a hash appended where characters were lost."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    word = OTHER.sub("_", plain).strip("_")
    if text.isascii() and word:
        return word
    return f"{word or otherwise}{'_' if word else ''}{digest(text)}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]

"""What a model calls a plugin's tool: stable over restarts, and within what every upstream takes."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container

LONGEST = 64
DIGEST = 6
OTHER = re.compile(r"[^a-zA-Z0-9_-]+")


def named(plugin: str, tool: str, taken: Container[str] = ()) -> str:
    """`{plugin}_{tool}` in letters, digits, _ and -, at most 64 of them, and none that is `taken`.

    What cannot be written so (Chinese, a very long name) has a hash of the original in its place, so that two
    plugins never share a name and the same one has the same name tomorrow.
    """
    first, second = ascii_word(plugin, "p"), ascii_word(tool, "t")
    name = f"{first}_{second}"
    if len(name) <= LONGEST and name not in taken:
        return name
    mark = digest(f"{plugin}\0{tool}")
    return f"{name[: LONGEST - DIGEST - 1].rstrip('_-')}_{mark}"


def ascii_word(text: str, otherwise: str) -> str:
    """The text as one word. Where letters were lost, a hash says which they were."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    word = OTHER.sub("_", plain).strip("_")
    if text.isascii() and word:
        return word
    return f"{word or otherwise}{'_' if word else ''}{digest(text)}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]

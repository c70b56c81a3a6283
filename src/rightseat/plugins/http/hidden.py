"""Redaction of credentials in responses: servers may echo what they were sent."""

from __future__ import annotations

import msgspec

from rightseat.config.secret import SHORTEST, mask
from rightseat.plugins.http.style import cookie_safe, escaped, plus

BLOT = "***"


class Hiding:
    """Replaces credentials, in all usual encodings, and every secret known to the process."""

    def __init__(self, values: tuple[str, ...] = ()) -> None:
        found: set[str] = set()
        for value in values:
            # Of `Bearer x` also `x` alone.
            for part in (value, value.partition(" ")[2]):
                json = msgspec.json.encode(part).decode()[1:-1]
                found |= {part, json, escaped(part), plus(part), cookie_safe(part)}
        self.values = sorted((one for one in found if len(one) >= SHORTEST), key=len, reverse=True)

    def __call__(self, text: str) -> str:
        for value in self.values:
            if value in text:
                text = text.replace(value, BLOT)
        return mask(text)

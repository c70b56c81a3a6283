"""Redaction of credentials in responses: servers may echo what they were sent."""

from __future__ import annotations

import msgspec

from rightseat.config.secret import MIN_MASKED_CHARS, mask
from rightseat.plugins.http.style import quote_all, quote_cookie, quote_form

REDACTED = "***"


class Redactor:
    """Replaces credentials, in all usual encodings, and every secret known to the process."""

    def __init__(self, values: tuple[str, ...] = ()) -> None:
        spellings: set[str] = set()
        for value in values:
            # Of `Bearer x` also `x` alone.
            for part in (value, value.partition(" ")[2]):
                json = msgspec.json.encode(part).decode()[1:-1]
                spellings |= {part, json, quote_all(part), quote_form(part), quote_cookie(part)}
        self.values = sorted(
            (one for one in spellings if len(one) >= MIN_MASKED_CHARS), key=len, reverse=True
        )

    def __call__(self, text: str) -> str:
        for value in self.values:
            if value in text:
                text = text.replace(value, REDACTED)
        return mask(text)

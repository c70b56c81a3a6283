"""Secret values: they print as `***` and are read only by `reveal()`."""

from __future__ import annotations

import hmac
import json
import logging
import os
from pathlib import Path
from typing import Never
from urllib.parse import quote, quote_plus

from rightseat.errors import ConfigError

log = logging.getLogger("rightseat.config")
MIN_MASKED_CHARS = 6  # masking shorter ones would hide ordinary words
_known: set[str] = set()
_variables: dict[str, str] = {}
"""Names of the environment variables that the file names, by their values."""


def mask(text: str) -> str:
    """Replace all secrets known to this process in a text of foreign code."""
    # The longest first: one secret may be a prefix of another.
    for value in sorted(_known, key=len, reverse=True):
        if value in text:
            text = text.replace(value, "***")
    return text


def mask_values(value: object) -> object:
    """Replace all known secrets in the texts of a log line's fields, before they are encoded."""
    match value:
        case str():
            return mask(value)
        case dict():
            return {mask(str(name)): mask_values(item) for name, item in value.items()}
        case list() | tuple():
            return [mask_values(item) for item in value]
        case _:
            return value


def list_spellings(value: str) -> set[str]:
    """List a secret as other code may have written it: in JSON, a repr, a URL, a header."""
    encoded = value.encode("utf-8", "surrogateescape")
    quoted = {json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value), repr(encoded)[1:]}
    # The last is what a header shows, because headers are decoded as latin-1.
    return {
        value,
        *(text[1:-1] for text in quoted),
        quote(encoded, safe=""),
        quote_plus(encoded),
        encoded.decode("latin-1"),
    }


class Secret:
    """String that only `reveal()` returns: never a repr, a log line, an f-string or a pickle."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        if len(value) >= MIN_MASKED_CHARS:
            _known.update(list_spellings(value))

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __reduce__(self) -> Never:
        raise TypeError("a Secret is not written anywhere")


def is_reference(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("env:", "file:"))


def resolve_reference(reference: str, key: str, *, folder: Path | None = None) -> Secret:
    """Return the secret of `env:NAME` or `file:PATH`. Messages name `key`; PATH is relative to `folder`."""
    kind, _, rest = reference.partition(":")
    if kind == "env":
        secret = Secret(_from_env(rest.strip(), key))
        _variables[secret.reveal()] = rest.strip()
        return secret
    if kind == "file":
        return Secret(_from_file((folder or Path()) / Path(rest.strip()).expanduser(), key))
    # Without the value: more people read logs than files.
    log.warning('%s holds its secret in plain text. Put it in the environment and write %s = "env:NAME".', key, key)
    return Secret(reference)


def find_variable(value: str | None) -> str | None:
    """Return the environment variable that a resolved `env:NAME` has taken this value from."""
    return _variables.get(value or "")


def _from_env(name: str, key: str) -> str:
    if value := os.environ.get(name):
        return value
    state = "is empty" if name in os.environ else "is not set"
    raise ConfigError(f"{key}: the environment variable {name} {state}. Set it with: export {name}=…")


def _from_file(path: Path, key: str) -> str:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"{key}: cannot read the secret's file {path}: {reason}.") from None
    # Editors and `echo` add a newline that is not part of the secret.
    if value := text.rstrip("\r\n"):
        return value
    raise ConfigError(f"{key}: the secret's file {path} is empty. Write the secret into it.")

"""Options that all models behind an HTTP API have, some of them from the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct


class VendorOptions(Struct, frozen=True, kw_only=True):
    base_url: str
    api_key: str | None = None
    headers: dict[str, str] = {}
    """Further headers of each request. A value may be a reference."""
    connect_timeout: float = 10
    """Seconds for connecting to the server."""
    first_token_timeout: float = 120
    """Seconds until the first token."""
    idle_timeout: float = 60
    """Seconds between two tokens."""
    tries: int = 3
    """How often a request is sent in all if it fails before its first token."""
    parallel: bool | None = None
    """Whether the model calls several tools in one answer. Without it, as the model's family does."""
    schema: bool | None = None
    """Whether the server supports an output schema. If not, the prompt describes the schema."""
    images: bool | None = None
    """Whether the model accepts images. Without it, as the model's family does."""
    ignored_settings: tuple[str, ...] = ()
    """Settings of a request, such as `temperature`, that are left out instead of refused if the model does not take
    them."""

    def has_key(self, *names: str) -> bool:
        """Whether there is a key, or one of the headers (in lower case) that hold one."""
        return bool(self.api_key) or not {header.lower() for header in self.headers}.isdisjoint(names)


def read_environment(
    options: Mapping[str, Any],
    url: str,
    url_variable: str,
    key_variables: tuple[str, ...],
    is_vendor: Callable[[str], bool],
) -> dict[str, Any]:
    """Return base_url and api_key; the environment's key is used only for its own server or the vendor's."""
    values: dict[str, Any] = {"base_url": os.environ.get(url_variable) or url}
    if "base_url" not in options or is_vendor(str(options["base_url"])):
        values["api_key"] = next(filter(None, map(os.environ.get, key_variables)), None)
    return values

"""Options that come from the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any


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


def has_key(api_key: str | None, headers: Mapping[str, str], *names: str) -> bool:
    """Whether there is a key, or one of the headers (in lower case) that hold one."""
    return bool(api_key) or not {header.lower() for header in headers}.isdisjoint(names)

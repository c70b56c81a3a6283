"""The keys of an API document that are read, from fields.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

OLDER: dict[str, tuple[str, ...]] = {
    "document": (
        "swagger",
        "host",
        "basePath",
        "schemes",
        "consumes",
        "produces",
        "definitions",
        "parameters",
        "responses",
        "securityDefinitions",
    ),
    "operation": ("consumes", "produces", "schemes"),
}
"""Those of version 2.0."""


@cache
def tables() -> dict[str, dict[str, list[str]]]:
    """Table → key → what it means, in English and in Chinese."""
    return tomllib.loads((files(__package__) / "fields.toml").read_text("utf-8"))


@cache
def known(table: str) -> tuple[str, ...]:
    return (*tables()[table], *OLDER.get(table, ()))

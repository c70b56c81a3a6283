"""Known keys of an API document, from fields.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

SWAGGER_FIELDS: dict[str, tuple[str, ...]] = {
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
"""Keys of Swagger 2.0."""


@cache
def load_field_tables() -> dict[str, dict[str, list[str]]]:
    """Load table → key → meaning in English and Chinese."""
    return tomllib.loads((files(__package__) / "fields.toml").read_text("utf-8"))


@cache
def known_fields(table: str) -> tuple[str, ...]:
    return (*load_field_tables()[table], *SWAGGER_FIELDS.get(table, ()))

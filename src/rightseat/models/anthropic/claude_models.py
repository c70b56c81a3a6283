"""What each Claude model accepts, and which JSON Schemas the API can enforce; it refuses all else."""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

K = 1000

# max_tokens for a model that is not in the table.
DEFAULT_MAX_OUTPUT = 8 * K
_NEW_NAME = re.compile(r"claude-([a-z]+)-(\d+)(?:[-.](\d{1,2})(?!\d))?")
_OLD_NAME = re.compile(r"claude-(\d)(?:[-.](\d)(?!\d))?-(?:opus|sonnet|haiku)")
_EFFORTS = ("low", "medium", "high", "xhigh", "max")


class ClaudeModel(Struct, frozen=True, kw_only=True):
    longest: int | None = None
    """The maximum output tokens; None if unknown."""
    thinks: Literal["never", "budget", "asked", "default", "always"] = "budget"
    """never; with a token budget; on request, adaptively; by default unless disabled; always."""
    forced_thinks: bool = False
    """Whether it may think when a tool call is forced."""
    prefill: bool = False
    """Whether it continues a final assistant message."""
    mid_system: bool = False
    """Whether a system message may follow a user message."""
    efforts: tuple[str, ...] = ()


_FIVE = ClaudeModel(longest=128 * K, thinks="always", forced_thinks=True, mid_system=True, efforts=_EFFORTS)
_FOUR_FIVE = ClaudeModel(longest=64 * K, prefill=True)

# By version, newest first; an unknown newer version uses the first row.
_BY_VERSION: tuple[tuple[tuple[int, int], ClaudeModel], ...] = (
    ((5, 1), _FIVE),
    ((5, 0), replace(_FIVE, thinks="default")),
    ((4, 8), replace(_FIVE, thinks="asked")),
    ((4, 7), replace(_FIVE, thinks="asked", forced_thinks=False, mid_system=False)),
    ((4, 6), ClaudeModel(longest=128 * K, thinks="asked", efforts=("low", "medium", "high", "max"))),
    ((4, 5), _FOUR_FIVE),
    ((4, 0), replace(_FOUR_FIVE, longest=32 * K)),
    ((3, 7), _FOUR_FIVE),
    ((3, 5), ClaudeModel(longest=8192, thinks="never", prefill=True)),
    ((0, 0), ClaudeModel(longest=4096, thinks="never", prefill=True)),
)  # fmt: skip

# Families that differ from their version.
_BY_FAMILY: dict[tuple[str, int, int], ClaudeModel] = {
    ("sonnet", 5, 0): replace(_FIVE, thinks="default", mid_system=False),
    ("haiku", 5, 5): replace(_FIVE, longest=64 * K),
    ("opus", 4, 5): replace(_FOUR_FIVE, efforts=("low", "medium", "high")),
    ("sonnet", 4, 0): _FOUR_FIVE,
}


def find_claude_model(name: str) -> ClaudeModel:
    """Find a model by name, which may have a vendor prefix or a date suffix."""
    lowered = name.lower()
    if "claude-mythos" in lowered or "claude-fable" in lowered:
        return _FIVE
    if match := _NEW_NAME.search(lowered):
        family, major, minor = match[1], int(match[2]), int(match[3] or 0)
    elif match := _OLD_NAME.search(lowered):
        family, major, minor = "", int(match[1]), int(match[2] or 0)
    else:
        return ClaudeModel()
    row = next(row for since, row in _BY_VERSION if (major, minor) >= since)
    return _BY_FAMILY.get((family, major, minor), row)


def clamp_effort(requested: str | None, model: ClaudeModel) -> str | None:
    """Return the highest effort level that the model supports and that is at most `requested`, else None. Models that
    cannot stop thinking take the lowest for `none` and `minimal`."""
    requested = "low" if requested in ("none", "minimal") else requested
    if requested not in _EFFORTS or not model.efforts:
        return None
    below = _EFFORTS[: _EFFORTS.index(requested) + 1]
    return next((level for level in reversed(below) if level in model.efforts), None)


_KEPT_KEYS = frozenset({"type", "description", "title", "enum", "const", "required", "default"})

_DROPPED_KEYS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) | frozenset(
    {"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "examples", "$schema", "$id"}
)

_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})

_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri"}) | frozenset(
    {"ipv4", "ipv6", "uuid"}
)

_MAX_DEPTH = 64


class UnenforceableSchema(Exception):
    """The schema uses what the API cannot enforce."""


def make_enforceable(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema without its limits, or None if the API cannot enforce it."""
    try:
        return _convert_object(schema, 0) if schema.get("type") == "object" else None
    except UnenforceableSchema:
        return None


def _convert(schema: object, depth: int) -> dict[str, Any]:
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        raise UnenforceableSchema
    if schema.get("type") == "object":
        return _convert_object(schema, depth)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    type_keywords = {"enum", "const", "anyOf", "$ref"} & schema.keys()
    if (not type_keywords and not _TYPES.issuperset(kinds)) or "object" in kinds:
        raise UnenforceableSchema
    return _convert_keywords(schema, depth)


def _convert_object(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    if schema.get("additionalProperties") is not False or not isinstance(schema.get("properties"), dict):
        raise UnenforceableSchema
    return _convert_keywords(schema, depth)


def _convert_keywords(schema: dict[str, Any], depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _KEPT_KEYS or key == "additionalProperties":
            out[key] = value
        elif key in ("properties", "$defs") and isinstance(value, dict):
            out[key] = {name: _convert(inner, depth + 1) for name, inner in value.items()}
        elif key == "items":
            out[key] = _convert(value, depth + 1)
        elif key == "anyOf" and isinstance(value, list):
            out[key] = [_convert(inner, depth + 1) for inner in value]
        elif key == "$ref" and str(value).startswith("#/$defs/"):
            out[key] = value
        elif key == "format":
            out.update({key: value} if value in _FORMATS else {})
        elif key not in _DROPPED_KEYS:
            raise UnenforceableSchema
    return out

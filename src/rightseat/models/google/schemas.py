"""JSON Schema → the subset that Gemini accepts.

Other keywords go into the description or are dropped; arguments are validated against the full schema anyway.
"""

from __future__ import annotations

from typing import Any

from msgspec.json import encode

from rightseat.tools.text_calls.pointers import found

Json = dict[str, Any]

# Limits for schemas that explode when references are expanded.
_PLACES = 5000
_DEEPEST = 16
_KEPT = ("type", "title", "description", "minItems", "maxItems", "minimum", "maximum")
_FORMATS = {"date-time", "date", "time", "int32", "int64", "float", "double"}
# Keywords written into the description, which the model reads.
_WORDS = (
    *("pattern", "format", "minLength", "maxLength", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
    *("uniqueItems", "minProperties", "maxProperties", "const", "default"),
)
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def narrowed(schema: Json) -> Json:
    """Return the narrowed schema of any value."""
    return _Narrowing(schema).of(schema, ())


def parameters(schema: Json) -> Json:
    """Return the narrowed schema of call arguments, always of type object."""
    out = narrowed(schema)
    return out if out.get("type") == "object" else {**out, "type": "object"}


class _Narrowing:
    def __init__(self, root: Json) -> None:
        self._root = root
        self._places = 0

    def of(self, schema: Any, within: tuple[str, ...]) -> Json:
        """Narrow one schema node. `references`: the $refs followed so far, to stop at recursion."""
        self._places += 1
        if not isinstance(schema, dict):
            return {}
        pointer = schema.get("$ref")
        if isinstance(pointer, str):
            return self._referred(schema, pointer, within)
        for part in schema.get("allOf") or ():
            schema = _merged(schema, self.of(part, within))
        out = {key: schema[key] for key in _KEPT if key in schema}
        spoken = dict(schema)
        if schema.get("format") in _FORMATS:
            out["format"] = spoken.pop("format")
        _enumerated(spoken, out)
        self._composed(schema, out, within)
        if words := _words(spoken):
            out["description"] = f"{out['description']} ({words})" if out.get("description") else words
        return out

    def _referred(self, schema: Json, pointer: str, within: tuple[str, ...]) -> Json:
        target = found(self._root, pointer)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        over = pointer in within or len(within) > _DEEPEST or self._places > _PLACES
        if over or not isinstance(target, dict):
            kind = target.get("type") if isinstance(target, dict) else None
            return self.of({**beside, "type": kind} if isinstance(kind, str) else beside, within)
        return self.of({**target, **beside}, (*within, pointer))

    def _composed(self, schema: Json, out: Json, within: tuple[str, ...]) -> None:
        if isinstance(properties := schema.get("properties"), dict):
            out["properties"] = {name: self.of(one, within) for name, one in properties.items()}
            if required := [name for name in schema.get("required") or () if name in properties]:
                out["required"] = required
        if isinstance(more := schema.get("additionalProperties"), bool | dict):
            out["additionalProperties"] = more if isinstance(more, bool) else self.of(more, within)
        items = schema.get("items")
        if isinstance(items, dict):
            out["items"] = self.of(items, within)
        # Older drafts write tuples as a list in `items`.
        if isinstance(tuple_ := schema.get("prefixItems", items), list):
            out["prefixItems"] = [self.of(one, within) for one in tuple_]
        if isinstance(choices := schema.get("anyOf") or schema.get("oneOf"), list):
            out["anyOf"] = [self.of(one, within) for one in choices]


def _merged(schema: Json, part: Json) -> Json:
    """Merge one `allOf` part into the schema, whose own keywords win."""
    out = {**part, **schema}
    if "properties" in part:
        out["properties"] = {**part["properties"], **schema.get("properties", {})}
    if "required" in part:
        out["required"] = list(dict.fromkeys([*schema.get("required", ()), *part["required"]]))
    return out


def _enumerated(schema: Json, out: Json) -> None:
    """Write `enum` or `const` to `out` if all its values can be listed; remove `const` from `schema`."""
    given = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(given, list):
        return
    kinds = [_TYPES.get(type(value)) for value in given]
    if "type" not in out and None not in kinds:
        distinct = [kind for kind in dict.fromkeys(kinds) if kind]
        out["type"] = distinct[0] if len(distinct) == 1 else distinct
    listed = [
        value for value in given if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    if listed and len(listed) >= len([kind for kind in kinds if kind != "null"]):
        out["enum"] = listed
        schema.pop("const", None)


def _words(schema: Json) -> str:
    return "; ".join(f"{key}: {encode(schema[key]).decode()}" for key in _WORDS if key in schema)

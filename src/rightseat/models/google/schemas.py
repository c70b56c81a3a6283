"""JSON Schema → the subset that Gemini accepts.

Other keywords go into the description or are dropped; arguments are validated against the full schema anyway.
"""

from __future__ import annotations

from typing import Any

from msgspec.json import encode

from rightseat.tools.text_calls.pointers import resolve_ref

SchemaDict = dict[str, Any]

# Limits for schemas that explode when references are expanded.
_MAX_NODES = 5000
_MAX_DEPTH = 16
_KEPT_KEYS = ("type", "title", "description", "minItems", "maxItems", "minimum", "maximum")
_FORMATS = {"date-time", "date", "time", "int32", "int64", "float", "double"}
# Keywords written into the description, which the model reads.
_DESCRIBED_KEYS = (
    *("pattern", "format", "minLength", "maxLength", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
    *("uniqueItems", "minProperties", "maxProperties", "const", "default"),
)
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}


def narrow_schema(schema: SchemaDict) -> SchemaDict:
    """Return the narrowed schema of any value."""
    return _SchemaNarrower(schema).narrow(schema, ())


def narrow_parameters(schema: SchemaDict) -> SchemaDict:
    """Return the narrowed schema of call arguments, always of type object."""
    out = narrow_schema(schema)
    return out if out.get("type") == "object" else {**out, "type": "object"}


class _SchemaNarrower:
    def __init__(self, root: SchemaDict) -> None:
        self._root = root
        self._nodes = 0

    def narrow(self, schema: Any, references: tuple[str, ...]) -> SchemaDict:
        """Narrow one schema node. `references`: the $refs followed so far, to stop at recursion."""
        self._nodes += 1
        if not isinstance(schema, dict):
            return {}
        pointer = schema.get("$ref")
        if isinstance(pointer, str):
            return self._resolve_reference(schema, pointer, references)
        for part in schema.get("allOf") or ():
            schema = _merge_all_of(schema, self.narrow(part, references))
        out = {key: schema[key] for key in _KEPT_KEYS if key in schema}
        described = dict(schema)
        if schema.get("format") in _FORMATS:
            out["format"] = described.pop("format")
        _add_enum(described, out)
        self._narrow_children(schema, out, references)
        if limits := _describe_limits(described):
            out["description"] = f"{out['description']} ({limits})" if out.get("description") else limits
        return out

    def _resolve_reference(self, schema: SchemaDict, pointer: str, references: tuple[str, ...]) -> SchemaDict:
        target = resolve_ref(self._root, pointer)
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        over = pointer in references or len(references) > _MAX_DEPTH or self._nodes > _MAX_NODES
        if over or not isinstance(target, dict):
            kind = target.get("type") if isinstance(target, dict) else None
            return self.narrow({**siblings, "type": kind} if isinstance(kind, str) else siblings, references)
        return self.narrow({**target, **siblings}, (*references, pointer))

    def _narrow_children(self, schema: SchemaDict, out: SchemaDict, references: tuple[str, ...]) -> None:
        if isinstance(properties := schema.get("properties"), dict):
            out["properties"] = {name: self.narrow(one, references) for name, one in properties.items()}
            if required := [name for name in schema.get("required") or () if name in properties]:
                out["required"] = required
        if isinstance(more := schema.get("additionalProperties"), bool | dict):
            out["additionalProperties"] = more if isinstance(more, bool) else self.narrow(more, references)
        items = schema.get("items")
        if isinstance(items, dict):
            out["items"] = self.narrow(items, references)
        # Older drafts write tuples as a list in `items`.
        if isinstance(tuple_ := schema.get("prefixItems", items), list):
            out["prefixItems"] = [self.narrow(one, references) for one in tuple_]
        if isinstance(choices := schema.get("anyOf") or schema.get("oneOf"), list):
            out["anyOf"] = [self.narrow(one, references) for one in choices]


def _merge_all_of(schema: SchemaDict, part: SchemaDict) -> SchemaDict:
    """Merge one `allOf` part into the schema, whose own keywords win."""
    out = {**part, **schema}
    if "properties" in part:
        out["properties"] = {**part["properties"], **schema.get("properties", {})}
    if "required" in part:
        out["required"] = list(dict.fromkeys([*schema.get("required", ()), *part["required"]]))
    return out


def _add_enum(schema: SchemaDict, out: SchemaDict) -> None:
    """Write `enum` or `const` to `out` if all its values can be listed; remove `const` from `schema`."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return
    kinds = [_TYPES.get(type(value)) for value in values]
    if "type" not in out and None not in kinds:
        distinct = [kind for kind in dict.fromkeys(kinds) if kind]
        out["type"] = distinct[0] if len(distinct) == 1 else distinct
    listed = [
        value for value in values if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    if listed and len(listed) >= len([kind for kind in kinds if kind != "null"]):
        out["enum"] = listed
        schema.pop("const", None)


def _describe_limits(schema: SchemaDict) -> str:
    return "; ".join(f"{key}: {encode(schema[key]).decode()}" for key in _DESCRIBED_KEYS if key in schema)

"""Values of a form out of what a person writes: JSON in any shape that fits, `name: value` pairs, lists with commas.

Nothing here asks a model. `root` is the whole schema, whose `$defs` a field may name.
"""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.tools.text_calls.typescript import resolve_ref
from rightseat.types.schema import get_validator

Schema = dict[str, Any]
ParseScalar = Callable[[Schema, str], Any]
"""Returns the text as a scalar of the schema, or None."""
MAX_DEPTH = 8
MAX_PARTS_DEPTH = 3
"""`allOf` within `allOf`."""
MAX_FIELDS = 100
"""Fields that are listed: a schema that contains itself has no end."""
NAMED_SCHEMAS = ("properties", "$defs", "patternProperties", "dependentSchemas")
_FENCE = re.compile(r"```[\w-]*\n(.*?)\n?```", re.DOTALL)
_SEPARATOR = re.compile("[,;，；、]")
_MARK = re.compile("[:=：]")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)、])\s+")
_JOINED = re.compile(r"\s(?:and|or)\s|[和与及或]", re.IGNORECASE)


class FormField(Struct, frozen=True):
    """A field that a person fills. `name` is its path, with [] for each item of a list."""

    name: str
    keys: tuple[str, ...]
    schema: Schema
    required: bool = True
    description: str = ""
    in_list: bool = False


def resolve_core_schema(schema: Any, root: Schema, depth: int = 0) -> Schema:
    """Return the schema behind `$ref`, without null, and with the properties of `allOf` put together."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, dict):
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            schema = resolve_ref(root, reference)
            continue
        branches = [branch for branch in schema.get("anyOf") or schema.get("oneOf") or () if branch != {"type": "null"}]
        if len(branches) == 1:
            schema = branches[0]
            continue
        kinds = schema.get("type")
        others = [kind for kind in kinds if kind != "null"] if isinstance(kinds, list) else []
        core = {**schema, "type": others[0]} if len(others) == 1 else schema
        return join_parts(core, root, depth) if schema.get("allOf") and depth < MAX_PARTS_DEPTH else core
    return {}


def join_parts(schema: Schema, root: Schema, depth: int) -> Schema:
    parts = [{key: value for key, value in schema.items() if key != "allOf"}]
    parts += [resolve_core_schema(part, root, depth + 1) for part in schema["allOf"]]
    joined = {key: value for part in reversed(parts) for key, value in part.items()}
    properties = {name: inner for part in parts for name, inner in (part.get("properties") or {}).items()}
    required = [name for part in parts for name in part.get("required") or ()]
    return {**joined, "properties": properties, "required": required} if properties else joined


def has_type(core: Schema, name: str) -> bool:
    kinds = core.get("type")
    return name in kinds if isinstance(kinds, list) else kinds == name


def get_fields(core: Schema) -> dict[str, Any]:
    properties = core.get("properties")
    return properties if isinstance(properties, dict) else {}


def is_container(schema: Any, root: Schema) -> bool:
    """Whether the value is an object or a list, and never a text."""
    core = resolve_core_schema(schema, root)
    can_be_container = has_type(core, "object") or has_type(core, "array")
    return bool(get_fields(core)) or (can_be_container and not has_type(core, "string"))


def list_form_fields(schema: Schema) -> list[FormField]:
    """Return the first fields that a person fills, those of objects and of items in lists among them."""
    return list(itertools.islice(iter_fields(schema, schema, (), True, False), MAX_FIELDS))


def iter_fields(
    schema: Any, root: Schema, keys: tuple[str, ...], required: bool, in_list: bool, depth: int = 0
) -> Iterator[FormField]:
    core = resolve_core_schema(schema, root)
    items = resolve_core_schema(core.get("items"), root) if has_type(core, "array") else {}
    if depth < MAX_DEPTH and (fields := get_fields(core)):
        for name, inner in fields.items():
            needed = required and name in (core.get("required") or ())
            yield from iter_fields(inner, root, (*keys, name), needed, in_list, depth + 1)
    elif depth < MAX_DEPTH and get_fields(items) and keys:
        yield from iter_fields(items, root, (*keys[:-1], f"{keys[-1]}[]"), required, True, depth + 1)
    elif keys:
        sources = (schema if isinstance(schema, dict) else {}, core)
        texts = (source.get("description") for source in sources)
        description = next((text for text in texts if isinstance(text, str)), "")
        yield FormField(".".join(keys), keys, core, required, description, in_list)


def find_json(text: str) -> dict[str, Any] | list[Any] | None:
    """Return the object or list that the text is or has in it, fenced or not; None if there is none."""
    fenced = _FENCE.search(text)
    text = (fenced[1] if fenced else text).strip()
    starts = [place for place in (text.find("{"), text.find("[")) if place >= 0]
    end = max(text.rfind("}"), text.rfind("]"))
    if not starts or end < min(starts):
        return None
    for candidate in (text, text[min(starts) : end + 1]):
        with contextlib.suppress(msgspec.DecodeError, RecursionError):
            value = msgspec.json.decode(candidate)
            if isinstance(value, dict | list):
                return value
    return None


def fit_value(schema: Any, value: Any, parse_scalar: ParseScalar, root: Schema, depth: int = 0) -> Any:
    """Return the value in the shape of the schema where it is plain what is meant: an object without the name of
    its only field, one item in place of a list, dotted names, JSON or numbers as text."""
    core = resolve_core_schema(schema, root)
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, str):
        if not is_container(core, root):
            scalar = None if has_type(core, "string") or not value.strip() else parse_scalar(core, value)
            return value if scalar is None else scalar
        value = value if (decoded := find_json(value)) is None else decoded
    if has_type(core, "array"):
        return fit_list(core, value, parse_scalar, root, depth)
    fields = get_fields(core)
    if fields and isinstance(value, dict):
        value = expand_dotted_names(value, fields)
    if fields and isinstance(value, dict | list) and value and not (isinstance(value, dict) and value.keys() & fields):
        names = [name for name, inner in fields.items() if accepts_shape(inner, value, root)]
        value = {names[0]: value} if len(names) == 1 else value
    if not fields or not isinstance(value, dict):
        return value
    return {
        name: fit_value(fields[name], inner, parse_scalar, root, depth + 1) if name in fields else inner
        for name, inner in value.items()
    }


def fit_list(core: Schema, value: Any, parse_scalar: ParseScalar, root: Schema, depth: int) -> Any:
    items = core.get("items")
    if isinstance(value, str):
        parsed = parse_list(core, value, parse_scalar, root)
        return value if parsed is None else parsed
    if isinstance(value, dict) and accepts_shape(items, value, root):
        value = [value]
    if not isinstance(value, list):
        return value
    return [fit_value(items, item, parse_scalar, root, depth + 1) for item in value]


def accepts_shape(
    schema: Any, value: dict[str, Any] | list[Any], root: Schema, visited: set[int] | None = None
) -> bool:
    """Whether the schema, or one field in it, is a list for a list or has the object's names."""
    visited = set() if visited is None else visited
    if id(schema) in visited:
        return False
    # By identity: a schema that contains itself has no end.
    visited.add(id(schema))
    core = resolve_core_schema(schema, root)
    if has_type(core, "array"):
        return isinstance(value, list) or accepts_shape(core.get("items"), value, root, visited)
    fields = get_fields(core)
    if isinstance(value, dict) and value.keys() & fields:
        return True
    return any(accepts_shape(inner, value, root, visited) for inner in fields.values())


def expand_dotted_names(value: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Return the object with `customer.name` as a field within `customer`."""
    plain: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for name, inner in value.items():
        first, dot, rest = name.partition(".")
        if dot and name not in fields and first in fields:
            nested.setdefault(first, {})[rest] = inner
        else:
            plain[name] = inner
    return merge_deep(plain, nested)


def parse_list(core: Schema, text: str, parse_scalar: ParseScalar, root: Schema) -> list[Any] | None:
    """Parse a list of scalars that lines or commas separate; None for anything else, such as a sentence."""
    items = resolve_core_schema(core.get("items"), root)
    lines = text.strip().splitlines()
    parts = [_BULLET.sub("", line) for line in lines] if len(lines) > 1 else _SEPARATOR.split(text)
    texts = [part.strip(" \"'`") for part in parts if part.strip()]
    if is_container(items, root) or not texts or any(_JOINED.search(part) for part in texts):
        return None
    values = [parse_scalar(items or {"type": "string"}, part) for part in texts]
    return None if None in values else values


def parse_named_values(schema: Schema, text: str, parse_scalar: ParseScalar) -> dict[str, Any] | None:
    """Parse `name: value` lines or comma-separated pairs; None if the text is anything else. A name is a path, its
    last part or what describes it, where only one field has it."""
    fields = index_fields(schema)
    lines = text.strip().splitlines()
    values: dict[str, Any] = {}
    last: FormField | None = None
    for part in lines if len(lines) > 1 else re.split("[,;，；]", text):
        name, *rest = _MARK.split(part, maxsplit=1)
        field = fields.get(name.strip(" -*•`\"'").casefold()) if rest else last
        is_list = field is not None and has_type(field.schema, "array")
        if field is None or not (rest or is_list):
            return None
        written = rest[0] if rest else part
        parsed_list = parse_list(field.schema, written, parse_scalar, schema) if is_list else None
        value = parsed_list if is_list else parse_scalar(field.schema, written)
        if value is None:
            return None
        earlier = get_nested(values, field.keys) if not rest else None
        if earlier:
            # In place: a list may go on over many thousands of lines.
            earlier += value
        else:
            values = merge_deep(values, make_nested(field.keys, value))
        last = field
    return values


def index_fields(schema: Schema) -> dict[str, FormField]:
    """Return the fields by path, last part, title and description, as far as one field alone is called so."""
    fields = [field for field in list_form_fields(schema) if not field.in_list]
    index = {field.name.casefold(): field for field in fields}
    names: dict[str, list[FormField]] = {}
    for field in fields:
        title = field.schema.get("title")
        for name in {field.keys[-1], field.description, title if isinstance(title, str) else ""} - {""}:
            names.setdefault(name.casefold().strip(" .。"), []).append(field)
    return {name: alike[0] for name, alike in names.items() if len(alike) == 1} | index


def get_nested(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def make_nested(keys: tuple[str, ...], value: Any) -> dict[str, Any]:
    for key in reversed(keys):
        value = {key: value}
    nested: dict[str, Any] = value
    return nested


def merge_deep(base: dict[str, Any], update: dict[str, Any]) -> dict[str, Any]:
    """Merge two objects recursively; values of `update` win."""
    merged = dict(base)
    for name, value in update.items():
        existing = merged.get(name)
        if isinstance(existing, dict) and isinstance(value, dict):
            value = merge_deep(existing, value)
        merged[name] = value
    return merged


def keep_valid_fields(schema: Any, value: Any, root: Schema, depth: int = 0) -> dict[str, Any]:
    """Return the fields that are valid by themselves; of an object that is not, its fields that are."""
    fields = get_fields(resolve_core_schema(schema, root))
    kept: dict[str, Any] = {}
    for name, inner in value.items() if isinstance(value, dict) and depth < MAX_DEPTH else ():
        if name not in fields:
            continue
        if is_valid(fields[name], inner, root):
            kept[name] = inner
        elif nested := keep_valid_fields(fields[name], inner, root, depth + 1):
            kept[name] = nested
    return kept


def is_valid(schema: Any, value: Any, root: Schema) -> bool:
    if not isinstance(schema, dict):
        return False
    try:
        full_schema = {**schema, "$defs": root["$defs"]} if "$defs" in root else schema
        return get_validator(full_schema).find_problem(value) is None
    except CallerError:
        return False


def drop_required(schema: Any) -> Any:
    """Return the schema with every field optional, so that a model need not invent one."""
    if isinstance(schema, list):
        return [drop_required(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    dropped: Schema = {}
    for key, value in schema.items():
        if key in NAMED_SCHEMAS and isinstance(value, dict):
            dropped[key] = {name: drop_required(inner) for name, inner in value.items()}
        elif key in ("enum", "const", "default", "examples"):
            dropped[key] = value
        elif key != "required":
            dropped[key] = drop_required(value)
    return dropped

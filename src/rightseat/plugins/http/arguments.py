"""Arguments of an operation: the schema shown to the model, defaults, checks and what is missing."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import msgspec

from rightseat.errors import CallerError
from rightseat.plugins import value_patterns
from rightseat.plugins.http.request import find_idempotency_parameter
from rightseat.plugins.plugin import BINARY_FORMAT, Operation
from rightseat.types.schema import SchemaValidator, get_validator

Schema = dict[str, Any]
MAX_SCHEMA_DEPTH = 24
COMBINATORS = ("anyOf", "oneOf", "allOf")
EMPTY_SCHEMA: Schema = {}
EMPTY_VALUES = (None, "")
FILE_NOTE = "The name of a file that the user attached."
OMIT_HINT = "Leave out what the user has not said: they will be asked for it."
MAX_EXAMPLE_CHARS = 200


def resolve_ref(schema: Any, root: Schema) -> Schema:
    """Follow `$ref` and return the schema it points to; an empty schema where it leads nowhere."""
    for _ in range(MAX_SCHEMA_DEPTH):
        if not isinstance(schema, dict):
            return EMPTY_SCHEMA
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            return schema
        schema = (root.get("$defs") or {}).get(reference.removeprefix("#/$defs/"))
    return EMPTY_SCHEMA


def expand_schema(
    schema: Any, root: Schema, combinators: tuple[str, ...] = COMBINATORS, level: int = 0
) -> list[Schema]:
    """Return the schema and, recursively, its anyOf, oneOf and allOf parts."""
    resolved = resolve_ref(schema, root)
    parts = [part for word in combinators for part in resolved.get(word) or () if level < MAX_SCHEMA_DEPTH]
    return [resolved, *(inner for part in parts for inner in expand_schema(part, root, combinators, level + 1))]


def all_properties(schema: Any, root: Schema) -> dict[str, Any]:
    """Return the properties declared in the schema or any of its parts."""
    properties: dict[str, Any] = {}
    for part in expand_schema(schema, root):
        declared = part.get("properties") or {}
        properties |= {name: inner for name, inner in declared.items() if name not in properties}
    return properties


def item_schema(schema: Any, root: Schema) -> Any:
    """Return the schema of an array's items, or None."""
    return next((part["items"] for part in expand_schema(schema, root) if isinstance(part.get("items"), dict)), None)


def is_file(schema: Any, root: Schema) -> bool:
    return any(part.get("format") == BINARY_FORMAT for part in expand_schema(schema, root))


def transform_schema(schema: Any, change: Any, level: int = 0) -> Any:
    """Return a copy with `change` applied to the schema and every subschema, innermost first."""
    if not isinstance(schema, dict) or level > 2 * MAX_SCHEMA_DEPTH:
        return schema
    result: Schema = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            result[key] = {name: transform_schema(inner, change, level + 1) for name, inner in value.items()}
        elif key in ("items", "additionalProperties", "not", "contains", "propertyNames"):
            result[key] = transform_schema(value, change, level + 1)
        elif key in (*COMBINATORS, "prefixItems") and isinstance(value, list):
            result[key] = [transform_schema(inner, change, level + 1) for inner in value]
        else:
            result[key] = value
    return change(result)


class OperationArguments:
    """Arguments of one operation. Schemas and validators are built on first use."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        key_param = find_idempotency_parameter(operation)
        self.hidden_names = {*operation.secured, *([key_param.argument] if key_param else ())}

    @cached_property
    def schema(self) -> Schema:
        """JSON Schema of the arguments, without credentials and the idempotency key."""
        source = self.operation.arguments
        schema = {"type": "object", **source}
        schema["properties"] = {
            name: inner for name, inner in (source.get("properties") or {}).items() if name not in self.hidden_names
        }
        schema["required"] = [name for name in source.get("required") or () if name in schema["properties"]]
        return schema

    @cached_property
    def model_schema(self) -> Schema:
        """JSON Schema for the model: examples in descriptions, arguments with a default not required."""
        schema = transform_schema(self.schema, explain_schema)
        properties = self.schema["properties"]
        schema["required"] = [
            name for name in self.schema["required"] if "default" not in resolve_ref(properties[name], self.schema)
        ]
        if schema["required"]:
            schema.setdefault("description", OMIT_HINT)
        else:
            del schema["required"]
        return dict(schema)

    @cached_property
    def file_arguments(self) -> dict[str, bool]:
        """File arguments by name; True for a list of files."""
        files = {}
        for name, inner in self.schema["properties"].items():
            if is_file(inner, self.schema):
                files[name] = False
            elif is_file(item_schema(inner, self.schema), self.schema):
                files[name] = True
        return files

    @cached_property
    def validator(self) -> SchemaValidator:
        return get_validator(self.schema)

    def is_valid(self, schema: Schema, value: Any) -> bool:
        try:
            full_schema = {**schema, "$defs": self.schema["$defs"]} if "$defs" in self.schema else schema
            return get_validator(full_schema).find_problem(value) is None
        except CallerError:
            return False

    def normalize(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Drop hidden and empty arguments of a model's call and add the document's defaults."""
        visible = {name: value for name, value in arguments.items() if name not in self.hidden_names}
        return self.fill_defaults(self.schema, visible)

    def fill_defaults(self, schema: Schema, value: dict[str, Any], level: int = 0) -> dict[str, Any]:
        parts = expand_schema(schema, self.schema, ("allOf",))
        declared = {name: inner for part in parts for name, inner in (part.get("properties") or {}).items()}
        required = {name for part in parts for name in part.get("required") or ()}
        filled = {
            name: item
            for name, item in value.items()
            if item not in EMPTY_VALUES
            or name not in declared
            or self.is_intended_empty(declared[name], item, name in required)
        }
        for name, inner in declared.items():
            inner = resolve_ref(inner, self.schema)
            if name not in filled and "default" in inner and self.is_valid(inner, inner["default"]):
                filled[name] = copy.deepcopy(inner["default"])
            elif name in filled and level < MAX_SCHEMA_DEPTH:
                filled[name] = self.fill_nested(inner, filled[name], level + 1)
        return filled

    def fill_nested(self, schema: Schema, value: Any, level: int) -> Any:
        if isinstance(value, dict):
            return self.fill_defaults(schema, value, level)
        inner = item_schema(schema, self.schema) if isinstance(value, list) else None
        if inner is not None and level < MAX_SCHEMA_DEPTH:
            return [self.fill_nested(inner, item, level + 1) for item in value]
        return value

    def is_intended_empty(self, schema: Any, value: Any, required: bool) -> bool:
        """Tell whether null or "" is a real value here rather than a placeholder for a missing one."""
        inner = resolve_ref(schema, self.schema)
        if value == "" and required:
            return "" in (inner.get("enum") or ())
        return self.is_valid(inner, value)

    def find_missing(self, arguments: dict[str, Any]) -> list[tuple[str, ...]] | None:
        """Return the paths of required values that are missing, except files; None on any other violation."""
        paths = self.validator.find_missing(arguments)
        return None if paths is None else [path for path in paths if path[0] not in self.file_arguments or path[1:]]

    def validate(self, arguments: dict[str, Any]) -> str | None:
        """Return the first violation in complete arguments, or None."""
        return self.validator.find_problem(arguments) or value_patterns.check_value_patterns(self.schema, arguments)

    def check(self, arguments: Any) -> str | None:
        """Return the first violation in a model's arguments, or None. Missing ones are asked of the user."""
        if not isinstance(arguments, dict):
            return "the arguments must be a JSON object"
        try:
            normalized = self.normalize(arguments)
            return self.validate(normalized) if self.find_missing(normalized) is None else None
        except CallerError as error:
            return f"the API's document cannot be used here: {error.message}"

    def build_form(self, paths: list[tuple[str, ...]]) -> Schema:
        """Build the form schema for the values at these paths, nested as in the arguments."""
        form: Schema = {"type": "object", "properties": {}, "required": []}
        for *around, name in paths:
            target = form
            for key in around:
                target["required"] = list(dict.fromkeys([*target["required"], key]))
                inner: Schema = {"type": "object", "properties": {}, "required": []}
                target = target["properties"].setdefault(key, inner)
            target["properties"][name] = self.schema_at((*around, name))
            target["required"].append(name)
        if "$defs" in self.schema:
            form["$defs"] = self.schema["$defs"]
        return form

    def schema_at(self, path: tuple[str, ...]) -> Schema:
        """Return the schema of the value at a path."""
        schema: Any = self.schema
        for key in path:
            schema = all_properties(schema, self.schema).get(key, {})
        return schema if isinstance(schema, dict) else {}

    def describe_path(self, path: tuple[str, ...]) -> str:
        description = resolve_ref(self.schema_at(path), self.schema).get("description")
        name = ".".join(path)
        return f"{name} ({description[:200]})" if isinstance(description, str) and description else name


def explain_schema(schema: Schema) -> Schema:
    """Write examples and file hints into the description: not every model sees the other keywords."""
    result = {key: value for key, value in schema.items() if key != "example"}
    sentences = [str(result.get("description") or "").strip()]
    examples = [schema["example"]] if "example" in schema else schema.get("examples")
    if isinstance(examples, list) and examples:
        result["examples"] = examples
        text = msgspec.json.encode(examples[0]).decode()
        if len(text) <= MAX_EXAMPLE_CHARS and text not in sentences[0]:
            sentences.append(f"Example: {text}")
    if is_file(schema, {}):
        sentences.append(FILE_NOTE)
    description = " ".join(word for word in sentences if word)
    return {**result, "description": description} if description else result

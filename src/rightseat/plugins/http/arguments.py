"""Arguments of an operation: the schema shown to the model, defaults, checks and what is missing."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import msgspec

from rightseat.errors import CallerError
from rightseat.plugins import numerals
from rightseat.plugins.http.request import key_parameter
from rightseat.plugins.http.schemas import (
    DEEPEST,
    Schema,
    is_file,
    is_files,
    items,
    properties,
    resolved,
    together,
    walked,
)
from rightseat.plugins.operation import Operation
from rightseat.types.schema import Checker, checker

EMPTY = (None, "")
FILE_NOTE = "The name of a file that the user attached."
OMIT = "Leave out what the user has not said: they will be asked for it."
LONGEST_EXAMPLE = 200


class Arguments:
    """Arguments of one operation. Schemas and validators are built on first use."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        keyed = key_parameter(operation)
        self.hidden = {*operation.secured, *([keyed.argument] if keyed else ())}

    @cached_property
    def schema(self) -> Schema:
        """JSON Schema of the arguments, without credentials and the idempotency key."""
        whole = self.operation.arguments
        made = {"type": "object", **whole}
        made["properties"] = {
            name: inner for name, inner in (whole.get("properties") or {}).items() if name not in self.hidden
        }
        made["required"] = [name for name in whole.get("required") or () if name in made["properties"]]
        return made

    @cached_property
    def shown(self) -> Schema:
        """JSON Schema for the model: examples in descriptions, arguments with a default not required."""
        made = walked(self.schema, explained)
        made["required"] = [name for name in self.schema["required"] if not self.has_default(name)]
        if made["required"]:
            made.setdefault("description", OMIT)
        else:
            del made["required"]
        return dict(made)

    @cached_property
    def files(self) -> dict[str, bool]:
        """File arguments by name; True for a list of files."""
        found = {}
        for name, inner in self.schema["properties"].items():
            if is_file(inner, self.schema):
                found[name] = False
            elif is_files(inner, self.schema):
                found[name] = True
        return found

    @cached_property
    def exact(self) -> Checker:
        return checker(self.schema)

    def has_default(self, name: str) -> bool:
        return "default" in resolved(self.schema["properties"].get(name), self.schema)

    def fits(self, schema: Schema, value: Any) -> bool:
        try:
            whole = {**schema, "$defs": self.schema["$defs"]} if "$defs" in self.schema else schema
            return checker(whole).problem(value) is None
        except CallerError:
            return False

    def settled(self, given: dict[str, Any]) -> dict[str, Any]:
        """Drop hidden and empty arguments of a model's call and add the document's defaults."""
        kept = {name: value for name, value in given.items() if name not in self.hidden}
        return self.completed(self.schema, kept)

    def completed(self, schema: Schema, value: dict[str, Any], level: int = 0) -> dict[str, Any]:
        parts = together(schema, self.schema)
        known = {name: inner for part in parts for name, inner in (part.get("properties") or {}).items()}
        required = {name for part in parts for name in part.get("required") or ()}
        made = {
            name: item
            for name, item in value.items()
            if item not in EMPTY or name not in known or self.meant(known[name], item, name in required)
        }
        for name, inner in known.items():
            inner = resolved(inner, self.schema)
            if name not in made and "default" in inner and self.fits(inner, inner["default"]):
                made[name] = copy.deepcopy(inner["default"])
            elif name in made and level < DEEPEST:
                made[name] = self.inside(inner, made[name], level + 1)
        return made

    def inside(self, schema: Schema, value: Any, level: int) -> Any:
        if isinstance(value, dict):
            return self.completed(schema, value, level)
        inner = items(schema, self.schema) if isinstance(value, list) else None
        if inner is not None and level < DEEPEST:
            return [self.inside(inner, item, level + 1) for item in value]
        return value

    def meant(self, schema: Any, value: Any, required: bool) -> bool:
        """Tell whether null or "" is a real value here rather than a placeholder for a missing one."""
        inner = resolved(schema, self.schema)
        if value == "" and required:
            return "" in (inner.get("enum") or ())
        return self.fits(inner, value)

    def known(self, settled: dict[str, Any]) -> dict[str, Any]:
        """Drop arguments the operation does not declare: they would be approved but never sent."""
        return {name: value for name, value in settled.items() if name in self.schema["properties"]}

    def missing(self, settled: dict[str, Any]) -> list[tuple[str, ...]] | None:
        """Return the paths of required values that are missing, except files; None on any other violation."""
        found = self.exact.missing(settled)
        return None if found is None else [path for path in found if path[0] not in self.files or path[1:]]

    def wrong(self, settled: dict[str, Any]) -> str | None:
        """Return the first violation in complete arguments, or None."""
        return self.exact.problem(settled) or numerals.problem(self.schema, settled)

    def problem(self, given: Any) -> str | None:
        """Return the first violation in a model's arguments, or None. Missing ones are asked of the user."""
        if not isinstance(given, dict):
            return "the arguments must be a JSON object"
        try:
            settled = self.settled(given)
            return self.wrong(settled) if self.missing(settled) is None else None
        except CallerError as error:
            return f"the API's document cannot be used here: {error.message}"

    def form(self, paths: list[tuple[str, ...]]) -> Schema:
        """Build the form schema for the values at these paths, nested as in the arguments."""
        form: Schema = {"type": "object", "properties": {}, "required": []}
        for *around, name in paths:
            place = form
            for key in around:
                place["required"] = list(dict.fromkeys([*place["required"], key]))
                inner: Schema = {"type": "object", "properties": {}, "required": []}
                place = place["properties"].setdefault(key, inner)
            place["properties"][name] = self.at((*around, name))
            place["required"].append(name)
        if "$defs" in self.schema:
            form["$defs"] = self.schema["$defs"]
        return form

    def at(self, path: tuple[str, ...]) -> Schema:
        """Return the schema of the value at a path."""
        found: Any = self.schema
        for key in path:
            found = properties(found, self.schema).get(key, {})
        return found if isinstance(found, dict) else {}

    def described(self, path: tuple[str, ...]) -> str:
        said = resolved(self.at(path), self.schema).get("description")
        name = ".".join(path)
        return f"{name} ({said[:200]})" if isinstance(said, str) and said else name


def explained(schema: Schema) -> Schema:
    """Write examples and file hints into the description: not every model sees the other keywords."""
    made = {key: value for key, value in schema.items() if key != "example"}
    words = [str(made.get("description") or "").strip()]
    examples = [schema["example"]] if "example" in schema else schema.get("examples")
    if isinstance(examples, list) and examples:
        made["examples"] = examples
        text = msgspec.json.encode(examples[0]).decode()
        if len(text) <= LONGEST_EXAMPLE and text not in words[0]:
            words.append(f"Example: {text}")
    if is_file(schema, {}):
        words.append(FILE_NOTE)
    said = " ".join(word for word in words if word)
    return {**made, "description": said} if said else made

"""Values that fit a schema, and a model that says them: for flows over documents that nobody knows well."""

import json
from collections.abc import AsyncIterator
from typing import Any

from hypothesis import find
from hypothesis import strategies as st

from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk
from rightseat.types.model import Model, Prompt
from rightseat.types.schema import get_validator

MAX_DEPTH = 6


def make_sample(schema: Any, root: Any = None, level: int = 0) -> Any:
    """One value; everything that is described is in it."""
    root = root or schema
    if not isinstance(schema, dict) or level > MAX_DEPTH:
        return "x"
    if "$ref" in schema:
        return make_sample(root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {}), root, level + 1)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    for one in (*schema.get("enum", ()), *schema.get("examples", ())):
        # Real documents have examples that do not fit.
        if get_validator({**schema, "$defs": root.get("$defs", {})}).find_problem(one) is None:
            return one
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return make_sample(schema[key][0], root, level + 1)
    return make_sample_of_type(schema, root, level)


def make_sample_of_type(schema: dict[str, Any], root: Any, level: int) -> Any:
    kind = schema.get("type") or ("object" if "properties" in schema else "string")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            return {name: make_sample(inner, root, level + 1) for name, inner in schema.get("properties", {}).items()}
        case "array":
            return [make_sample(schema.get("items", {}), root, level + 1)]
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case "null":
            return None
        case _ if "pattern" in schema:
            return find(st.from_regex(schema["pattern"], fullmatch=True), lambda text: True)
        case _:
            return "x" * max(schema.get("minLength", 1), 1)


class SampleModel(Model):
    """Says a value that fits where one is asked for, else a sentence."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    async def stream(self, prompt: Prompt, /) -> AsyncIterator[ModelChunk]:
        self.prompts.append(prompt)
        schema = prompt.output_schema
        yield TextChunk("Here it is." if schema is None else json.dumps(make_sample(schema)))
        yield FinishChunk("stop")

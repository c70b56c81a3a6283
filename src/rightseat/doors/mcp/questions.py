"""Convert interrupts to elicitations, and their results to answers. MCP forms are flat objects of strings,
numbers, booleans and enums."""

from __future__ import annotations

from typing import Any

from rightseat.types.events import Interrupt
from rightseat.types.turn import InterruptAnswer

ANSWER_FIELD = "answer"
PRIMITIVE_TYPES = ("string", "number", "integer", "boolean")
FORM_KEYWORDS = (
    "type",
    "title",
    "description",
    "enum",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
)


def make_elicitation(question: Interrupt) -> dict[str, Any]:
    """Make the elicitation/create request for a question."""
    params = {"mode": "form", "message": question.message, "requestedSchema": make_form_schema(question)}
    return {"method": "elicitation/create", "params": params}


def make_form_schema(question: Interrupt) -> dict[str, Any]:
    schema = question.schema
    if question.kind == "ask":
        schema = {"properties": {ANSWER_FIELD: schema}, "required": [ANSWER_FIELD]}
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    required = [name for name in schema.get("required", ()) if name in fields]
    # Optional nested fields are left out: a flat form cannot show them.
    shown = {name: field for name, field in fields.items() if name in required or not is_nested(field)}
    form_schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: flatten_field(shown[name]) for name in shown},
    }
    return form_schema | ({"required": required} if required else {})


def is_nested(field: Any) -> bool:
    return isinstance(field, dict) and field.get("type") in ("object", "array")


def flatten_field(field: Any) -> dict[str, Any]:
    """Reduce a field's schema to what a form can show; other types become strings, checked when answered."""
    schema = field if isinstance(field, dict) else {}
    flat = {key: schema[key] for key in FORM_KEYWORDS if key in schema}
    if "enum" in flat:
        return {**flat, "type": "string", "enum": [str(one) for one in flat["enum"]]}
    return flat if flat.get("type") in PRIMITIVE_TYPES else {**flat, "type": "string"}


def parse_answer(key: str, result: Any) -> InterruptAnswer:
    """Parse the result for key `KIND.ID`. A decline rejects a confirm and cancels any other question."""
    kind, _, id = key.partition(".")
    match result:
        case {"action": "accept", "content": {**content}}:
            if kind == "ask":
                return InterruptAnswer(id, payload=content.get(ANSWER_FIELD))
            return InterruptAnswer(id, payload=content)
        case {"action": "decline"} if kind == "confirm":
            return InterruptAnswer(id, payload={"approved": False})
        case _:
            return InterruptAnswer(id, "cancelled")

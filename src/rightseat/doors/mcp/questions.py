"""Convert interrupts to elicitations, and their results to answers. MCP forms are flat objects of strings,
numbers, booleans and enums."""

from __future__ import annotations

from typing import Any

from rightseat.types.events import Interrupt
from rightseat.types.turn import Answer

FIELD = "answer"
PLAIN = ("string", "number", "integer", "boolean")
KEPT = ("type", "title", "description", "enum", "default", "minimum", "maximum", "minLength", "maxLength")


def put(question: Interrupt) -> dict[str, Any]:
    """Make the elicitation/create request for a question."""
    params = {"mode": "form", "message": question.message, "requestedSchema": form(question)}
    return {"method": "elicitation/create", "params": params}


def form(question: Interrupt) -> dict[str, Any]:
    schema = question.schema
    if question.kind == "ask":
        schema = {"properties": {FIELD: schema}, "required": [FIELD]}
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    required = [name for name in schema.get("required", ()) if name in fields]
    # Optional nested fields are left out: a flat form cannot show them.
    shown = {name: field for name, field in fields.items() if name in required or not deep(field)}
    told: dict[str, Any] = {"type": "object", "properties": {name: plain(shown[name]) for name in shown}}
    return told | ({"required": required} if required else {})


def deep(field: Any) -> bool:
    return isinstance(field, dict) and field.get("type") in ("object", "array")


def plain(field: Any) -> dict[str, Any]:
    """Reduce a field's schema to what a form can show; other types become strings, checked when answered."""
    found = field if isinstance(field, dict) else {}
    told = {key: found[key] for key in KEPT if key in found}
    if "enum" in told:
        return {**told, "type": "string", "enum": [str(one) for one in told["enum"]]}
    return told if told.get("type") in PLAIN else {**told, "type": "string"}


def answer_of(key: str, given: Any) -> Answer:
    """Parse the result for key `KIND.ID`. A decline rejects a confirm and cancels any other question."""
    kind, _, id = key.partition(".")
    match given:
        case {"action": "accept", "content": {**content}}:
            if kind == "ask":
                return Answer(id, payload=content.get(FIELD))
            return Answer(id, payload=content)
        case {"action": "decline"} if kind == "confirm":
            return Answer(id, payload={"approved": False})
        case _:
            return Answer(id, "cancelled")

"""Interrupt ⇄ elicitation. MCP's forms are flat: an object whose fields are texts, numbers, yes or no, or a
choice."""

from __future__ import annotations

from typing import Any

from rightseat.types.events import Interrupt
from rightseat.types.turn import Answer

FIELD = "answer"
PLAIN = ("string", "number", "integer", "boolean")
KEPT = ("type", "title", "description", "enum", "default", "minimum", "maximum", "minLength", "maxLength")


def put(question: Interrupt) -> dict[str, Any]:
    """The request by which a client asks its user."""
    params = {"mode": "form", "message": question.message, "requestedSchema": form(question)}
    return {"method": "elicitation/create", "params": params}


def form(question: Interrupt) -> dict[str, Any]:
    schema = question.schema
    if question.kind == "ask":
        schema = {"properties": {FIELD: schema}, "required": [FIELD]}
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    required = [name for name in schema.get("required", ()) if name in fields]
    # What nobody has to fill in, and a form has no field for, would only be filled in wrong.
    shown = {name: field for name, field in fields.items() if name in required or not deep(field)}
    told: dict[str, Any] = {"type": "object", "properties": {name: plain(shown[name]) for name in shown}}
    return told | ({"required": required} if required else {})


def deep(field: Any) -> bool:
    return isinstance(field, dict) and field.get("type") in ("object", "array")


def plain(field: Any) -> dict[str, Any]:
    """A field as a form can show it; what it cannot is written as text, and checked when it comes back."""
    found = field if isinstance(field, dict) else {}
    told = {key: found[key] for key in KEPT if key in found}
    if "enum" in told:
        return {**told, "type": "string", "enum": [str(one) for one in told["enum"]]}
    return told if told.get("type") in PLAIN else {**told, "type": "string"}


def answer_of(key: str, given: Any) -> Answer:
    """What came back under `KIND.ID`. A no is the answer to a confirm, and gives up any other question."""
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

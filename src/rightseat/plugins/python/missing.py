"""Missing arguments of Python tools: the user is asked for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightseat.plugins.http.arguments import OMIT
from rightseat.plugins.http.asking import chinese, visible
from rightseat.types.schema import checker
from rightseat.types.tools import Ask, Pause, ToolContext

Schema = dict[str, Any]


def shown(schema: Schema) -> Schema:
    """Add a hint to the schema that the model may omit unknown values."""
    told = schema.get("required") and "description" not in schema
    return {**schema, "description": OMIT} if told else schema


def check(schema: Schema) -> Callable[[Any], str | None]:
    """Return a check of the arguments that ignores missing ones."""
    partly = {key: value for key, value in schema.items() if key != "required"}
    return lambda given: checker(partly).problem(given)


def together(args: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Merge the call's arguments with the user's answer."""
    answer = context.answers[-1] if context.state is not None and context.answers else None
    return {**args, **answer} if isinstance(answer, dict) else args


def question(name: str, schema: Schema, args: dict[str, Any]) -> Pause | None:
    names = [one for one in schema.get("required") or () if one not in args]
    if not names:
        return None
    fields = {one: (schema.get("properties") or {}).get(one) or {} for one in names}
    wanted = "; ".join(described(one, field) for one, field in fields.items())
    text = f"{name} needs {visible(wanted)}. Which value shall it have?"
    if chinese(wanted):
        text = f"{name} 还需要：{visible(wanted)}。请问应填写什么？"
    form = {"type": "object", "properties": fields, "required": names}
    if "$defs" in schema:
        form["$defs"] = schema["$defs"]
    return Pause((Ask(text, "form", form),), {"asked": names})


def described(name: str, field: Any) -> str:
    text = field.get("description") if isinstance(field, dict) else None
    return f"{name} ({text})" if text else name

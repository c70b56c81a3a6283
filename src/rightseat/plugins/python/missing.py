"""Missing arguments of Python tools: the user is asked for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightseat.plugins.http.arguments import OMIT_HINT
from rightseat.plugins.http.asking import escape_unprintable, is_chinese
from rightseat.types.schema import get_validator
from rightseat.types.tools import Ask, Pause, ToolContext

Schema = dict[str, Any]


def schema_for_model(schema: Schema) -> Schema:
    """Add a hint to the schema that the model may omit unknown values."""
    needs_hint = schema.get("required") and "description" not in schema
    return {**schema, "description": OMIT_HINT} if needs_hint else schema


def make_partial_check(schema: Schema) -> Callable[[Any], str | None]:
    """Return a check of the arguments that ignores missing ones."""
    optional_schema = {key: value for key, value in schema.items() if key != "required"}
    return lambda given: get_validator(optional_schema).find_problem(given)


def merge_answers(args: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    """Merge the call's arguments with the user's answer."""
    answer = context.answers[-1] if context.state is not None and context.answers else None
    return {**args, **answer} if isinstance(answer, dict) else args


def ask_for_missing(name: str, schema: Schema, args: dict[str, Any]) -> Pause | None:
    names = [one for one in schema.get("required") or () if one not in args]
    if not names:
        return None
    fields = {one: (schema.get("properties") or {}).get(one) or {} for one in names}
    fields_text = "; ".join(describe_field(one, field) for one, field in fields.items())
    text = f"{name} needs {escape_unprintable(fields_text)}. Which value shall it have?"
    if is_chinese(fields_text):
        text = f"{name} 还需要：{escape_unprintable(fields_text)}。请问应填写什么？"
    form = {"type": "object", "properties": fields, "required": names}
    if "$defs" in schema:
        form["$defs"] = schema["$defs"]
    return Pause((Ask(text, "form", form),), {"asked": names})


def describe_field(name: str, field: Any) -> str:
    text = field.get("description") if isinstance(field, dict) else None
    return f"{name} ({text})" if text else name

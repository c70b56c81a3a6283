"""Built-in tools that models know by name: a Python interpreter and two searches. Llama 3.1 and Functionary
call them in a special form, with one text as their only argument.

Clients send invalid schemas for them, such as `{"type": "query"}`, because the models ignore them. These are
replaced by the schema of the built-in tool.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.types.model import ToolSpec
from rightseat.types.schema import get_validator

CODE_TOOLS = ("ipython", "python", "code_interpreter")
SEARCH_TOOLS = ("brave_search", "wolfram_alpha", "web_search")
_ANNOTATION_KEYS = frozenset({"type", "description", "title", "default", "examples"})


def builtin_argument(name: str) -> str | None:
    """Return the name of a built-in tool's argument; None for any other tool."""
    return "code" if name in CODE_TOOLS else "query" if name in SEARCH_TOOLS else None


def builtin_schema(name: str) -> dict[str, Any] | None:
    """Return the schema of a built-in tool; None for any other tool."""
    argument_name = builtin_argument(name)
    if argument_name is None:
        return None
    return {"type": "object", "properties": {argument_name: {"type": "string"}}, "required": [argument_name]}


def with_builtin_schema(tool: ToolSpec) -> ToolSpec:
    """Return the tool, with the built-in schema if its own is invalid."""
    schema = builtin_schema(tool.name)
    if schema is None:
        return tool
    try:
        get_validator(tool.parameters)
    except CallerError:
        return replace(tool, parameters=schema)
    return tool


def is_builtin(tool: ToolSpec) -> bool:
    """Whether the tool is a built-in one: it takes the argument of its name and requires no other."""
    argument_name = builtin_argument(tool.name)
    if argument_name is None:
        return False
    schema = tool.parameters
    if argument_name not in (schema.get("properties") or {}) and argument_name not in (schema.get("required") or ()):
        return False
    return get_validator(schema).find_problem({argument_name: "x"}) is None


def takes_any_text(tool: ToolSpec) -> bool:
    """Whether the argument may be any text."""
    argument_name = builtin_argument(tool.name) or ""
    value = (tool.parameters.get("properties") or {}).get(argument_name)
    return isinstance(value, dict) and value.get("type") == "string" and _ANNOTATION_KEYS.issuperset(value)

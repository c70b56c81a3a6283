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
from rightseat.types.schema import checker

CODE = ("ipython", "python", "code_interpreter")
SEARCHES = ("brave_search", "wolfram_alpha")
_NOTES = frozenset({"type", "description", "title", "default", "examples"})


def argument(name: str) -> str | None:
    """Return the name of a built-in tool's argument; None for any other tool."""
    return "code" if name in CODE else "query" if name in SEARCHES else None


def parameters(name: str) -> dict[str, Any] | None:
    """Return the schema of a built-in tool; None for any other tool."""
    only = argument(name)
    if only is None:
        return None
    return {"type": "object", "properties": {only: {"type": "string"}}, "required": [only]}


def understood(tool: ToolSpec) -> ToolSpec:
    """Return the tool, with the built-in schema if its own is invalid."""
    meant = parameters(tool.name)
    if meant is None:
        return tool
    try:
        checker(tool.parameters)
    except CallerError:
        return replace(tool, parameters=meant)
    return tool


def fits(tool: ToolSpec) -> bool:
    """Whether the tool is a built-in one: it takes the argument of its name and requires no other."""
    only = argument(tool.name)
    if only is None:
        return False
    schema = tool.parameters
    if only not in (schema.get("properties") or {}) and only not in (schema.get("required") or ()):
        return False
    return checker(schema).problem({only: "x"}) is None


def exact(tool: ToolSpec) -> bool:
    """Whether the argument may be any text."""
    only = argument(tool.name) or ""
    value = (tool.parameters.get("properties") or {}).get(only)
    return isinstance(value, dict) and value.get("type") == "string" and _NOTES.issuperset(value)

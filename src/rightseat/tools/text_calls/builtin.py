"""Tools that models know by name: a Python interpreter and two searches. Llama 3.1 and Functionary call them
in a form of their own, with one text as their only argument.

Clients send odd schemas for them, such as `{"type": "query"}`, because their models never look at it. The
name is enough: what is not JSON Schema is replaced by what it means.
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
    """The name of a builtin tool's argument; None for any other tool."""
    return "code" if name in CODE else "query" if name in SEARCHES else None


def parameters(name: str) -> dict[str, Any] | None:
    """The schema of a builtin tool; None for any other tool."""
    only = argument(name)
    if only is None:
        return None
    return {"type": "object", "properties": {only: {"type": "string"}}, "required": [only]}


def understood(tool: ToolSpec) -> ToolSpec:
    """The tool, with the schema that its name means where its own is none."""
    meant = parameters(tool.name)
    if meant is None:
        return tool
    try:
        checker(tool.parameters)
    except CallerError:
        return replace(tool, parameters=meant)
    return tool


def fits(tool: ToolSpec) -> bool:
    """Whether the tool is the one that its name says: it takes that argument, and needs no other."""
    only = argument(tool.name)
    if only is None:
        return False
    schema = tool.parameters
    if only not in (schema.get("properties") or {}) and only not in (schema.get("required") or ()):
        return False
    return checker(schema).problem({only: "x"}) is None


def exact(tool: ToolSpec) -> bool:
    """Whether any text will do as its argument."""
    only = argument(tool.name) or ""
    value = (tool.parameters.get("properties") or {}).get(only)
    return isinstance(value, dict) and value.get("type") == "string" and _NOTES.issuperset(value)

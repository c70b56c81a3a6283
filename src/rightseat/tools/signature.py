"""ToolSignature: the JSON Schema of a function, from its annotations, defaults and docstring."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from typing import Annotated, Any

import pydantic

from rightseat.errors import ConfigError
from rightseat.types.tools import ToolContext

_PARAM_SECTION = r"(?:Args|Arguments|Parameters):\s*$"
_VALUE_KEYS = ("default", "examples", "example", "const", "enum")


class ToolSignature:
    """Schema of a function's parameters, and conversion of arguments to typed values."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            self.parse(function)
        except (NameError, TypeError, pydantic.errors.PydanticUserError) as error:
            why = str(error).splitlines()[0]
            raise ConfigError(f"Tool {function.__name__}: its annotations cannot be read: {why}") from error

    def parse(self, function: Callable[..., Any]) -> None:
        doc = inspect.getdoc(function) or ""
        self.summary = re.split(rf"(?m)^\s*$|^\s*{_PARAM_SECTION}|^\s*:param", doc, maxsplit=1)[0].strip()
        param_docs = parse_param_docs(doc)
        hints = typing.get_type_hints(function, include_extras=True)
        self.context: str | None = None
        self.names: list[str] = []
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                raise ConfigError(f"Tool {function.__name__}: parameter {parameter} cannot be given by name.")
            hint = hints.get(parameter.name, Any)
            if hint is ToolContext or ToolContext in typing.get_args(hint):
                self.context = parameter.name
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            # Numbered fields with the name as alias: a parameter may be called `schema`, `copy` or `_x`.
            hint = Annotated[hint, pydantic.Field(alias=parameter.name)]
            if param_doc := param_docs.get(parameter.name):
                hint = Annotated[hint, pydantic.Field(description=param_doc)]
            fields[f"field{len(self.names)}"] = (hint, default)
            self.names.append(parameter.name)
        self.model = pydantic.create_model(function.__name__, **fields)
        self.schema = strip_titles(self.model.model_json_schema())

    def bind(self, args: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
        """Return the typed arguments with defaults, and the context if the function takes it."""
        model = self.model.model_validate(args)
        values = {name: getattr(model, f"field{number}") for number, name in enumerate(self.names)}
        return values if self.context is None else {**values, self.context: ctx}


def parse_param_docs(doc: str) -> dict[str, str]:
    """Return the description of each parameter from a docstring in Google or Sphinx (`:param`) style."""
    docs = dict(re.findall(r"^\s*:param\s+(?:[^:\s]+\s+)?(\w+):\s*(.+)$", doc, re.MULTILINE))
    section = re.search(rf"^{_PARAM_SECTION}\n((?:[ \t]+.*\n?|\n)+)", doc, re.MULTILINE)
    name, margin = "", 0
    for line in section[1].splitlines() if section else ():
        indent = len(line) - len(line.lstrip())
        match = re.fullmatch(r"\s+(\w+)\s*(?:\([^)]*\))?:\s*(.*)", line)
        if match and (not name or indent <= margin):
            name, margin = match[1], indent
            docs[name] = match[2]
        elif name and line.strip():
            docs[name] = f"{docs[name]} {line.strip()}".strip()
    return docs


def strip_titles(schema: Any) -> Any:
    """Remove pydantic's titles: they repeat the field names and cost tokens."""
    if isinstance(schema, list):
        return [strip_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _strip_item(key, item)
        for key, item in schema.items()
        if not (key == "title" and isinstance(item, str))
    }


def _strip_item(key: str, item: Any) -> Any:
    if key in ("properties", "$defs"):
        return {name: strip_titles(value) for name, value in item.items()}
    return item if key in _VALUE_KEYS else strip_titles(item)

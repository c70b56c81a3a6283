"""Description of a class or function of lib/ as a PluginScript: name, description, arguments."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from rightseat.plugins.plugin import PluginScript
from rightseat.plugins.python.annotation import annotation_schema, last_name
from rightseat.plugins.python.source import Definition, literal_value

MAX_DESCRIPTION = 2000
_CALL_METHODS = ("call", "__call__")


def make_script(name: str, node: Definition, file: Path) -> PluginScript | None:
    """Describe a definition; None for a class without a `call` method."""
    if isinstance(node, ast.ClassDef):
        return _class_script(name, node, file)
    return _function_script(name, node, file)


def _class_script(attribute: str, node: ast.ClassDef, file: Path) -> PluginScript | None:
    """Describe a class of the original SDK: `name`, `description`, `spec` and `call(fixed_params)`."""
    methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    # A subclass may inherit `call`.
    if not methods & set(_CALL_METHODS) and not node.bases:
        return None
    attributes = _class_attributes(node)
    spec = attributes.get("spec")
    arguments = spec if isinstance(spec, dict) else {"type": "object", "properties": {}}
    return PluginScript(
        name=_stripped_text(attributes.get("name")) or attribute,
        description=(_stripped_text(attributes.get("description")) or first_paragraph(node))[
            :MAX_DESCRIPTION
        ],
        file=file,
        attribute=attribute,
        kind="class",
        arguments=arguments,
        dangerous=attributes.get("dangerous") is True,
        line=node.lineno,
    )


def _class_attributes(node: ast.ClassDef) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for item in node.body:
        match item:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                attributes[name] = literal_value(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                attributes[name] = literal_value(value)
            case _:
                pass
    return attributes


def _stripped_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def find_tool_decorator(node: Definition) -> ast.expr | None:
    """Return the `@tool` decorator, with or without arguments, or None."""
    for decorator in node.decorator_list:
        if last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "tool":
            return decorator
    return None


def _function_script(
    attribute: str, node: ast.FunctionDef | ast.AsyncFunctionDef, file: Path
) -> PluginScript:
    decorator = find_tool_decorator(node)
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    options = {word.arg: literal_value(word.value) for word in keywords if word.arg}
    arguments, exact = parameters_schema(node)
    return PluginScript(
        name=_stripped_text(options.get("name")) or attribute,
        description=(_stripped_text(options.get("description")) or first_paragraph(node))[:MAX_DESCRIPTION],
        file=file,
        attribute=attribute,
        kind="function",
        arguments=arguments,
        exact=exact,
        dangerous=options.get("confirm") is True,
        line=node.lineno,
    )


def parameters_schema(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[dict[str, Any], bool]:
    """Return the schema of all parameters and whether the syntax determines it fully."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    first_default = len(positional) - len(args.defaults)
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *((parameter, None) for parameter in positional[:first_default]),
        *zip(positional[first_default:], args.defaults, strict=True),
        *zip(args.kwonlyargs, args.kw_defaults, strict=True),
    ]
    properties: dict[str, Any] = {}
    required: list[str] = []
    exact = not (args.vararg or args.kwarg or args.posonlyargs)
    descriptions = parameter_descriptions(node)
    for parameter, default in pairs:
        if parameter.annotation is not None and last_name(parameter.annotation) == "ToolContext":
            continue
        annotation = annotation_schema(parameter.annotation)
        value = literal_value(default)
        schema = dict(annotation.schema)
        if note := descriptions.get(parameter.arg):
            schema["description"] = note
        if default is None:
            required.append(parameter.arg)
        elif value is not None or isinstance(default, ast.Constant):
            schema["default"] = value
        exact = exact and annotation.exact
        properties[parameter.arg] = schema
    schema_object: dict[str, Any] = {"type": "object", "properties": properties}
    return (schema_object | {"required": required} if required else schema_object), exact


def parameter_descriptions(node: Definition) -> dict[str, str]:
    doc = ast.get_docstring(node)
    if not doc:
        return {}
    # Imports pydantic: only if there is a docstring.
    from rightseat.tools.signature import parse_param_docs

    return parse_param_docs(doc)


def first_paragraph(node: Definition) -> str:
    """Return the first paragraph of the docstring."""
    return re.split(r"\n\s*\n|\n\s*(?:Args|Arguments|Parameters):", ast.get_docstring(node) or "")[0].strip()

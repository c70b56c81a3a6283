"""Description of a class or function of lib/ as a PluginScript: name, description, arguments. The file is parsed and
never run: annotations become JSON Schema by syntax alone."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rightseat.plugins.plugin import PluginScript, Problem
from rightseat.types.tools import EFFECTS, Effect

MAX_BYTES = 1 << 20
MAX_DESCRIPTION = 2000
TYPE_SCHEMAS: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "dict": {"type": "object", "additionalProperties": True},
    "list": {"type": "array", "items": {}},
    "Any": {},
    "object": {},
}
ALIASES = {"Dict": "dict", "List": "list", "Mapping": "dict", "Sequence": "list", "NoneType": "None"}
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class UnknownEffect(ValueError):
    """A tool's `effect` is none that there is, or only running the code would tell which."""


class ImportedName(NamedTuple):
    """Target of `from module import name`; without a name, the module itself."""

    module: str
    name: str = ""


class PythonFile:
    def __init__(self, file: Path, tree: ast.Module) -> None:
        self.file = file
        self.definitions: dict[str, Definition] = {}
        self.values: dict[str, ast.expr] = {}
        self.imports: dict[str, ImportedName] = {}
        for node in tree.body:
            self._record(node)

    def _record(self, node: ast.stmt) -> None:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.definitions[name] = node
            case ast.Assign(targets=targets, value=value):
                self.values |= {target.id: value for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.values[name] = value
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    imported = ImportedName(module, alias.name) if module else ImportedName(alias.name)
                    self.imports[alias.asname or alias.name] = imported
            case ast.Import(names=names):
                self.imports |= {alias.asname or alias.name: ImportedName(alias.name) for alias in names}


def parse_file(file: Path, root: Path) -> PythonFile | Problem:
    """Parse the file; a Problem if it is invalid or lies outside `root`, the plugin's folder."""
    name = file.relative_to(root).as_posix()
    try:
        if not file.resolve().is_relative_to(root.resolve()):
            return Problem(name, "", "It leads out of the plugin's folder.", "Put the file itself there.")
        if file.stat().st_size > MAX_BYTES:
            return Problem(name, "", "It is larger than 1 MB.", "Keep data in files of its own.")
        return PythonFile(file, ast.parse(file.read_bytes(), filename=name))
    except SyntaxError as error:
        return Problem(name, "", f"It is not Python: {error.msg}.", "Correct this line.", error.lineno or 0)
    except (ValueError, RecursionError, MemoryError) as error:
        return Problem(name, "", f"It cannot be read as Python: {error}.", "Save it as UTF-8 text.")
    except OSError as error:
        return Problem(name, "", f"It cannot be read: {error.strerror}.", "Allow the server to read it.")


def literal_value(node: ast.expr | None) -> Any:
    """Return the JSON value of a literal expression; None for any other."""
    if node is None:
        return None
    try:
        return msgspec.json.decode(msgspec.json.encode(ast.literal_eval(node)))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, msgspec.MsgspecError):
        return None


class AnnotationSchema(NamedTuple):
    schema: dict[str, Any]
    exact: bool = True
    """False if only running the code gives the full schema."""


UNKNOWN_ANNOTATION = AnnotationSchema({}, exact=False)


def annotation_schema(node: ast.expr | None) -> AnnotationSchema:
    match node:
        case None:
            return AnnotationSchema({})
        case ast.Constant(value=None):
            return AnnotationSchema(TYPE_SCHEMAS["None"])
        case ast.Constant(value=str(text)):
            return _quoted_schema(text)
        case ast.Name() | ast.Attribute():
            name = last_name(node)
            return AnnotationSchema(dict(TYPE_SCHEMAS[name])) if name in TYPE_SCHEMAS else UNKNOWN_ANNOTATION
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _union_schema([left, right])
        case ast.Subscript(value=outer, slice=inside):
            return _generic_schema(last_name(outer), inside)
        case _:
            return UNKNOWN_ANNOTATION


def _quoted_schema(text: str) -> AnnotationSchema:
    try:
        return annotation_schema(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError):
        return UNKNOWN_ANNOTATION


def _generic_schema(outer: str, inside: ast.expr) -> AnnotationSchema:
    items = inside.elts if isinstance(inside, ast.Tuple) else [inside]
    match outer:
        case "list":
            inner = annotation_schema(items[0])
            return AnnotationSchema({"type": "array", "items": inner.schema}, inner.exact)
        case "dict" if len(items) == 2:
            inner = annotation_schema(items[1])
            return AnnotationSchema({"type": "object", "additionalProperties": inner.schema}, inner.exact)
        case "Optional":
            return _union_schema([*items, ast.Constant(value=None)])
        case "Union":
            return _union_schema(items)
        case "Literal":
            values = [item.value for item in items if isinstance(item, ast.Constant)]
            return AnnotationSchema({"enum": values}) if len(values) == len(items) else UNKNOWN_ANNOTATION
        case "Annotated":
            # The metadata may restrict the type.
            return AnnotationSchema(annotation_schema(items[0]).schema, exact=False)
        case _:
            return UNKNOWN_ANNOTATION


def _union_schema(nodes: list[ast.expr]) -> AnnotationSchema:
    members = [annotation_schema(node) for node in nodes]
    flat: list[dict[str, Any]] = []
    for schema, _ in members:
        flat += schema["anyOf"] if set(schema) == {"anyOf"} else [schema]
    return AnnotationSchema({"anyOf": flat}, all(member.exact for member in members))


def last_name(node: ast.expr) -> str:
    """Return the last part of a dotted name (`List` of `typing.List`); empty if it is not a name."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return ALIASES.get(name, name)


def make_script(attribute: str, node: Definition, file: Path) -> PluginScript | None:
    """Describe a function, or a class of the original SDK (`name`, `description`, `spec`, `call(fixed_params)`); None
    for a class without a `call` method. Raises UnknownEffect."""
    is_class = isinstance(node, ast.ClassDef)
    exact = True
    if isinstance(node, ast.ClassDef):
        methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
        # A subclass may inherit `call`.
        if not methods & {"call", "__call__"} and not node.bases:
            return None
        options = _class_attributes(node)
        spec = options.get("spec")
        arguments = spec if isinstance(spec, dict) else {"type": "object", "properties": {}}
    else:
        decorator = find_tool_decorator(node)
        keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
        options = {word.arg: literal_value(word.value) for word in keywords if word.arg}
        arguments, exact = parameters_schema(node)
    dangerous = options.get("dangerous" if is_class else "confirm") is True
    effect = get_effect(options, is_class, dangerous)
    return PluginScript(
        name=_stripped_text(options.get("name")) or attribute,
        description=(_stripped_text(options.get("description")) or first_paragraph(node))[:MAX_DESCRIPTION],
        file=file,
        attribute=attribute,
        kind="class" if is_class else "function",
        arguments=arguments,
        exact=exact,
        dangerous=dangerous or effect == "dangerous",
        effect=effect,
        line=node.lineno,
    )


def get_effect(options: dict[str, Any], is_class: bool, dangerous: bool) -> Effect:
    """Return the effect that a tool's author names, else the one of its other marks. A class of the original SDK may
    have an attribute of that name for itself."""
    for effect in EFFECTS:
        if options.get("effect") == effect:
            return effect
    if "effect" in options and not is_class:
        raise UnknownEffect
    return "dangerous" if dangerous else "writes"


def _class_attributes(node: ast.ClassDef) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for item in node.body:
        match item:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                attributes[name] = literal_value(value)
    return attributes


def _stripped_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def find_tool_decorator(node: Definition) -> ast.expr | None:
    """Return the `@tool` decorator, with or without arguments, or None."""
    for decorator in node.decorator_list:
        if last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "tool":
            return decorator
    return None


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
    from rightseat.tools.function import parse_param_docs

    return parse_param_docs(doc)


def first_paragraph(node: Definition) -> str:
    """Return the first paragraph of the docstring."""
    return re.split(r"\n\s*\n|\n\s*(?:Args|Arguments|Parameters):", ast.get_docstring(node) or "")[0].strip()

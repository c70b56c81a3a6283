"""Reader of a plugin's OpenAPI spec (openapi.* or swagger.*). Operations are parsed independently: an invalid one does
not affect the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl

from msgspec import Struct

from rightseat.errors import CallerError
from rightseat.plugins.openapi import lint
from rightseat.plugins.openapi.arguments import BODY_LOCATIONS, build_arguments, iter_parameter_nodes, parse_parameter
from rightseat.plugins.openapi.bodies import parse_body, parse_responses, success_response
from rightseat.plugins.openapi.describe import HTTP_METHODS, describe_operation, make_operation_name
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.simplify import shrink_schema
from rightseat.plugins.openapi.spec import SpecContext, find_servers
from rightseat.plugins.plugin import Operation, Parameter, PluginAuth, Problem
from rightseat.plugins.plugin_file import UnreadableFile, read_document
from rightseat.types.schema import get_validator

API_FILES = ("openapi.yaml", "openapi.yml", "openapi.json", "swagger.yaml", "swagger.yml", "swagger.json")
"""Names of a plugin's spec; the first that exists is read."""
MAX_OPERATIONS = 5_000
_PATH_VARIABLE = re.compile(r"\{([^{}/]*)\}")
_PATH_ITEM_KEYS = ("summary", "description", "servers", "parameters", "dangerous", "$ref", "requestBody", "responses")


class ApiDocument(Struct, frozen=True, kw_only=True):
    operations: tuple[Operation, ...] = ()
    title: str = ""
    description: str = ""
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def find_api_file(folder: Path) -> str | None:
    """Return the name of the folder's spec, or None."""
    return next((name for name in API_FILES if (folder / name).is_file()), None)


def read_api(folder: Path, name: str, auth: tuple[PluginAuth, ...], *, strict: bool = True) -> ApiDocument:
    """Read the spec into operations and problems; with `strict` style problems too."""
    try:
        spec = read_document(folder, name)
    except UnreadableFile as error:
        return ApiDocument(files=(name,), problems=(error.problem,))
    if not isinstance(spec.value, dict):
        fix = "Write `openapi: 3.0.0`, `servers:` and `paths:`; `rightseat plugins new` shows how."
        problem = spec.make_problem((), "It is no API document.", fix)
        return ApiDocument(files=(name,), problems=(*spec.problems, problem))
    context = SpecContext(folder, spec, auth, strict)
    check_version(context)
    lint.check_unknown_keys(context, context.root, "document")
    operations = parse_operations(context)
    info = context.root.child("info")
    others = [file for file in context.refs.files.values() if file is not None and file is not spec]
    problems = [*spec.problems, *(problem for file in others for problem in file.problems)]
    for gravity, count in context.problems.omitted.items():
        problems.append(spec.make_problem((), f"{count} more were found.", "Mend those that are told first.", gravity))
    return ApiDocument(
        operations=operations,
        title=info.text("title"),
        description=info.text("description"),
        files=tuple(context.refs.files),
        problems=(*problems, *context.problems.to_tuple()),
    )


def check_version(context: SpecContext) -> None:
    key = "openapi" if "openapi" in context.root.value else "swagger"
    declared = context.root.text(key)
    if not declared:
        fix = "Write `openapi: 3.0.0` on its first line."
        context.problems.add(context.root.child("openapi"), "The version is not said; it is read as 3.0.", fix)
    elif not declared.startswith("3." if key == "openapi" else "2") and declared != "3":
        fix = "Convert it to 3.0 or 3.1."
        context.problems.add(context.root.child(key), f"Version {declared[:20]} is not known; read as 3.1.", fix)


def parse_operations(context: SpecContext) -> tuple[Operation, ...]:
    context.check_auth_configured()
    # Read even where no operation has parameters: it reports what is wrong with the schemes.
    _ = context.credential_locations
    operations: list[Operation] = []
    for path, method, item, node in iter_operations(context):
        if len(operations) >= MAX_OPERATIONS:
            fix = "Make several plugins of it."
            context.problems.add(node, f"Only the first {MAX_OPERATIONS} operations are taken.", fix, "error")
            break
        if (operation := parse_operation(context, path, method, item, node)) is not None:
            operations.append(operation)
    return tuple(operations)


def iter_operations(context: SpecContext) -> Iterator[tuple[str, str, Node, Node]]:
    """Yield path, method, path item and node of each operation."""
    paths = context.root.child("paths")
    if not isinstance(paths.value, dict):
        fix = "Write `paths:`, and below it the operations."
        context.problems.add(paths, "The document has no paths.", fix, "error")
    for path, path_node in paths.items():
        if path.startswith("x-"):
            continue
        item = context.refs.resolve(path_node)
        if isinstance(item.value, dict):
            yield from ((path, method, item, node) for method, node in iter_methods(context, item))
        elif item.value is not None:
            fix = "Write `get:` or another method below it."
            context.problems.add(path_node, "It is no mapping, and is passed over.", fix, "error")


def iter_methods(context: SpecContext, item: Node) -> Iterator[tuple[str, Node]]:
    has_method = False
    for key, node in item.items():
        if key.lower() in HTTP_METHODS:
            has_method = True
            resolved = context.refs.resolve(node)
            if isinstance(resolved.value, dict):
                yield key.upper(), resolved
            else:
                fix = "Write `description:` and the rest below it."
                context.problems.add(node, "says nothing, and is passed over.", fix, "error")
        elif key not in _PATH_ITEM_KEYS and not key.startswith("x-"):
            context.problems.add(node, "It is no method, and is passed over.", f"Methods: {', '.join(HTTP_METHODS)}.")
    if not has_method and isinstance(item.value.get("requestBody"), dict):
        fix = "Write `post:` (or another method) above description and requestBody."
        context.problems.add(item, "It has a requestBody and no method; POST is assumed.", fix)
        yield "POST", item


def parse_operation(context: SpecContext, path: str, method: str, item: Node, node: Node) -> Operation | None:
    # A fragment only distinguishes operations of one path; a query is sent with each call.
    bare, _, query = path.partition("#")[0].partition("?")
    parameters, body_parameters = split_parameters(context, bare, item, node)
    parameters += fixed_query_parameters(query, parameters)
    content = parse_body(context, node, body_parameters)
    arguments = build_arguments(context, parameters, content)
    schema = fit_arguments_schema(context, node, arguments.schema)
    if schema is None:
        return None
    responses = parse_responses(context, node)
    if context.problems.strict:
        lint.check_unknown_keys(context, node, "operation")
        lint.check_operation_style(context, method, item, node, arguments, content)
    name = make_operation_name(node.text("operationId"), method, path, context.operation_names)
    context.operation_names.add(name)
    # The lines of JSON are computed only for problems.
    lines = node.spec.line_index
    has_line = node.spec is context.root.spec and lines.composed is not None
    return Operation(
        id=f"{method} {path}",
        name=name,
        method=method,
        path=bare if bare.startswith("/") else f"/{bare}",
        description=describe_operation(item, node, content, success_response(responses)) or f"{method} {path}",
        arguments=schema,
        parameters=arguments.parameters,
        body=arguments.body,
        responses=responses,
        servers=find_servers(context, item, node),
        dangerous=node.is_true("dangerous", "x-dangerous") or item.is_true("dangerous", "x-dangerous"),
        secured=arguments.secured,
        line=lines.find_line(node.path) if has_line else 0,
    )


def split_parameters(context: SpecContext, path: str, item: Node, node: Node) -> tuple[list[Parameter], list[Node]]:
    """Split parameters from Swagger 2.0 body parameters; adds undocumented path variables."""
    parameters: list[Parameter] = []
    body_parameters: list[Node] = []
    for parameter_node in iter_parameter_nodes(context, item, node):
        if parameter_node.text("in") in BODY_LOCATIONS:
            body_parameters.append(parameter_node)
        elif (parameter := parse_parameter(context, parameter_node)) is not None:
            parameters.append(parameter)
    variables = list(dict.fromkeys(_PATH_VARIABLE.findall(path)))
    for unused in [each for each in parameters if each.place == "path" and each.name not in variables]:
        fix = f"Write {{{unused.name}}} into the path, or delete the parameter."
        context.problems.add(node, f"The path has no {{{unused.name}}}; the parameter is passed over.", fix)
        parameters.remove(unused)
    for name in variables:
        if not any(each.place == "path" and each.name == name for each in parameters):
            fix = "Add it to `parameters`, with `in: path` and a description."
            context.problems.add(node, f"{{{name}}} of the path is not described; any text is taken.", fix)
            schema: Schema = {"type": "string", "minLength": 1}
            parameters.append(
                Parameter(
                    name=name, argument=name, place="path", schema=schema, required=True, style="simple", explode=False
                )
            )
    return parameters, body_parameters


def fixed_query_parameters(query: str, parameters: list[Parameter]) -> list[Parameter]:
    """Return constant parameters for the query that is part of the spec's path."""
    declared = {parameter.name for parameter in parameters if parameter.place == "query"}
    fixed = dict(parse_qsl(query, keep_blank_values=True))
    schemas = {name: {"type": "string", "const": value, "default": value} for name, value in fixed.items()}
    return [
        Parameter(name=name, argument=name, place="query", schema=schema, required=True)
        for name, schema in schemas.items()
        if name not in declared
    ]


def fit_arguments_schema(context: SpecContext, node: Node, schema: Schema) -> Schema | None:
    """Return the schema, shrunk if it is too large; None and a problem if the validator rejects it."""
    fitted = shrink_schema(schema)
    if fitted is not schema:
        fix = "Leave out of its schemas what no assistant needs."
        context.problems.add(node, "Its arguments are too large to be described to the last detail.", fix)
    try:
        get_validator(fitted)
    except CallerError as error:
        fix = "Write its schemas simpler."
        context.problems.add(node, f"It is left out, for its arguments. {error.message}", fix, "error")
        return None
    return fitted

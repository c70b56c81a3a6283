"""Reader of a plugin's API document (openapi.* or swagger.*).

Operations of a document, parsed independently: an invalid one does not affect the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl

from msgspec import Struct
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.plugins.document import UnreadableFile, find_document, read_document
from rightseat.plugins.openapi import lint
from rightseat.plugins.openapi.arguments import (
    ArgumentSpec,
    CredentialLocation,
    build_arguments,
    check_auth_configured,
    credential_locations,
)
from rightseat.plugins.openapi.bodies import parse_body, parse_responses, success_response
from rightseat.plugins.openapi.context import DocumentContext
from rightseat.plugins.openapi.describe import HTTP_METHODS, OperationNames, describe_operation
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.parameters import BODY_LOCATIONS, ParsedParameter, iter_parameter_nodes, parse_parameter
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.servers import find_servers
from rightseat.plugins.openapi.simplify import shrink_schema
from rightseat.plugins.plugin import Operation, PluginAuth, Problem
from rightseat.types.schema import get_validator

MAX_OPERATIONS = 5_000
_PATH_VARIABLE = re.compile(r"\{([^{}/]*)\}")

_PATH_ITEM_KEYS = ("summary", "description", "servers", "parameters", "dangerous", "$ref", "requestBody", "responses")


def parse_operations(context: DocumentContext) -> tuple[Operation, ...]:
    credentials, names = credential_locations(context), OperationNames()
    check_auth_configured(context)
    operations: list[Operation] = []
    for path, method, item, node in iter_operations(context):
        if len(operations) >= MAX_OPERATIONS:
            fix = "Make several plugins of it."
            context.problems.add(node, f"Only the first {MAX_OPERATIONS} operations are taken.", fix, "error")
            break
        if (made := parse_operation(context, path, method, item, node, credentials, names)) is not None:
            operations.append(made)
    return tuple(operations)


def iter_operations(context: DocumentContext) -> Iterator[tuple[str, str, Node, Node]]:
    paths = context.root.child("paths")
    if not isinstance(paths.value, dict):
        fix = "Write `paths:`, and below it the operations."
        context.problems.add(paths, "The document has no paths.", fix, "error")
    for path, path_node in paths.items():
        if path.startswith("x-"):
            continue
        item = context.refs.resolve(path_node)
        if not isinstance(item.value, dict):
            if item.value is not None:
                fix = "Write `get:` or another method below it."
                context.problems.add(path_node, "It is no mapping, and is passed over.", fix, "error")
            continue
        for method, node in iter_methods(context, item):
            yield path, method, item, node


def iter_methods(context: DocumentContext, item: Node) -> Iterator[tuple[str, Node]]:
    found = False
    for key, node in item.items():
        if key.lower() in HTTP_METHODS:
            found = True
            followed = context.refs.resolve(node)
            if isinstance(followed.value, dict):
                yield key.upper(), followed
            else:
                fix = "Write `description:` and the rest below it."
                context.problems.add(node, "says nothing, and is passed over.", fix, "error")
        elif key not in _PATH_ITEM_KEYS and not key.startswith("x-"):
            context.problems.add(node, "It is no method, and is passed over.", f"Methods: {', '.join(HTTP_METHODS)}.")
    if not found and isinstance(item.value.get("requestBody"), dict):
        fix = "Write `post:` (or another method) above description and requestBody."
        context.problems.add(item, "It has a requestBody and no method; POST is assumed.", fix)
        yield "POST", item


def parse_operation(
    context: DocumentContext,
    path: str,
    method: str,
    item: Node,
    node: Node,
    credentials: frozenset[CredentialLocation],
    names: OperationNames,
) -> Operation | None:
    # A fragment only distinguishes operations of one path; a query is sent with each call.
    bare, _, query = path.partition("#")[0].partition("?")
    parameters, body_parameters = split_parameters(context, bare, item, node)
    parameters += fixed_query_parameters(query, parameters)
    content = parse_body(context, node, body_parameters)
    spec = limit_arguments_size(context, node, build_arguments(context, parameters, content, credentials))
    if not has_valid_schema(context, node, spec):
        return None
    answers = parse_responses(context, node)
    if context.problems.strict:
        lint.check_unknown_keys(context, node, "operation")
        lint.check_operation_style(context, method, item, node, spec, content)
    return Operation(
        id=f"{method} {path}",
        name=names.assign(node.text("operationId"), method, path),
        method=method,
        path=bare if bare.startswith("/") else f"/{bare}",
        description=describe_operation(item, node, content, success_response(answers)) or f"{method} {path}",
        arguments=spec.schema,
        parameters=spec.parameters,
        body=spec.body,
        responses=answers,
        servers=find_servers(context, item, node),
        dangerous=node.is_true("dangerous", "x-dangerous") or item.is_true("dangerous", "x-dangerous"),
        secured=spec.secured,
        line=node_line(context, node),
    )


def node_line(context: DocumentContext, node: Node) -> int:
    """Return the operation's line; 0 if unknown (JSON lines are computed only for problems)."""
    lines = node.document.line_index
    here = node.document is context.root.document and lines.composed is not None
    return lines.find_line(node.path) if here else 0


def split_parameters(
    context: DocumentContext, path: str, item: Node, node: Node
) -> tuple[list[ParsedParameter], list[Node]]:
    """Split parameters from Swagger 2.0 body parameters; adds undocumented path variables."""
    parameters: list[ParsedParameter] = []
    body_parameters: list[Node] = []
    for one in iter_parameter_nodes(context, item, node):
        if one.text("in") in BODY_LOCATIONS:
            body_parameters.append(one)
        elif (parsed := parse_parameter(context, one)) is not None:
            parameters.append(parsed)
    named = list(dict.fromkeys(_PATH_VARIABLE.findall(path)))
    for unused in [one for one in parameters if one.place == "path" and one.name not in named]:
        fix = f"Write {{{unused.name}}} into the path, or delete the parameter."
        context.problems.add(node, f"The path has no {{{unused.name}}}; the parameter is passed over.", fix)
        parameters.remove(unused)
    for name in named:
        if not any(one.place == "path" and one.name == name for one in parameters):
            fix = "Add it to `parameters`, with `in: path` and a description."
            context.problems.add(node, f"{{{name}}} of the path is not described; any text is taken.", fix)
            parameters.append(undocumented_path_parameter(name))
    return parameters, body_parameters


def undocumented_path_parameter(name: str) -> ParsedParameter:
    schema: Schema = {"type": "string", "minLength": 1}
    return ParsedParameter(
        name=name, place="path", schema=schema, required=True, style="simple", explode=False, reserved=False, media=""
    )


def fixed_query_parameters(query: str, parameters: list[ParsedParameter]) -> list[ParsedParameter]:
    """Return constant parameters for the query that is part of the document's path."""
    taken = {one.name for one in parameters if one.place == "query"}
    return [
        ParsedParameter(
            name=name,
            place="query",
            schema={"type": "string", "const": value, "default": value},
            required=True,
            style="form",
            explode=True,
            reserved=False,
            media="",
        )
        for name, value in dict(parse_qsl(query, keep_blank_values=True)).items()
        if name not in taken
    ]


def limit_arguments_size(context: DocumentContext, node: Node, spec: ArgumentSpec) -> ArgumentSpec:
    schema = shrink_schema(spec.schema)
    if schema is not spec.schema:
        fix = "Leave out of its schemas what no assistant needs."
        context.problems.add(node, "Its arguments are too large to be described to the last detail.", fix)
    return replace(spec, schema=schema)


def has_valid_schema(context: DocumentContext, node: Node, spec: ArgumentSpec) -> bool:
    """Tell whether the validator accepts the arguments schema; reports a problem if not."""
    try:
        get_validator(spec.schema)
    except CallerError as error:
        fix = "Write its schemas simpler."
        context.problems.add(node, f"It is left out, for its arguments. {error.message}", fix, "error")
        return False
    return True


FILE_STEMS = ("openapi", "swagger")


class ApiDocument(Struct, frozen=True, kw_only=True):
    operations: tuple[Operation, ...] = ()
    title: str = ""
    description: str = ""
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def find_api_file(folder: Path) -> str | None:
    """Return the name of the folder's API document, or None."""
    return next((name for stem in FILE_STEMS if (name := find_document(folder, stem))), None)


def read_api(folder: Path, name: str, auth: tuple[PluginAuth, ...], *, strict: bool = True) -> ApiDocument:
    """Read the document into operations and problems; with `strict` style problems too."""
    try:
        document = read_document(folder, name)
    except UnreadableFile as error:
        return ApiDocument(files=(name,), problems=(error.problem,))
    if not isinstance(document.value, dict):
        fix = "Write `openapi: 3.0.0`, `servers:` and `paths:`; `rightseat plugins new` shows how."
        problem = document.make_problem((), "It is no API document.", fix)
        return ApiDocument(files=(name,), problems=(*document.problems, problem))
    context = DocumentContext(folder, document, auth, strict)
    check_version(context)
    lint.check_unknown_keys(context, context.root, "document")
    made = parse_operations(context)
    info = context.root.child("info")
    others = [one for one in context.refs.files.values() if one is not None and one is not document]
    problems = [*document.problems, *(problem for one in others for problem in one.problems)]
    for gravity, count in context.problems.omitted.items():
        fix = "Mend those that are told first."
        problems.append(document.make_problem((), f"{count} more were found.", fix, gravity))
    return ApiDocument(
        operations=made,
        title=info.text("title"),
        description=info.text("description"),
        files=tuple(context.refs.files),
        problems=(*problems, *context.problems.to_tuple()),
    )


def check_version(context: DocumentContext) -> None:
    key = "openapi" if "openapi" in context.root.value else "swagger"
    declared = context.root.text(key)
    if not declared:
        fix = "Write `openapi: 3.0.0` on its first line."
        context.problems.add(context.root.child("openapi"), "The version is not said; it is read as 3.0.", fix)
    elif not declared.startswith("3." if key == "openapi" else "2") and declared != "3":
        fix = "Convert it to 3.0 or 3.1."
        context.problems.add(context.root.child(key), f"Version {declared[:20]} is not known; read as 3.1.", fix)

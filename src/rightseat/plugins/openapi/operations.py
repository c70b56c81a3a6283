"""Operations of a document, parsed independently: an invalid one does not affect the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.plugins.openapi import spelling, style
from rightseat.plugins.openapi.arguments import Arguments, arguments
from rightseat.plugins.openapi.bodies import body
from rightseat.plugins.openapi.describe import description
from rightseat.plugins.openapi.names import METHODS, Names
from rightseat.plugins.openapi.node import Node
from rightseat.plugins.openapi.parameters import FORM, Given, nodes, parameter
from rightseat.plugins.openapi.reading import Reading
from rightseat.plugins.openapi.responses import good, responses
from rightseat.plugins.openapi.schemas import Schema
from rightseat.plugins.openapi.security import Carrier, carriers, unmet
from rightseat.plugins.openapi.servers import servers
from rightseat.plugins.openapi.shallow import shallow
from rightseat.plugins.operation import Operation
from rightseat.types.schema import checker

MAX_OPERATIONS = 5_000
_TEMPLATE = re.compile(r"\{([^{}/]*)\}")
_ITEM_KEYS = (
    "summary",
    "description",
    "servers",
    "parameters",
    "dangerous",
    "$ref",
    "requestBody",
    "responses",
)


def operations(reading: Reading) -> tuple[Operation, ...]:
    secret, names = carriers(reading), Names()
    unmet(reading)
    found: list[Operation] = []
    for path, method, item, node in listed(reading):
        if len(found) >= MAX_OPERATIONS:
            fix = "Make several plugins of it."
            reading.notes.add(node, f"Only the first {MAX_OPERATIONS} operations are taken.", fix, "error")
            break
        if (made := operation(reading, path, method, item, node, secret, names)) is not None:
            found.append(made)
    return tuple(found)


def listed(reading: Reading) -> Iterator[tuple[str, str, Node, Node]]:
    paths = reading.root.at("paths")
    if not isinstance(paths.value, dict):
        fix = "Write `paths:`, and below it the operations."
        reading.notes.add(paths, "The document has no paths.", fix, "error")
    for path, given in paths.items():
        if path.startswith("x-"):
            continue
        item = reading.refs.follow(given)
        if not isinstance(item.value, dict):
            if item.value is not None:
                fix = "Write `get:` or another method below it."
                reading.notes.add(given, "It is no mapping, and is passed over.", fix, "error")
            continue
        for method, node in methods(reading, item):
            yield path, method, item, node


def methods(reading: Reading, item: Node) -> Iterator[tuple[str, Node]]:
    found = False
    for key, node in item.items():
        if key.lower() in METHODS:
            found = True
            followed = reading.refs.follow(node)
            if isinstance(followed.value, dict):
                yield key.upper(), followed
            else:
                fix = "Write `description:` and the rest below it."
                reading.notes.add(node, "says nothing, and is passed over.", fix, "error")
        elif key not in _ITEM_KEYS and not key.startswith("x-"):
            reading.notes.add(node, "It is no method, and is passed over.", f"Methods: {', '.join(METHODS)}.")
    if not found and isinstance(item.value.get("requestBody"), dict):
        fix = "Write `post:` (or another method) above description and requestBody."
        reading.notes.add(item, "It has a requestBody and no method; POST is assumed.", fix)
        yield "POST", item


def operation(
    reading: Reading,
    path: str,
    method: str,
    item: Node,
    node: Node,
    secret: frozenset[Carrier],
    names: Names,
) -> Operation | None:
    # A fragment only distinguishes operations of one path; a query is sent with each call.
    bare, _, query = path.partition("#")[0].partition("?")
    given, loose = sorted_out(reading, bare, item, node)
    given += fixed(query, given)
    content = body(reading, node, loose)
    made = bounded(reading, node, arguments(reading, given, content, secret))
    if not usable(reading, node, made):
        return None
    answers = responses(reading, node)
    if reading.notes.strict:
        spelling.look(reading, node, "operation")
        style.look(reading, method, item, node, made, content)
    return Operation(
        id=f"{method} {path}",
        name=names.take(node.text("operationId"), method, path),
        method=method,
        path=bare if bare.startswith("/") else f"/{bare}",
        description=description(item, node, content, good(answers)) or f"{method} {path}",
        arguments=made.schema,
        parameters=made.parameters,
        body=made.body,
        responses=answers,
        servers=servers(reading, item, node),
        dangerous=node.says("dangerous", "x-dangerous") or item.says("dangerous", "x-dangerous"),
        secured=made.secured,
        line=line_of(reading, node),
    )


def line_of(reading: Reading, node: Node) -> int:
    """Return the operation's line; 0 if unknown (JSON lines are computed only for problems)."""
    lines = node.document.lines
    here = node.document is reading.root.document and lines.composed is not None
    return lines.of(node.path) if here else 0


def sorted_out(reading: Reading, path: str, item: Node, node: Node) -> tuple[list[Given], list[Node]]:
    """Split parameters from Swagger 2.0 body parameters; adds undocumented path variables."""
    given: list[Given] = []
    loose: list[Node] = []
    for one in nodes(reading, item, node):
        if one.text("in") in FORM:
            loose.append(one)
        elif (found := parameter(reading, one)) is not None:
            given.append(found)
    named = list(dict.fromkeys(_TEMPLATE.findall(path)))
    for odd in [one for one in given if one.place == "path" and one.name not in named]:
        fix = f"Write {{{odd.name}}} into the path, or delete the parameter."
        reading.notes.add(node, f"The path has no {{{odd.name}}}; the parameter is passed over.", fix)
        given.remove(odd)
    for name in named:
        if not any(one.place == "path" and one.name == name for one in given):
            fix = "Add it to `parameters`, with `in: path` and a description."
            reading.notes.add(node, f"{{{name}}} of the path is not described; any text is taken.", fix)
            given.append(plain(name))
    return given, loose


def plain(name: str) -> Given:
    schema: Schema = {"type": "string", "minLength": 1}
    return Given(
        name=name,
        place="path",
        schema=schema,
        required=True,
        style="simple",
        explode=False,
        reserved=False,
        media="",
    )


def fixed(query: str, given: list[Given]) -> list[Given]:
    """Return constant parameters for the query that is part of the document's path."""
    taken = {one.name for one in given if one.place == "query"}
    return [
        Given(
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


def bounded(reading: Reading, node: Node, made: Arguments) -> Arguments:
    schema = shallow(made.schema)
    if schema is not made.schema:
        fix = "Leave out of its schemas what no assistant needs."
        reading.notes.add(node, "Its arguments are too large to be described to the last detail.", fix)
    return replace(made, schema=schema)


def usable(reading: Reading, node: Node, made: Arguments) -> bool:
    """Tell whether the validator accepts the arguments schema; reports a problem if not."""
    try:
        checker(made.schema)
    except CallerError as error:
        fix = "Write its schemas simpler."
        reading.notes.add(node, f"It is left out, for its arguments. {error.message}", fix, "error")
        return False
    return True

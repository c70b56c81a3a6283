"""Reader of a plugin's API document (openapi.* or swagger.*)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from rightseat.plugins.document import UnreadableFile, find_document, read_document
from rightseat.plugins.openapi import spelling
from rightseat.plugins.openapi.operations import parse_operations
from rightseat.plugins.openapi.reading import DocumentContext
from rightseat.plugins.operation import Operation
from rightseat.plugins.plugin import PluginAuth
from rightseat.plugins.problem import Problem

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
    spelling.check_unknown_keys(context, context.root, "document")
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
        context.problems.add(
            context.root.child("openapi"), "The version is not said; it is read as 3.0.", fix
        )
    elif not declared.startswith("3." if key == "openapi" else "2") and declared != "3":
        fix = "Convert it to 3.0 or 3.1."
        context.problems.add(
            context.root.child(key), f"Version {declared[:20]} is not known; read as 3.1.", fix
        )

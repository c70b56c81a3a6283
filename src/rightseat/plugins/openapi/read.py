"""Reader of a plugin's API document (openapi.* or swagger.*)."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from rightseat.plugins.document import Unreadable, found, read
from rightseat.plugins.openapi import spelling
from rightseat.plugins.openapi.operations import operations
from rightseat.plugins.openapi.reading import Reading
from rightseat.plugins.operation import Operation
from rightseat.plugins.plugin import Auth
from rightseat.plugins.problem import Problem

STEMS = ("openapi", "swagger")


class Api(Struct, frozen=True, kw_only=True):
    operations: tuple[Operation, ...] = ()
    title: str = ""
    description: str = ""
    files: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def named(folder: Path) -> str | None:
    """Return the name of the folder's API document, or None."""
    return next((name for stem in STEMS if (name := found(folder, stem))), None)


def api(folder: Path, name: str, auth: tuple[Auth, ...], *, strict: bool = True) -> Api:
    """Read the document into operations and problems; with `strict` style problems too."""
    try:
        document = read(folder, name)
    except Unreadable as error:
        return Api(files=(name,), problems=(error.problem,))
    if not isinstance(document.value, dict):
        fix = "Write `openapi: 3.0.0`, `servers:` and `paths:`; `rightseat plugins new` shows how."
        problem = document.problem((), "It is no API document.", fix)
        return Api(files=(name,), problems=(*document.problems, problem))
    reading = Reading(folder, document, auth, strict)
    version(reading)
    spelling.look(reading, reading.root, "document")
    made = operations(reading)
    info = reading.root.at("info")
    others = [one for one in reading.refs.files.values() if one is not None and one is not document]
    problems = [*document.problems, *(problem for one in others for problem in one.problems)]
    for gravity, count in reading.notes.left_out.items():
        fix = "Mend those that are told first."
        problems.append(document.problem((), f"{count} more were found.", fix, gravity))
    return Api(
        operations=made,
        title=info.text("title"),
        description=info.text("description"),
        files=tuple(reading.refs.files),
        problems=(*problems, *reading.notes.problems()),
    )


def version(reading: Reading) -> None:
    key = "openapi" if "openapi" in reading.root.value else "swagger"
    given = reading.root.text(key)
    if not given:
        fix = "Write `openapi: 3.0.0` on its first line."
        reading.notes.add(reading.root.at("openapi"), "The version is not said; it is read as 3.0.", fix)
    elif not given.startswith("3." if key == "openapi" else "2") and given != "3":
        fix = "Convert it to 3.0 or 3.1."
        reading.notes.add(reading.root.at(key), f"Version {given[:20]} is not known; read as 3.1.", fix)

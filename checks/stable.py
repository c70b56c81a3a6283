"""docs/reference/stable.txt lists the names that docs/compatibility.md promises to keep, from the code: keys, routes,
public Python names, events, errors, commands with their options, fields of plugins, kinds of steps, entry points,
environment variables.

Without an argument this says which name is new, and which is gone although no line of CHANGELOG.md says so. `--write`
adds what is new and drops what is gone, the latter only where the newest section of CHANGELOG.md names it in backticks
under "Changed" or "Removed".
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec
import typer

import rightseat
from checks import error_pages, reference
from checks.files import ROOT
from rightseat import cli, copilotkit, testing
from rightseat.config.settings import Config, ServerSettings
from rightseat.models.llamacpp import formats
from rightseat.plugins.flows import steps
from rightseat.plugins.openapi.lint import load_field_tables
from rightseat.server.app import App
from rightseat.types.events import Event
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.lookup import BUILTIN, find

LISTING = ROOT / "docs" / "reference" / "stable.txt"
CHANGELOG = ROOT / "CHANGELOG.md"
HEADER = "# Written by `make reference` from the code. What these names promise: docs/compatibility.md\n"
# Made for our own page, and changed together with it.
PAGE_PATHS = ("/playground",)
OPTION_TABLE = re.compile(r"^(?P<table>[\w.]+)` with `(?P<kind>[\w-]+):?$")
# Not in brackets: so do texts name them that a person copies.
ENVIRONMENT = re.compile(r'(?<=[^\[]")RIGHTSEAT_[A-Z_]+(?=")')
VERSION_HEADING = re.compile(r"^## ", re.MULTILINE)
ANNOUNCING = re.compile(r"^### (?:Changed|Removed)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`([^`]+)`")
TABLE = re.compile(r"\[+(\w+)")


def list_keys() -> Iterator[str]:
    yield "default"
    for title, kind in reference.list_tables():
        table = OPTION_TABLE.sub(r"\g<table>(\g<kind>)", title)
        for field in msgspec.structs.fields(kind):
            if (kind, field.name) not in reference.HIDDEN_FIELDS:
                yield f"{table}.{field.name}"


def list_routes() -> Iterator[str]:
    doors = [find("doors", name) for name in BUILTIN["doors"]]
    app = App(build_runtime(Config(model="scripted:demo"), env={}), ServerSettings(port=0), doors)
    for _, route, _ in app.table.routes:
        if not route.path.startswith(PAGE_PATHS):
            yield f"{route.method} {route.path}"


def list_public_names(module: ModuleType) -> Iterator[str]:
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    for name in getattr(module, "__all__", own):
        if not name.startswith("_"):
            yield f"{module.__name__}.{name}"


def list_events() -> Iterator[str]:
    for kind in get_args(Event):
        yield kind.__name__
        for field in msgspec.structs.fields(kind):
            yield f"{kind.__name__}.{field.name}"


def list_commands(group: Any, path: str = "rightseat") -> Iterator[str]:
    yield path
    for parameter in group.params:
        yield from (f"{path} {option}" for option in parameter.opts if option.startswith("--"))
    for name, command in getattr(group, "commands", {}).items():
        yield from list_commands(command, f"{path} {name}")


def list_variables() -> Iterator[str]:
    """The variables that the code reads and a page explains; others are between our own processes."""
    sources = (path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    read = {name for text in sources for name in ENVIRONMENT.findall(text)}
    yield from (name for name in read if name in pages)


def list_names() -> list[str]:
    """Every name as a line: its kind, then itself."""
    groups = (*(f"rightseat.{family}" for family in BUILTIN), formats.ENTRY_POINT_GROUP, steps.ENTRY_POINT_GROUP)
    kinds: dict[str, Iterable[str]] = {
        "command": list_commands(typer.main.get_command(cli.app)),
        "entry-point-group": groups,
        "environment": list_variables(),
        "error": (kind.code for kind in error_pages.list_errors()),
        "event": list_events(),
        "flow-step": steps.KINDS,
        "key": list_keys(),
        "plugin-field": (f"{table} {field}" for table, fields in load_field_tables().items() for field in fields),
        "python": (name for module in (rightseat, testing, copilotkit) for name in list_public_names(module)),
        "route": list_routes(),
    }
    return [f"{kind} {name}" for kind, names in kinds.items() for name in sorted(set(names))]


def read_listing(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [line for line in lines if line and not line.startswith("#")]


def read_announcements(changelog: str) -> list[str]:
    """The code in the lines under "Changed" and "Removed" of the newest section that has any line."""
    sections = VERSION_HEADING.split(changelog)[1:]
    newest = next((section for section in sections if "\n- " in section), "")
    return [span for text in ANNOUNCING.findall(newest) for span in CODE_SPAN.findall(text)]


def is_announced(line: str, spans: Iterable[str]) -> bool:
    """Whether code in CHANGELOG.md names it: the last word of a name, a whole path, or the option of a command. Code
    that also names a table or a command must mean the same one."""
    kind, _, name = line.partition(" ")
    owner, _, word = name.rpartition(" " if kind in ("route", "command", "plugin-field") else ".")
    pattern = re.compile(rf"(?<![\w/-]){re.escape(word)}(?![\w/-])")
    return any(pattern.search(span) and is_same_owner(kind, owner, span) for span in spans)


def is_same_owner(kind: str, owner: str, span: str) -> bool:
    if kind == "key" and (table := TABLE.search(span)):
        return table[1] == owner.strip("[]").partition(".")[0]
    if kind == "command" and span.startswith("rightseat "):
        return span.startswith(owner)
    return True


def find_unannounced(listed: list[str], current: list[str], changelog: str) -> list[str]:
    spans = read_announcements(changelog)
    return [line for line in listed if line not in set(current) and not is_announced(line, spans)]


def main(arguments: list[str]) -> int:
    listed, current = read_listing(LISTING), list_names()
    unannounced = find_unannounced(listed, current, CHANGELOG.read_text(encoding="utf-8"))
    if unannounced:
        print("gone, and promised to stay (docs/compatibility.md):", *unannounced, sep="\n    ")
        print('Bring them back, or name each in CHANGELOG.md under "Changed" or "Removed", and run: make reference')
        return 1
    if listed == current:
        print(f"{len(current)} names are kept")
        return 0
    if "--write" in arguments:
        LISTING.write_text("\n".join([HEADER, *current, ""]), encoding="utf-8")
        print(f"{len(current)} names written to {LISTING.name}")
        return 0
    changed = sorted(set(listed) ^ set(current)) or ["the order of the lines"]
    print(f"stale: {', '.join(changed[:5])}{' …' if len(changed) > 5 else ''}. Run: make reference")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

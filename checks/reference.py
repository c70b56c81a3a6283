"""docs/reference is written from the code: every key, command and error. `--write` writes it anew.

Without it, this says which page is not what the code says.
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import typer
from msgspec import NODEFAULT, Meta, Struct

from checks import plugin_fields
from checks.files import ROOT
from rightseat import cli, errors
from rightseat.config import settings
from rightseat.models.llamacpp import options as llamacpp
from rightseat.models.openai import options as openai
from rightseat.secret import Secret

FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by `make reference` from the code: change that. -->\n"
WORDS = {str: "text", int: "whole number", float: "number", bool: "true or false", Secret: "secret"}
WIDTH = 88

# Not a key: the model's own options are, and they stand in a table of their own.
HIDDEN = {(settings.ModelSettings, "options")}
Table = tuple[str, type[Struct], ModuleType]
OPTIONS: tuple[Table, ...] = (
    ("models.NAME` with `local", llamacpp.LocalOptions, llamacpp),
    ("models.NAME` with `llama-server:", llamacpp.AttachedOptions, llamacpp),
    ("models.NAME` with `openai:", openai.Options, openai),
)


class Undocumented(Exception):
    """A key, an error or a command that says nothing about itself."""


def tables(kind: type[Struct] = settings.Config, prefix: str = "") -> Iterator[Table]:
    """Every table that a file may have, in the order of the settings."""
    for name, hint in get_type_hints(kind).items():
        found = next(
            (one for one in (hint, *get_args(hint)) if isinstance(one, type) and issubclass(one, Struct)),
            None,
        )
        if found is None:
            continue
        title = f"{prefix}{name}.NAME" if get_origin(hint) is dict else f"{prefix}{name}"
        title = f"[[{title}]]" if get_origin(hint) is tuple else title
        yield title, found, sys.modules[found.__module__]
        if found is settings.ModelSettings:
            yield from OPTIONS
        yield from tables(found, f"{title}.")


def meanings(kind: type[Struct], home: ModuleType) -> dict[str, str]:
    """The strings below the fields, which Python itself does not keep."""
    tree = ast.parse(inspect.getsource(home))
    names = {one.__name__ for one in kind.__mro__}
    said = {}
    for found in (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name in names):
        for field, below in zip(found.body, found.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = ast.get_docstring(ast.Module([below], []))
                said[field.target.id] = " ".join((text or "").split())
    return said


def word(kind: Any) -> str:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        limits = ", ".join(bounds(meta) for meta in args[1:] if isinstance(meta, Meta) and bounds(meta))
        return f"{word(args[0])}{f', {limits}' if limits else ''}"
    if origin in (Union, UnionType):
        return " or ".join(word(one) for one in args if one is not type(None))
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in args)
    if origin in (tuple, list):
        return f"list of {word(args[0])}"
    if origin is dict:
        return f"table of {word(args[1])}"
    return "table" if isinstance(kind, type) and issubclass(kind, Struct) else WORDS.get(kind, "any value")


def bounds(meta: Meta) -> str:
    named = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    return ", ".join(
        f"{text} {getattr(meta, name)}" for name, text in named.items() if getattr(meta, name) is not None
    )


def default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is NODEFAULT and field.default_factory is NODEFAULT:
        return "required"
    value = field.default_factory() if field.default is NODEFAULT else field.default
    if value in (None, "", (), {}, []) or isinstance(value, Struct):
        return ""
    if isinstance(value, tuple):
        return f"`{msgspec.json.encode(value).decode()}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def keys(kind: type[Struct], home: ModuleType) -> Iterator[str]:
    said = meanings(kind, home)
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        if (kind, field.name) in HIDDEN:
            continue
        if not said.get(field.name):
            raise Undocumented(f"{kind.__name__}.{field.name}: write its meaning in a string below it")
        cells = (f"`{field.name}`", word(hints[field.name]), default(field), said[field.name])
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def config_page() -> str:
    parts = [f"{NOTE}\n# Every key of rightseat.toml\n\nWhat they are for: [config.md](../config.md).\n"]
    for title, kind, home in tables():
        rows = "\n".join(keys(kind, home))
        parts.append(f"## `{title}`\n\n| key | type | default | meaning |\n|---|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def cli_page() -> str:
    command = typer.main.get_command(cli.app)
    parts = [f"{NOTE}\n# The commands\n"]
    root = command.make_context(
        "rightseat", [], resilient_parsing=True, max_content_width=WIDTH, terminal_width=WIDTH
    )
    assert hasattr(command, "commands")
    parts.append(f"```text\n{command.get_help(root).strip()}\n```\n")
    parts += commands(command, root)
    return "\n".join(parts)


def commands(group: Any, above: Any) -> Iterator[str]:
    for name, sub in group.commands.items():
        context = sub.make_context(name, [], parent=above, resilient_parsing=True)
        yield f"## {context.command_path}\n\n```text\n{sub.get_help(context).strip()}\n```\n"
        if hasattr(sub, "commands"):
            yield from commands(sub, context)


def tree() -> dict[str, str]:
    """Class → meaning, as drawn at the head of errors.py."""
    drawn = re.compile(
        r"^[ │├└─]*(\w+) +(\d{3})(?: +(?:ours|caller|upstream)(?= |$))? +(\S.*)$", re.MULTILINE
    )
    return {f"{name} {status}": said for name, status, said in drawn.findall(errors.__doc__ or "")}


def errors_page() -> str:
    said = tree()
    rows = []
    for kind in vars(errors).values():
        if not (isinstance(kind, type) and issubclass(kind, errors.RightseatError)):
            continue
        name = f"{kind.__name__} {kind.status}"
        if name not in said:
            raise Undocumented(f"errors.py: the tree at its head has no line for {name}")
        rows.append(f"| `{kind.code}` | {kind.status} | {kind.fault} | {said[name]} |")
    intro = (
        "The code is stable; the message says what to do next. Each door writes them in its client's shape.\n"
        "After the first byte of a stream there is no status any more: the code comes inside the stream."
    )
    table = "\n".join(["| code | status | whose fault | what happened |", "|---|---|---|---|", *rows])
    return f"{NOTE}\n# Every error\n\n{intro}\n\n{table}\n"


PAGES: dict[str, Callable[[], str]] = {
    "config.md": config_page,
    "cli.md": cli_page,
    "errors.md": errors_page,
    "plugins.md": lambda: f"{NOTE}\n{plugin_fields.page('en')}",
    "plugins.zh.md": lambda: f"{NOTE}\n{plugin_fields.page('zh')}",
}


def stale(folder: Path) -> list[str]:
    return [
        name
        for name, page in PAGES.items()
        if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != page()
    ]


def main(arguments: list[str]) -> int:
    try:
        old = stale(FOLDER)
    except Undocumented as error:
        print(error)
        return 1
    if "--write" in arguments:
        FOLDER.mkdir(exist_ok=True)
        for name in old:
            (FOLDER / name).write_text(PAGES[name](), encoding="utf-8")
        print(f"{len(old)} of {len(PAGES)} pages written anew")
        return 0
    print(
        f"stale: {', '.join(old)}. Run: make reference" if old else f"{len(PAGES)} pages are as the code is"
    )
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

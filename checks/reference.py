"""docs/reference and docs/errors are written from the code: every key, command and error, the tables of fields in
docs/openai.md and the table of guards in docs/security.md. `--write` writes them anew.

Without it, this says which page is not what the code says.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import typer
from msgspec import NODEFAULT, Meta, Struct

from checks import error_pages, plugin_fields, request_fields, security_page
from checks.error_pages import UndocumentedError
from checks.files import ROOT
from rightseat import cli
from rightseat.config import settings
from rightseat.config.secret import Secret
from rightseat.models.llamacpp import options as llamacpp
from rightseat.models.openai import options as openai

FOLDER = ROOT / "docs" / "reference"
HEADER = "<!-- Written by `make reference` from the code: change that. -->\n"
TYPE_NAMES = {str: "text", int: "whole number", float: "number", bool: "true or false", Secret: "secret"}
WIDTH = 88

# Not a key: the model's own options are, and they stand in a table of their own.
HIDDEN_FIELDS = {(settings.ModelSettings, "options"), (settings.AgentSettings, "options")}
Table = tuple[str, type[Struct]]
OPTION_TABLES: tuple[Table, ...] = (
    ("models.NAME` with `local", llamacpp.LocalOptions),
    ("models.NAME` with `llama-server:", llamacpp.AttachedOptions),
    ("models.NAME` with `openai:", openai.OpenAIOptions),
)


def list_tables(kind: type[Struct] = settings.Config, prefix: str = "") -> Iterator[Table]:
    """Every table that a file may have, in the order of the settings."""
    for name, hint in get_type_hints(kind).items():
        # A table may also be one of several types that a key takes.
        types = (hint, *get_args(hint), *(inner for one in get_args(hint) for inner in get_args(one)))
        struct = next((one for one in types if isinstance(one, type) and issubclass(one, Struct)), None)
        if struct is None:
            continue
        title = f"{prefix}{name}.NAME" if get_origin(hint) is dict else f"{prefix}{name}"
        title = f"[[{title}]]" if get_origin(hint) is tuple else title
        yield title, struct
        if struct is settings.ModelSettings:
            yield from OPTION_TABLES
        yield from list_tables(struct, f"{title}.")


def read_meanings(kind: type[Struct]) -> dict[str, str]:
    """The strings below the fields, which Python itself does not keep."""
    texts = {}
    sources = [
        inspect.getsource(base) for base in reversed(kind.__mro__) if issubclass(base, Struct) and base is not Struct
    ]
    for found in (node for source in sources for node in ast.parse(source).body if isinstance(node, ast.ClassDef)):
        for field, below in zip(found.body, found.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = ast.get_docstring(ast.Module([below], []))
                texts[field.target.id] = " ".join((text or "").split())
    return texts


def describe_type(kind: Any) -> str:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        limits = ", ".join(
            describe_bounds(meta) for meta in args[1:] if isinstance(meta, Meta) and describe_bounds(meta)
        )
        return f"{describe_type(args[0])}{f', {limits}' if limits else ''}"
    if origin in (Union, UnionType):
        return " or ".join(describe_type(one) for one in args if one is not type(None))
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in args)
    if origin in (tuple, list):
        return f"list of {describe_type(args[0])}"
    if origin is dict:
        return f"table of {describe_type(args[1])}"
    return "table" if isinstance(kind, type) and issubclass(kind, Struct) else TYPE_NAMES.get(kind, "any value")


def describe_bounds(meta: Meta) -> str:
    named = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    return ", ".join(f"{text} {getattr(meta, name)}" for name, text in named.items() if getattr(meta, name) is not None)


def describe_default(field: msgspec.structs.FieldInfo) -> str:
    if field.default is NODEFAULT and field.default_factory is NODEFAULT:
        return "required"
    value = field.default_factory() if field.default is NODEFAULT else field.default
    if value in (None, "", (), {}, []) or isinstance(value, Struct):
        return ""
    if isinstance(value, tuple):
        return f"`{msgspec.json.encode(value).decode()}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def list_keys(kind: type[Struct]) -> Iterator[str]:
    texts = read_meanings(kind)
    hints = get_type_hints(kind, include_extras=True)
    for field in msgspec.structs.fields(kind):
        if (kind, field.name) in HIDDEN_FIELDS:
            continue
        if not texts.get(field.name):
            raise UndocumentedError(f"{kind.__name__}.{field.name}: write its meaning in a string below it")
        cells = (f"`{field.name}`", describe_type(hints[field.name]), describe_default(field), texts[field.name])
        yield f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def build_config_page() -> str:
    parts = [
        f"{HEADER}\n# Every key of rightseat.toml\n\n[config.md](../config.md) explains what the tables are for.\n\n"
        "One key stands before all tables: `default`, the name of the assistant, model, agent or flow (`PLUGIN.FLOW`) "
        "that answers where a client names none.\n"
    ]
    for title, kind in list_tables():
        rows = "\n".join(list_keys(kind))
        parts.append(f"## `{title}`\n\n| key | type | default | meaning |\n|---|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def build_cli_page() -> str:
    command = typer.main.get_command(cli.app)
    parts = [f"{HEADER}\n# The commands\n"]
    root = command.make_context("rightseat", [], resilient_parsing=True, max_content_width=WIDTH, terminal_width=WIDTH)
    assert hasattr(command, "commands")
    parts.append(f"```text\n{command.get_help(root).strip()}\n```\n")
    parts += describe_commands(command, root)
    return "\n".join(parts)


def describe_commands(group: Any, above: Any) -> Iterator[str]:
    for name, sub in group.commands.items():
        context = sub.make_context(name, [], parent=above, resilient_parsing=True)
        yield f"## {context.command_path}\n\n```text\n{sub.get_help(context).strip()}\n```\n"
        if hasattr(sub, "commands"):
            yield from describe_commands(sub, context)


PAGES: dict[str, Callable[[], str]] = {
    "config.md": build_config_page,
    "cli.md": build_cli_page,
    "plugins.md": lambda: f"{HEADER}\n{plugin_fields.build_page('en')}",
    "plugins.zh.md": lambda: f"{HEADER}\n{plugin_fields.build_page('zh')}",
    "../openai.md": request_fields.build_page,
    "../security.md": security_page.build_page,
    "../errors.md": lambda: f"{HEADER}\n{error_pages.build_overview()}",
}


def build_pages() -> dict[str, str]:
    """Every page, by its place beside the others."""
    pages = {name: page() for name, page in PAGES.items()}
    codes = {f"../errors/{kind.code}.md": error_pages.build_page(kind) for kind in error_pages.list_errors()}
    return pages | {name: f"{HEADER}\n{text}" for name, text in codes.items()}


def find_stale(folder: Path, pages: dict[str, str]) -> list[str]:
    """Those that are not as the code says, and those of errors that there are no longer."""
    here = {f"../errors/{page.name}" for page in (folder.parent / "errors").glob("*.md")}
    return [name for name, text in pages.items() if read_page(folder / name) != text] + sorted(here - pages.keys())


def read_page(path: Path) -> str | None:
    path = path.resolve()
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(arguments: list[str]) -> int:
    try:
        pages = build_pages()
        old = find_stale(FOLDER, pages)
    except UndocumentedError as error:
        print(error)
        return 1
    if "--write" in arguments:
        for name in old:
            place = (FOLDER / name).resolve()
            place.parent.mkdir(parents=True, exist_ok=True)
            if name in pages:
                place.write_text(pages[name], encoding="utf-8")
            else:
                place.unlink()
        print(f"{len(old)} of {len(pages)} pages written anew")
        return 0
    print(f"stale: {', '.join(old)}. Run: make reference" if old else f"{len(pages)} pages are as the code is")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`rightseat plugins`: check, list, new. No plugin code is imported or run."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import typer

from rightseat.config.secret import Secret, is_reference
from rightseat.errors import ConfigError
from rightseat.plugins import new as skeleton
from rightseat.plugins.load import read, read_all
from rightseat.plugins.plugin import Auth, Plugin
from rightseat.plugins.problem import Gravity, Problem

COLOURS: dict[Gravity, str] = {
    "error": typer.colors.RED,
    "warning": typer.colors.YELLOW,
    "style": typer.colors.BLUE,
}
FIRST_WORDS = 100


def check(directories: Sequence[Path], *, strict: bool) -> int:
    """Print the plugins' problems; returns 1 for an error, with `strict` for any problem."""
    prepare()
    must_exist(directories)
    plugins = read_all(directories, strict=strict)
    if not plugins:
        named = ", ".join(map(str, directories))
        raise ConfigError(
            f"{named}: no plugin in there. A plugin is a folder with plugin.json or openapi.yaml."
        )
    for plugin in plugins:
        typer.echo(f"{plain(plugin.id)}: {parts([plugin])}")
        for problem in plugin.problems:
            show(plugin, problem)
    found = Counter(problem.gravity for plugin in plugins for problem in plugin.problems)
    typer.echo(f"\n{counted(len(plugins), 'plugin')} with {parts(plugins)}: {verdict(found)}")
    return 1 if found["error"] or (strict and found) else 0


def must_exist(directories: Sequence[Path]) -> None:
    for directory in directories:
        if not directory.is_dir():
            raise ConfigError(f"{directory}: there is no such folder.")


def sent(auth: Auth) -> str:
    """Describe an auth entry: its kind, and the variables and files of this machine that it sends."""
    given = (*auth.args.values(), *auth.options.values())
    values = [value.reveal() for value in given if isinstance(value, Secret)]
    named = ", ".join(plain(value) for value in values if is_reference(value))
    return f"{auth.kind} ({named})" if named else auth.kind


def show(plugin: Plugin, problem: Problem) -> None:
    word = typer.style(f"{problem.gravity:<7}", fg=COLOURS[problem.gravity])
    place = plugin.folder / problem.file
    line = f":{problem.line}" if problem.line else ""
    key = f" {plain(problem.key)}" if problem.key else ""
    typer.echo(f"  {word} {plain(str(place))}{line}{key}")
    typer.echo(f"          {plain(problem.what)}")
    typer.echo(f"          → {plain(problem.fix)}")


def verdict(found: Counter[Gravity]) -> str:
    if not found:
        return "all is well."
    words = {"error": "error", "warning": "warning", "style": "matter of style"}
    plurals = {"style": "matters of style"}
    told = [
        f"{found[kind]} {words[kind] if found[kind] == 1 else plurals.get(kind, words[kind] + 's')}"
        for kind in COLOURS
        if found[kind]
    ]
    return ", ".join(told) + "."


def parts(plugins: Sequence[Plugin]) -> str:
    operations = sum(len(plugin.operations) for plugin in plugins)
    tools = sum(len(plugin.scripts) for plugin in plugins)
    flows = sum(len(plugin.flows) for plugin in plugins)
    return f"{counted(operations, 'operation')}, {counted(tools, 'Python tool')}, {counted(flows, 'flow')}"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def show_all(directories: Sequence[Path], path: Path | None) -> None:
    prepare()
    if directories and path is None:
        must_exist(directories)
        plugins = read_all(directories)
    else:
        # Lazy: loads the whole server, which `check` does not need.
        from rightseat.config import load
        from rightseat.wiring.plugins import folders

        plugins = [read(folder) for folder in folders(load(path, plugins=directories))]
    for plugin in plugins:
        bad = sum(problem.gravity == "error" for problem in plugin.problems)
        typer.echo(f"{'✗' if bad else '✓'} {plain(plugin.id)}  {plain(plugin.name)}")
        first = plain(plugin.description)
        if first:
            typer.echo(f"    {first if len(first) <= FIRST_WORDS else first[: FIRST_WORDS - 1] + '…'}")
        auth = f"; auth: {', '.join(map(sent, plugin.auth))}" if plugin.auth else ""
        typer.echo(f"    {parts([plugin])}{auth}")
        if bad:
            typer.echo(f"    {counted(bad, 'error')}: rightseat plugins check {plain(str(plugin.folder))}")
    if not plugins:
        typer.echo(
            "No plugins. Name a folder by --plugins DIR or [[plugins]], or: rightseat plugins new NAME"
        )


def new(name: str, where: Path) -> None:
    folder = skeleton.write(name, where)
    typer.echo(f"{folder} is there. Change its files, then:")
    typer.echo(f"    rightseat plugins check --strict {folder}")
    typer.echo(f"    rightseat serve --plugins {folder}")


def prepare() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show Chinese text must not end the check.
        sys.stdout.reconfigure(errors="replace")


def plain(text: str) -> str:
    """Return foreign text on one line, without control characters."""
    return "".join(letter if letter.isprintable() else "·" for letter in " ".join(text.split()))

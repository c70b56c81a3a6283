"""`rightseat plugins`: check, list, new. No plugin code is imported or run."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import typer
from msgspec.structs import replace

from rightseat.config.secret import Secret, is_reference
from rightseat.config.settings import PluginSettings
from rightseat.errors import ConfigError
from rightseat.plugins.http.oidc import find_missing_caller_token
from rightseat.plugins.load import read_plugin, read_plugins, write_skeleton
from rightseat.plugins.plugin import Gravity, Plugin, PluginAuth, Problem
from rightseat.types.text import pluralize

COLOURS: dict[Gravity, str] = {"error": typer.colors.RED, "warning": typer.colors.YELLOW, "style": typer.colors.BLUE}
MAX_DESCRIPTION = 100


def check_plugins(directories: Sequence[Path], *, strict: bool, config: Path | None = None) -> int:
    """Print the plugins' problems; returns 1 for an error, with `strict` for any problem. `config` has settings of
    the plugins."""
    prepare_output()
    require_directories(directories)
    settings = read_plugin_settings(config) if config else {}
    plugins = [
        add_settings_problem(plugin, settings.get(plugin.folder.resolve(), PluginSettings(path="")))
        for plugin in read_plugins(directories, strict=strict)
    ]
    if not plugins:
        names = ", ".join(map(str, directories))
        raise ConfigError(f"{names}: no plugin found. A plugin is a folder with plugin.json or openapi.yaml.")
    for plugin in plugins:
        typer.echo(f"{to_one_line(plugin.id)}: {summarize_parts([plugin])}")
        for problem in plugin.problems:
            print_problem(plugin, problem)
    counts = Counter(problem.gravity for plugin in plugins for problem in plugin.problems)
    typer.echo(f"\n{pluralize(len(plugins), 'plugin')} with {summarize_parts(plugins)}: {summarize_problems(counts)}")
    return 1 if counts["error"] or (strict and counts) else 0


def read_plugin_settings(config: Path) -> dict[Path, PluginSettings]:
    # Lazy: loads the whole server, which a check without a configuration does not need.
    from rightseat.config.load import load_config
    from rightseat.wiring.plugins import plugin_folders

    return plugin_folders(load_config(config))


def add_settings_problem(plugin: Plugin, settings: PluginSettings) -> Plugin:
    """Return the plugin with the problem that a setting is missing without which its calls fail."""
    problem = find_missing_caller_token(plugin, settings.user_headers, settings.auth)
    return plugin if problem is None else replace(plugin, problems=(*plugin.problems, problem))


def require_directories(directories: Sequence[Path]) -> None:
    for directory in directories:
        if not directory.is_dir():
            raise ConfigError(f"{directory}: this folder does not exist. Check the path.")


def describe_auth(auth: PluginAuth) -> str:
    """Describe an auth entry: its kind, and the variables and files of this machine that it sends."""
    fields = (*auth.args.values(), *auth.options.values())
    values = [value.reveal() for value in fields if isinstance(value, Secret)]
    named = ", ".join(to_one_line(value) for value in values if is_reference(value))
    return f"{auth.kind} ({named})" if named else auth.kind


def print_problem(plugin: Plugin, problem: Problem) -> None:
    word = typer.style(f"{problem.gravity:<7}", fg=COLOURS[problem.gravity])
    place = plugin.folder / problem.file
    line = f":{problem.line}" if problem.line else ""
    key = f" {to_one_line(problem.key)}" if problem.key else ""
    typer.echo(f"  {word} {to_one_line(str(place))}{line}{key}")
    typer.echo(f"          {to_one_line(problem.what)}")
    typer.echo(f"          → {to_one_line(problem.fix)}")


def summarize_problems(counts: Counter[Gravity]) -> str:
    words = {"error": "error", "warning": "warning", "style": "style problem"}
    parts = [pluralize(counts[kind], words[kind]) for kind in COLOURS if counts[kind]]
    return ", ".join(parts or ["no problems"]) + "."


def summarize_parts(plugins: Sequence[Plugin]) -> str:
    operations = sum(len(plugin.operations) for plugin in plugins)
    tools = sum(len(plugin.scripts) for plugin in plugins)
    flows = sum(len(plugin.flows) for plugin in plugins)
    return f"{pluralize(operations, 'operation')}, {pluralize(tools, 'Python tool')}, {pluralize(flows, 'flow')}"


def load_plugins(directories: Sequence[Path], path: Path | None) -> list[Plugin]:
    """Load the plugins of the given folders, else of the configuration."""
    if directories and path is None:
        return read_plugins(directories)
    # Lazy: loads the whole server, which `check` does not need.
    from rightseat.config.load import load_config
    from rightseat.wiring.plugins import plugin_folders

    return [read_plugin(folder) for folder in plugin_folders(load_config(path, plugins=directories))]


def list_plugins(directories: Sequence[Path], path: Path | None) -> None:
    prepare_output()
    if path is None:
        require_directories(directories)
    plugins = load_plugins(directories, path)
    for plugin in plugins:
        bad = sum(problem.gravity == "error" for problem in plugin.problems)
        typer.echo(f"{'✗' if bad else '✓'} {to_one_line(plugin.id)}  {to_one_line(plugin.name)}")
        print_description(plugin.description)
        auth = f"; auth: {', '.join(map(describe_auth, plugin.auth))}" if plugin.auth else ""
        typer.echo(f"    {summarize_parts([plugin])}{auth}")
        if bad:
            typer.echo(f"    {pluralize(bad, 'error')}: rightseat plugins check {to_one_line(str(plugin.folder))}")
    if not plugins:
        typer.echo(
            "No plugins. Name a folder with --plugins DIR or in [[plugins]], or create one: rightseat plugins new NAME"
        )


def print_description(text: str) -> None:
    if line := to_one_line(text):
        typer.echo(f"    {line if len(line) <= MAX_DESCRIPTION else line[: MAX_DESCRIPTION - 1] + '…'}")


def create_plugin(name: str, where: Path) -> None:
    folder = write_skeleton(name, where)
    typer.echo(f"Created {folder}. Edit its files, then run:")
    typer.echo(f"    rightseat plugins check --strict {folder}")
    typer.echo(f"    rightseat serve --plugins {folder}")


def prepare_output() -> None:
    """Replace what the terminal cannot show (✓, Chinese text): it must not end the command."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def to_one_line(text: str) -> str:
    """Return foreign text on one line, without control characters."""
    return "".join(letter if letter.isprintable() else "·" for letter in " ".join(text.split()))

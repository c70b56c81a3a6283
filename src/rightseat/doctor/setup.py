"""Check what needs no server: Python, config, secrets, models, tools, databases, plugins."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from rightseat import wiring as registry
from rightseat.config import Config, ModelSettings, load
from rightseat.config.secret import Secret, mask
from rightseat.doctor.line import Line, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.plugins.sql.query import QueryFailed
from rightseat.types.model import Model
from rightseat.wiring.databases import database
from rightseat.wiring.library import Runtime

OLDEST = (3, 11)
EXTRAS = {
    "jwt": "signed tokens, [auth.jwt]",
    "sql": "databases, [databases], with SQLite",
    "duckdb": "databases of DuckDB",
    "postgres": "databases of PostgreSQL",
    "mysql": "databases of MySQL and MariaDB",
    "mcp": "tools of MCP servers, [mcp]",
    "anthropic": "models anthropic:NAME",
    "google": "models google:NAME",
    "langchain": "models langchain:MODULE:NAME",
}
# Modules whose presence shows that an extra is installed.
MODULES = {
    "jwt": ("jwt", "cryptography"),
    "sql": ("sqlalchemy", "sqlglot"),
    "duckdb": ("duckdb",),
    "postgres": ("psycopg",),
    "mysql": ("pymysql",),
    "mcp": ("mcp",),
    "anthropic": ("anthropic",),
    "google": ("google.genai",),
    "langchain": ("langchain_core",),
}


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Line:
    text = ".".join(map(str, version))
    if version < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        return broken("Python", f"{text} is too old", f"install Python {wanted} or newer")
    return good("Python", f"{text} ({platform.python_implementation()})")


def extras(config: Config | None) -> Iterator[Line]:
    needed = set(wanted(config)) if config else set()
    for name, use in EXTRAS.items():
        missing = [module for module in MODULES[name] if not _there(module)]
        fix = f"pip install 'rightseat[{name}]'"
        if not missing:
            yield good(f"extra {name}", use)
        elif name in needed:
            yield broken(f"extra {name}", f"{missing[0]} is not installed: {use}", fix)
        else:
            yield skipped(f"extra {name}", f"not installed, not needed here: {use}", fix)


def _there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # The parent package is missing too.
        return False


def wanted(config: Config) -> Iterator[str]:
    """Yield the extras that the config needs."""
    if config.auth.jwt:
        yield "jwt"
    if config.mcp or config.server.mcp_allow:
        yield "mcp"
    yield from (settings.spec.partition(":")[0] for settings in config.models.values())
    for settings in config.databases.values():
        yield "sql"
        kind = settings.url.reveal().partition(":")[0].partition("+")[0]
        yield {"postgresql": "postgres", "mariadb": "mysql", "sqlite": "sql"}.get(kind, kind)


def databases(config: Config) -> Iterator[Line]:
    for name, settings in config.databases.items():
        fix = f"change [databases.{name}] in {config.path}"
        try:
            made = database(name, settings, config)
            count = len(made.look().tables)
        except (ConfigError, QueryFailed) as error:
            yield broken(f"database {name}", mask(str(error)), fix)
        else:
            yield good(f"database {name}", f"{made.dialect}, {count} tables")


def configuration(path: Path | None) -> tuple[Config | None, list[Line]]:
    try:
        config = load(path)
    except ConfigError as error:
        where = path or "rightseat.toml"
        fix = f"change {where}; every key is in docs/reference/config.md"
        return None, [broken("config", problem, fix) for problem in error.message.split("\n")]
    found = str(config.path) if config.path else "no file: ./rightseat.toml is read if it exists"
    lines = [good("config", found)]
    if count := len(config.auth.keys) + sum(secrets(model.options) for model in config.models.values()):
        lines.append(good("secrets", f"all {count} are there"))
    return config, lines


def secrets(value: object) -> int:
    if isinstance(value, Secret):
        return 1
    return sum(map(secrets, value.values())) if isinstance(value, dict) else 0


def models(config: Config) -> tuple[dict[str, Model], list[Line]]:
    """Build every model that the config or the environment names; return those that work, and all results."""
    choice = registry.choose(config)
    used = [assistant.model for assistant in config.assistants.values() if assistant.model]
    made: dict[str, Model] = {}
    lines = []
    for name in dict.fromkeys([*config.models, choice.model, *used]):
        listed = name in config.models
        settings = config.models.get(name) or ModelSettings(spec=name)
        spec = settings.spec
        try:
            made[name] = registry.configured(settings, config)
        except ConfigError as error:
            fix = f"change [models.{name}] in {config.path}" if listed else "change the model's spec"
            lines.append(broken(f"model {name}", error.message, fix))
            continue
        why = spec if name != choice.model else f"{spec}: {choice.why}"
        scripted = choice.demo and spec.startswith("scripted:")
        lines.append(skipped(f"model {name}", why) if scripted else good(f"model {name}", why))
    return made, lines


def tools(config: Config) -> Iterator[Line]:
    for name, assistant in config.assistants.items():
        for target in assistant.tools:
            fix = f"change tools in [assistants.{name}] of {config.path}, or start in its folder"
            try:
                registry.load(target)
            except ConfigError as error:
                yield broken(f"tool {target}", error.message, fix)
            else:
                yield good(f"tool {target}", f"of {name}")


def plugins(made: Runtime) -> Iterator[Line]:
    for id, one in made.plugins.loaded.items() if made.plugins else ():
        faults = [problem for problem in one.plugin.problems if problem.gravity == "error"]
        if faults:
            yield broken(f"plugin {id}", str(faults[0]), f"rightseat plugins check {one.plugin.folder}")
        else:
            yield good(f"plugin {id}", f"{len(one.tools)} tools")


def runtime(config: Config) -> tuple[Runtime | None, Line]:
    """Build the runtime as `serve` does, to find errors that single checks miss."""
    try:
        made = registry.runtime(config)
    except ConfigError as error:
        return None, broken("assistants", error.message, "change what the message names")
    return made, good("assistants", ", ".join(made.responders))

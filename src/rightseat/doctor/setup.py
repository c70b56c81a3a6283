"""Check what needs no server: Python, config, secrets, models, tools, databases, plugins."""

from __future__ import annotations

import importlib.util
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from rightseat.config.loading import import_object
from rightseat.config.read import load_config
from rightseat.config.secret import Secret, mask
from rightseat.config.settings import Config, ModelSettings
from rightseat.doctor.line import CheckResult, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.plugins.sql.query import QueryFailed
from rightseat.types.model import Model
from rightseat.wiring.choice import choose_model
from rightseat.wiring.databases import open_configured_database
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.library import Runtime
from rightseat.wiring.models import make_configured_model

MIN_PYTHON = (3, 11)
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
EXTRA_MODULES = {
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


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> CheckResult:
    text = ".".join(map(str, version))
    if version < MIN_PYTHON:
        wanted = ".".join(map(str, MIN_PYTHON))
        return broken("Python", f"{text} is too old", f"install Python {wanted} or newer")
    return good("Python", f"{text} ({platform.python_implementation()})")


def check_extras(config: Config | None) -> Iterator[CheckResult]:
    needed = set(list_required_extras(config)) if config else set()
    for name, use in EXTRAS.items():
        missing = [module for module in EXTRA_MODULES[name] if not _is_installed(module)]
        fix = f"pip install 'rightseat[{name}]'"
        if not missing:
            yield good(f"extra {name}", use)
        elif name in needed:
            yield broken(f"extra {name}", f"{missing[0]} is not installed: {use}", fix)
        else:
            yield skipped(f"extra {name}", f"not installed, not needed here: {use}", fix)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        # The parent package is missing too.
        return False


def list_required_extras(config: Config) -> Iterator[str]:
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


def check_databases(config: Config) -> Iterator[CheckResult]:
    for name, settings in config.databases.items():
        fix = f"change [databases.{name}] in {config.path}"
        try:
            opened = open_configured_database(name, settings, config)
            count = len(opened.load_schema().tables)
        except (ConfigError, QueryFailed) as error:
            yield broken(f"database {name}", mask(str(error)), fix)
        else:
            yield good(f"database {name}", f"{opened.dialect}, {count} tables")


def check_config(path: Path | None) -> tuple[Config | None, list[CheckResult]]:
    try:
        config = load_config(path)
    except ConfigError as error:
        where = path or "rightseat.toml"
        fix = f"change {where}; every key is in docs/reference/config.md"
        return None, [broken("config", problem, fix) for problem in error.message.split("\n")]
    location = str(config.path) if config.path else "no file: ./rightseat.toml is read if it exists"
    lines = [good("config", location)]
    if count := len(config.auth.keys) + sum(count_secrets(model.options) for model in config.models.values()):
        lines.append(good("secrets", f"all {count} are there"))
    return config, lines


def count_secrets(value: object) -> int:
    if isinstance(value, Secret):
        return 1
    return sum(map(count_secrets, value.values())) if isinstance(value, dict) else 0


def check_models(config: Config) -> tuple[dict[str, Model], list[CheckResult]]:
    """Build every model that the config or the environment names; return those that work, and all results."""
    choice = choose_model(config)
    used = [assistant.model for assistant in config.assistants.values() if assistant.model]
    built: dict[str, Model] = {}
    lines = []
    for name in dict.fromkeys([*config.models, choice.model, *used]):
        is_configured = name in config.models
        settings = config.models.get(name) or ModelSettings(spec=name)
        spec = settings.spec
        try:
            built[name] = make_configured_model(settings, config)
        except ConfigError as error:
            fix = f"change [models.{name}] in {config.path}" if is_configured else "change the model's spec"
            lines.append(broken(f"model {name}", error.message, fix))
            continue
        why = spec if name != choice.model else f"{spec}: {choice.why}"
        scripted = choice.demo and spec.startswith("scripted:")
        lines.append(skipped(f"model {name}", why) if scripted else good(f"model {name}", why))
    return built, lines


def check_tools(config: Config) -> Iterator[CheckResult]:
    for name, assistant in config.assistants.items():
        for target in assistant.tools:
            fix = f"change tools in [assistants.{name}] of {config.path}, or start in its folder"
            try:
                import_object(target)
            except ConfigError as error:
                yield broken(f"tool {target}", error.message, fix)
            else:
                yield good(f"tool {target}", f"of {name}")


def check_plugins(runtime: Runtime) -> Iterator[CheckResult]:
    for id, loaded_plugin in runtime.plugins.loaded.items() if runtime.plugins else ():
        errors = [problem for problem in loaded_plugin.plugin.problems if problem.gravity == "error"]
        if errors:
            yield broken(
                f"plugin {id}", str(errors[0]), f"rightseat plugins check {loaded_plugin.plugin.folder}"
            )
        else:
            yield good(f"plugin {id}", f"{len(loaded_plugin.tools)} tools")


def check_runtime(config: Config) -> tuple[Runtime | None, CheckResult]:
    """Build the runtime as `serve` does, to find errors that single checks miss."""
    try:
        built = build_runtime(config)
    except ConfigError as error:
        return None, broken("assistants", error.message, "change what the message names")
    return built, good("assistants", ", ".join(built.responders))

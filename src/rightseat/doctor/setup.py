"""Check what needs no server of ours: Python, config, secrets, models and the servers behind them, tools, databases,
plugins, the thread store."""

from __future__ import annotations

import importlib.util
import platform
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from yarl import URL

from rightseat.config.imports import BUILTIN_TOOLS, OPTIONAL_TOOLS, find_source_place, import_object
from rightseat.config.installation import format_extra_command, format_install_command
from rightseat.config.load import load_config
from rightseat.config.remedies import UnusableServer
from rightseat.config.secret import Secret, mask
from rightseat.config.settings import SHORT_KEY_FIX, Config, ModelSettings
from rightseat.doctor.client import REACH_SECONDS, ProbeClient, Unreachable
from rightseat.doctor.result import CheckResult, broken, good, skipped
from rightseat.errors import ConfigError
from rightseat.http.descriptors import choose_reserve_size
from rightseat.models.llamacpp import gguf, weights
from rightseat.models.llamacpp.machine import get_machine
from rightseat.models.llamacpp.model import LlamaCppModel
from rightseat.plugins.load import LIB
from rightseat.plugins.python.tools import TRUST_FIX
from rightseat.plugins.sql.query import QueryFailed
from rightseat.stores.sqlite.database import MIGRATIONS, check_file, open_read_only
from rightseat.stores.sqlite.store import DATABASE_FILE
from rightseat.tools.sandbox.machine import probe_machine
from rightseat.types.model import Model, find_protocol
from rightseat.wiring import default_model
from rightseat.wiring.default_model import ENGINE_PACKAGE, choose_model
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.models import make_configured_model
from rightseat.wiring.plugins import open_configured_database, plugin_folders
from rightseat.wiring.remote import is_remote_action
from rightseat.wiring.runtime import Runtime
from rightseat.wiring.storage import POSTGRES, SQLITE, data_folder, describe_store_location, read_database_url

MIN_PYTHON = (3, 11)

# Each extra with its use, and the modules whose presence shows that it is installed.
EXTRAS = {
    "jwt": ("signed tokens, [auth.jwt]", ("jwt", "cryptography")),
    "sql": ("databases, [databases], with SQLite", ("sqlalchemy", "sqlglot")),
    "duckdb": ("databases of DuckDB", ("duckdb",)),
    "postgres": ("databases of PostgreSQL", ("psycopg",)),
    "mysql": ("databases of MySQL and MariaDB", ("pymysql",)),
    "cluster": ('several machines, [store] kind = "postgres", [live] url', ("psycopg", "psycopg_pool", "hiredis")),
    "mcp": ("tools of MCP servers, [mcp]", ("mcp",)),
    "langchain": ("models langchain:MODULE:NAME", ("langchain_core",)),
    "whisper": ("speech as text on this machine, models whisper:FILE", ("pywhispercpp",)),
}


def check_python(version: tuple[int, ...] = sys.version_info[:3]) -> CheckResult:
    text = ".".join(map(str, version))
    if version < MIN_PYTHON:
        return broken("Python", f"{text} is too old", f"install Python {'.'.join(map(str, MIN_PYTHON))} or newer")
    return good("Python", f"{text} ({platform.python_implementation()})")


def check_extras(config: Config | None) -> Iterator[CheckResult]:
    needed = set(list_required_extras(config)) if config else set()
    for name, (use, modules) in EXTRAS.items():
        missing = [module for module in modules if importlib.util.find_spec(module) is None]
        fix = format_extra_command(name)
        if not missing:
            yield good(f"extra {name}", use)
        elif name in needed:
            yield broken(f"extra {name}", f"{missing[0]} is not installed: {use}", fix)
        else:
            yield skipped(f"extra {name}", f"not installed, not needed here: {use}", fix)


def list_required_extras(config: Config) -> Iterator[str]:
    """Yield the extras that the config needs."""
    if config.auth.jwt:
        yield "jwt"
    if config.mcp or config.server.mcp_allow:
        yield "mcp"
    if config.store.kind == POSTGRES or config.live.url is not None:
        yield "cluster"
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
    location = str(config.path) if config.path else "none; create ./rightseat.toml to change settings"
    lines = [good("config", location)]
    if count := len(config.auth.keys) + sum(count_secrets(model.options) for model in config.models.values()):
        lines.append(good("secrets", f"{count} set"))
    if problem := config.auth.describe_short_keys():
        lines.append(skipped("keys", problem, f"{SHORT_KEY_FIX} in [auth.keys]"))
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
    if not choice.model:
        lines.append(good("model", choice.why))
    for name in dict.fromkeys([*config.models, *([choice.model] if choice.model else ()), *used]):
        settings = config.models.get(name) or ModelSettings(spec=name)
        spec = settings.spec
        try:
            built[name] = make_configured_model(settings, config)
        except ConfigError as error:
            fix = f"change [models.{name}] in {config.path}" if name in config.models else "change the model's spec"
            lines.append(broken(f"model {name}", error.message, fix))
            continue
        why = spec if name != choice.model else f"{spec}: {choice.why}"
        scripted = choice.demo and spec.startswith("scripted:")
        lines.append((skipped if scripted else good)(f"model {name}", why))
    return built, lines


def check_tools(config: Config) -> Iterator[CheckResult]:
    for name, assistant in config.assistants.items():
        for target in assistant.tools:
            if is_remote_action(target, config):
                continue
            try:
                import_object(BUILTIN_TOOLS.get(target) or OPTIONAL_TOOLS.get(target, target))
            except ConfigError as error:
                fix = f"change tools in [assistants.{name}] of {config.path}, or start in its folder"
                why, fix = explain_failed_import(error, fix)
                yield broken(f"tool {target}", why, fix)
            else:
                yield good(f"tool {target}", f"of {name}")


def explain_failed_import(error: ConfigError, fix: str) -> tuple[str, str]:
    """Return what is wrong and the fix: the line of the user's code, else `fix`."""
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if not (place := find_source_place(cause)):
        return error.message, fix
    install = f"install {cause.name}, or " if isinstance(cause, ModuleNotFoundError) else ""
    return error.message.removesuffix(f" Correct {place}."), f"{install}correct {place}"


async def check_agents(runtime: Runtime, config: Config) -> AsyncIterator[CheckResult]:
    """Ask each agent's server what it has."""
    default = config.default_elsewhere
    for table, source in zip(config.agents, runtime.agent_sources, strict=True):
        fix = f"look whether its server runs, and at [agents.{table}] of {config.path}"
        await source.start()
        for name, agent in source.agents.items():
            if agent.unavailable_reason:
                yield broken(f"agent {name}", agent.unavailable_reason, fix)
            else:
                kind = config.agents[table].kind
                yield good(f"agent {name}", f"{kind}, answers by default" if default in (name, table) else kind)


def check_plugins(runtime: Runtime) -> Iterator[CheckResult]:
    for id, loaded_plugin in runtime.plugins.loaded.items() if runtime.plugins else ():
        errors = [problem for problem in loaded_plugin.plugin.problems if problem.gravity == "error"]
        if errors:
            yield broken(f"plugin {id}", str(errors[0]), f"rightseat plugins check {loaded_plugin.plugin.folder}")
        else:
            yield good(f"plugin {id}", f"{len(loaded_plugin.tools)} tools")


def check_sandbox(config: Config) -> Iterator[CheckResult]:
    """Check what confines the Python tools of plugins here, by a child that attacks this process."""
    what = "plugins, Python tools"
    folders = [(path, settings) for path, settings in plugin_folders(config).items() if settings.enabled]
    with_code = [(path, settings) for path, settings in folders if (path / LIB).is_dir()]
    trusted = [path.name for path, settings in with_code if settings.lib == "trusted"]
    if trusted:
        yield skipped(what, f"trusted, they may do what the server may: {', '.join(trusted)}")
    if len(trusted) < len(with_code):
        report = probe_machine()
        if report.holds:
            yield good(what, f"confined {report.describe()}; every attack of the probe failed")
        else:
            yield broken(what, f"left out, not confined: {report.describe()}", TRUST_FIX)


def check_runtime(config: Config) -> tuple[Runtime | None, CheckResult]:
    """Build the runtime as `serve` does, to find errors that single checks miss."""
    try:
        built = build_runtime(config)
    except ConfigError as error:
        return None, broken("assistants", *explain_failed_import(error, "change the setting that the message names"))
    return built, good("assistants", ", ".join(built.responders))


OTHER_FOLDER_FIX = "name another folder in [store] path or RIGHTSEAT_DATA, or free disk space"
REPAIR_FIX = "stop the server, then run `rightseat store repair`; or bring back a backup with `rightseat store restore`"


def check_store(config: Config) -> CheckResult:
    if config.store.kind == POSTGRES:
        return check_postgres_store(config)
    if config.store.kind != SQLITE:
        return good("store", describe_store_location(config))
    folder = data_folder(config)
    if problem := find_write_problem(folder):
        return broken("store", f"cannot write to {folder}: {problem}", OTHER_FOLDER_FIX)
    file = folder / DATABASE_FILE
    if not file.is_file():
        return good("store", f"{folder}: nothing stored yet")
    try:
        version, threads = read_version_and_count(file)
        problem = check_file(file, whole=True) if version <= len(MIGRATIONS) else ""
    except sqlite3.Error as error:
        return broken("store", f"cannot read {file}: {error}", REPAIR_FIX)
    if problem:
        return broken("store", f"{file} is damaged: {problem}", REPAIR_FIX)
    if version > len(MIGRATIONS):
        newer = f"{file} was written by a newer rightseat: version {version}, supported here: {len(MIGRATIONS)}"
        return broken("store", newer, "install the newer rightseat, or name another folder in [store] path")
    upgrade = f" (`rightseat serve` upgrades it to {len(MIGRATIONS)} and makes a copy first)"
    older = upgrade if version < len(MIGRATIONS) else ""
    size = sum(path.stat().st_size for path in folder.glob(f"{DATABASE_FILE}*")) / 1e6
    return good("store", f"{folder}: {threads} threads, {size:.1f} MB, version {version}{older}")


def check_postgres_store(config: Config) -> CheckResult:
    """Connect to the database and compare the version of its tables."""
    try:
        url = read_database_url(config)
        from rightseat.stores.postgres import schema
        from rightseat.stores.postgres.database import connect
        from rightseat.stores.postgres.refusals import explain_refusals, find_read_obstacle

        name = schema.check_schema_name(config.store.schema)
        with closing(connect(url)) as connection, explain_refusals(connection, name, find_read_obstacle):
            version = schema.read_version(connection, name)
            unfinished = schema.find_unfinished_move(connection, name)
        newest, place = len(schema.MIGRATIONS), describe_store_location(config)
    except UnusableServer as error:
        return broken("store", error.reason, error.advice)
    except ConfigError as error:
        return broken("store", error.message, "correct [store] in the configuration")
    if version > newest + 1:
        return broken("store", f"{place}: made by a newer rightseat, version {version}", "install the newer rightseat")
    if version < newest and config.store.migrate == "never":
        return broken("store", f"{place}: version {version}, needed is {newest}", "run `rightseat store migrate`")
    if unfinished:
        return broken(
            "store", f"{place}: the move from {unfinished} is not finished", "run `rightseat store move` again"
        )
    older = f" (`rightseat serve` upgrades it to {newest})" if version < newest else ""
    return good("store", f"{place}, version {version}{older}")


def find_write_problem(folder: Path) -> str | None:
    """Return why the folder, or its nearest existing parent, is not writable; None if it is."""
    existing = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(bytes(4096))
            file.flush()
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def read_version_and_count(file: Path) -> tuple[int, int]:
    """Return the schema version and the number of threads; opens read-only, since a server may use it."""
    with closing(open_read_only(file)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            return 0, 0
        (threads,) = database.execute("SELECT COUNT(*) FROM threads").fetchone()
        return version, threads


PULL_COMMAND = "rightseat models pull"


def check_engine(config: Config) -> CheckResult:
    package = ENGINE_PACKAGE
    try:
        return good("local engine", f"{package} {version(package)}")
    except PackageNotFoundError:
        make_result = broken if default_model.requests_embedded_model(config) else skipped
        return make_result("local engine", f"{package} is not installed", format_install_command(package))


def check_embedded_weights(config: Config) -> CheckResult:
    located = weights.find_weights()
    what, size = f"weights {located.weights.name}", f"{located.weights.size / 1e6:.0f} MB"
    if located.path is not None:
        return good(what, f"{size} at {located.path}")
    if default_model.requests_embedded_model(config):
        return broken(what, f"not downloaded ({size})", PULL_COMMAND)
    then = "`rightseat serve` downloads them" if default_model.needs_embedded_model(config) else "not needed here"
    return skipped(what, f"not downloaded ({size}): {then}", PULL_COMMAND)


def without_local_model(config: Config) -> Config:
    """Return the config as `serve` would use it without downloads, so that the other checks can go on."""
    why = default_model.find_engine_problem() or default_model.find_weights_problem()
    if why and default_model.needs_embedded_model(config) and not default_model.requests_embedded_model(config):
        return default_model.with_demo_script(config, why)
    return config


# What the server itself has open: the store, the event loop, the log.
OWN_DESCRIPTORS = 32


def check_descriptors(config: Config, limit: int | None) -> CheckResult:
    """Check the limit of open descriptors that `rightseat serve` will have: each answer takes two or more of them."""
    what = "file descriptors"
    if limit is None:
        return good(what, "no limit")
    runs = (limit - choose_reserve_size(limit) - OWN_DESCRIPTORS) // 2
    text = f"limit {limit}, {choose_reserve_size(limit)} of them kept for /health and refusals"
    if runs >= config.server.max_runs:
        return good(what, text)
    why = f"{text}: enough for about {max(0, runs)} answers at once, max_runs is {config.server.max_runs}"
    fix = "raise it: `ulimit -n 65536`, LimitNOFILE=65536 of a systemd unit, `--ulimit nofile=65536` of a container"
    return (skipped if runs > 0 else broken)(what, why, fix)


def check_machine() -> CheckResult:
    return good("machine", get_machine().describe())


def check_model_files(models: Mapping[str, Model]) -> Iterator[CheckResult]:
    """Check the GGUF file of each model that has `weights`."""
    for name, model in models.items():
        if model.weights is None:
            continue
        what = f"model {name}, file"
        try:
            header = gguf.read_header(model.weights)
        except ConfigError as error:
            yield broken(what, error.message, "give the path of a whole GGUF file")
            continue
        context = f"{header.context_length} tokens" if header.context_length else "context unknown"
        template = "with a chat template" if header.template else "no chat template: ChatML is used"
        yield good(what, f"{header.architecture}, {context}, {template}")
        local = find_protocol(model, LlamaCppModel)
        if local is not None and local.engine_settings:
            yield good(f"model {name}, settings", local.engine_settings)


async def check_upstreams(models: Mapping[str, Model]) -> AsyncIterator[CheckResult]:
    """Check each distinct `address` of the remote models once."""
    for address in dict.fromkeys(model.address for model in models.values() if model.address is not None):
        names = [name for name, model in models.items() if model.address == address]
        versioned = any(models[name].versioned for name in names)
        yield await check_address(address, ", ".join(names), versioned=versioned)


async def check_address(address: str, names: str, *, versioned: bool) -> CheckResult:
    """Check one address. `versioned`: it ends with the API version, so /models should exist below it."""
    url = URL(address)
    # The query may carry a key.
    public_url = str(url.with_query(None))
    what = f"reach {url.host}"
    try:
        with closing(ProbeClient(public_url)) as client:
            reply = await client.send("GET", "/models", seconds=REACH_SECONDS)
    except Unreachable as error:
        fix = f"start the server at {public_url}, or correct the address of {names}: base_url, or its variable"
        return broken(what, f"{public_url}: {error}", fix)
    if reply.status >= 500:
        return broken(what, f"{public_url} answers HTTP {reply.status}", "look at that server's log")
    if reply.status == 404 and versioned:
        fix = "" if url.path.rstrip("/").endswith("/v1") else f"if answers fail, try base_url = {public_url}/v1"
        return skipped(what, f"{public_url} answers, but has no /models", fix)
    return good(what, f"{public_url} can be reached")

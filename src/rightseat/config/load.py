"""Load rightseat.toml as a Config. All problems are reported at once, each with its line and a fix."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from rightseat.config.guardrails import check_guard, check_guard_references
from rightseat.config.imports import BUILTIN_TOOLS, OPTIONAL_TOOLS
from rightseat.config.problems import (
    ConfigProblems,
    Key,
    S,
    array_key,
    check_named_tables,
    check_struct,
    find_key_lines,
    resolve_secret,
)
from rightseat.config.secret import Secret, is_reference
from rightseat.config.settings import (
    AgentSettings,
    AssistantSettings,
    AuthSettings,
    Config,
    DatabaseSettings,
    HookSettings,
    LimitSettings,
    LiveSettings,
    McpSettings,
    ModelSettings,
    PluginSettings,
    ServerSettings,
    StoreSettings,
    ToolSettings,
)
from rightseat.errors import ConfigError
from rightseat.types.agent_card import find_card_problems

CONFIG_FILE = "rightseat.toml"
DEFAULT_NAME = "default"
_URL_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")
_SECRET_KEY = re.compile(r"(?i)(^|[_-])(key|token|secret|password|authorization|cookie)$")


def check_config(
    raw: dict[str, Any], path: Path, problems: ConfigProblems, removable: Collection[Path] = ()
) -> Config | None:
    folder = path.parent
    models = raw["models"] if isinstance(raw.get("models"), dict) else {}
    check_assistant = partial(_check_assistant, models=models)
    tables: dict[str, Any] = {
        "default": _check_default(raw.get("default", ""), problems),
        "server": check_struct(raw.get("server", {}), ServerSettings, ("server",), problems),
        "auth": _check_auth(raw.get("auth", {}), folder, problems),
        "models": check_named_tables(raw, "models", _check_model, folder, problems),
        "assistants": check_named_tables(raw, "assistants", check_assistant, folder, problems),
        "agents": check_named_tables(raw, "agents", partial(_check_open_table, AgentSettings), folder, problems),
        "plugins": _check_plugins(raw.get("plugins", []), folder, problems, removable),
        "databases": check_named_tables(raw, "databases", _check_database, folder, problems),
        "mcp": check_named_tables(raw, "mcp", _check_mcp, folder, problems),
        "tools": _check_tools(raw.get("tools", {}), models, problems),
        "limits": check_struct(raw.get("limits", {}), LimitSettings, ("limits",), problems),
        "store": _check_store(raw.get("store", {}), folder, problems),
        "live": _check_live(raw.get("live", {}), folder, problems),
        "hooks": _check_hooks(raw.get("hooks", {}), problems),
        "guardrails": check_named_tables(raw, "guardrails", check_guard, folder, problems),
    }
    for name in raw:
        if name not in tables:
            problems.add_unknown_key((name,), tables)
    for name, model in tables["models"].items():
        _check_model_names(model.fallbacks, ("models", name, "fallbacks"), models, problems)
    if tables["auth"] and tables["limits"]:
        _check_owners(tables["limits"], tables["auth"], problems)
    _check_names(tables, problems)
    check_guard_references(raw, problems)
    _check_agent_ids(tables["assistants"], problems)
    return None if problems.items else Config(path=path, **tables)


def _check_default(value: Any, problems: ConfigProblems) -> str:
    if not isinstance(value, str):
        problems.add_wrong_type(("default",), 'a name, such as "support"', value)
        return ""
    return value


def _check_names(tables: Mapping[str, Any], problems: ConfigProblems) -> None:
    """Report names that mean two things, and a default that means none."""
    models, assistants, agents, default = (tables[name] for name in ("models", "assistants", "agents", "default"))
    for name in agents:
        for kind, others in (("assistants", assistants), ("models", models)):
            if name in others:
                text = f"[{kind}.{name}] has this name too, and clients could mean either. Give one of them another."
                problems.add(("agents", name), text)
    if not default or default == DEFAULT_NAME:
        return
    taken = next((kind for kind in ("assistants", "agents") if DEFAULT_NAME in tables[kind]), None)
    if taken:
        problems.add(("default",), f"[{taken}.{DEFAULT_NAME}] answers already. Rename it, or remove this key.")
    known = (*assistants, *models, *agents)
    # Flows, and the agents of a server that has several, are known once they are loaded.
    if default not in known and not tables["plugins"] and not agents:
        text = f"there is no assistant, model, agent or flow {default!r}."
        problems.add_unknown_name(("default",), text, default, known, f"Write [assistants.{default}].")


def _check_auth(table: Any, folder: Path, problems: ConfigProblems) -> AuthSettings | None:
    auth = check_struct(table, AuthSettings, ("auth",), problems)
    proxy_keys = set(table) & {"proxy_header", "proxy_addresses"} if isinstance(table, dict) else set()
    if proxy_keys == {"proxy_header"}:
        # Anyone can send the header: it counts only from a known proxy.
        problems.add(("auth", "proxy_header"), 'proxy_addresses is missing. Name the proxy, such as ["10.0.0.5"].')
    if proxy_keys == {"proxy_addresses"}:
        problems.add(("auth", "proxy_addresses"), "proxy_header is missing.")
    for name in auth.admins if auth else ():
        if ":" not in name and auth and name not in auth.keys:
            otherwise = 'Others than keys are named in full: "jwt:SUBJECT".'
            text = f"there is no key {name!r} in [auth.keys]."
            problems.add_unknown_name(("auth", "admins"), text, name, auth.keys, otherwise)
    return _resolve_fields(auth, ("keys",), ("auth",), folder, problems) if auth else None


def _resolve_fields(
    settings: S,
    fields: Iterable[str],
    key: Key,
    folder: Path,
    problems: ConfigProblems,
    resolve: Callable[[str, Key, Path, ConfigProblems], Secret] = resolve_secret,
) -> S:
    """Return the settings with the references in these tables of secrets resolved."""
    tables = {
        field: {
            name: resolve(value.reveal(), (*key, field, name), folder, problems)
            for name, value in getattr(settings, field).items()
        }
        for field in fields
    }
    return msgspec.structs.replace(settings, **tables)


def _check_store(table: Any, folder: Path, problems: ConfigProblems) -> StoreSettings | None:
    store = check_struct(table, StoreSettings, ("store",), problems)
    if store is None or store.url is None:
        return store
    return msgspec.structs.replace(store, url=_resolve_url(store.url, ("store", "url"), folder, problems))


def _check_hooks(table: Any, problems: ConfigProblems) -> HookSettings | None:
    hooks = check_struct(table, HookSettings, ("hooks",), problems)
    for name, target in table.items() if hooks else ():
        if isinstance(target, str):
            problems.check_target(("hooks", name), target)
    return hooks


def _check_tools(table: Any, models: dict[str, Any], problems: ConfigProblems) -> ToolSettings | None:
    tools = check_struct(table, ToolSettings, ("tools",), problems)
    name = tools.embeddings if tools else ""
    if name and name not in models:
        text, otherwise = f"there is no model {name!r}.", f"Write [models.{name}]."
        problems.add_unknown_name(("tools", "embeddings"), text, name, models, otherwise)
    return tools


def _check_plugins(
    tables: Any, folder: Path, problems: ConfigProblems, removable: Collection[Path]
) -> tuple[PluginSettings, ...]:
    if not isinstance(tables, list):
        problems.add_wrong_type(("plugins",), "tables, each begun by [[plugins]]", tables)
        return ()
    keys = [(array_key("plugins", number),) for number in range(len(tables))]
    plugins = [_check_plugin(table, key, folder, problems, removable) for table, key in zip(tables, keys, strict=True)]
    return tuple(plugin for plugin in plugins if plugin)


def _check_plugin(
    table: Any, key: Key, folder: Path, problems: ConfigProblems, removable: Collection[Path]
) -> PluginSettings | None:
    plugin = check_struct(table, PluginSettings, key, problems)
    if plugin is None or not plugin.enabled:
        return plugin
    plugin_folder = folder / Path(plugin.path).expanduser()
    if not plugin_folder.is_dir() and plugin_folder.resolve() not in removable:
        problems.add((*key, "path"), f"there is no folder {plugin_folder}.")
    return _resolve_fields(plugin, ("auth", "environment"), key, folder, problems)


def _check_database(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> DatabaseSettings | None:
    database = check_struct(table, DatabaseSettings, key, problems)
    if database is None:
        return None
    return msgspec.structs.replace(database, url=_resolve_url(database.url, (*key, "url"), folder, problems))


def _resolve_url(url: Secret, key: Key, folder: Path, problems: ConfigProblems) -> Secret:
    """Return the URL of a database. One without a password is no secret."""
    text = url.reveal()
    hidden = is_reference(text) or _URL_PASSWORD.search(text) is not None
    return resolve_secret(text, key, folder, problems) if hidden else url


def _check_live(table: Any, folder: Path, problems: ConfigProblems) -> LiveSettings | None:
    live = check_struct(table, LiveSettings, ("live",), problems)
    if live is None:
        return None
    if not re.fullmatch(r"[A-Za-z0-9_.-]{0,40}", live.deployment):
        problems.add(("live", "deployment"), "use letters, digits, _, . and -, at most 40.")
    if live.url is None:
        return live
    return msgspec.structs.replace(live, url=_resolve_url(live.url, ("live", "url"), folder, problems))


def _check_mcp(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> McpSettings | None:
    server = check_struct(table, McpSettings, key, problems)
    if server is None:
        return None
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,32}", key[-1]):
        problems.add(key, "use letters, digits, _ and - in its name, at most 32: tools are named by it.")
    if bool(server.command) == bool(server.url):
        problems.add(key, "write either command, to run a program, or url, to ask a server.")
    if server.url and not re.fullmatch(r"https?://[^\s]+", server.url):
        problems.add((*key, "url"), "write a full address, such as https://host/mcp.")
    for group in ("args", "env") if server.url else ("headers",):
        if getattr(server, group):
            problems.add((*key, group), f"it goes with {'command' if server.url else 'url'}.")
    return _resolve_fields(server, ("env", "headers"), key, folder, problems, _resolve_value)


def _resolve_value(value: str, key: Key, folder: Path, problems: ConfigProblems) -> Secret:
    """Return the value; it is resolved if it is a reference or its key names a secret."""
    resolved = _resolve_option(value, key, folder, problems)
    return resolved if isinstance(resolved, Secret) else Secret(value)


def _check_owners(limits: LimitSettings, auth: AuthSettings, problems: ConfigProblems) -> None:
    """Report limits of unknown owners: such a limit would never apply."""
    text = "there is no key of that name in [auth.keys]."
    otherwise = 'Others than keys are named in full: "jwt:SUBJECT".'
    for name in limits.owners:
        if ":" not in name and name != "local" and name not in auth.keys:
            problems.add_unknown_name(("limits", "owners", name), text, name, auth.keys, otherwise)


def _check_model(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> ModelSettings | None:
    if isinstance(table, dict) and "spec" not in table:
        problems.add(key, 'spec is missing. Write for example spec = "openai:gpt-4o", or spec = "local".')
        table = {**table, "spec": ""}
    return _check_open_table(ModelSettings, table, key, folder, problems)


def _check_open_table(kind: type[S], table: Any, key: Key, folder: Path, problems: ConfigProblems) -> S | None:
    """Check the keys of ours in a table; every other one is an option that the model or agent itself checks."""
    if not isinstance(table, dict):
        problems.add_wrong_type(key, "a table", table)
        return None
    ours = {name: value for name, value in table.items() if name != "options" and name in kind.__struct_fields__}
    others = {name: value for name, value in table.items() if name not in ours}
    options = _resolve_option(others, key, folder, problems)
    settings = check_struct(ours, kind, key, problems)
    return msgspec.structs.replace(settings, options=options) if settings else None


def _resolve_option(value: Any, key: Key, folder: Path, problems: ConfigProblems) -> Any:
    if isinstance(value, dict):
        return {name: _resolve_option(item, (*key, name), folder, problems) for name, item in value.items()}
    if isinstance(value, str) and (is_reference(value) or _SECRET_KEY.search(key[-1])):
        return resolve_secret(value, key, folder, problems)
    return value


def _check_assistant(
    table: Any, key: Key, folder: Path, problems: ConfigProblems, models: dict[str, Any]
) -> AssistantSettings | None:
    assistant = check_struct(table, AssistantSettings, key, problems)
    if not isinstance(table, dict):
        return None
    name = table.get("model")
    _check_model_names((name,) if isinstance(name, str) else (), (*key, "model"), models, problems)
    _check_model_names(assistant.models if assistant else (), (*key, "models"), models, problems)
    tools = table.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, str) and tool not in BUILTIN_TOOLS | OPTIONAL_TOOLS:
            _check_tool_name(tool, (*key, "tools"), problems)
    if assistant:
        for place, problem in find_card_problems(assistant.id, assistant.features, assistant.endpoints):
            problems.add((*key, *place), problem)
    system = _read_system_prompt(table, key, folder, problems)
    return msgspec.structs.replace(assistant, system=system) if assistant else None


def _check_agent_ids(assistants: Mapping[str, AssistantSettings], problems: ConfigProblems) -> None:
    """Check that no two assistants have one id or one path of their own: Workspace takes a second id for the first."""
    owners: dict[tuple[Key, str], str] = {}
    for name, settings in assistants.items():
        values: dict[Key, str] = {("id",): settings.id, ("endpoints", "query"): settings.endpoints.query}
        for place, value in values.items():
            if value and (owner := owners.setdefault((place, value), name)) != name:
                text = f"{value!r} is that of [assistants.{owner}] already. Give each its own."
                problems.add(("assistants", name, *place), text)


def _check_tool_name(name: str, key: Key, problems: ConfigProblems) -> None:
    if ":" in name:
        problems.check_target(key, name)
        return
    known = [*BUILTIN_TOOLS, *OPTIONAL_TOOLS]
    otherwise = f"Built in are {', '.join(known)}."
    problems.add_unknown_name(key, f"{name!r} is not of the form module:attribute.", name, known, otherwise)


def _check_model_names(names: Iterable[str], key: Key, models: dict[str, Any], problems: ConfigProblems) -> None:
    for name in names:
        # A spec is checked when its model is made.
        is_spec = ":" in name or name in ("local", "empty") or name.lower().endswith(".gguf")
        if name not in models and not is_spec:
            otherwise = f"Write [models.{name}], or a spec like openai:{name}."
            problems.add_unknown_name(key, f"there is no model {name!r}.", name, (*models, "local"), otherwise)


def _read_system_prompt(table: dict[str, Any], key: Key, folder: Path, problems: ConfigProblems) -> Any:
    system, name = table.get("system", ""), table.get("system_file")
    if not isinstance(name, str):
        return system
    if system:
        problems.add((*key, "system_file"), "system and system_file are both given. Keep one.")
    try:
        return (folder / name).read_text("utf-8")
    except OSError as error:
        problems.add((*key, "system_file"), f"cannot read {folder / name}: {error.strerror}.")
    except UnicodeDecodeError:
        problems.add((*key, "system_file"), f"{folder / name} is not UTF-8 text.")
    return system


def load_config(
    path: Path | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    workers: str | None = None,
    model: str | None = None,
    flags: Mapping[str, Any] = {},
    plugins: Iterable[Path] = (),
    env: Mapping[str, str] | None = None,
    removable: Collection[Path] = (),
    data: Path | None = None,
) -> Config:
    """Load the file at `path`, else ./rightseat.toml if it exists, else the defaults. Command-line values
    override RIGHTSEAT_HOST, RIGHTSEAT_PORT and RIGHTSEAT_MODEL, which override the file. `flags` are options
    of the default model; `plugins` are further plugin folders. Those in `removable` may be missing. `data` is the
    data folder, whatever file and environment say."""
    env = os.environ if env is None else env
    if path is None and Path(CONFIG_FILE).is_file():
        path = Path(CONFIG_FILE)
    config = Config() if path is None else _read_config(path, removable)
    config = _apply_overrides(
        config, _drop_none(host=host, port=port, workers=_parse_workers(workers)), model or "", env
    )
    all_plugins = (*config.plugins, *(_plugin_settings(folder, removable) for folder in plugins))
    store = config.store if data is None else _replace_data_folder(config.store, data)
    return msgspec.structs.replace(config, flags=_drop_none(**flags), plugins=all_plugins, store=store)


def _replace_data_folder(store: StoreSettings, folder: Path) -> StoreSettings:
    if store.kind != "sqlite":
        raise ConfigError(f'--data {folder}: [store] kind = "{store.kind}" keeps nothing in a folder. Leave it out.')
    return msgspec.structs.replace(store, path=str(folder.expanduser().absolute()))


def _plugin_settings(folder: Path, removable: Collection[Path]) -> PluginSettings:
    # Relative to the working folder, unlike paths of the file.
    path = folder.expanduser().absolute()
    if not path.is_dir() and path.resolve() not in removable:
        raise ConfigError(f"--plugins {folder}: this folder does not exist. Check the path.")
    return PluginSettings(path=str(path))


def _drop_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _apply_overrides(config: Config, flags: dict[str, Any], model: str, env: Mapping[str, str]) -> Config:
    port = env.get("RIGHTSEAT_PORT")
    changes = _drop_none(host=env.get("RIGHTSEAT_HOST") or None, port=_parse_port(port) if port else None)
    server = msgspec.structs.replace(config.server, **changes | flags)
    if not model and not env.get("RIGHTSEAT_MODEL"):
        return msgspec.structs.replace(config, server=server)
    source = "--model" if model else "RIGHTSEAT_MODEL"
    return msgspec.structs.replace(config, server=server, model=model or env["RIGHTSEAT_MODEL"], model_from=source)


def _parse_port(text: str) -> int:
    try:
        return msgspec.convert({"port": text}, ServerSettings, strict=False).port
    except msgspec.ValidationError:
        raise ConfigError(f"RIGHTSEAT_PORT: expected a number from 0 to 65535, got {text!r}.") from None


def _parse_workers(text: str | None) -> int | str | None:
    if text is None or text == "auto":
        return text
    try:
        return msgspec.convert({"workers": text}, ServerSettings, strict=False).workers
    except msgspec.ValidationError:
        raise ConfigError(f"--workers: expected a number from 1 to 256, or auto, got {text!r}.") from None


def _read_config(path: Path, removable: Collection[Path]) -> Config:
    text = _read_text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_format_syntax_error(path, text, str(error))) from None
    problems = ConfigProblems(path, find_key_lines(text))
    config = check_config(raw, path, problems, removable)
    if config is None or problems.items:
        raise ConfigError(problems.format_message())
    return config


def _read_text(path: Path) -> str:
    try:
        # read_text converts CRLF to LF, by which find_key_lines counts.
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file. Create it, or leave --config out.") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the file: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not UTF-8 text. Save the file as UTF-8.") from None


def _format_syntax_error(path: Path, text: str, message: str) -> str:
    match = re.search(r"\s*\(at line (\d+), column (\d+)\)$", message)
    if match is None:
        reason = re.sub(r"\s*\(at end of document\)$", " at the end of the file", message)
        return f"{path}:{text.count(chr(10)) + 1}: not valid TOML: {reason}."
    return f"{path}:{match[1]}: not valid TOML: {message[: match.start()]} (column {match[2]})."

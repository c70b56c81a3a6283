"""Read rightseat.toml into a Config. All problems are reported at once, each with its line and a fix.

Check the parsed file: unknown keys, wrong types, and references to missing names.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rightseat.config.guardrails import check_guard, check_guard_references
from rightseat.config.problems import (
    ConfigProblems,
    Key,
    array_key,
    check_named_tables,
    check_struct,
    find_key_lines,
    get_tables,
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
    McpSettings,
    ModelSettings,
    PluginSettings,
    ServerSettings,
    StoreSettings,
    ToolSettings,
)
from rightseat.errors import ConfigError
from rightseat.types.text import closest_match

TABLES = (
    "server",
    "auth",
    "models",
    "assistants",
    "agents",
    "plugins",
    "databases",
    "mcp",
    "tools",
    "limits",
    "store",
    "hooks",
    "guardrails",
)

MODEL_KEYS = tuple(name for name in ModelSettings.__struct_fields__ if name != "options")
AGENT_KEYS = ("kind", "title", "description")
_URL_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")
_SECRET_KEY = re.compile(r"(?i)(^|[_-])(key|token|secret|password|authorization|cookie)$")


def check_config(raw: dict[str, Any], path: Path, problems: ConfigProblems) -> Config | None:
    for name in raw:
        if name not in TABLES:
            problems.add_unknown_key((name,), TABLES)
    server = check_struct(raw.get("server", {}), ServerSettings, ("server",), problems)
    auth = _check_auth(raw.get("auth", {}), path.parent, problems)
    limits = check_struct(raw.get("limits", {}), LimitSettings, ("limits",), problems)
    store = check_struct(raw.get("store", {}), StoreSettings, ("store",), problems)
    hooks = _check_hooks(raw.get("hooks", {}), problems)
    tools = _check_tools(raw.get("tools", {}), raw, problems)
    plugins = _check_plugins(raw.get("plugins", []), path.parent, problems)
    databases = check_named_tables(raw, "databases", _check_database, path.parent, problems)
    servers = check_named_tables(raw, "mcp", _check_mcp, path.parent, problems)
    guardrails = check_named_tables(raw, "guardrails", check_guard, path.parent, problems)
    check_guard_references(raw, problems)
    if auth and limits:
        _check_owners(limits, auth, problems)
    model_tables = get_tables(raw, "models", problems)
    models = {
        name: _check_model(table, ("models", name), path.parent, problems) for name, table in model_tables.items()
    }
    for name, model in models.items():
        _check_model_names(model.fallbacks if model else (), ("models", name, "fallbacks"), model_tables, problems)
    assistants = {
        name: _check_assistant(table, ("assistants", name), path.parent, model_tables, problems)
        for name, table in get_tables(raw, "assistants", problems).items()
    }
    agents = check_named_tables(raw, "agents", _check_agent, path.parent, problems)
    if server is None or auth is None or limits is None or store is None or tools is None or problems.items:
        return None
    return Config(
        server=server,
        auth=auth,
        limits=limits,
        store=store,
        hooks=hooks or HookSettings(),
        models={name: model for name, model in models.items() if model},
        assistants={name: assistant for name, assistant in assistants.items() if assistant},
        agents=agents,
        plugins=tuple(plugin for plugin in plugins if plugin),
        databases=databases,
        mcp=servers,
        guardrails=guardrails,
        tools=tools,
        path=path,
    )


def _check_auth(table: Any, folder: Path, problems: ConfigProblems) -> AuthSettings | None:
    auth = check_struct(table, AuthSettings, ("auth",), problems)
    proxy_keys = set(table) & {"proxy_header", "proxy_addresses"} if isinstance(table, dict) else set()
    if proxy_keys == {"proxy_header"}:
        # Anyone can send the header: it counts only from a known proxy.
        problems.add(("auth", "proxy_header"), 'proxy_addresses is missing. Name the proxy, such as ["10.0.0.5"].')
    if proxy_keys == {"proxy_addresses"}:
        problems.add(("auth", "proxy_addresses"), "proxy_header is missing.")
    if auth is None:
        return None
    keys = {
        name: resolve_secret(value.reveal(), ("auth", "keys", name), folder, problems)
        for name, value in auth.keys.items()
    }
    return msgspec.structs.replace(auth, keys=keys)


def _check_hooks(table: Any, problems: ConfigProblems) -> HookSettings | None:
    hooks = check_struct(table, HookSettings, ("hooks",), problems)
    for name, target in table.items() if hooks else ():
        if isinstance(target, str) and not re.fullmatch(r"[\w.]+:[\w.]+", target):
            problems.add(("hooks", name), f"{target!r} is not of the form module:attribute.")
    return hooks


def _check_tools(table: Any, raw: dict[str, Any], problems: ConfigProblems) -> ToolSettings | None:
    tools = check_struct(table, ToolSettings, ("tools",), problems)
    models = raw.get("models", {})
    if tools and tools.embeddings and tools.embeddings not in models:
        near = closest_match(tools.embeddings, models)
        hint = f"Did you mean {near}?" if near else f"Write [models.{tools.embeddings}]."
        problems.add(("tools", "embeddings"), f"there is no model {tools.embeddings!r}. {hint}")
    return tools


def _check_plugins(tables: Any, folder: Path, problems: ConfigProblems) -> list[PluginSettings | None]:
    if not isinstance(tables, list):
        problems.add_wrong_type(("plugins",), "tables, each begun by [[plugins]]", tables)
        return []
    return [
        _check_plugin(table, (array_key("plugins", number),), folder, problems) for number, table in enumerate(tables)
    ]


def _check_plugin(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> PluginSettings | None:
    plugin = check_struct(table, PluginSettings, key, problems)
    if plugin is None:
        return None
    plugin_folder = folder / Path(plugin.path).expanduser()
    if plugin.enabled and not plugin_folder.is_dir():
        problems.add((*key, "path"), f"there is no folder {plugin_folder}.")
    if not plugin.enabled:
        return plugin
    secrets = {
        group: {
            name: resolve_secret(value.reveal(), (*key, group, name), folder, problems)
            for name, value in getattr(plugin, group).items()
        }
        for group in ("auth", "environment")
    }
    return msgspec.structs.replace(plugin, **secrets)


def _check_database(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> DatabaseSettings | None:
    database = check_struct(table, DatabaseSettings, key, problems)
    if database is None:
        return None
    url = database.url.reveal()
    # A URL without a password is no secret.
    hidden = is_reference(url) or _URL_PASSWORD.search(url) is not None
    resolved = resolve_secret(url, (*key, "url"), folder, problems) if hidden else database.url
    return msgspec.structs.replace(database, url=resolved)


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
    secrets = {
        group: {
            name: _resolve_value(value.reveal(), (*key, group, name), folder, problems)
            for name, value in getattr(server, group).items()
        }
        for group in ("env", "headers")
    }
    return msgspec.structs.replace(server, **secrets)


def _resolve_value(value: str, key: Key, folder: Path, problems: ConfigProblems) -> Secret:
    """Return the value; it is resolved if it is a reference or its key names a secret."""
    resolved = _resolve_option(value, key, folder, problems)
    return resolved if isinstance(resolved, Secret) else Secret(value)


def _check_owners(limits: LimitSettings, auth: AuthSettings, problems: ConfigProblems) -> None:
    """Report limits of unknown owners: such a limit would never apply."""
    for name in limits.owners:
        if ":" not in name and name != "local" and name not in auth.keys:
            near = closest_match(name, auth.keys)
            hint = f"Did you mean {near}?" if near else 'Others than keys are named in full: "jwt:SUBJECT".'
            problems.add(("limits", "owners", name), f"there is no key of that name in [auth.keys]. {hint}")


def _check_model(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> ModelSettings | None:
    if not isinstance(table, dict):
        problems.add_wrong_type(key, "a table", table)
        return None
    ours = {name: table[name] for name in MODEL_KEYS if name in table}
    options = {
        name: _resolve_option(value, (*key, name), folder, problems)
        for name, value in table.items()
        if name not in ours
    }
    if "spec" not in ours:
        problems.add(key, 'spec is missing. Write for example spec = "openai:gpt-4o", or spec = "local".')
        return None
    model = check_struct(ours, ModelSettings, key, problems)
    return msgspec.structs.replace(model, options=options) if model else None


def _check_agent(table: Any, key: Key, folder: Path, problems: ConfigProblems) -> AgentSettings | None:
    if not isinstance(table, dict):
        problems.add_wrong_type(key, "a table", table)
        return None
    ours = {name: table[name] for name in AGENT_KEYS if name in table}
    options = {
        name: _resolve_option(value, (*key, name), folder, problems)
        for name, value in table.items()
        if name not in ours
    }
    agent = check_struct(ours, AgentSettings, key, problems)
    return msgspec.structs.replace(agent, options=options) if agent else None


def _resolve_option(value: Any, key: Key, folder: Path, problems: ConfigProblems) -> Any:
    if isinstance(value, dict):
        return {name: _resolve_option(item, (*key, name), folder, problems) for name, item in value.items()}
    if isinstance(value, str) and (is_reference(value) or _SECRET_KEY.search(key[-1])):
        return resolve_secret(value, key, folder, problems)
    return value


def _check_assistant(
    table: Any, key: Key, folder: Path, models: dict[str, Any], problems: ConfigProblems
) -> AssistantSettings | None:
    assistant = check_struct(table, AssistantSettings, key, problems)
    if not isinstance(table, dict):
        return None
    name = table.get("model")
    _check_model_names((name,) if isinstance(name, str) else (), (*key, "model"), models, problems)
    _check_model_names(assistant.models if assistant else (), (*key, "models"), models, problems)
    tools = table.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, str) and not re.fullmatch(r"[\w.]+:[\w.]+", tool):
            problems.add((*key, "tools"), f"{tool!r} is not of the form module:attribute.")
    system = _read_system_prompt(table, key, folder, problems)
    return msgspec.structs.replace(assistant, system=system) if assistant else None


def _check_model_names(names: Iterable[str], key: Key, models: dict[str, Any], problems: ConfigProblems) -> None:
    for name in names:
        if name not in models and not _is_spec(name):
            near = closest_match(name, (*models, "local"))
            hint = f"Did you mean {near}?" if near else f"Write [models.{name}], or a spec like openai:{name}."
            problems.add(key, f"there is no model {name!r}. {hint}")


def _is_spec(name: str) -> bool:
    """Whether the name has the form of a model spec; its existence is checked when the model is made."""
    return ":" in name or name in ("local", "empty") or name.lower().endswith(".gguf")


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


CONFIG_FILE = "rightseat.toml"


def load_config(
    path: Path | None = None,
    *,
    host: str | None = None,
    port: int | None = None,
    model: str | None = None,
    flags: Mapping[str, Any] = {},
    plugins: Iterable[Path] = (),
    env: Mapping[str, str] | None = None,
) -> Config:
    """Load the file at `path`, else ./rightseat.toml if it exists, else the defaults. Command-line values
    override RIGHTSEAT_HOST, RIGHTSEAT_PORT and RIGHTSEAT_MODEL, which override the file. `flags` are options
    of the default model; `plugins` are further plugin folders."""
    env = os.environ if env is None else env
    if path is None and Path(CONFIG_FILE).is_file():
        path = Path(CONFIG_FILE)
    config = Config() if path is None else _read_config(path)
    config = _apply_overrides(config, _drop_none(host=host, port=port), model or "", env)
    all_plugins = (*config.plugins, *map(_plugin_settings, plugins))
    return msgspec.structs.replace(config, flags=_drop_none(**flags), plugins=all_plugins)


def _plugin_settings(folder: Path) -> PluginSettings:
    # Relative to the working folder, unlike paths of the file.
    path = folder.expanduser().absolute()
    if not path.is_dir():
        raise ConfigError(f"--plugins {folder}: this folder does not exist. Check the path.")
    return PluginSettings(path=str(path))


def _drop_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _apply_overrides(config: Config, flags: dict[str, Any], model: str, env: Mapping[str, str]) -> Config:
    changes: dict[str, Any] = {}
    if host := env.get("RIGHTSEAT_HOST"):
        changes["host"] = host
    if port := env.get("RIGHTSEAT_PORT"):
        changes["port"] = _parse_port(port)
    source = "--model" if model else "RIGHTSEAT_MODEL"
    return msgspec.structs.replace(
        config,
        server=msgspec.structs.replace(config.server, **changes | flags),
        model=model or env.get("RIGHTSEAT_MODEL", ""),
        model_from=source if model or env.get("RIGHTSEAT_MODEL") else "",
    )


def _parse_port(text: str) -> int:
    try:
        return msgspec.convert({"port": text}, ServerSettings, strict=False).port
    except msgspec.ValidationError:
        raise ConfigError(f"RIGHTSEAT_PORT: expected a number from 0 to 65535, got {text!r}.") from None


def _read_config(path: Path) -> Config:
    text = _read_text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_format_syntax_error(path, text, str(error))) from None
    problems = ConfigProblems(path, find_key_lines(text))
    config = check_config(raw, path, problems)
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

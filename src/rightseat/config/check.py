"""The parsed file against the settings' types: unknown keys, wrong types, and names that point nowhere.

Every check looks at the raw tables, so that one wrong key does not hide the next.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct

from rightseat.config.lines import Key, numbered
from rightseat.config.problems import Problems
from rightseat.config.settings import (
    AssistantSettings,
    AuthSettings,
    Config,
    DatabaseSettings,
    LimitSettings,
    ModelSettings,
    PluginSettings,
    ServerSettings,
    StoreSettings,
    ToolSettings,
)
from rightseat.errors import ConfigError
from rightseat.nearest import nearest
from rightseat.secret import Secret, is_reference, resolve

S = TypeVar("S", bound=Struct)

TABLES = ("server", "auth", "models", "assistants", "plugins", "databases", "tools", "limits", "store")
OURS = ("spec", "context", "input_cost", "output_cost")
_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")
_SECRET = re.compile(r"(?i)(^|[_-])(key|token|secret|password|authorization|cookie)$")


def check(raw: dict[str, Any], path: Path, problems: Problems) -> Config | None:
    for name in raw:
        if name not in TABLES:
            problems.unknown((name,), TABLES)
    server = _struct(raw.get("server", {}), ServerSettings, ("server",), problems)
    auth = _auth(raw.get("auth", {}), path.parent, problems)
    limits = _struct(raw.get("limits", {}), LimitSettings, ("limits",), problems)
    store = _struct(raw.get("store", {}), StoreSettings, ("store",), problems)
    tools = _tools(raw.get("tools", {}), raw, problems)
    plugins = _plugins(raw.get("plugins", []), path.parent, problems)
    databases = {
        name: _database(table, ("databases", name), path.parent, problems)
        for name, table in _tables(raw, "databases", problems).items()
    }
    if auth and limits:
        _owners(limits, auth, problems)
    tables = _tables(raw, "models", problems)
    models = {name: _model(table, ("models", name), path.parent, problems) for name, table in tables.items()}
    assistants = {
        name: _assistant(table, ("assistants", name), path.parent, tables, problems)
        for name, table in _tables(raw, "assistants", problems).items()
    }
    if server is None or auth is None or limits is None or store is None or tools is None or problems.found:
        return None
    return Config(
        server=server,
        auth=auth,
        limits=limits,
        store=store,
        models={name: model for name, model in models.items() if model},
        assistants={name: assistant for name, assistant in assistants.items() if assistant},
        plugins=tuple(plugin for plugin in plugins if plugin),
        databases={name: database for name, database in databases.items() if database},
        tools=tools,
        path=path,
    )


def _tables(raw: dict[str, Any], name: str, problems: Problems) -> dict[str, Any]:
    tables = raw.get(name, {})
    if isinstance(tables, dict):
        return tables
    problems.wrong((name,), f"tables such as [{name}.NAME]", tables)
    return {}


def _struct(table: Any, kind: type[S], key: Key, problems: Problems) -> S | None:
    if not isinstance(table, dict):
        problems.wrong(key, "a table", table)
        return None
    before = len(problems.found)
    fields = {f.name: f for f in msgspec.structs.fields(kind)}
    for name, value in table.items():
        if name in fields:
            _value(value, fields[name].type, (*key, name), problems)
        else:
            problems.unknown((*key, name), fields)
    for name, field in fields.items():
        if field.required and name not in table:
            problems.add(key, f"{name} is missing.")
    return msgspec.convert(table, kind, dec_hook=_unresolved) if len(problems.found) == before else None


def _value(value: Any, kind: Any, key: Key, problems: Problems) -> None:
    options = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    struct = next((o for o in options if isinstance(o, type) and issubclass(o, Struct)), None)
    if struct is not None:
        _struct(value, struct, key, problems)
    elif get_origin(kind) is dict and isinstance(value, dict):
        for name, item in value.items():
            _value(item, get_args(kind)[1], (*key, name), problems)
    elif get_origin(kind) is Literal:
        if value not in get_args(kind):
            problems.wrong(key, f"one of {', '.join(get_args(kind))}", value)
    else:
        try:
            msgspec.convert(value, kind, dec_hook=_unresolved)
        except msgspec.ValidationError as error:
            problems.invalid(key, str(error))


def _unresolved(kind: type, value: Any) -> Secret:
    if isinstance(value, str):
        return Secret(value)
    raise ValueError("Expected `str`, such as 'env:NAME'")


def _auth(table: Any, folder: Path, problems: Problems) -> AuthSettings | None:
    auth = _struct(table, AuthSettings, ("auth",), problems)
    given = set(table) & {"proxy_header", "proxy_addresses"} if isinstance(table, dict) else set()
    if given == {"proxy_header"}:
        # A header that anyone may send proves nothing: only a known proxy's word counts.
        problems.add(
            ("auth", "proxy_header"), 'proxy_addresses is missing. Name the proxy, such as ["10.0.0.5"].'
        )
    if given == {"proxy_addresses"}:
        problems.add(("auth", "proxy_addresses"), "proxy_header is missing.")
    if auth is None:
        return None
    keys = {
        name: _secret(secret.reveal(), ("auth", "keys", name), folder, problems)
        for name, secret in auth.keys.items()
    }
    return msgspec.structs.replace(auth, keys=keys)


def _tools(table: Any, raw: dict[str, Any], problems: Problems) -> ToolSettings | None:
    tools = _struct(table, ToolSettings, ("tools",), problems)
    models = raw.get("models", {})
    if tools and tools.embeddings and tools.embeddings not in models:
        near = nearest(tools.embeddings, models)
        hint = f"Did you mean {near}?" if near else f"Write [models.{tools.embeddings}]."
        problems.add(("tools", "embeddings"), f"there is no model {tools.embeddings!r}. {hint}")
    return tools


def _plugins(tables: Any, folder: Path, problems: Problems) -> list[PluginSettings | None]:
    if not isinstance(tables, list):
        problems.wrong(("plugins",), "tables, each begun by [[plugins]]", tables)
        return []
    return [
        _plugin(table, (numbered("plugins", number),), folder, problems)
        for number, table in enumerate(tables)
    ]


def _plugin(table: Any, key: Key, folder: Path, problems: Problems) -> PluginSettings | None:
    plugin = _struct(table, PluginSettings, key, problems)
    if plugin is None:
        return None
    found = folder / Path(plugin.path).expanduser()
    if plugin.enabled and not found.is_dir():
        problems.add((*key, "path"), f"there is no folder {found}.")
    if not plugin.enabled:
        return plugin
    secrets = {
        group: {
            name: _secret(value.reveal(), (*key, group, name), folder, problems)
            for name, value in getattr(plugin, group).items()
        }
        for group in ("auth", "environment")
    }
    return msgspec.structs.replace(plugin, **secrets)


def _database(table: Any, key: Key, folder: Path, problems: Problems) -> DatabaseSettings | None:
    database = _struct(table, DatabaseSettings, key, problems)
    if database is None:
        return None
    url = database.url.reveal()
    # A file's name is no secret, nor is a server that asks for no password.
    secret = is_reference(url) or _PASSWORD.search(url) is not None
    resolved = _secret(url, (*key, "url"), folder, problems) if secret else database.url
    return msgspec.structs.replace(database, url=resolved)


def _owners(limits: LimitSettings, auth: AuthSettings, problems: Problems) -> None:
    """A limit for nobody would be a limit that everyone is over without knowing."""
    for name in limits.owners:
        if ":" not in name and name != "local" and name not in auth.keys:
            near = nearest(name, auth.keys)
            hint = f"Did you mean {near}?" if near else 'Others than keys are named in full: "jwt:SUBJECT".'
            problems.add(("limits", "owners", name), f"there is no key of that name in [auth.keys]. {hint}")


def _secret(reference: str, key: Key, folder: Path, problems: Problems) -> Secret:
    try:
        return resolve(reference, ".".join(key), folder=folder)
    except ConfigError as error:
        problems.say(key, error.message)
        return Secret("")


def _model(table: Any, key: Key, folder: Path, problems: Problems) -> ModelSettings | None:
    if not isinstance(table, dict):
        problems.wrong(key, "a table", table)
        return None
    ours = {name: table[name] for name in OURS if name in table}
    options = {
        name: _option(value, (*key, name), folder, problems)
        for name, value in table.items()
        if name not in ours
    }
    if "spec" not in ours:
        problems.add(key, 'spec is missing. Write for example spec = "openai:gpt-4o", or spec = "local".')
        return None
    model = _struct(ours, ModelSettings, key, problems)
    return msgspec.structs.replace(model, options=options) if model else None


def _option(value: Any, key: Key, folder: Path, problems: Problems) -> Any:
    if isinstance(value, dict):
        return {name: _option(item, (*key, name), folder, problems) for name, item in value.items()}
    if isinstance(value, str) and (is_reference(value) or _SECRET.search(key[-1])):
        return _secret(value, key, folder, problems)
    return value


def _assistant(
    table: Any, key: Key, folder: Path, models: dict[str, Any], problems: Problems
) -> AssistantSettings | None:
    assistant = _struct(table, AssistantSettings, key, problems)
    if not isinstance(table, dict):
        return None
    name = table.get("model")
    if isinstance(name, str) and name not in models and not _is_spec(name):
        near = nearest(name, (*models, "local"))
        hint = f"Did you mean {near}?" if near else f"Write [models.{name}], or a spec like openai:{name}."
        problems.add((*key, "model"), f"there is no model {name!r}. {hint}")
    tools = table.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, str) and not re.fullmatch(r"[\w.]+:[\w.]+", tool):
            problems.add((*key, "tools"), f"{tool!r} is not of the form module:attribute.")
    system = _system(table, key, folder, problems)
    return msgspec.structs.replace(assistant, system=system) if assistant else None


def _is_spec(name: str) -> bool:
    """Whether it may be one; whether there is such a model is seen when it is made."""
    return ":" in name or name == "local" or name.lower().endswith(".gguf")


def _system(table: dict[str, Any], key: Key, folder: Path, problems: Problems) -> Any:
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

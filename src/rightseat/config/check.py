"""Check the parsed file: unknown keys, wrong types, and references to missing names.

Every check reads the raw tables, so that one wrong key does not hide the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rightseat.config.guardrails import guard, guarded
from rightseat.config.lines import Key, numbered
from rightseat.config.problems import Problems
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
from rightseat.config.tables import each, secret, struct, tables
from rightseat.types.nearest import nearest

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
OURS = tuple(name for name in ModelSettings.__struct_fields__ if name != "options")
OF_AGENTS = ("kind", "title", "description")
_PASSWORD = re.compile(r"://[^/@]*:[^/@]+@")
_SECRET = re.compile(r"(?i)(^|[_-])(key|token|secret|password|authorization|cookie)$")


def check(raw: dict[str, Any], path: Path, problems: Problems) -> Config | None:
    for name in raw:
        if name not in TABLES:
            problems.unknown((name,), TABLES)
    server = struct(raw.get("server", {}), ServerSettings, ("server",), problems)
    auth = _auth(raw.get("auth", {}), path.parent, problems)
    limits = struct(raw.get("limits", {}), LimitSettings, ("limits",), problems)
    store = struct(raw.get("store", {}), StoreSettings, ("store",), problems)
    hooks = _hooks(raw.get("hooks", {}), problems)
    tools = _tools(raw.get("tools", {}), raw, problems)
    plugins = _plugins(raw.get("plugins", []), path.parent, problems)
    databases = each(raw, "databases", _database, path.parent, problems)
    servers = each(raw, "mcp", _mcp, path.parent, problems)
    guardrails = each(raw, "guardrails", guard, path.parent, problems)
    guarded(raw, problems)
    if auth and limits:
        _owners(limits, auth, problems)
    named = tables(raw, "models", problems)
    models = {name: _model(table, ("models", name), path.parent, problems) for name, table in named.items()}
    for name, model in models.items():
        _named(model.fallbacks if model else (), ("models", name, "fallbacks"), named, problems)
    assistants = {
        name: _assistant(table, ("assistants", name), path.parent, named, problems)
        for name, table in tables(raw, "assistants", problems).items()
    }
    agents = each(raw, "agents", _agent, path.parent, problems)
    if server is None or auth is None or limits is None or store is None or tools is None or problems.found:
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


def _auth(table: Any, folder: Path, problems: Problems) -> AuthSettings | None:
    auth = struct(table, AuthSettings, ("auth",), problems)
    given = set(table) & {"proxy_header", "proxy_addresses"} if isinstance(table, dict) else set()
    if given == {"proxy_header"}:
        # Anyone can send the header: it counts only from a known proxy.
        problems.add(
            ("auth", "proxy_header"), 'proxy_addresses is missing. Name the proxy, such as ["10.0.0.5"].'
        )
    if given == {"proxy_addresses"}:
        problems.add(("auth", "proxy_addresses"), "proxy_header is missing.")
    if auth is None:
        return None
    keys = {
        name: secret(value.reveal(), ("auth", "keys", name), folder, problems)
        for name, value in auth.keys.items()
    }
    return msgspec.structs.replace(auth, keys=keys)


def _hooks(table: Any, problems: Problems) -> HookSettings | None:
    hooks = struct(table, HookSettings, ("hooks",), problems)
    for name, target in table.items() if hooks else ():
        if isinstance(target, str) and not re.fullmatch(r"[\w.]+:[\w.]+", target):
            problems.add(("hooks", name), f"{target!r} is not of the form module:attribute.")
    return hooks


def _tools(table: Any, raw: dict[str, Any], problems: Problems) -> ToolSettings | None:
    tools = struct(table, ToolSettings, ("tools",), problems)
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
    plugin = struct(table, PluginSettings, key, problems)
    if plugin is None:
        return None
    found = folder / Path(plugin.path).expanduser()
    if plugin.enabled and not found.is_dir():
        problems.add((*key, "path"), f"there is no folder {found}.")
    if not plugin.enabled:
        return plugin
    secrets = {
        group: {
            name: secret(value.reveal(), (*key, group, name), folder, problems)
            for name, value in getattr(plugin, group).items()
        }
        for group in ("auth", "environment")
    }
    return msgspec.structs.replace(plugin, **secrets)


def _database(table: Any, key: Key, folder: Path, problems: Problems) -> DatabaseSettings | None:
    database = struct(table, DatabaseSettings, key, problems)
    if database is None:
        return None
    url = database.url.reveal()
    # A URL without a password is no secret.
    hidden = is_reference(url) or _PASSWORD.search(url) is not None
    resolved = secret(url, (*key, "url"), folder, problems) if hidden else database.url
    return msgspec.structs.replace(database, url=resolved)


def _mcp(table: Any, key: Key, folder: Path, problems: Problems) -> McpSettings | None:
    server = struct(table, McpSettings, key, problems)
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
            name: _plain(value.reveal(), (*key, group, name), folder, problems)
            for name, value in getattr(server, group).items()
        }
        for group in ("env", "headers")
    }
    return msgspec.structs.replace(server, **secrets)


def _plain(value: str, key: Key, folder: Path, problems: Problems) -> Secret:
    """Return the value; it is resolved if it is a reference or its key names a secret."""
    found = _option(value, key, folder, problems)
    return found if isinstance(found, Secret) else Secret(value)


def _owners(limits: LimitSettings, auth: AuthSettings, problems: Problems) -> None:
    """Report limits of unknown owners: such a limit would never apply."""
    for name in limits.owners:
        if ":" not in name and name != "local" and name not in auth.keys:
            near = nearest(name, auth.keys)
            hint = f"Did you mean {near}?" if near else 'Others than keys are named in full: "jwt:SUBJECT".'
            problems.add(("limits", "owners", name), f"there is no key of that name in [auth.keys]. {hint}")


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
    model = struct(ours, ModelSettings, key, problems)
    return msgspec.structs.replace(model, options=options) if model else None


def _agent(table: Any, key: Key, folder: Path, problems: Problems) -> AgentSettings | None:
    if not isinstance(table, dict):
        problems.wrong(key, "a table", table)
        return None
    ours = {name: table[name] for name in OF_AGENTS if name in table}
    options = {
        name: _option(value, (*key, name), folder, problems)
        for name, value in table.items()
        if name not in ours
    }
    agent = struct(ours, AgentSettings, key, problems)
    return msgspec.structs.replace(agent, options=options) if agent else None


def _option(value: Any, key: Key, folder: Path, problems: Problems) -> Any:
    if isinstance(value, dict):
        return {name: _option(item, (*key, name), folder, problems) for name, item in value.items()}
    if isinstance(value, str) and (is_reference(value) or _SECRET.search(key[-1])):
        return secret(value, key, folder, problems)
    return value


def _assistant(
    table: Any, key: Key, folder: Path, models: dict[str, Any], problems: Problems
) -> AssistantSettings | None:
    assistant = struct(table, AssistantSettings, key, problems)
    if not isinstance(table, dict):
        return None
    name = table.get("model")
    _named((name,) if isinstance(name, str) else (), (*key, "model"), models, problems)
    _named(assistant.models if assistant else (), (*key, "models"), models, problems)
    tools = table.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, str) and not re.fullmatch(r"[\w.]+:[\w.]+", tool):
            problems.add((*key, "tools"), f"{tool!r} is not of the form module:attribute.")
    system = _system(table, key, folder, problems)
    return msgspec.structs.replace(assistant, system=system) if assistant else None


def _named(names: Iterable[str], key: Key, models: dict[str, Any], problems: Problems) -> None:
    for name in names:
        if name not in models and not _is_spec(name):
            near = nearest(name, (*models, "local"))
            hint = (
                f"Did you mean {near}?" if near else f"Write [models.{name}], or a spec like openai:{name}."
            )
            problems.add(key, f"there is no model {name!r}. {hint}")


def _is_spec(name: str) -> bool:
    """Whether the name has the form of a model spec; its existence is checked when the model is made."""
    return ":" in name or name in ("local", "empty") or name.lower().endswith(".gguf")


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

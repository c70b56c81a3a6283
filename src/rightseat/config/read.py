"""Read rightseat.toml into a Config. All problems are reported at once, each with its line and a fix."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rightseat.config.check import check_config
from rightseat.config.lines import find_key_lines
from rightseat.config.problems import ConfigProblems
from rightseat.config.settings import Config, PluginSettings, ServerSettings
from rightseat.errors import ConfigError

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
        raise ConfigError(f"--plugins {folder}: there is no such folder.")
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
        raise ConfigError(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not UTF-8 text. TOML files are UTF-8.") from None


def _format_syntax_error(path: Path, text: str, message: str) -> str:
    match = re.search(r"\s*\(at line (\d+), column (\d+)\)$", message)
    if match is None:
        reason = re.sub(r"\s*\(at end of document\)$", " at the end of the file", message)
        return f"{path}:{text.count(chr(10)) + 1}: not valid TOML: {reason}."
    return f"{path}:{match[1]}: not valid TOML: {message[: match.start()]} (column {match[2]})."

"""What a configuration asks for and this system cannot run, said before anything starts."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from rightseat.config.settings import Config
from rightseat.errors import ConfigError

ELSEWHERE = "or run rightseat in WSL or a Linux container."


def check_system(config: Config, platform: str = sys.platform) -> None:
    """Raise ConfigError with one line for each part of the configuration that this system cannot run."""
    if platform == "win32":
        # Python's event loop on Windows cannot wait for the descriptors of a pipe or of a database's client.
        problems = list(list_windows_problems(config))
        if problems:
            raise ConfigError("\n".join(problems))


def list_windows_problems(config: Config) -> Iterator[str]:
    if config.store.kind == "postgres":
        yield f'[store] kind = "postgres" does not work on Windows. Use kind = "sqlite", {ELSEWHERE}'
    elif config.live.kind == "postgres":
        yield f'[live] kind = "postgres" does not work on Windows. Leave kind out, {ELSEWHERE}'
    elif config.live.url is not None and config.live.url.reveal().startswith("unix:"):
        yield f"[live] url: unix:// does not work on Windows. Write redis://HOST:6379, {ELSEWHERE}"
    for name, server in config.mcp.items():
        if server.command:
            yield f"[mcp.{name}] command does not work on Windows. Start it yourself and write its url, {ELSEWHERE}"

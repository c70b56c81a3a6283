"""Values that a plugin folder is read into: Plugin, auth, scripts, operations, problems; and tool names."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from rightseat.config.secret import Secret
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.operation import Operation
from rightseat.plugins.problem import Problem

AuthKind = Literal["header", "param", "cookie", "oidc"]


class PluginAuth(Struct, frozen=True, kw_only=True):
    """One authentication method. `args` hold names and values as in the file: a reference (`env:NAME`,
    `file:PATH`) is resolved when a call is made, never by a check."""

    kind: AuthKind
    args: dict[str, Secret] = {}
    options: dict[str, Any] = {}
    """Only oidc: token_url, client_id, client_secret, scope, audience, grant, header, expires_minutes …"""


class PluginScript(Struct, frozen=True, kw_only=True):
    """A tool of lib/, found without running it."""

    name: str
    description: str
    file: Path
    attribute: str
    kind: Literal["class", "function"]
    arguments: dict[str, Any]
    exact: bool = True
    """Whether `arguments` is complete; otherwise the child process is asked for the schema."""
    dangerous: bool = False
    line: int = 0


class Plugin(Struct, frozen=True, kw_only=True):
    id: str
    """The folder's name."""
    folder: Path
    name: str
    description: str
    alias: str = ""
    """The `id` of plugin.json where it differs."""
    question: str = ""
    """Replaces an empty question of the user; elsewhere a suggestion."""
    automatic_flow: bool = False
    auth: tuple[PluginAuth, ...] = ()
    operations: tuple[Operation, ...] = ()
    scripts: tuple[PluginScript, ...] = ()
    flows: tuple[Path, ...] = ()
    """Files of the flows."""
    workflows: tuple[Flow, ...] = ()
    """Flows that can run, and one per operation where `automatic_flow` is set."""
    files: tuple[Path, ...] = ()
    """All files to watch for changes."""
    problems: tuple[Problem, ...] = ()

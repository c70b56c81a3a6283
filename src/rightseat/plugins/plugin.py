"""A plugin as it was read from its folder: values only, nothing is open or running."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from msgspec import Struct

from rightseat.config.secret import Secret
from rightseat.plugins.flows.flow import Flow
from rightseat.plugins.operation import Operation
from rightseat.plugins.problem import Problem

AuthKind = Literal["header", "param", "cookie", "oidc"]


class Auth(Struct, frozen=True, kw_only=True):
    """One way to say who calls. `args` are names and values as the file has them: a reference (`env:NAME`,
    `file:PATH`) is resolved where calls are made, never by a check."""

    kind: AuthKind
    args: dict[str, Secret] = {}
    options: dict[str, Any] = {}
    """For oidc: token_url, client_id, client_secret, scope, audience, grant, header, expires_minutes …"""


class Script(Struct, frozen=True, kw_only=True):
    """A tool of lib/, found without running it: its file, its name there, and what it says of itself."""

    name: str
    description: str
    file: Path
    attribute: str
    kind: Literal["class", "function"]
    arguments: dict[str, Any]
    exact: bool = True
    """Whether `arguments` are all there is to say; else the process that runs it is asked."""
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
    """Asked where the user asks nothing; a suggestion elsewhere."""
    automatic_flow: bool = False
    auth: tuple[Auth, ...] = ()
    operations: tuple[Operation, ...] = ()
    scripts: tuple[Script, ...] = ()
    flows: tuple[Path, ...] = ()
    """Their files."""
    workflows: tuple[Flow, ...] = ()
    """Those of them that can run, and one for each operation where `automatic_flow` is set."""
    files: tuple[Path, ...] = ()
    """Every file that was read: a change of one is a change of the plugin."""
    problems: tuple[Problem, ...] = ()

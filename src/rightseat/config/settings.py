"""The tables of rightseat.toml. A field here is a key there, held to its type and range."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from rightseat.secret import Secret

Port = Annotated[int, Meta(ge=0, le=65535)]
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]


class ServerSettings(Struct, frozen=True, kw_only=True):
    host: str = "127.0.0.1"
    port: Port = 7777
    public_url: str = ""
    cors: tuple[str, ...] = ()
    """Origins that may call besides our own."""
    hosts: tuple[str, ...] = ()
    """Host names that may be asked for besides loopback's, `host` and `public_url`'s."""
    max_body_mb: Annotated[float, Meta(gt=0)] = 10
    max_header_kb: Annotated[int, Meta(ge=1, le=1024)] = 64
    header_timeout: Seconds = 10
    body_timeout: Seconds = 30
    keep_alive: Seconds = 15
    send_timeout: Seconds = 60
    grace: Annotated[float, Meta(ge=0)] = 30
    max_runs: Count = 1000
    log: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class JwtSettings(Struct, frozen=True, kw_only=True):
    issuer: str
    audience: str
    jwks: str
    owner_claim: str = "sub"


class AuthSettings(Struct, frozen=True, kw_only=True):
    keys: dict[str, Secret] = {}
    """Owner's name → key; the file holds a reference (`env:NAME`, `file:PATH`), here it is resolved."""
    proxy_header: str = ""
    proxy_addresses: tuple[str, ...] = ()
    jwt: JwtSettings | None = None

    @property
    def required(self) -> bool:
        return bool(self.keys or self.proxy_header or self.jwt)


class ModelSettings(Struct, frozen=True, kw_only=True):
    """`spec` and `context` are ours; every other key of the table is an option that the model itself checks.
    References among the options are resolved, and secrets are Secret."""

    spec: str
    context: Count | None = None
    options: dict[str, Any] = {}


class AssistantSettings(Struct, frozen=True, kw_only=True):
    model: str = ""
    system: str = ""
    system_file: str = ""
    tools: tuple[str, ...] = ()
    title: str = ""
    description: str = ""
    image: str = ""
    rounds: Count = 10
    tool_timeout: Seconds = 60


class LimitSettings(Struct, frozen=True, kw_only=True):
    run_seconds: Seconds = 600


class Config(Struct, frozen=True, kw_only=True):
    server: ServerSettings = field(default_factory=ServerSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    models: dict[str, ModelSettings] = {}
    assistants: dict[str, AssistantSettings] = {}
    limits: LimitSettings = field(default_factory=LimitSettings)
    path: Path | None = None
    model: str = ""
    """The default assistant's model where the command line or RIGHTSEAT_MODEL names one."""
    model_from: str = ""
    """Who named `model`, for the card."""

    @property
    def folder(self) -> Path:
        """Where relative paths of the file start."""
        return self.path.parent if self.path else Path()

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file whose change should be noticed."""
        if self.path is None:
            return ()
        prompts = (self.folder / a.system_file for a in self.assistants.values() if a.system_file)
        return (self.path, *prompts)

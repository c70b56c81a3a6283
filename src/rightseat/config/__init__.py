"""Configuration: rightseat.toml as values.

- settings, guardrails: the tables of the file as Structs.
- read, problems: reading and checking the file; all problems are reported at once.
- secret: values that are masked in output. loading: import of `module:attribute` objects.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightseat.config.read import load
    from rightseat.config.settings import (
        AssistantSettings,
        AuthSettings,
        Config,
        DatabaseSettings,
        JwtSettings,
        LimitSettings,
        ModelSettings,
        OwnerLimits,
        PluginSettings,
        ServerSettings,
        StoreSettings,
        ToolSettings,
    )

_HOMES = {
    "AssistantSettings": "settings",
    "AuthSettings": "settings",
    "Config": "settings",
    "DatabaseSettings": "settings",
    "JwtSettings": "settings",
    "LimitSettings": "settings",
    "ModelSettings": "settings",
    "OwnerLimits": "settings",
    "PluginSettings": "settings",
    "ServerSettings": "settings",
    "StoreSettings": "settings",
    "ToolSettings": "settings",
    "load": "read",
}

__all__ = [
    "AssistantSettings",
    "AuthSettings",
    "Config",
    "DatabaseSettings",
    "JwtSettings",
    "LimitSettings",
    "ModelSettings",
    "OwnerLimits",
    "PluginSettings",
    "ServerSettings",
    "StoreSettings",
    "ToolSettings",
    "load",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a name when it is first used, so that one module does not load the others."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

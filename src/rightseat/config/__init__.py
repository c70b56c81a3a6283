"""rightseat.toml as values, and the one function that reads it."""

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

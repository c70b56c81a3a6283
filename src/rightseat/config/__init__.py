"""rightseat.toml as values, and the one function that reads it."""

from rightseat.config.read import load
from rightseat.config.settings import (
    AssistantSettings,
    AuthSettings,
    Config,
    JwtSettings,
    LimitSettings,
    ModelSettings,
    OwnerLimits,
    ServerSettings,
    StoreSettings,
)

__all__ = [
    "AssistantSettings",
    "AuthSettings",
    "Config",
    "JwtSettings",
    "LimitSettings",
    "ModelSettings",
    "OwnerLimits",
    "ServerSettings",
    "StoreSettings",
    "load",
]

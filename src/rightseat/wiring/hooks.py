"""Hooks from [hooks]: the operator's own code around each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightseat.config.loading import import_object
from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.middleware.hooks import Hooks

HOOK_NAMES = ("on_before_request", "on_after_request", "on_error")


def make_hooks(config: Config) -> Hooks:
    return Hooks(timeout=config.hooks.timeout, **{name: load_hook(config, name) for name in HOOK_NAMES})


def load_hook(config: Config, name: str) -> Callable[[Any], Any] | None:
    target: str = getattr(config.hooks, name)
    if not target:
        return None
    try:
        hook: Any = import_object(target)
    except ConfigError as error:
        raise ConfigError(f"[hooks] in {config.path}: {name}: {error.message}") from error
    if not callable(hook):
        raise ConfigError(
            f"[hooks] in {config.path}: {name}: {target} is a {type(hook).__name__}, no function."
        )
    checked: Callable[[Any], Any] = hook
    return checked

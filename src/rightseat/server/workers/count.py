"""The number of workers: [server] workers, `auto` by the machine and the model."""

from __future__ import annotations

import sys

from rightseat.config.settings import Config
from rightseat.errors import ConfigError
from rightseat.models.llamacpp.machine import get_machine
from rightseat.wiring.default_model import choose_model
from rightseat.wiring.lookup import LOCAL, split_spec

NOT_ON_WINDOWS = (
    "Several workers need Unix sockets, which Windows does not offer to Python. Leave --workers and [server] workers "
    "out, or run rightseat in WSL or a Linux container."
)
NOT_IN_MEMORY = (
    "Several workers need a store that they share: an answer to an approval may reach another worker than the one that "
    'asked. Write [store] kind = "sqlite", or leave --workers and [server] workers out.'
)


def count_workers(config: Config, platform: str = sys.platform) -> int:
    """Return the number of workers; raises ConfigError where several cannot be had."""
    workers = config.server.workers
    problem = NOT_ON_WINDOWS if platform == "win32" else NOT_IN_MEMORY if config.store.kind == "memory" else ""
    if workers == "auto":
        return 1 if problem or uses_local_model(config) else get_machine().processors
    if workers > 1 and problem:
        raise ConfigError(problem)
    return workers


def uses_local_model(config: Config) -> bool:
    """Tell whether a model of the configuration runs on this machine: its engine takes the processors."""
    choice = choose_model(config).model
    named = [name for assistant in config.assistants.values() for name in (assistant.model, *assistant.models)]
    specs = [config.models[name].spec if name in config.models else name for name in (choice, *named)]
    specs += [name for settings in config.models.values() for name in (settings.spec, *settings.fallbacks)]
    return any(split_spec(spec)[0] == LOCAL for spec in specs)

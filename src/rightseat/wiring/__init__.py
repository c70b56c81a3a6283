"""Wiring: builds a Runtime from a Config.

`registry` finds models, doors, agents and stores by name. `choice` picks the default model. `models`,
`plugins`, `databases`, `remote` (MCP servers, agents), `middleware` (guardrails, hooks) and `storage` build
the parts from their tables; `from_config` puts them together. `layered_runtime` is the public Runtime. `demo`
and `demo_config` are for an unconfigured server. The names below are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rightseat.wiring.choice import Choice, choose
    from rightseat.wiring.from_config import runtime
    from rightseat.wiring.keeping import data_folder, place, store, threads
    from rightseat.wiring.models import configured
    from rightseat.wiring.names import BUILTIN, every, find, known, load, model

_HOMES = {
    "BUILTIN": "names",
    "Choice": "choice",
    "choose": "choice",
    "configured": "models",
    "data_folder": "keeping",
    "every": "names",
    "find": "names",
    "known": "names",
    "load": "names",
    "model": "names",
    "place": "keeping",
    "runtime": "from_config",
    "store": "keeping",
    "threads": "keeping",
}

__all__ = [
    "BUILTIN",
    "Choice",
    "choose",
    "configured",
    "data_folder",
    "every",
    "find",
    "known",
    "load",
    "model",
    "place",
    "runtime",
    "store",
    "threads",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import an exported name on first use, so that one module does not load the others."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

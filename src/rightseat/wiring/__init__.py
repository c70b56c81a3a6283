"""Names → objects, and a Config → a Runtime."""

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
        """Each is imported when first used: who needs one module of this folder does not load the others."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)

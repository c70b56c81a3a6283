"""Names → objects, and a Config → a Runtime."""

from rightseat.registry.build import Choice, choose, configured, runtime
from rightseat.registry.keeping import data_folder, place, store, threads
from rightseat.registry.names import BUILTIN, every, find, known, load, model

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

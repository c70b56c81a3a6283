"""Names → objects, and a Config → a Runtime."""

from rightseat.registry.build import runtime
from rightseat.registry.choice import Choice, choose
from rightseat.registry.keeping import data_folder, place, store, threads
from rightseat.registry.models import configured
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

"""Names → objects, and a Config → a Runtime."""

from rightseat.registry.build import Choice, choose, runtime
from rightseat.registry.names import BUILTIN, every, find, known, load, model

__all__ = ["BUILTIN", "Choice", "choose", "every", "find", "known", "load", "model", "runtime"]

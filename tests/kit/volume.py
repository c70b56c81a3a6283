"""How much a property test tries: enough to fail in `make test`, and all of it in `make eval`."""

import os

FULL = os.environ.get("RIGHTSEAT_VOLUME") == "full"


def many(count: int) -> int:
    """A test's own number of examples; in `make test` a fifth of it."""
    return count if FULL else max(20, count // 5)

"""The embedded model's weights for tests: where the user keeps them, or in build/; fetched if need be.

`python -m tests.kit.embedded` fetches them before a run, with progress; exit code 3 means "could not fetch",
which is never a failed test.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rightseat.errors import WeightsError
from rightseat.models.llamacpp import weights
from rightseat.server.terminal_progress import show_download

ROOT = Path(__file__).resolve().parents[2]
BUILD_CACHE = ROOT / "build" / "cache"
TRIES = 3
COULD_NOT_FETCH = 3


class WeightsFetchError(Exception):
    """Says in one line why the weights could not be fetched."""


def choose_folder(usual: Path, other: Path = BUILD_CACHE) -> Path:
    """Return the cache folder that has the weights, else the first of the two that can be written."""
    for folder in (usual, other):
        if weights.find_weights(folder=folder).path is not None:
            return folder
    return usual if can_write(usual) else other


def can_write(folder: Path) -> bool:
    """Return whether files can be made in the folder, which need not exist yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def fetch_weights(folder: Path, pull: Callable[..., Path] = weights.pull_weights, pause: float = 1.0) -> Path:
    """Return where the weights are, fetched if need be; raises NotFetchedError after three tries."""
    if (path := weights.find_weights(folder=folder).path) is not None:
        return path
    reason = ""
    for attempt in range(1, TRIES + 1):
        try:
            with show_download(f"{weights.EMBEDDED.name} (98 MB)") as progress:
                return pull(progress=progress, folder=folder)
        except WeightsError as error:
            reason = str(error)
            print(f"try {attempt} of {TRIES} failed: {reason}", file=sys.stderr)
            if attempt < TRIES:
                time.sleep(attempt * pause)
    raise WeightsFetchError(f"could not fetch the embedded model's weights: {reason}")


# Before any test changes the environment.
CACHE_FOLDER = choose_folder(weights.cache_folder())


def main() -> int:
    try:
        print(f"weights: {fetch_weights(CACHE_FOLDER)}")
    except WeightsFetchError as error:
        print(error, file=sys.stderr)
        return COULD_NOT_FETCH
    return 0


if __name__ == "__main__":
    sys.exit(main())

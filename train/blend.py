"""python -m train.blend FIRST SECOND OUT.npz [SHARE]: the mean of an adapter and one that went on from it.

Each of two such fits has its own leaning, to call or to ask; their mean has less of both, and of what either
has forgotten. SHARE is the second one's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from train import adapter_file


def main(first: Path, second: Path, out: Path, share: float = 0.5) -> None:
    one, other = adapter_file.read_adapter(first), adapter_file.read_adapter(second)
    mixed = {}
    for name in one:
        mean = (1 - share) * one[name].astype(np.float32) + share * other[name].astype(np.float32)
        mixed[name] = mean if name == "alpha" else mean.astype(np.float16)
    np.savez(out, **mixed)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]), *map(float, sys.argv[4:]))

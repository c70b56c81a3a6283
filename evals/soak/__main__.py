"""`make eval` and `make test-all`: hours or minutes of mixed load; exits with 1 if the server uses more than before."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from evals.soak.drill import run_soak

HOUR = 3600.0
MAX_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=HOUR)
    parser.add_argument("--seed", type=int, default=24)
    args = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="soak-") as home:
        report = asyncio.run(run_soak(Path(home), args.seconds, args.seed))
    print(report.format())
    print(f"{time.monotonic() - begun:.0f} s")
    for problem in report.problems[:MAX_SHOWN]:
        print(f"  {problem}")
    if report.problems:
        print(f"Repeat it: python -m evals.soak --seconds {args.seconds:g} --seed {args.seed}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""`make eval`: a server, or with --workers one of its workers, is killed many times while flows with effects run; exits
with 1 if anything was wrong."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from evals.crashes.drill import run_drill

POINTS = 200
MAX_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--workers", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crashes-") as home:
        report = asyncio.run(run_drill(Path(home), args.points, args.seed, args.workers))
    print(report)
    for problem in report.problems[:MAX_SHOWN]:
        print(f"  {problem}")
    return 1 if report.problems or report.points < args.points else 0


if __name__ == "__main__":
    sys.exit(main())

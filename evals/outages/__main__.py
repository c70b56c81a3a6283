"""`make eval`: PostgreSQL or Valkey is restarted again and again, or is away for a while, under many runs at two
servers; exits with 1 if a stream was cut, anything was shown that the log contradicts, or a thread stayed busy."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from evals.outages.drill import DrillSettings, run_drill

MAX_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long runs are started")
    parser.add_argument("--runs", type=int, default=1000, help="runs at a time")
    parser.add_argument("--engine", choices=["postgres", "valkey"], default="postgres")
    parser.add_argument("--seed", type=int, default=26)
    parser.add_argument("--away", type=float, default=0, help="one outage of so many seconds instead of restarts")
    parser.add_argument("--every", type=float, nargs=2, default=(5, 40), help="seconds between restarts, from and to")
    args = parser.parse_args()
    settings = DrillSettings(args.engine, args.seconds, args.runs, args.seed, args.away, tuple(args.every))
    with tempfile.TemporaryDirectory(prefix="outages-") as home:
        report = asyncio.run(run_drill(Path(home), settings))
    print(report)
    for problem in report.problems[:MAX_SHOWN]:
        print(f"  {problem}")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())

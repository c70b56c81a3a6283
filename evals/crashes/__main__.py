"""`make eval`: a server, with --workers one of its workers, or with --replicas one of the processes on a database is
killed many times while flows with effects run; exits with 1 if anything was wrong."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from evals.crashes.drill import DrillReport, run_drill

POINTS = 200
MAX_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=0, help="processes on one database, instead of workers")
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite", help="postgres: with --replicas")
    parser.add_argument("--live", choices=["postgres", "valkey"], default="postgres", help="live plane of the replicas")
    parser.add_argument("--fault", choices=["kill", "pause"], default="kill", help="pause: SIGSTOP past the lease")
    args = parser.parse_args()
    if (args.store == "postgres") != bool(args.replicas):
        parser.error("--replicas and --store postgres belong together")
    with tempfile.TemporaryDirectory(prefix="crashes-") as home:
        report = asyncio.run(strike(Path(home), args))
    print(report)
    for problem in report.problems[:MAX_SHOWN]:
        print(f"  {problem}")
    return 1 if report.problems or report.points < args.points else 0


async def strike(home: Path, args: argparse.Namespace) -> DrillReport:
    if not args.replicas:
        return await run_drill(home, args.points, args.seed, args.workers)
    # Imported here: the drivers of PostgreSQL are needed for it alone.
    from evals.crashes.replicas import run_replica_drill

    return await run_replica_drill(
        home, args.points, args.seed, replicas=args.replicas, live=args.live, fault=args.fault
    )


if __name__ == "__main__":
    sys.exit(main())

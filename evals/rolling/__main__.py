"""`python -m evals.rolling`: three replicas are restarted one after the other under streams and flows, with a step of
the schema in the middle; exits with 1 if a request or a flow failed."""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from evals.rolling.drill import RollingDrill
from tests.kit.postgres import get_session_server

MAX_SHOWN = 20


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=300)
    parser.add_argument("--flows", type=int, default=30)
    parser.add_argument("--grace", type=float, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rolling-") as home:
        url = get_session_server().url
        drill = RollingDrill(Path(home), url, "rolling", streams=args.streams, flows=args.flows, grace=args.grace)
        report = asyncio.run(drill.run())
    print(report)
    for problem in report.problems[:MAX_SHOWN]:
        print(f"  {problem}")
    return 1 if report.problems or not report.handed_over else 0


if __name__ == "__main__":
    sys.exit(main())

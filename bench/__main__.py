"""`python -m bench [--short] [--peer NAME]… [--scenario NAME]…`: table on stdout, JSON in bench/results."""

import argparse
import asyncio
import json
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.peers import Peer, all_peers
from bench.rows import Row, table
from bench.scenarios import Scenario, all_scenarios
from bench.stage import DriverFailed, open_stage

RESULTS = Path(__file__).parent / "results" / "latest.json"


async def measure(peers: Sequence[Peer], scenarios: Sequence[Scenario], *, short: bool) -> list[Row]:
    rows: list[Row] = []
    async with open_stage(peers, short=short) as stage:
        for scenario in scenarios:
            begun = time.monotonic()
            rows += await scenario.run(stage)
            print(f"{scenario.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return rows


def save(rows: Sequence[Row], *, short: bool) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    about = {"short": short, "python": platform.python_version(), "machine": platform.machine()}
    RESULTS.write_text(json.dumps({**about, "rows": [row.record() for row in rows]}, indent=1) + "\n")


def choose(names: Sequence[str] | None) -> list[Peer]:
    """The named peers, else all that can run here; one of ours that cannot is an error."""
    known = all_peers()
    chosen = [known[name] for name in names] if names else list(known.values())
    for peer in chosen:
        if why := peer.missing():
            if peer.ours or names:
                sys.exit(f"bench: {peer.name} cannot run: {why}")
            print(f"without {peer.name}: {why}", file=sys.stderr)
    return [peer for peer in chosen if not peer.missing()]


def main() -> int:
    scenarios = all_scenarios()
    parser = argparse.ArgumentParser(
        prog="python -m bench", description="What the doors cost, with peers beside them."
    )
    parser.add_argument("--short", action="store_true", help="about one minute, with looser limits")
    parser.add_argument("--peer", action="append", choices=list(all_peers()))
    parser.add_argument("--scenario", action="append", choices=list(scenarios))
    asked = parser.parse_args()
    wanted = asked.scenario or [s.name for s in scenarios.values() if s.short or not asked.short]
    # A run that fails must not leave the figures of an older one.
    RESULTS.unlink(missing_ok=True)
    try:
        rows = asyncio.run(measure(choose(asked.peer), [scenarios[n] for n in wanted], short=asked.short))
    except DriverFailed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    save(rows, short=asked.short)
    print(table(rows))
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

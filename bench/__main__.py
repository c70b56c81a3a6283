"""`python -m bench [--short] [--with PEER]… [--write] …`: table on stdout, JSON in bench/results."""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import page
from bench.machine import Neighbours, about
from bench.peers import Peer, all_peers
from bench.rows import Row, table
from bench.scenarios import Scenario, all_scenarios
from bench.stage import DriverFailed, open_stage
from tests.peers.install import COULD_NOT_INSTALL, InstallError, install

RESULTS = Path(__file__).parent / "results" / "latest.json"


async def measure(peers: Sequence[Peer], scenarios: Sequence[Scenario], *, short: bool) -> list[Row]:
    rows: list[Row] = []
    async with open_stage(peers, short=short) as stage:
        for scenario in scenarios:
            begun = time.monotonic()
            rows += await scenario.run(stage)
            print(f"{scenario.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return rows


def save(rows: Sequence[Row], facts: dict[str, str], *, short: bool) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    found = {"short": short, **facts, "rows": [row.record() for row in rows]}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def choose(names: Sequence[str] | None, foreign: Sequence[str]) -> list[Peer]:
    """The named peers, else all of the house, and the foreign ones asked for, which are then installed."""
    known = all_peers()
    home = [peer.name for peer in known.values() if not peer.foreign]
    chosen = [known[name] for name in (*(names or home), *foreign)]
    for peer in chosen:
        if peer.foreign:
            install(peer.lock)
        if why := peer.missing():
            sys.exit(f"bench: {peer.name} cannot run: {why}")
    return chosen


def parse() -> argparse.Namespace:
    peers = all_peers().values()
    parser = argparse.ArgumentParser(prog="python -m bench", description="What the doors cost, with peers beside them.")
    parser.add_argument("--short", action="store_true", help="a minute and a half, with looser limits")
    parser.add_argument("--peer", action="append", choices=[p.name for p in peers if not p.foreign])
    parser.add_argument(
        "--with",
        action="append",
        default=[],
        choices=[p.name for p in peers if p.foreign],
        dest="foreign",
        help="measure a foreign server in the same rounds; it is installed first",
    )
    parser.add_argument("--scenario", action="append", choices=list(all_scenarios()))
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    if asked.write and (asked.short or asked.peer or asked.scenario):
        parser.error("--write needs the whole bench")
    return asked


def main() -> int:
    asked = parse()
    scenarios = all_scenarios()
    wanted = asked.scenario or [s.name for s in scenarios.values() if s.short or not asked.short]
    # A run that fails must not leave the figures of an older one.
    RESULTS.unlink(missing_ok=True)
    neighbours = Neighbours()
    try:
        peers = choose(asked.peer, asked.foreign)
        rows = asyncio.run(measure(peers, [scenarios[name] for name in wanted], short=asked.short))
    except InstallError as failure:
        print(f"bench: could not install: {failure}", file=sys.stderr)
        return COULD_NOT_INSTALL
    except DriverFailed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    facts = about(peers) | {"others' share of the CPU": neighbours.share()}
    save(rows, facts, short=asked.short)
    print(table(rows))
    print("; ".join(f"{name} {value}" for name, value in facts.items()))
    if asked.write:
        page.write(rows, facts)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench [--short] [--with PEER]… [--write] …`: table on stdout, JSON in bench/results."""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import page, picture
from bench.machine import OtherLoad, describe_machine
from bench.peers import BenchPeer, all_peers
from bench.rows import ResultRow, format_table
from bench.scenarios import Scenario, all_scenarios
from bench.session import DriverFailed, open_session
from tests.peers.install import COULD_NOT_INSTALL, InstallError, install

RESULTS = Path(__file__).parent / "results" / "latest.json"


async def run_scenarios(peers: Sequence[BenchPeer], scenarios: Sequence[Scenario], *, short: bool) -> list[ResultRow]:
    rows: list[ResultRow] = []
    async with open_session(peers, short=short) as stage:
        for scenario in scenarios:
            begun = time.monotonic()
            print(f"{scenario.name} ", end="", file=sys.stderr, flush=True)
            rows += await scenario.run(stage)
            print(f" {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return rows


def save_results(rows: Sequence[ResultRow], facts: dict[str, str], *, short: bool) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    found = {"short": short, **facts, "rows": [row.to_dict() for row in rows]}
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")


def choose_peers(names: Sequence[str] | None, foreign_names: Sequence[str]) -> list[BenchPeer]:
    """The named peers, else all of the house, and the foreign ones asked for, which are then installed."""
    known = all_peers()
    home = [peer.name for peer in known.values() if not peer.is_foreign]
    chosen = [known[name] for name in (*(names or home), *foreign_names)]
    for peer in chosen:
        if peer.is_foreign:
            install(peer.lock)
        if why := peer.find_missing():
            sys.exit(f"bench: {peer.name} cannot run: {why}")
    return chosen


def parse_args() -> argparse.Namespace:
    peers = all_peers().values()
    parser = argparse.ArgumentParser(prog="python -m bench", description="What the doors cost, with peers beside them.")
    parser.add_argument("--short", action="store_true", help="a minute and a half, with looser limits")
    parser.add_argument("--peer", action="append", choices=[p.name for p in peers if not p.is_foreign])
    parser.add_argument(
        "--with",
        action="append",
        default=[],
        choices=[p.name for p in peers if p.is_foreign],
        dest="foreign",
        help="measure a foreign server in the same rounds; it is installed first",
    )
    parser.add_argument("--scenario", action="append", choices=list(all_scenarios()))
    parser.add_argument(
        "--write", action="store_true", help="put the table into docs/performance.md, and its picture into docs/img"
    )
    args = parser.parse_args()
    if args.write and (args.short or args.peer or args.scenario):
        parser.error("--write needs the whole bench")
    return args


def write_figures(rows: Sequence[ResultRow], facts: Mapping[str, str]) -> None:
    """Put the table into docs/performance.md, and draw the picture where all of its peers were measured."""
    page.write_page(rows, facts)
    try:
        picture.write_picture()
    except ValueError as fault:
        print(f"bench: docs/img/bench.svg stays as it is: {fault}", file=sys.stderr)


def main() -> int:
    args = parse_args()
    scenarios = all_scenarios()
    wanted = args.scenario or [s.name for s in scenarios.values() if s.short or not args.short]
    # A run that fails must not leave the figures of an older one.
    RESULTS.unlink(missing_ok=True)
    neighbours = OtherLoad()
    try:
        peers = choose_peers(args.peer, args.foreign)
        rows = asyncio.run(run_scenarios(peers, [scenarios[name] for name in wanted], short=args.short))
    except InstallError as failure:
        print(f"bench: could not install: {failure}", file=sys.stderr)
        return COULD_NOT_INSTALL
    except DriverFailed as failure:
        print(f"\nbench: {failure}", file=sys.stderr)
        return 1
    facts = describe_machine(peers) | {"others' share of the CPU": neighbours.format_share()}
    save_results(rows, facts, short=args.short)
    print(format_table(rows))
    print("; ".join(f"{name} {value}" for name, value in facts.items()))
    if args.write:
        write_figures(rows, facts)
    return 0 if all(row.is_good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench.against CHECKOUT`: what one worker costs here and in another checkout, such as that of a release.

Both run with this Python and its installed packages, in alternating rounds. Other load only adds CPU time, so that the
least of many rounds says most; where valgrind is installed, the instructions of a start are counted, which no load
changes.
"""

import argparse
import asyncio
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from bench.doors import OPENAI, BenchDoor
from bench.machine import ROOT, OtherLoad, describe_machine
from bench.order import StreamOrder
from bench.peers import BenchPeer, rightseat
from bench.scenarios.paced import RATE
from bench.session import BenchSession, DriverFailed, open_session
from bench.streams import run_orders
from tests.kit import process
from tests.kit.server import RightseatProcess

NOW, BEFORE = "now", "before"
MAX_RATIO = 1.02
COUNTED_START_SECONDS = 300.0
"""Time that a start under valgrind may take."""
COUNTED_STREAMS, COUNTED_SECONDS, COUNTED_RATES = 2, 20, (1, 25)
"""Streams that are counted, how long each lasts, and tokens in a second: few, and as many as a server under valgrind
keeps up with. What the server does for a request or by the clock is the same in both."""
_INSTRUCTIONS = re.compile(r"I\s+refs:\s+([\d,]+)")
_IMPORTED = re.compile(r"^import time: .*\|\s+(\S+)$", re.MULTILINE)

Figures = dict[str, list[float]]
"""Peer → one figure for each round."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One measure of both checkouts."""

    measure: str
    unit: str
    before: Sequence[float]
    now: Sequence[float]

    @property
    def ratio(self) -> float:
        """The least figure of this checkout, divided by that of the other."""
        return min(self.now) / min(self.before)

    @property
    def is_good(self) -> bool:
        return self.ratio <= MAX_RATIO

    def format(self) -> str:
        before, now = (f"{median(values):.2f} (least {min(values):.2f})" for values in (self.before, self.now))
        ratios = f"{median(self.now) / median(self.before):.3f} (least {self.ratio:.3f})"
        rounds = f"{len(self.now)} rounds" if len(self.now) > 1 else "once"
        verdict = "ok" if self.is_good else "TOO MUCH"
        return f"{self.measure}, {self.unit}, {rounds}: {BEFORE} {before}, {NOW} {now}, ratio {ratios}  {verdict}"


def make_checkout_peer(name: str, checkout: Path) -> BenchPeer:
    """Return a peer that runs the sources of a checkout with the packages of this environment."""
    sources = checkout.resolve() / "src"
    if not (sources / "rightseat").is_dir():
        sys.exit(f"bench: {checkout} has no src/rightseat")
    # Neither may pay for compiling.
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(sources)], check=True)

    def make_env(upstream: str) -> Mapping[str, str]:
        # The same hashes in both: the order of sets changes the work that a start has.
        return {**rightseat.PEER.env(upstream), "PYTHONPATH": str(sources), "PYTHONHASHSEED": "0"}

    return replace(rightseat.PEER, name=name, env=make_env)


async def measure_starts(session: BenchSession, rounds: int) -> list[Comparison]:
    """Measure CPU until ready, and memory after one answer, in processes that are started in turn."""
    cpu, rss, pss = (Figures({peer.name: [] for peer in session.peers}) for _ in range(3))
    for _ in range(rounds):
        for peer in session.peers:
            async with session.make_fresh_server(peer) as server:
                cpu[peer.name].append(server.startup_cpu_seconds * 1000)
                await run_orders(server.url, OPENAI, [StreamOrder(0, 3, RATE)], peer.key)
                rss[peer.name].append(server.rss_bytes / 1e6)
                pss[peer.name].append(process.measure_pss_bytes(server.pid) / 1e6)
    measures = (("start-up CPU", "ms", cpu), ("RSS after one answer", "MB", rss), ("PSS after one answer", "MB", pss))
    return [Comparison(measure, unit, found[BEFORE], found[NOW]) for measure, unit, found in measures]


async def measure_tokens(session: BenchSession, rounds: int, tokens: int = 120) -> list[Comparison]:
    """Measure CPU per paced token at each door."""
    found = await session.run_rounds("paced", rounds, tokens / RATE + 60, tokens=tokens)
    names = [door.name for door in rightseat.PEER.doors]
    return [
        Comparison(f"CPU per paced token, {name}", "µs", found[f"{BEFORE} {name}"], found[f"{NOW} {name}"])
        for name in names
    ]


def wrap_server(session: BenchSession, peer: BenchPeer, *command: str) -> RightseatProcess:
    """Return a server, not started yet, that another program starts."""
    line, env = peer.command(session.upstream), peer.env(session.upstream)
    return RightseatProcess(command=[*command, *line], env=env, start_timeout=COUNTED_START_SECONDS)


async def count_instructions(
    session: BenchSession, peer: BenchPeer, door: BenchDoor = OPENAI, orders: Sequence[StreamOrder] = ()
) -> float:
    """Count the instructions of a start, some answers and a stop, those in the kernel left out."""
    command = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", sys.executable)
    async with wrap_server(session, peer, *command) as server:
        await run_orders(server.url, door, orders, peer.key)
    match = _INSTRUCTIONS.search(server.stderr)
    if match is None:
        raise DriverFailed(f"valgrind has counted nothing\n{server.stderr[-2000:]}")
    return float(match[1].replace(",", ""))


async def count_starts(session: BenchSession) -> list[Comparison]:
    before, now = [await count_instructions(session, peer) / 1e6 for peer in session.peers]
    return [Comparison("instructions of a start", "M", [before], [now])]


async def count_tokens(session: BenchSession, peer: BenchPeer, door: BenchDoor) -> float:
    """Count the instructions per paced token: those of streams with many tokens, less those of streams with few."""
    few, many = [
        [StreamOrder(stream, rate * COUNTED_SECONDS, rate) for stream in range(COUNTED_STREAMS)]
        for rate in COUNTED_RATES
    ]
    less, more = [await count_instructions(session, peer, door, orders) for orders in (few, many)]
    return (more - less) / sum(dense.tokens - sparse.tokens for dense, sparse in zip(many, few, strict=True))


async def compare_counts(session: BenchSession, doors: Sequence[BenchDoor]) -> list[Comparison]:
    """Compare the instructions per paced token at some doors."""
    comparisons = []
    for door in doors:
        before, now = [await count_tokens(session, peer, door) / 1e3 for peer in session.peers]
        comparisons.append(Comparison(f"instructions per paced token, {door.name}", "k", [before], [now]))
    return comparisons


async def list_modules(session: BenchSession, peer: BenchPeer) -> set[str]:
    """List the modules that a start imports, and those of its first answer."""
    async with wrap_server(session, peer, sys.executable, "-X", "importtime") as server:
        await run_orders(server.url, OPENAI, [StreamOrder(0, 3, RATE)], peer.key)
    return set(_IMPORTED.findall(server.stderr))


async def compare(checkout: Path, rounds: int, counted_doors: Sequence[BenchDoor]) -> list[Comparison]:
    """Compare a checkout with this one, and print which modules only one of them imports."""
    peers = (make_checkout_peer(BEFORE, checkout), make_checkout_peer(NOW, ROOT))
    async with open_session(peers, short=False) as session:
        before, now = [await list_modules(session, peer) for peer in peers]
        print(f"modules only {NOW}: {', '.join(sorted(now - before)) or 'none'}")
        print(f"modules only {BEFORE}: {', '.join(sorted(before - now)) or 'none'}")
        comparisons = await count_starts(session) if shutil.which("valgrind") else []
        comparisons += await compare_counts(session, counted_doors)
        if rounds:
            comparisons += await measure_starts(session, rounds)
            comparisons += await measure_tokens(session, max(1, rounds // 3))
        return comparisons


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.against", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="the folder of the other checkout")
    rounds_help = "starts of each, and a third as many rounds of tokens; 0: only what is counted [15]"
    parser.add_argument("--rounds", type=int, default=15, help=rounds_help)
    doors = {door.name: door for door in rightseat.PEER.doors}
    tokens_help = "count the instructions per token too, at these doors or at all (3 minutes each)"
    parser.add_argument("--tokens", nargs="*", choices=list(doors), metavar="DOOR", help=tokens_help)
    args = parser.parse_args()
    if args.tokens is not None and not shutil.which("valgrind"):
        parser.error("--tokens needs valgrind")
    counted = [] if args.tokens is None else [doors[name] for name in args.tokens or doors]
    neighbours = OtherLoad()
    try:
        comparisons = asyncio.run(compare(args.checkout, args.rounds, counted))
    except DriverFailed as failure:
        print(f"bench: {failure}", file=sys.stderr)
        return 1
    for comparison in comparisons:
        print(comparison.format())
    facts = describe_machine([rightseat.PEER]) | {"others' share of the CPU": neighbours.format_share()}
    print("; ".join(f"{name} {value}" for name, value in facts.items()))
    return 0 if all(comparison.is_good for comparison in comparisons) else 1


if __name__ == "__main__":
    sys.exit(main())

"""`make eval`: mutated requests for each door, as a table in evals/mutations.md."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.fuzz.campaign import DOORS, HEADINGS, CampaignResult, count_requests, run_campaign, run_target

TABLE = Path(__file__).resolve().parents[2] / "evals" / "mutations.md"


async def run_campaigns(count: int) -> list[CampaignResult]:
    results = []
    for door in DOORS:
        async with run_target() as server:
            results.append(await run_campaign(door, count, server))
        print(f"{door}: {results[-1].count:,} requests in {results[-1].seconds:.0f} s", flush=True)
    return results


def format_table(lines: Iterable[Sequence[str]]) -> str:
    text = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([text[0], "|" + "---|" * len(HEADINGS), *text[1:]]) + "\n"


def main() -> int:
    results = asyncio.run(run_campaigns(count_requests()))
    report = "# Mutated requests\n\n" + format_table([HEADINGS, *(row.format_cells() for row in results)])
    faults = [fault for row in results for fault in row.faults]
    if faults:
        report += "\n" + "\n".join(f"- {fault}" for fault in faults[:50]) + "\n"
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(report, encoding="utf-8")
    print(report)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

"""`make eval`: mutated requests for each door, as a table in evals/mutations.md."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.fuzz.storm import DOORS, HEADINGS, Row, count_requests, storm, target

TABLE = Path(__file__).resolve().parents[2] / "evals" / "mutations.md"


async def rows(count: int) -> list[Row]:
    made = []
    for door in DOORS:
        async with target() as server:
            made.append(await storm(door, count, server))
        print(f"{door}: {made[-1].count:,} requests in {made[-1].seconds:.0f} s", flush=True)
    return made


def table(lines: Iterable[Sequence[str]]) -> str:
    text = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([text[0], "|" + "---|" * len(HEADINGS), *text[1:]]) + "\n"


def main() -> int:
    made = asyncio.run(rows(count_requests()))
    said = "# Mutated requests\n\n" + table([HEADINGS, *(row.cells() for row in made)])
    faults = [fault for row in made for fault in row.faults]
    if faults:
        said += "\n" + "\n".join(f"- {fault}" for fault in faults[:50]) + "\n"
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text(said, encoding="utf-8")
    print(said)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

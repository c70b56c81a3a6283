"""`make eval`: how many of fifty wordings make the demo call its clock and tell the time."""

import asyncio
import sys

from tests.demo.asking import answer, demo, tells_the_time
from tests.demo.wordings import WORDINGS


async def run() -> int:
    missed = []
    async with demo() as url:
        for wording in WORDINGS:
            text = await answer(url, wording)
            if not tells_the_time(text):
                missed.append(f"- {wording} → {' '.join(text.split())[:200]}")
    right = len(WORDINGS) - len(missed)
    print("\n".join([f"the demo's clock: {right} of {len(WORDINGS)} wordings", *missed]))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run()))

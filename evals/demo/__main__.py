"""`make eval`: how many of fifty wordings make the demo do what it is there to show."""

import asyncio
import sys

from evals.demo.asking import WISHES, Wish, called, demo, run, text


async def counted(url: str, wishes: list[Wish]) -> list[str]:
    """What went wrong."""
    missed = []
    for wish in wishes:
        events = await run(url, wish)
        if not wish.kept(events):
            brought = [*called(events), " ".join(text(events).split())[:200], events[-1].get("outcome", "")]
            missed.append(f"- {wish.wording} → {brought}")
    return missed


async def main() -> int:
    failed = 0
    async with demo() as url:
        for name, wishes in WISHES.items():
            for language, some in (
                ("English", [wish for wish in wishes if wish.wording.isascii()]),
                ("Chinese", [wish for wish in wishes if not wish.wording.isascii()]),
            ):
                missed = await counted(url, some)
                failed += len(missed)
                print(f"the demo's {name}, {language}: {len(some) - len(missed)} of {len(some)} wordings")
                print("\n".join(missed), end="\n" if missed else "", flush=True)
    whole = sum(map(len, WISHES.values()))
    print(f"the demo: {whole - failed} of {whole}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

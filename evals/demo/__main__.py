"""`make eval`: how many of sixty wordings make the demo do what it is there to show."""

import asyncio
import sys

from evals.demo.cases import CASES, DemoCase, join_text, list_called_tools, run_case, serve_demo


async def run_cases(url: str, cases: list[DemoCase]) -> list[str]:
    """What went wrong."""
    failures = []
    for wish in cases:
        events = await run_case(url, wish)
        if not wish.is_met(events):
            brought = [
                *list_called_tools(events),
                " ".join(join_text(events).split())[:200],
                events[-1].get("outcome", ""),
            ]
            failures.append(f"- {wish.wording} → {brought}")
    return failures


async def main() -> int:
    failed = 0
    async with serve_demo() as url:
        for name, wishes in CASES.items():
            for language, some in (
                ("English", [wish for wish in wishes if wish.wording.isascii()]),
                ("Chinese", [wish for wish in wishes if not wish.wording.isascii()]),
            ):
                missed = await run_cases(url, some)
                failed += len(missed)
                print(f"the demo's {name}, {language}: {len(some) - len(missed)} of {len(some)} wordings")
                print("\n".join(missed), end="\n" if missed else "", flush=True)
    whole = sum(map(len, CASES.values()))
    print(f"the demo: {whole - failed} of {whole}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))

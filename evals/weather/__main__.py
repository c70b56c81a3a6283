"""`make eval`: the embedded model with the seed's weather tools, as tables in evals/local.md.

`python -m evals.weather [OPTION=VALUE …]` tries the local model with other options, and writes nothing.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evals.weather.asking import Ask, Seen, bare, client, server
from evals.weather.cases import CURRENT, FORECAST, QUESTIONS, SEED, WORDS, Question, asked

PAGE = Path(__file__).resolve().parents[2] / "evals" / "local.md"
BEGIN = "<!-- figures: written by make eval -->"
HEADINGS = ("asked", "answers", "calls", "valid", "right tool", "and arguments", "words", "broken", "median s")
TIGHT = (8, 16, 24, 32, 48, 64)


@dataclass
class Row:
    name: str
    seen: list[tuple[Question | None, Seen]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    async def ask(self, ask: Ask, request: dict[str, object], question: Question | None = None) -> Seen:
        begun = time.monotonic()
        seen = await ask(request)
        self.seconds.append(time.monotonic() - begun)
        self.seen.append((question, seen))
        print(f"\r{self.name}: {len(self.seen)} ", end="", file=sys.stderr, flush=True)
        return seen

    @property
    def broken(self) -> int:
        return sum(seen.broken or bool(seen.error) for _, seen in self.seen)

    def cells(self) -> list[str]:
        calls = [(question, seen) for question, seen in self.seen if seen.calls and seen.finish != "length"]
        known = [(question, seen) for question, seen in self.seen if question is not None]
        right = f"{sum(seen.right(q) for q, seen in known)} of {len(known)}" if known else ""
        exact = f"{sum(seen.exact(q) for q, seen in known)} of {len(known)}" if known else ""
        valid = sum(seen.called for _, seen in calls)
        words = sum(bool(seen.content) and not seen.calls for _, seen in self.seen)
        return [
            self.name,
            str(len(self.seen)),
            str(len(calls)),
            f"{valid} of {len(calls)}" if calls else "",
            right,
            exact,
            str(words),
            str(self.broken),
            f"{statistics.median(self.seconds):.1f}",
        ]


async def choices(ask: Ask) -> list[Row]:
    rows = []
    for mode in ("auto", "required"):
        for stream in (False, True):
            row = Row(f"{mode}, {'streamed' if stream else 'whole'}")
            for question in QUESTIONS:
                await row.ask(ask, {**asked(question.text, mode), "stream": stream}, question)
            rows.append(row)
    for tool in (CURRENT, FORECAST):
        row = Row(f"named: {tool}")
        for number, question in enumerate(QUESTIONS[::2]):
            named = Question(question.text, tool, question.place)
            await row.ask(ask, {**asked(question.text, "named", tool), "stream": bool(number % 2)}, named)
        rows.append(row)
    row = Row("none")
    for number, question in enumerate(QUESTIONS[::4]):
        request = {**asked(question.text, "none"), "max_tokens": 40, "stream": bool(number % 2)}
        await row.ask(ask, request)
    return [*rows, row]


async def others(ask: Ask) -> list[Row]:
    words = Row("auto, nothing for a tool")
    for text in WORDS:
        await words.ask(ask, {**asked(text, "auto"), "max_tokens": 60})
    tight = Row(f"required, max_tokens {TIGHT[0]} to {TIGHT[-1]}")
    for number, question in enumerate(QUESTIONS):
        most = TIGHT[number % len(TIGHT)]
        await tight.ask(ask, {**asked(question.text, "required"), "max_tokens": most, "stream": bool(number % 2)})
    return [words, tight]


async def seed(ask: Ask) -> tuple[Row, list[str]]:
    row, lines = Row("the seed's requests"), []
    for request in SEED:
        seen = await row.ask(ask, request)
        said = "; ".join(f"{name} {arguments}" for name, arguments in seen.calls) or seen.content
        lines.append(f"- {request['messages'][-1]['content']} → {seen.finish}: {' '.join(said.split())[:300]}")
    return row, lines


async def baseline() -> Row:
    row = Row("the engine alone, auto and required")
    async with bare() as ask:
        for number, question in enumerate(QUESTIONS):
            mode = "required" if number % 2 else "auto"
            await row.ask(ask, {**asked(question.text, mode), "max_tokens": 150}, question)
    return row


def table(rows: Iterable[Sequence[str]]) -> str:
    text = [f"| {' | '.join(cells)} |" for cells in (HEADINGS, *rows)]
    return "\n".join([text[0], "|" + "---|" * len(HEADINGS), *text[1:]])


async def run(options: Sequence[str]) -> int:
    async with server("\n".join(options)) as running, client(running.url) as (version, ask):
        rows = await choices(ask)
        rows += await others(ask)
        row, lines = await seed(ask)
    alone = [] if options else [await baseline()]
    made = [*rows, row]
    said = table([one.cells() for one in (*made, *alone)]) + "\n\nThe seed's requests:\n\n" + "\n".join(lines)
    print(f"openai {version}\n{said}")
    if not options:
        before = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
        PAGE.write_text(f"{before}{BEGIN}\n\n{said}\n", encoding="utf-8")
    return 1 if any(one.broken for one in made) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1:])))

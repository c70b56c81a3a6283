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

from evals.weather.cases import CURRENT, FORECAST, PROMPTS_WITHOUT_TOOL, QUESTIONS, SEED, Question, make_request
from evals.weather.runs import AskModel, ToolAnswer, open_client, open_engine, serve_model

PAGE = Path(__file__).resolve().parents[2] / "evals" / "local.md"
BEGIN = "<!-- figures: written by make eval -->"
HEADINGS = ("asked", "answers", "calls", "valid", "right tool", "and arguments", "words", "broken", "median s")
SMALL_TOKEN_LIMITS = (8, 16, 24, 32, 48, 64)


@dataclass
class EvalRow:
    name: str
    answers: list[tuple[Question | None, ToolAnswer]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    async def ask(self, ask: AskModel, request: dict[str, object], question: Question | None = None) -> ToolAnswer:
        begun = time.monotonic()
        seen = await ask(request)
        self.seconds.append(time.monotonic() - begun)
        self.answers.append((question, seen))
        print(f"\r{self.name}: {len(self.answers)} ", end="", file=sys.stderr, flush=True)
        return seen

    @property
    def broken_count(self) -> int:
        return sum(seen.has_invalid_call or bool(seen.error) for _, seen in self.answers)

    def format_cells(self) -> list[str]:
        calls = [(question, seen) for question, seen in self.answers if seen.calls and seen.finish != "length"]
        known = [(question, seen) for question, seen in self.answers if question is not None]
        right = f"{sum(seen.has_right_tool(q) for q, seen in known)} of {len(known)}" if known else ""
        exact = f"{sum(seen.has_right_arguments(q) for q, seen in known)} of {len(known)}" if known else ""
        valid = sum(seen.has_valid_calls for _, seen in calls)
        words = sum(bool(seen.content) and not seen.calls for _, seen in self.answers)
        return [
            self.name,
            str(len(self.answers)),
            str(len(calls)),
            f"{valid} of {len(calls)}" if calls else "",
            right,
            exact,
            str(words),
            str(self.broken_count),
            f"{statistics.median(self.seconds):.1f}",
        ]


async def run_tool_choices(ask: AskModel) -> list[EvalRow]:
    rows = []
    for mode in ("auto", "required"):
        for stream in (False, True):
            row = EvalRow(f"{mode}, {'streamed' if stream else 'whole'}")
            for question in QUESTIONS:
                await row.ask(ask, {**make_request(question.text, mode), "stream": stream}, question)
            rows.append(row)
    for tool in (CURRENT, FORECAST):
        row = EvalRow(f"named: {tool}")
        for number, question in enumerate(QUESTIONS[::2]):
            named = Question(question.text, tool, question.place)
            await row.ask(ask, {**make_request(question.text, "named", tool), "stream": bool(number % 2)}, named)
        rows.append(row)
    row = EvalRow("none")
    for number, question in enumerate(QUESTIONS[::4]):
        request = {**make_request(question.text, "none"), "max_tokens": 40, "stream": bool(number % 2)}
        await row.ask(ask, request)
    return [*rows, row]


async def run_edge_cases(ask: AskModel) -> list[EvalRow]:
    words = EvalRow("auto, nothing for a tool")
    for text in PROMPTS_WITHOUT_TOOL:
        await words.ask(ask, {**make_request(text, "auto"), "max_tokens": 60})
    tight = EvalRow(f"required, max_tokens {SMALL_TOKEN_LIMITS[0]} to {SMALL_TOKEN_LIMITS[-1]}")
    for number, question in enumerate(QUESTIONS):
        most = SMALL_TOKEN_LIMITS[number % len(SMALL_TOKEN_LIMITS)]
        await tight.ask(
            ask, {**make_request(question.text, "required"), "max_tokens": most, "stream": bool(number % 2)}
        )
    return [words, tight]


async def run_seed_requests(ask: AskModel) -> tuple[EvalRow, list[str]]:
    row, lines = EvalRow("the seed's requests"), []
    for request in SEED:
        seen = await row.ask(ask, request)
        said = "; ".join(f"{name} {arguments}" for name, arguments in seen.calls) or seen.content
        lines.append(f"- {request['messages'][-1]['content']} → {seen.finish}: {' '.join(said.split())[:300]}")
    return row, lines


async def run_baseline() -> EvalRow:
    row = EvalRow("the engine alone, auto and required")
    async with open_engine() as ask:
        for number, question in enumerate(QUESTIONS):
            mode = "required" if number % 2 else "auto"
            await row.ask(ask, {**make_request(question.text, mode), "max_tokens": 150}, question)
    return row


def format_table(rows: Iterable[Sequence[str]]) -> str:
    text = [f"| {' | '.join(cells)} |" for cells in (HEADINGS, *rows)]
    return "\n".join([text[0], "|" + "---|" * len(HEADINGS), *text[1:]])


async def run(options: Sequence[str]) -> int:
    async with serve_model("\n".join(options)) as running, open_client(running.url) as (version, ask):
        rows = await run_tool_choices(ask)
        rows += await run_edge_cases(ask)
        row, lines = await run_seed_requests(ask)
    alone = [] if options else [await run_baseline()]
    made = [*rows, row]
    said = (
        format_table([one.format_cells() for one in (*made, *alone)])
        + "\n\nThe seed's requests:\n\n"
        + "\n".join(lines)
    )
    print(f"openai {version}\n{said}")
    if not options:
        before = PAGE.read_text(encoding="utf-8").partition(BEGIN)[0]
        PAGE.write_text(f"{before}{BEGIN}\n\n{said}\n", encoding="utf-8")
    return 1 if any(one.broken_count for one in made) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1:])))

"""python -m train.evaluate NAME=OPTIONS … [--part PART] [--jobs N] [--every N] [--out FILE]: by llama.cpp.

NAME is a row of the table, and PART is `dev` or `final`. OPTIONS is `embedded`, as it is shipped, `weights`, the
same without the checks of answers, or the model's options as JSON, with `"free": true` for answers without a
grammar and `"adapter": FILE` for another adapter. N jobs, as many as there are cores, ask N models of one thread
each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import msgspec

from rightseat.engine.structured import SCHEMA_INSTRUCTION
from rightseat.models.llamacpp import options, weights
from rightseat.types import chunks
from rightseat.types.messages import text_message
from rightseat.types.model import Model, Prompt, RawPrompt, SamplingSettings
from rightseat.types.schema import get_validator
from train.example import Example
from train.questions import HeldOutQuestion, load_questions
from train.render import Renderer

MAX_TOKENS = 160
_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)
SETTINGS = SamplingSettings(temperature=0, max_tokens=MAX_TOKENS)


@dataclass
class EvaluatedAnswer:
    item: HeldOutQuestion
    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    valid: bool = True
    seconds: float = 0

    @property
    def tool(self) -> bool:
        names = sorted(name for name, _ in self.calls)
        return any(names == sorted(name for name, _ in right) for right in self.item.calls)

    @property
    def exact(self) -> bool:
        made = sorted(map(_key, self.calls))
        return any(made == sorted(map(_key, right)) for right in self.item.calls)

    @property
    def told(self) -> bool:
        """Words with all that was wanted, and no call. The result itself, written out again, is no answer."""
        text = self.text.lower()
        echoed = "tool_response" in text or text.lstrip().startswith(("{", "[", "|"))
        return not self.calls and not echoed and all(any(_in(w.lower(), text) for w in one) for one in self.item.words)

    @property
    def right(self) -> bool:
        if self.item.kind == "call":
            return self.exact
        return not self.calls if self.item.kind == "none" else self.told


def _in(word: str, text: str) -> bool:
    """A number must not be a part of another one."""
    return bool(re.search(rf"(?<![\d.]){re.escape(word)}(?![\d])", text)) if word[0].isdigit() else word in text


def _key(call: tuple[str, Any]) -> str:
    return json.dumps(call, sort_keys=True, ensure_ascii=False)


async def ask_model(model: Model, item: HeldOutQuestion) -> EvaluatedAnswer:
    """Through our own prompt, grammar and reader."""
    seen, begun = EvaluatedAnswer(item), time.monotonic()
    arguments: list[str] = []
    prompt = Prompt(messages=item.messages, tools=item.tools, settings=SETTINGS)
    async for fragment in model.stream(prompt):
        if isinstance(fragment, chunks.TextChunk):
            seen.text += fragment.text
        elif isinstance(fragment, chunks.ToolCallStart):
            seen.calls.append((fragment.name, None))
            arguments.append("")
        elif isinstance(fragment, chunks.ToolCallArgs):
            arguments[fragment.index] += fragment.json
    _record_calls(seen, [(name, text) for (name, _), text in zip(seen.calls, arguments, strict=True)])
    seen.seconds = time.monotonic() - begun
    return seen


async def ask_without_grammar(model: Model, item: HeldOutQuestion, renderer: Renderer) -> EvaluatedAnswer:
    """The same prompt, and whatever the model writes."""
    seen, begun = EvaluatedAnswer(item), time.monotonic()
    text = renderer.render_prompt(Example(item.skill, item.tools, item.messages))
    raw = Prompt(messages=(), raw=RawPrompt(text), settings=SETTINGS)
    async for fragment in model.stream(raw):
        if isinstance(fragment, chunks.TextChunk):
            seen.text += fragment.text
    found = []
    for body in _CALL.findall(seen.text):
        try:
            made = json.loads(body)
            found.append((str(made["name"]), json.dumps(made["arguments"])))
        except (ValueError, KeyError, TypeError):
            seen.valid = False
    seen.valid = seen.valid and seen.text.count("<tool_call>") == len(found)
    _record_calls(seen, found)
    seen.seconds = time.monotonic() - begun
    return seen


def _record_calls(seen: EvaluatedAnswer, made: Sequence[tuple[str, str]]) -> None:
    schemas = {tool.name: tool.parameters for tool in seen.item.tools}
    seen.calls = []
    for name, text in made:
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        seen.calls.append((name, value))
        if name not in schemas or value is None or get_validator(schemas[name]).find_problem(value) is not None:
            seen.valid = False


def make_model(given: str, jobs: int) -> tuple[Model, bool]:
    threads = {"threads": 1} if jobs > 1 else {}
    if given == "embedded":
        return options.make_local_model("", threads), False
    if given == "weights":
        return options.make_unchecked_model("", threads), False
    asked = threads | json.loads(given)
    free = asked.pop("free", False)
    if adapter := asked.pop("adapter", None):
        asked |= {"lora": adapter, "tool_format": "signatures"}
    return options.make_local_model(str(weights.require_weights()), asked), free


async def is_step_chosen(model: Model, item: HeldOutQuestion) -> bool:
    """The item's steps as the values of a schema: whether the right one was said."""
    names = [tool.name for tool in item.tools]
    schema = {"type": "string", "enum": names}
    listed = "\n".join(f"- {tool.name}: {tool.description}" for tool in item.tools)
    asked = f"{item.question}\n\n{'选择下一步：' if item.zh else 'Choose the next step:'}\n{listed}"
    told = text_message("system", SCHEMA_INSTRUCTION + msgspec.json.encode(schema).decode())
    prompt = Prompt(messages=(told, text_message("user", asked)), output_schema=schema, settings=SETTINGS)
    texts = [chunk.text async for chunk in model.stream(prompt) if isinstance(chunk, chunks.TextChunk)]
    return "".join(texts) == f'"{item.calls[0][0][0]}"'


async def evaluate_items(
    given: str, chosen: Sequence[HeldOutQuestion], jobs: int
) -> tuple[list[EvaluatedAnswer], list[bool]]:
    """What was seen of each question, and of the choices which were right as values of a schema."""
    model, free = make_model(given, jobs)
    renderer = await asyncio.to_thread(Renderer.from_base_model)
    steps = [item for item in chosen if item.skill == "choices" and not free]
    try:
        seen = [
            await (ask_without_grammar(model, item, renderer) if free else ask_model(model, item)) for item in chosen
        ]
        return seen, [await is_step_chosen(model, item) for item in steps]
    finally:
        await model.close()


def run_job(given: str, chosen: Sequence[HeldOutQuestion], jobs: int) -> tuple[list[EvaluatedAnswer], list[bool]]:
    return asyncio.run(evaluate_items(given, chosen, jobs))


def evaluate_in_processes(
    given: str, chosen: Sequence[HeldOutQuestion], jobs: int
) -> tuple[list[EvaluatedAnswer], list[bool]]:
    """By several processes, each with a model of its own."""
    if jobs == 1:
        return run_job(given, chosen, jobs)
    with ProcessPoolExecutor(jobs) as pool:
        shares = [chosen[start::jobs] for start in range(jobs)]
        found = list(pool.map(run_job, repeat(given), shares, repeat(jobs)))
    return [one for seen, _ in found for one in seen], [one for _, steps in found for one in steps]


def format_share(seen: Sequence[EvaluatedAnswer], name: str) -> str:
    good = sum(bool(getattr(one, name)) for one in seen)
    return f"{100 * good / len(seen):.0f} % ({good}/{len(seen)})" if seen else "-"


def format_cells(seen: Sequence[EvaluatedAnswer], steps: Sequence[bool]) -> list[str]:
    of = {kind: [one for one in seen if one.item.kind == kind] for kind in ("call", "none", "ask", "say")}
    tools = [one for one in of["call"] if one.item.skill == "calls"]
    choices = [one for one in of["call"] if one.item.skill == "choices"]
    first = [one for one in seen if one.item.skill in ("calls", "missing")]
    silent = [one for one in first if not one.calls]
    idle = [one for one in first if one.item.kind in ("none", "ask")]
    precision = [one for one in silent if one.item.kind in ("none", "ask")]
    made = [one for one in seen if one.calls or not one.valid]
    return [
        format_share(tools, "tool"),
        format_share(tools, "exact"),
        f"{len(precision)}/{len(silent)}, {sum(not one.calls for one in idle)}/{len(idle)}",
        format_share(of["ask"], "told"),
        format_share(of["say"], "told"),
        format_share(choices, "exact"),
        f"{sum(steps)}/{len(steps)}",
        format_share(made, "valid"),
        format_share([one for one in seen if not one.item.zh], "right"),
        format_share([one for one in seen if one.item.zh], "right"),
        f"{sum(one.seconds for one in seen) / len(seen):.2f}",
    ]


HEADINGS = [
    "",
    "right tool",
    "and arguments",
    "no call: precision, recall",
    "asks for what is missing",
    "answers from a result",
    "choice of a step",
    "as a schema",
    "valid",
    "all, English",
    "all, Chinese",
    "s each",
]


def format_miss(one: EvaluatedAnswer) -> str:
    made = "; ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in one.calls)
    words = " ".join(one.text.split())
    return f"{one.item.skill} [{one.item.set}] {one.item.question} | wanted {one.item.wanted} | {made or words}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--part", default="dev")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--skill")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    chosen = [item for item in load_questions(given.part) if given.skill in (None, item.skill)][:: given.every]
    lines = [f"| {' | '.join(HEADINGS)} |", f"|{'---|' * len(HEADINGS)}"]
    for named in given.rows:
        name, _, how = named.partition("=")
        seen, steps = evaluate_in_processes(how, chosen, given.jobs)
        lines.append(f"| {name} | {' | '.join(format_cells(seen, steps))} |")
        print(lines[-1], flush=True)
        if given.out:
            with given.out.open("a", encoding="utf-8") as file:
                file.writelines(f"{name}: {format_miss(one)}\n" for one in seen if not one.right)
    print("\n".join(lines))


if __name__ == "__main__":
    main()

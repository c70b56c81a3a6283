"""In-memory log of the prompts and grammars that local models got, by run; the playground shows it."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from rightseat.runtime.incidents import current_thread_and_run

MAX_RUNS, MAX_PROMPTS_PER_RUN = 32, 8
MAX_CHARS = 200_000


class LoggedPrompt(Struct, frozen=True):
    model: str
    prompt: str
    grammar: str


_prompts_by_run: OrderedDict[str, list[LoggedPrompt]] = OrderedDict()


def record_prompt(model: str, prompt: str, grammar: str) -> None:
    """Record a prompt for the current run; does nothing outside a run."""
    _, run = current_thread_and_run()
    if not run:
        return
    prompts = _prompts_by_run.setdefault(run, [])
    _prompts_by_run.move_to_end(run)
    if len(prompts) < MAX_PROMPTS_PER_RUN:
        prompts.append(LoggedPrompt(model, prompt[:MAX_CHARS], grammar[:MAX_CHARS]))
    while len(_prompts_by_run) > MAX_RUNS:
        _prompts_by_run.popitem(last=False)


def get_prompts(run: str) -> list[LoggedPrompt]:
    return _prompts_by_run.get(run, [])

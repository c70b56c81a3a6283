"""In-memory log of the prompts and grammars that local models got, by run; the playground shows it."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from rightseat.runtime.incidents import working_on

RUNS, EACH = 32, 8
MOST = 200_000


class Asked(Struct, frozen=True):
    model: str
    prompt: str
    grammar: str


_kept: OrderedDict[str, list[Asked]] = OrderedDict()


def keep(model: str, prompt: str, grammar: str) -> None:
    """Record a prompt for the current run; does nothing outside a run."""
    _, run = working_on()
    if not run:
        return
    found = _kept.setdefault(run, [])
    _kept.move_to_end(run)
    if len(found) < EACH:
        found.append(Asked(model, prompt[:MOST], grammar[:MOST]))
    while len(_kept) > RUNS:
        _kept.popitem(last=False)


def kept(run: str) -> list[Asked]:
    return _kept.get(run, [])

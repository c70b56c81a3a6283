"""The dialect of EulerCopilot 0.9.3: its names of params, and the blocks `{% if … %}` of its templates.

Its variables `last`, `storage` and `STEP.output` are in `templates`, its step kind `reformat` is in `steps/dialog`. The
rest of Jinja is refused when the flow is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from rightseat.plugins.flows.step_context import StepError

LAST, STORAGE, HISTORY = "last", "storage", "history"
DIALECT_NAMES = (LAST, STORAGE, HISTORY)
"""Variables of the dialect; a step of that name goes before them."""
OUTPUT_KEYS = ("output", "message")
PARAM_NAMES = {("sql", "statement"): "sql", ("choice", "propose"): "instruction"}
"""Our name of a param by step kind and name."""
BLOCK_FIX = "Write {% if NAME %}, {% elif NAME %}, {% else %} and {% endif %} only, or use a choice or loop step."
# The line break after a block and the indent before it belong to the block.
_BLOCK = re.compile(r"(?:^[ \t]*)?\{%[-+]?([^{}%\n]{0,200}?)[-+]?%\}\n?", re.MULTILINE)
_CONDITION = re.compile(r"(?:(?:el)?if)\s+(not\s+)?([^\s|()=<>!+*/,'\"]+)")
IF, ELIF, ELSE, ENDIF = "if", "elif", "else", "endif"


class InvalidTemplate(StepError):
    """A block of the template is not supported, or not closed."""


def translate_params(kind: str, params: dict[str, Any]) -> dict[str, Any]:
    """Return the params under our names; ValueError where one is given under both."""
    names = {name: PARAM_NAMES.get((kind, name), name) for name in params}
    for name, own_name in names.items():
        if name != own_name and own_name in params:
            raise ValueError(f"It has both {name!r} and {own_name!r}, which mean the same. Write one.")
    return {names[name]: value for name, value in params.items()}


def select_blocks(text: str, holds: Callable[[str], bool]) -> str:
    """Return the template without its blocks, and without the text of those whose condition does not hold."""
    if "{%" not in text:
        return text
    kept: list[str] = []
    # For each open `if`: whether its text is kept now, and whether a branch was kept already.
    levels: list[tuple[bool, bool]] = []
    place = 0
    for block in _BLOCK.finditer(text):
        if all(is_kept for is_kept, _ in levels):
            kept.append(text[place : block.start()])
        place = block.end()
        keyword, negated, path = parse_block(block[1].strip())
        if keyword != IF and not levels:
            raise InvalidTemplate(f"There is no {{% if %}} before {{% {block[1].strip()} %}}.")
        if keyword == IF:
            is_kept = holds(path) != negated
            levels.append((is_kept, is_kept))
        elif keyword == ENDIF:
            levels.pop()
        else:
            had_branch = levels[-1][1]
            is_kept = not had_branch and (keyword == ELSE or holds(path) != negated)
            levels[-1] = (is_kept, had_branch or is_kept)
    if levels:
        raise InvalidTemplate("An {% if %} is not closed by {% endif %}.")
    return "".join([*kept, text[place:]])


def parse_block(content: str) -> tuple[str, bool, str]:
    """Return keyword, negation and path of a block."""
    if content in (ELSE, ENDIF):
        return content, False, ""
    match = _CONDITION.fullmatch(content)
    if match is None:
        raise InvalidTemplate(f"{{% {content} %}} is not supported.")
    return content.split()[0], match[1] is not None, match[2]


def iter_texts(value: Any) -> Iterator[str]:
    """Yield all strings within a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from iter_texts(inner)

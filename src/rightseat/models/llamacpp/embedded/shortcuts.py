"""Shortcuts: questions that rules recognise, answered by a tool call without asking the weights.

A model of this size cannot write a formula or SQL, and it confuses tools that a question does not need. A
shortcut makes the call for questions that it is sure of; its tool is shown to the weights only for questions
that it calls related.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from rightseat.types.language import Language
from rightseat.types.model import ToolSpec

Match = Callable[[str], dict[str, Any] | None]
"""Returns the arguments of a call, or None if the question is for something else."""
Describe = Callable[[str, dict[str, Any], str, Language], str | None]
"""Returns the answer from question, arguments, result and language; None: the weights answer."""
NEVER = re.compile(r"(?!)")


class Shortcut(Struct, frozen=True):
    """Rules of one tool."""

    tool: str
    match: Match
    parameters: frozenset[str]
    """Names of the tool's parameters: another tool of the same name is left alone."""
    describe: Describe | None = None
    related: re.Pattern[str] = NEVER
    """Questions for which the weights are shown the tool."""
    summaries: Mapping[Language, str] = {}
    """What the tool is for, in a person's language."""
    missing: Mapping[Language, str] = {}
    """Question for the value that a related question lacks."""


class ShortcutMatch(Struct, frozen=True):
    shortcut: Shortcut
    arguments: dict[str, Any]


def select_shortcuts(shortcuts: Mapping[str, Shortcut], tools: tuple[ToolSpec, ...]) -> dict[str, Shortcut]:
    """Return the shortcuts of the tools that are offered, by name."""
    return {
        tool.name: shortcut
        for tool in tools
        if (shortcut := shortcuts.get(tool.name)) is not None
        and shortcut.parameters == frozenset(tool.parameters.get("properties") or ())
    }


def find_shortcut(shortcuts: Mapping[str, Shortcut], question: str, context: str) -> ShortcutMatch | None:
    """Return the first shortcut that matches the question, alone or after the context."""
    texts = (question, f"{context}\n\n{question}") if context else (question,)
    for text in texts:
        for shortcut in shortcuts.values():
            arguments = shortcut.match(text)
            if arguments is not None:
                return ShortcutMatch(shortcut, arguments)
    return None


def select_tools(shortcuts: Mapping[str, Shortcut], tools: tuple[ToolSpec, ...], question: str) -> tuple[ToolSpec, ...]:
    """Return the tools that the weights are shown."""
    return tuple(tool for tool in tools if tool.name not in shortcuts or shortcuts[tool.name].related.search(question))


def find_missing_question(
    shortcuts: Mapping[str, Shortcut], shown_tools: tuple[ToolSpec, ...], language: Language
) -> str | None:
    """Return the question for what a related question lacks, if the weights were shown its tool and did not call it."""
    found = [shortcuts[tool.name].missing for tool in shown_tools if tool.name in shortcuts]
    return next((missing[language] for missing in found if missing), None)


# The recognizers are imported with the first question: start-up does not pay for their rules.


def _match_calculation(question: str) -> dict[str, Any] | None:
    from rightseat.tools.builtin.match_calculation import match_calculation

    return match_calculation(question)


def _match_table_question(question: str) -> dict[str, Any] | None:
    from rightseat.tools.builtin.match_table import match_table_question

    return match_table_question(question)


def _match_fact(question: str) -> dict[str, Any] | None:
    from rightseat.tools.builtin.facts import find_fact

    return {"question": question} if find_fact(question) else None


def _describe_fact(_question: str, _arguments: dict[str, Any], result: str, _language: Language) -> str:
    return result


def _describe_result(question: str, arguments: dict[str, Any], result: str, language: Language) -> str | None:
    from rightseat.tools.builtin.describe import describe_result

    if not all(isinstance(value, str) for value in arguments.values()):
        return None
    return describe_result(question, arguments, result, language) or None


BUILTIN_SHORTCUTS = (
    Shortcut(
        "calculate",
        _match_calculation,
        frozenset(["expression"]),
        _describe_result,
        summaries={
            "en": "Calculate: sums, percentages, units, days between dates, the time in a city.",
            "zh": "计算：四则运算、百分比、单位换算、日期相差的天数、各地的时间。",
        },
    ),
    Shortcut(
        "table_query",
        _match_table_question,
        frozenset(["table", "sql"]),
        _describe_result,
        summaries={
            "en": "Answer questions about a table that you paste: the largest, the total, a difference.",
            "zh": "回答您粘贴的表格里的问题：最大值、合计、差值等。",
        },
    ),
    Shortcut(
        "facts",
        _match_fact,
        frozenset(["question"]),
        _describe_fact,
        summaries={
            "en": "Look up facts: capitals and currencies, famous places and works, abbreviations, records.",
            "zh": "查常识：各国首都和货币、名胜和名著、缩写、世界之最等。",
        },
    ),
)

"""Repair invalid YAML that is common in plugins, such as single backslashes in double quotes."""

from __future__ import annotations

import re

from rightseat.plugins.compose import ComposedYaml, InvalidYaml, compose_yaml

MAX_REPARSED = 16 << 20
"""Characters parsed in total: each repair parses the text from the start."""
_LONE_BACKSLASH = r"\\(?![0abtnvfreN_LPxuU\"/\\ \t\n\r])"
_ESCAPE = re.compile(_LONE_BACKSLASH + r'|\\.|"', re.DOTALL)
_PATTERN = re.compile(r'(?<=\bpattern:) +"(?:[^"\\\n]|\\.)*"')
_CONTROL = re.compile("[\x7f-\x84\x86-\x9f]")
# A blank line with tabs: libyaml reports a wrong indent.
_TABBED_BLANK_LINE = re.compile(r"^[ \t]*\t[ \t]*$", re.MULTILINE)


def replace_control_characters(text: str) -> tuple[str, int]:
    """Replace control characters (traces of a wrong encoding); return the text and the line of the first."""
    first = _CONTROL.search(text)
    if first is None:
        return text, 0
    return _CONTROL.sub("\ufffd", text), text.count("\n", 0, first.start()) + 1


def compose_with_repairs(text: str) -> tuple[ComposedYaml, list[int]]:
    """Compose YAML, doubling backslashes as in `"[\\d]"`; return the value and the repaired lines."""
    characters_read, lines = 0, set[int]()
    while True:
        characters_read += len(text)
        try:
            return compose_yaml(text), sorted(lines)
        except InvalidYaml as error:
            if error.has_tab and (spaced := _TABBED_BLANK_LINE.sub("", text)) != text:
                text = spaced
                continue
            if error.escape is None or characters_read > MAX_REPARSED:
                raise
            text = double_backslashes(text, error.escape)
            lines.add(error.line)
            if len(lines) == 1:
                # One pattern like this means that all of them are.
                text = repair_patterns(text, lines)


def double_backslashes(text: str, start: int) -> str:
    """Double the lone backslashes from `start` to the closing quote."""
    parts, at = [text[:start]], start
    for match in _ESCAPE.finditer(text, start):
        parts += (text[at : match.start()], "\\\\" if match[0] == "\\" else match[0])
        at = match.end()
        if match[0] == '"':
            break
    return "".join((*parts, text[at:]))


def repair_patterns(text: str, lines: set[int]) -> str:
    line, at = 1, 0

    def repair(match: re.Match[str]) -> str:
        nonlocal line, at
        made = re.sub(_LONE_BACKSLASH + r"|\\.", lambda one: "\\\\" if one[0] == "\\" else one[0], match[0])
        line, at = line + text.count("\n", at, match.start()), match.start()
        if made != match[0]:
            lines.add(line)
        return made

    return _PATTERN.sub(repair, text)

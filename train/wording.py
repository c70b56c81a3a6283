"""How users ask: a tool's wordings filled with values, and what people write around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from train.catalogue import Tool
from train.draw import Draw, capital
from train.kinds import drawn

GREETINGS = {"de": "Hallo, ", "fr": "Bonjour, ", "es": "Hola, "}


@dataclass
class Filled:
    """Values for a tool's arguments by their index, and the words for them."""

    values: dict[int, Any] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    extras: list[str] = field(default_factory=list)


def fill(text: str, filled: Filled) -> str:
    return re.sub(r"\{(\d)\}", lambda found: filled.words[int(found[1])], text)


def values(draw: Draw, tool: Tool, zh: bool, options: bool = True) -> Filled:
    filled = Filled()
    for index in tool.required:
        value, words = drawn(draw, tool.parameters[index].kind, zh)
        for _ in range(8):
            if words not in filled.words.values():
                break
            value, words = drawn(draw, tool.parameters[index].kind, zh)
        filled.values[index], filled.words[index] = value, words
    _in_order(tool, filled)
    if options:
        _add_options(draw, tool, filled, zh)
    return filled


def _in_order(tool: Tool, filled: Filled) -> None:
    dates = [index for index in filled.values if tool.parameters[index].kind == "date"]
    if len(dates) == 2 and filled.values[dates[0]] > filled.values[dates[1]]:
        for held in (filled.values, filled.words):
            held[dates[0]], held[dates[1]] = held[dates[1]], held[dates[0]]


def _add_options(draw: Draw, tool: Tool, filled: Filled, zh: bool) -> None:
    share = draw.one([0, 0.3, 0.5, 0.8])
    optional = [index for index, parameter in enumerate(tool.parameters) if not parameter.required]
    for place, index in enumerate(optional):
        parameter = tool.parameters[index]
        words = (tool.zh_words[place] if place < len(tool.zh_words) else "") if zh else parameter.words
        if not words or not draw.chance(share):
            continue
        if parameter.kind == "bool":
            chosen = draw.one(words.split("/"))
            filled.values[index] = chosen[0] == "+"
            filled.extras.append(chosen[1:])
        else:
            value, said = drawn(draw, parameter.kind, zh)
            filled.values[index] = value
            filled.extras.append(words.replace("{}", said))


def verbal(draw: Draw, wording: str) -> bool:
    """Whether it begins with a verb, so that "please" may stand before it."""
    return wording.split()[0] not in draw.words["not_verbs"]


def imperative(draw: Draw, wording: str) -> str:
    frame = draw.one(draw.words["asked" if verbal(draw, wording) else "asked_plain"])
    return frame.replace("{I}", capital(wording)).replace("{i}", wording)


def question(draw: Draw, tool: Tool, filled: Filled, language: str) -> str:
    if language == "zh":
        return chinese(draw, tool, filled)
    if language != "en":
        return draw.one(["", "", "", GREETINGS[language]]) + fill(draw.one(tool.others[language]), filled)
    extras = draw.some(filled.extras, len(filled.extras))
    added = "".join((" " if draw.chance(0.8) else ", ") + extra for extra in extras)
    mark, wording = draw.one(tool.asks)
    if mark == "!":
        text = imperative(draw, wording + "\0")
    elif mark == "?":
        text = (capital(wording) if draw.chance(0.75) else wording) + "\0" + ("?" if draw.chance(0.85) else "")
    else:
        text = capital(wording) + "\0" + draw.one([".", "", "."])
    text = around(draw, fill(text, filled).replace("\0", added))
    return re.sub(r"\.\.$", ".", text)


def around(draw: Draw, text: str) -> str:
    if draw.chance(0.16):
        text = f"{draw.word('lead')} {text}"
    if draw.chance(0.1):
        text += ("" if text[-1] in ".?!" else ".") + f" {draw.word('trail')}"
    return text.lower() if draw.chance(0.02) and text.isascii() and not re.search(r"\d", text) else text


def around_zh(draw: Draw, text: str) -> str:
    if draw.chance(0.14):
        text = draw.word("lead", True) + text
    if draw.chance(0.08):
        text += ("" if text[-1] in "。？！" else "。") + draw.word("trail", True)
    return text


def chinese(draw: Draw, tool: Tool, filled: Filled) -> str:
    wording = draw.one(tool.zh_asks)
    tail = wording[-1] if wording[-1] in "？。" else ""
    text = fill(wording.rstrip("？。"), filled) + "".join(f"，{extra}" for extra in filled.extras) + tail
    ending = draw.one(["", "", "谢谢"] if tail else ["", "", "", "，谢谢", "。"])
    return around_zh(draw, draw.one(["", "", "", "请", "麻烦", "你好，", "帮忙"]) + text + ending)


def short(draw: Draw, tool: Tool, filled: Filled, zh: bool) -> str:
    """A wish that can be joined to another one."""
    if zh:
        return fill(draw.one(tool.zh_asks).rstrip("？。"), filled) + "".join(f"，{x}" for x in filled.extras)
    wishes = [wording for mark, wording in tool.asks if mark == "!"]
    wording = draw.one([wish for wish in wishes if verbal(draw, wish)] or wishes)
    return fill(wording, filled) + "".join(f" {extra}" for extra in filled.extras)

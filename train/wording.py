"""How users ask: a tool's wordings filled with values, and what people write around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from train.catalogue import Tool
from train.draw import Draw, capitalise
from train.kinds import draw_value

GREETINGS = {"de": "Hallo, ", "fr": "Bonjour, ", "es": "Hola, "}


@dataclass
class FilledArguments:
    """Values for a tool's arguments by their index, and the words for them."""

    values: dict[int, Any] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    extras: list[str] = field(default_factory=list)


def fill_placeholders(text: str, filled: FilledArguments) -> str:
    return re.sub(r"\{(\d)\}", lambda found: filled.words[int(found[1])], text)


def draw_arguments(draw: Draw, tool: Tool, zh: bool, options: bool = True) -> FilledArguments:
    filled = FilledArguments()
    for index in tool.required:
        value, words = draw_value(draw, tool.parameters[index].kind, zh)
        for _ in range(8):
            if words not in filled.words.values():
                break
            value, words = draw_value(draw, tool.parameters[index].kind, zh)
        filled.values[index], filled.words[index] = value, words
    _sort_dates(tool, filled)
    if options:
        _add_options(draw, tool, filled, zh)
    return filled


def _sort_dates(tool: Tool, filled: FilledArguments) -> None:
    dates = [index for index in filled.values if tool.parameters[index].kind == "date"]
    if len(dates) == 2 and filled.values[dates[0]] > filled.values[dates[1]]:
        for held in (filled.values, filled.words):
            held[dates[0]], held[dates[1]] = held[dates[1]], held[dates[0]]


def _add_options(draw: Draw, tool: Tool, filled: FilledArguments, zh: bool) -> None:
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
            value, said = draw_value(draw, parameter.kind, zh)
            filled.values[index] = value
            filled.extras.append(words.replace("{}", said))


def starts_with_verb(draw: Draw, wording: str) -> bool:
    """Whether it begins with a verb, so that "please" may stand before it."""
    return wording.split()[0] not in draw.words["not_verbs"]


def format_imperative(draw: Draw, wording: str) -> str:
    frame = draw.one(draw.words["asked" if starts_with_verb(draw, wording) else "asked_plain"])
    return frame.replace("{I}", capitalise(wording)).replace("{i}", wording)


def format_question(draw: Draw, tool: Tool, filled: FilledArguments, language: str) -> str:
    if language == "zh":
        return format_chinese_question(draw, tool, filled)
    if language != "en":
        return draw.one(["", "", "", GREETINGS[language]]) + fill_placeholders(draw.one(tool.others[language]), filled)
    extras = draw.some(filled.extras, len(filled.extras))
    added = "".join((" " if draw.chance(0.8) else ", ") + extra for extra in extras)
    mark, wording = draw.one(tool.asks)
    if mark == "!":
        text = format_imperative(draw, wording + "\0")
    elif mark == "?":
        text = (capitalise(wording) if draw.chance(0.75) else wording) + "\0" + ("?" if draw.chance(0.85) else "")
    else:
        text = capitalise(wording) + "\0" + draw.one([".", "", "."])
    text = add_small_talk(draw, fill_placeholders(text, filled).replace("\0", added))
    return re.sub(r"\.\.$", ".", text)


def add_small_talk(draw: Draw, text: str) -> str:
    if draw.chance(0.16):
        text = f"{draw.word('lead')} {text}"
    if draw.chance(0.1):
        text += ("" if text[-1] in ".?!" else ".") + f" {draw.word('trail')}"
    return text.lower() if draw.chance(0.02) and text.isascii() and not re.search(r"\d", text) else text


def add_small_talk_zh(draw: Draw, text: str) -> str:
    if draw.chance(0.14):
        text = draw.word("lead", True) + text
    if draw.chance(0.08):
        text += ("" if text[-1] in "。？！" else "。") + draw.word("trail", True)
    return text


def format_chinese_question(draw: Draw, tool: Tool, filled: FilledArguments) -> str:
    wording = draw.one(tool.zh_asks)
    tail = wording[-1] if wording[-1] in "？。" else ""
    text = fill_placeholders(wording.rstrip("？。"), filled) + "".join(f"，{extra}" for extra in filled.extras) + tail
    ending = draw.one(["", "", "谢谢"] if tail else ["", "", "", "，谢谢", "。"])
    return add_small_talk_zh(draw, draw.one(["", "", "", "请", "麻烦", "你好，", "帮忙"]) + text + ending)


def format_short_request(draw: Draw, tool: Tool, filled: FilledArguments, zh: bool) -> str:
    """A wish that can be joined to another one."""
    if zh:
        return fill_placeholders(draw.one(tool.zh_asks).rstrip("？。"), filled) + "".join(
            f"，{x}" for x in filled.extras
        )
    wishes = [wording for mark, wording in tool.asks if mark == "!"]
    wording = draw.one([wish for wish in wishes if starts_with_verb(draw, wish)] or wishes)
    return fill_placeholders(wording, filled) + "".join(f" {extra}" for extra in filled.extras)

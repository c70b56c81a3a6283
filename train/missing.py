"""Skill 2: a required value is missing, so it is asked for: questions for calls, less one value."""

from __future__ import annotations

import re

from rightseat.types.messages import text_message
from train.catalogue import Tool
from train.draw import Draw, capitalise
from train.example import Example
from train.pool import ToolPool
from train.presented_tools import PresentedTools
from train.wording import FilledArguments, add_small_talk, draw_arguments, fill_placeholders, format_imperative

QUESTIONS_BACK = [
    "What is the {}?",
    "Please tell me the {}.",
    "Which {} do you mean?",
    "I need the {} first.",
    "Which {}?",
    "What {} should I use?",
]
QUESTIONS_BACK_ZH = ["请问{}是什么？", "请告诉我{}。", "请问是哪个{}？"]
VAGUE = {
    "place person email phone object_contact": ["somebody", "someone", "him", "them", "there"],
    "place city country address room": ["somewhere", "there", "another place", "the usual place"],
    "date": ["some day", "soon", "another day", "that day"],
    "time": ["some time", "later", "then"],
    "int num amount money days": ["some", "a few", "several", "a certain number of", "a number of"],
    "text title query song task topic": ["something", "a few words", "this"],
    "code id sku slug first enum_free service flightno": ["it", "that one", "one of them", "this one", "mine"],
}
VAGUE_ZH = {
    "person email phone object_contact": ["某人", "他", "有人"],
    "place city country address room": ["某个地方", "那边", "那里"],
    "date": ["某天", "那天", "改天"],
    "time": ["晚点", "到时候"],
    "int num amount money days": ["一些", "若干"],
    "text title query song task topic": ["点什么", "一些内容"],
    "code id sku slug first enum_free service flightno": ["那个", "其中一个", "它"],
}
_UNITS = frozenset(["id", "no", "cm", "mm", "m", "kg", "c", "ml", "pct", "km", "name", "eur", "number"])
_BEFORE = "to|for|from|at|in|on|with|of|as|by|via|into|out of|against|until|about|called|over to|between"


class MissingArgumentExamples:
    def __init__(self, draw: Draw, pool: ToolPool) -> None:
        self.draw, self.pool = draw, pool

    def make_handwritten(self, language: str) -> Example:
        """A question that was written without the value."""
        draw, zh = self.draw, language == "zh"
        every = [t for t in (self.pool.zh if zh else self.pool.tools) if (t.zh_missing if zh else t.missing)]
        hand = [tool for tool in every if not tool.entity]
        tool = draw.one(every if draw.chance(0.4) else hand)
        tools = self.pool.add_neighbours([tool], self.pool.draw_count(), zh)
        if draw.chance(0.3):
            made_up, family = self.pool.draw_tools(language, 1)
            if made_up.zh_missing if zh else made_up.missing:
                tool, tools = made_up, family
        wording, asked_back = draw.one(tool.zh_missing if zh else tool.missing)
        filled = draw_arguments(draw, tool, zh)
        asked = draw.one(["", "", "请", "麻烦", "你好，"]) + wording if zh else self._wished(wording)
        reply = fill_placeholders(asked_back, filled).translate(str.maketrans("", "", '"“”'))
        return self._example(PresentedTools(draw, tools, zh), fill_placeholders(asked, filled), reply, zh)

    def make_withheld(self, language: str) -> Example | None:
        """A question for a call, with one of its values left out or only hinted at."""
        draw, zh = self.draw, language == "zh"
        tool, tools = self.pool.draw_tools(language, 0.45)
        needed = [index for index in tool.required if not tool.parameters[index].kind.startswith("infer")]
        if not needed or (zh and len(tool.zh_parameters) < len(tool.parameters)):
            return None
        filled, lacks = draw_arguments(draw, tool, zh, options=draw.chance(0.3)), draw.one(needed)
        wording = self._without(tool, lacks, filled, zh)
        if wording is None:
            return None
        shown = PresentedTools(draw, tools, zh)
        return self._example(shown, wording, self._reply(shown, tool, lacks, zh), zh)

    def _without(self, tool: Tool, lacks: int, filled: FilledArguments, zh: bool) -> str | None:
        draw, gap = self.draw, f"{{{lacks}}}"
        if zh:
            wordings = [one for one in tool.zh_asks if gap in one]
            hint = self._hint(tool.parameters[lacks].kind, VAGUE_ZH)
            if not wordings or not hint:
                return None
            return draw.one(["", "", "请", "麻烦", "帮忙"]) + fill_placeholders(
                draw.one(wordings).replace(gap, hint), filled
            )
        asks = [(mark, one) for mark, one in tool.asks if gap in one]
        if not asks:
            return None
        mark, wording = draw.one(asks)
        hint = self._hint(tool.parameters[lacks].kind, VAGUE)
        dropped = re.sub(rf"(?:[,:]? (?:{_BEFORE}))? \{{{lacks}\}}(?=[ ,.?]|$)", "", wording)
        if dropped != wording and len(dropped.split()) > 1 and draw.chance(0.6):
            wording = dropped
        elif hint:
            wording = wording.replace(gap, hint)
        else:
            return None
        extras = "".join(f" {extra}" for extra in filled.extras)
        text = fill_placeholders(format_imperative(draw, wording) if mark == "!" else capitalise(wording), filled)
        return add_small_talk(draw, text.rstrip(".") + extras + ("?" if mark == "?" else ""))

    def _hint(self, kind: str, vague: dict[str, list[str]]) -> str:
        name = kind.split()[0]
        found = [words for kinds, words in vague.items() if name in kinds.split()]
        return self.draw.one(found[-1]) if found else ""

    def _reply(self, shown: PresentedTools, tool: Tool, lacks: int, zh: bool) -> str:
        if zh:
            return self.draw.one(QUESTIONS_BACK_ZH).format(tool.zh_parameters[lacks].split("：")[0])
        return self.draw.one(QUESTIONS_BACK).format(to_label(shown.get_key(tool, lacks)))

    def _wished(self, wording: str) -> str:
        draw = self.draw
        if draw.chance(0.4):
            return capitalise(wording)
        if draw.chance(0.5):
            return wording
        return add_small_talk(draw, draw.one(["Please ", "Hey, ", "Hi, ", "Can you "]) + wording)

    def _example(self, shown: PresentedTools, asked: str, reply: str, zh: bool) -> Example:
        return Example("missing", tuple(shown.specs), (text_message("user", asked),), text=reply, zh=zh)


def to_label(key: str) -> str:
    """How one says an argument's name: temperature_c is the temperature, birthDate the birth date."""
    words = re.sub(r"([a-z])([A-Z])", r"\1_\2", key).lower().replace("-", "_").split("_")
    return " ".join(words[:-1] if len(words) > 1 and words[-1] in _UNITS else words)

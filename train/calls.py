"""Skill 1: call the right tool with exact arguments, several of them, or the same again."""

from __future__ import annotations

from typing import Any

from rightseat.types.messages import Message, text_message
from train.catalogue import Tool
from train.draw import Draw, capital
from train.example import Example, call, exchange
from train.kinds import drawn
from train.pool import Pool
from train.shown import Shown
from train.wording import fill, imperative, question, short, values

FAMILIAR = frozenset(
    [
        "code",
        "int",
        "slug",
        "place",
        "person",
        "ticker",
        "company",
        "product",
        "currency",
        "email",
        "host",
        "country",
        "city",
        "id",
        "flightno",
        "sku",
        "room",
        "food",
        "service",
    ]
)
"""Kinds that can stand in "the same for X"."""
JOINS = [" and ", ", then ", ", and also ", " and then ", ". Also, ", "; after that, "]
JOINS_ZH = ["，然后", "，另外", "，再"]
AGAIN = ["And {}?", "and for {}?", "What about {}?", "how about {}", "Same for {}, please.", "Now {}."]
AGAIN_ZH = ["那{}呢？", "{}呢？", "再看看{}", "还有{}"]


class Calls:
    def __init__(self, draw: Draw, pool: Pool) -> None:
        self.draw, self.pool = draw, pool

    def one(self, language: str) -> Example:
        zh = language == "zh"
        tool, tools = self.pool.scene(language)
        shown = Shown(self.draw, tools, zh)
        filled = values(self.draw, tool, zh, options=language in ("en", "zh"))
        asked = question(self.draw, tool, filled, language)
        made = call(shown.name(tool), shown.arguments(tool, filled.values))
        return self._example("call", shown, (text_message("user", asked),), zh=zh, calls=(made,))

    def twice(self, language: str) -> Example | None:
        """One tool for two values: "the weather in Rome and Oslo"."""
        draw, zh = self.draw, language == "zh"
        tool, tools = self.pool.scene(language)
        if not tool.required or tool.parameters[tool.required[0]].kind.split()[0] not in FAMILIAR:
            return None
        filled = values(draw, tool, zh, options=False)
        index = tool.required[0]
        value, words = drawn(draw, tool.parameters[index].kind, zh)
        wishes = tool.zh_asks if zh else [wording for mark, wording in tool.asks if mark in "!?"]
        if value == filled.values[index] or not wishes:
            return None
        other = {**filled.values, index: value}
        joined = "和" if zh else draw.one([" and ", " and ", " as well as ", " and also "])
        filled.words[index] += joined + words
        wording = draw.one(list(wishes))
        asked = fill(wording if zh else imperative(draw, wording), filled)
        shown = Shown(draw, tools, zh)
        made = [call(shown.name(tool), shown.arguments(tool, v), n) for n, v in enumerate((filled.values, other))]
        return self._example("calls", shown, (text_message("user", asked),), zh=zh, calls=tuple(made))

    def two(self, language: str) -> Example | None:
        """Two wishes; with `done`, the first one is carried out already."""
        draw, zh = self.draw, language == "zh"
        first, second = self.pool.target(language), self.pool.target(language)
        if first is second or not all(_joins(tool, zh) for tool in (first, second)):
            return None
        shown = Shown(draw, self.pool.beside([first, second], max(2, self.pool.count()), zh), zh)
        pairs = [(tool, values(draw, tool, zh)) for tool in (first, second)]
        wishes = [short(draw, tool, filled, zh) for tool, filled in pairs]
        asked = draw.one(JOINS_ZH if zh else JOINS).join(wishes)
        if not zh:
            asked = capital(draw.one(["", "", "Please ", "Can you ", "First "]) + asked)
            asked += "?" if asked.startswith("Can") else ""
        made = [call(shown.name(t), shown.arguments(t, f.values), n) for n, (t, f) in enumerate(pairs)]
        if draw.chance(0.25):
            messages = exchange(asked, made[:1], [draw.one(['{"status": "ok"}', "OK", '{"success": true}'])])
            return self._example("next", shown, messages, zh=zh, calls=(made[1],))
        return self._example("calls", shown, (text_message("user", asked),), zh=zh, calls=tuple(made))

    def again(self, language: str) -> Example | None:
        """A question, its answer, and the same again for another value."""
        draw, zh = self.draw, language == "zh"
        tool, tools = self.pool.scene(language)
        if not tool.required or tool.parameters[tool.required[0]].kind.split()[0] not in FAMILIAR:
            return None
        filled = values(draw, tool, zh, options=False)
        index = tool.required[0]
        value, words = drawn(draw, tool.parameters[index].kind, zh)
        shown = Shown(draw, tools, zh)
        asked = question(draw, tool, filled, language)
        made = call(shown.name(tool), shown.arguments(tool, filled.values))
        messages = (
            *exchange(asked, [made], [draw.one(['{"status": "ok"}', "OK", '{"result": "done"}'])]),
            text_message("assistant", "好的，已完成。" if zh else draw.one(["Done.", "That is done.", "Here it is."])),
            text_message("user", draw.one(AGAIN_ZH if zh else AGAIN).format(words)),
        )
        more = call(shown.name(tool), shown.arguments(tool, {**filled.values, index: value}), 1)
        return self._example("again", shown, messages, zh=zh, calls=(more,))

    def _example(self, skill: str, shown: Shown, messages: tuple[Message, ...], *, zh: bool, **answer: Any) -> Example:
        return Example(skill, tuple(shown.specs), messages, zh=zh, **answer)


def _joins(tool: Tool, zh: bool) -> bool:
    return bool(tool.zh_asks) if zh else any(mark == "!" for mark, _ in tool.asks)

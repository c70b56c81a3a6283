"""Skill 1: call the right tool with exact arguments, several of them, or the same again."""

from __future__ import annotations

from typing import Any

from rightseat.types.messages import Message, text_message
from train.catalogue import Tool
from train.draw import Draw, capitalise
from train.example import Example, make_call, make_exchange
from train.kinds import draw_value
from train.pool import ToolPool
from train.presented_tools import PresentedTools
from train.wording import draw_arguments, fill_placeholders, format_imperative, format_question, format_short_request

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
FOLLOW_UPS = ["And {}?", "and for {}?", "What about {}?", "how about {}", "Same for {}, please.", "Now {}."]
FOLLOW_UPS_ZH = ["那{}呢？", "{}呢？", "再看看{}", "还有{}"]


class CallExamples:
    def __init__(self, draw: Draw, pool: ToolPool) -> None:
        self.draw, self.pool = draw, pool

    def make_one_call(self, language: str) -> Example:
        zh = language == "zh"
        tool, tools = self.pool.draw_tools(language)
        shown = PresentedTools(self.draw, tools, zh)
        filled = draw_arguments(self.draw, tool, zh, options=language in ("en", "zh"))
        asked = format_question(self.draw, tool, filled, language)
        made = make_call(shown.get_name(tool), shown.make_arguments(tool, filled.values))
        return self._example("call", shown, (text_message("user", asked),), zh=zh, calls=(made,))

    def make_one_tool_twice(self, language: str) -> Example | None:
        """One tool for two values: "the weather in Rome and Oslo"."""
        draw, zh = self.draw, language == "zh"
        tool, tools = self.pool.draw_tools(language)
        if not tool.required or tool.parameters[tool.required[0]].kind.split()[0] not in FAMILIAR:
            return None
        filled = draw_arguments(draw, tool, zh, options=False)
        index = tool.required[0]
        value, words = draw_value(draw, tool.parameters[index].kind, zh)
        wishes = tool.zh_asks if zh else [wording for mark, wording in tool.asks if mark in "!?"]
        if value == filled.values[index] or not wishes:
            return None
        other = {**filled.values, index: value}
        joined = "和" if zh else draw.one([" and ", " and ", " as well as ", " and also "])
        filled.words[index] += joined + words
        wording = draw.one(list(wishes))
        asked = fill_placeholders(wording if zh else format_imperative(draw, wording), filled)
        shown = PresentedTools(draw, tools, zh)
        made = [
            make_call(shown.get_name(tool), shown.make_arguments(tool, v), n)
            for n, v in enumerate((filled.values, other))
        ]
        return self._example("calls", shown, (text_message("user", asked),), zh=zh, calls=tuple(made))

    def make_two_tools(self, language: str) -> Example | None:
        """Two wishes; with `done`, the first one is carried out already."""
        draw, zh = self.draw, language == "zh"
        first, second = self.pool.draw_target(language), self.pool.draw_target(language)
        if first is second or not all(_joins(tool, zh) for tool in (first, second)):
            return None
        shown = PresentedTools(draw, self.pool.add_neighbours([first, second], max(2, self.pool.draw_count()), zh), zh)
        pairs = [(tool, draw_arguments(draw, tool, zh)) for tool in (first, second)]
        wishes = [format_short_request(draw, tool, filled, zh) for tool, filled in pairs]
        asked = draw.one(JOINS_ZH if zh else JOINS).join(wishes)
        if not zh:
            asked = capitalise(draw.one(["", "", "Please ", "Can you ", "First "]) + asked)
            asked += "?" if asked.startswith("Can") else ""
        made = [make_call(shown.get_name(t), shown.make_arguments(t, f.values), n) for n, (t, f) in enumerate(pairs)]
        if draw.chance(0.25):
            messages = make_exchange(asked, made[:1], [draw.one(['{"status": "ok"}', "OK", '{"success": true}'])])
            return self._example("next", shown, messages, zh=zh, calls=(made[1],))
        return self._example("calls", shown, (text_message("user", asked),), zh=zh, calls=tuple(made))

    def make_follow_up(self, language: str) -> Example | None:
        """A question, its answer, and the same again for another value."""
        draw, zh = self.draw, language == "zh"
        tool, tools = self.pool.draw_tools(language)
        if not tool.required or tool.parameters[tool.required[0]].kind.split()[0] not in FAMILIAR:
            return None
        filled = draw_arguments(draw, tool, zh, options=False)
        index = tool.required[0]
        value, words = draw_value(draw, tool.parameters[index].kind, zh)
        shown = PresentedTools(draw, tools, zh)
        asked = format_question(draw, tool, filled, language)
        made = make_call(shown.get_name(tool), shown.make_arguments(tool, filled.values))
        messages = (
            *make_exchange(asked, [made], [draw.one(['{"status": "ok"}', "OK", '{"result": "done"}'])]),
            text_message("assistant", "好的，已完成。" if zh else draw.one(["Done.", "That is done.", "Here it is."])),
            text_message("user", draw.one(FOLLOW_UPS_ZH if zh else FOLLOW_UPS).format(words)),
        )
        more = make_call(shown.get_name(tool), shown.make_arguments(tool, {**filled.values, index: value}), 1)
        return self._example("again", shown, messages, zh=zh, calls=(more,))

    def _example(
        self, skill: str, shown: PresentedTools, messages: tuple[Message, ...], *, zh: bool, **answer: Any
    ) -> Example:
        return Example(skill, tuple(shown.specs), messages, zh=zh, **answer)


def _joins(tool: Tool, zh: bool) -> bool:
    return bool(tool.zh_asks) if zh else any(mark == "!" for mark, _ in tool.asks)

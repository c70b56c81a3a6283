"""Skill 1, its other half: words, because nothing is asked of a tool or none fits: data/asides.txt.

d domain ; questions              about what the tools of that domain are for
w wishes   c talk   a questions with {n} {p} {o} for things    zw zc za the same in Chinese
"""

from __future__ import annotations

from typing import Any

from rightseat.types.messages import text_message
from train.catalogue import split_parts
from train.draw import DATA, Draw, capitalise, read_json
from train.example import Example
from train.pool import ToolPool
from train.presented_tools import PresentedTools
from train.values import person, place
from train.wording import add_small_talk, draw_arguments, format_question

ANSWERING = frozenset(["web", "knowledge", "science", "text", "math"])
"""Domains whose tools may answer a question of general knowledge."""


class NoCallExamples:
    def __init__(self, draw: Draw, pool: ToolPool) -> None:
        self.draw, self.pool = draw, pool
        self.chat: dict[str, Any] = read_json("chat.json")
        self.domains: dict[str, tuple[str, ...]] = {}
        self.asides: dict[str, tuple[str, ...]] = {}
        for line in (DATA / "asides.txt").read_text("utf-8").splitlines():
            mark, _, rest = line.partition(" ")
            if mark == "d":
                domain, asked = split_parts(rest, " ; ")
                self.domains[domain] = split_parts(asked)
            else:
                self.asides[mark] = split_parts(rest)

    def list_templates(self) -> list[str]:
        """All wordings, for the search for leaks."""
        found = [ask for asks in (*self.domains.values(), *self.asides.values()) for ask in asks]
        return [*found, *self.chat["about"], *self.chat["about_zh"]]

    def make_chat(self, language: str) -> Example:
        """Words where nothing is asked of a tool."""
        zh = language == "zh"
        shown = PresentedTools(self.draw, self.pool.draw_strangers(None, self.pool.draw_count(), zh), zh)
        asked, reply = self._small_talk(zh)
        return Example("chat", tuple(shown.specs), (text_message("user", asked),), zh=zh, text=reply)

    def make_about_topic(self, language: str) -> Example:
        """A question about the very things the tools are for, which none of them answers."""
        draw, zh = self.draw, language == "zh"
        family = self.pool.compounds.draw_family(self.pool.draw_count())
        shown = PresentedTools(draw, draw.some(family, len(family)), zh)
        nouns = self.pool.compounds.nouns
        one, many, chinese = draw.one([noun for noun in nouns if noun[0] == family[0].plugin])
        other = draw.one(nouns)
        sources = self.asides["za" if zh else "a"], self.chat["about_zh" if zh else "about"]
        wording = draw.one(sources[draw.chance(0.3)])
        gaps = {"n": one.replace("_", " "), "p": many, "o": other[0].replace("_", " ")}
        asked = wording.format(**gaps, z=chinese, y=other[2], name=person(draw, zh))
        return self._unfit(shown, asked if zh else self._talked(asked), zh)

    def make_aside(self, language: str) -> Example:
        """Beside tools of any kind: talk, wishes that nobody can fulfil, questions on their subject."""
        draw, zh = self.draw, language == "zh"
        tool, tools = self.pool.draw_tools(language)
        fitting = [one for one in tools if one.domain not in ANSWERING]
        shown = PresentedTools(draw, fitting or self.pool.draw_strangers(None, 2, zh), zh)
        near = self.domains.get(tool.domain, ())
        if not zh and near and draw.chance(0.5):
            return self._unfit(shown, self._talked(draw.one(near)), zh)
        wish = draw.chance(0.35)
        asked = draw.one(self.asides[("z" if zh else "") + ("w" if wish else "c")])
        return self._unfit(shown, asked if zh else self._talked(asked), zh)

    def make_none_fits(self, language: str) -> Example:
        """A wish for a tool that is not there, among its neighbours or among strangers."""
        draw, zh = self.draw, language == "zh"
        tool = self.pool.draw_target(language)
        if draw.chance(0.3):
            tool, *others = self.pool.compounds.draw_family(self.pool.draw_count() + 1)
            shown = PresentedTools(draw, [other for other in others if other.names != tool.names], zh)
            return self._unfit(shown, format_question(draw, tool, draw_arguments(draw, tool, zh), language), zh)
        near = tool.entity and draw.chance(0.45) and not tool.names[0].startswith("list_")
        tools = self.pool.draw_near_misses(tool, self.pool.draw_count()) if near else []
        shown = PresentedTools(draw, tools or self.pool.draw_strangers(tool, self.pool.draw_count(), zh), zh)
        return self._unfit(shown, format_question(draw, tool, draw_arguments(draw, tool, zh), language), zh)

    def _talked(self, asked: str) -> str:
        draw = self.draw
        text = asked if draw.chance(0.6) else asked[:1].lower() + asked[1:]
        if draw.chance(0.2):
            text = text.rstrip(".?!")
        return add_small_talk(draw, text)

    def _unfit(self, shown: PresentedTools, asked: str, zh: bool) -> Example:
        reply = self.draw.one(self.chat["none_fits_zh" if zh else "none_fits"])
        return Example("none", tuple(shown.specs), (text_message("user", asked),), zh=zh, text=reply)

    def _small_talk(self, zh: bool) -> tuple[str, str]:
        draw = self.draw
        if zh:
            asked, reply = draw.one(self.chat["zh"])
            return asked, reply
        if draw.chance(0.45):
            asked, reply = draw.one(self.chat["en"])
        elif draw.chance(0.35):
            country, city = draw.one(self.chat["capitals"])
            asked = draw.one(["what is the capital of {}?", "which city is the capital of {}?"])
            asked, reply = asked.format(country), f"The capital of {country} is {city}."
        else:
            asked, reply = self._made_talk()
        asked = draw.one([asked, capitalise(asked), capitalise(asked)])
        return (f"{draw.word('lead')} {asked}" if draw.chance(0.15) else asked), reply

    def _made_talk(self) -> tuple[str, str]:
        draw = self.draw
        a, b = draw.whole(2, 60), draw.whole(61, 99)
        who, where = person(draw, False), place(draw, False)
        said_back = [
            (f"my name is {who}", f"Nice to meet you, {who}!"),
            (f"is {a} even or odd?", f"{a} is {'odd' if a % 2 else 'even'}."),
            (f"which is larger, {a} or {b}?", f"{b} is larger."),
            (f"what is {b} minus {a}?", f"{b} minus {a} is {b - a}."),
            (f"what is {a} plus {b}?", f"{a} plus {b} is {a + b}."),
            (f"write a one line greeting for {who}", f"Hello {who}, I hope you are having a lovely day!"),
            (f"I just got back from {where} and I'm tired", "Welcome back! I hope you get some good rest."),
            (f"{who} says hi", f"Please say hi back to {who}!"),
        ]
        return draw.one(said_back)

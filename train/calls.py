"""Skills 1 and 2: call the right tool with exact arguments, several, none, or ask for what is missing."""

from __future__ import annotations

from typing import Any

from rightseat.messages import Message, said
from train.catalogue import Tool
from train.draw import Draw, capital, read
from train.example import Example, call, exchange
from train.kinds import drawn
from train.pool import Pool
from train.shown import Shown
from train.values import person, place
from train.wording import around, fill, imperative, question, short, values

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
ASKED = ["What is the {}?", "Please tell me the {}.", "Which {} do you mean?", "I need the {} first."]
JOINS = [" and ", ", then ", ", and also ", " and then ", ". Also, ", "; after that, "]
JOINS_ZH = ["，然后", "，另外", "，再"]
AGAIN = ["And {}?", "and for {}?", "What about {}?", "how about {}", "Same for {}, please.", "Now {}."]
AGAIN_ZH = ["那{}呢？", "{}呢？", "再看看{}", "还有{}"]


class Calls:
    def __init__(self, draw: Draw, pool: Pool) -> None:
        self.draw, self.pool = draw, pool
        self.chat: dict[str, Any] = read("chat.json")

    def one(self, language: str) -> Example:
        zh = language == "zh"
        tool, tools = self.pool.scene(language)
        shown = Shown(self.draw, tools, zh)
        filled = values(self.draw, tool, zh, options=language in ("en", "zh"))
        asked = question(self.draw, tool, filled, language)
        made = call(shown.name(tool), shown.arguments(tool, filled.values))
        return self._example("call", shown, (said("user", asked),), zh=zh, calls=(made,))

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
        made = [
            call(shown.name(tool), shown.arguments(tool, v), n) for n, v in enumerate((filled.values, other))
        ]
        return self._example("calls", shown, (said("user", asked),), zh=zh, calls=tuple(made))

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
        return self._example("calls", shown, (said("user", asked),), zh=zh, calls=tuple(made))

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
            said(
                "assistant", "好的，已完成。" if zh else draw.one(["Done.", "That is done.", "Here it is."])
            ),
            said("user", draw.one(AGAIN_ZH if zh else AGAIN).format(words)),
        )
        more = call(shown.name(tool), shown.arguments(tool, {**filled.values, index: value}), 1)
        return self._example("again", shown, messages, zh=zh, calls=(more,))

    def missing(self, language: str) -> Example:
        draw, zh = self.draw, language == "zh"
        every = [t for t in (self.pool.zh if zh else self.pool.tools) if (t.zh_missing if zh else t.missing)]
        hand = [tool for tool in every if not tool.entity]
        tool = draw.one(every if draw.chance(0.5) else hand)
        tools = self.pool.beside([tool], self.pool.count(), zh)
        if draw.chance(0.4):
            made_up, family = self.pool.scene(language, 1)
            if made_up.missing:
                tool, tools = made_up, family
        wording, asked_back = draw.one(tool.zh_missing if zh else tool.missing)
        filled = values(draw, tool, zh)
        asked = draw.one(["", "请", "麻烦", "你好，"]) + wording if zh else self._wished(wording)
        shown = Shown(draw, tools, zh)
        reply = fill(asked_back, filled).translate(str.maketrans("", "", '"“”'))
        return self._example("missing", shown, (said("user", fill(asked, filled)),), zh=zh, text=reply)

    def lacking(self, language: str) -> Example | None:
        """Some of what a tool needs is told, and one thing is not: it is asked for by its name."""
        draw, zh = self.draw, language == "zh"
        tool, tools = self.pool.scene(language, 0.3)
        told = tool.zh[0] if zh and tool.zh else tool.descriptions[0]
        needed = [index for index in tool.required if not tool.parameters[index].kind.startswith("infer")]
        if not needed or (zh and len(tool.zh_parameters) < len(tool.parameters)):
            return None
        filled, lacks = values(draw, tool, zh, options=False), draw.one(needed)
        shown = Shown(draw, tools, zh)
        names = tool.zh_parameters if zh else [one.names[0].replace("_", " ") for one in tool.parameters]
        given = [
            f"{names[index]}{'' if zh else ' '}{filled.words[index]}" for index in needed if index != lacks
        ]
        wish = told if zh else told[:1].lower() + told[1:]
        asked = ("，" if zh else ", ").join([wish, *given])
        reply = f"请问{names[lacks]}是什么？" if zh else draw.one(ASKED).format(names[lacks])
        messages = (said("user", asked if zh else self._wished(asked)),)
        return self._example("missing", shown, messages, zh=zh, text=reply)

    def about(self, language: str) -> Example:
        """A question about the very things the tools are for, which none of them answers."""
        draw, zh = self.draw, language == "zh"
        family = self.pool.compounds.family(self.pool.count())
        shown = Shown(draw, draw.some(family, len(family)), zh)
        one, many, chinese = draw.one([n for n in self.pool.compounds.nouns if n[0] == family[0].plugin])
        wording = draw.one(self.chat["about_zh" if zh else "about"])
        asked = wording.format(n=one.replace("_", " "), p=many, z=chinese, name=person(draw, zh))
        return self._unfit(shown, asked, zh)

    def _wished(self, wording: str) -> str:
        draw = self.draw
        if draw.chance(0.4):
            return capital(wording)
        if draw.chance(0.5):
            return wording
        return around(draw, draw.one(["Please ", "Hey, ", "Hi, ", "Can you "]) + wording)

    def chats(self, language: str) -> Example:
        """Words where nothing is asked of a tool."""
        zh = language == "zh"
        shown = Shown(self.draw, self.pool.strangers(None, self.pool.count(), zh), zh)
        asked, reply = self._small_talk(zh)
        return self._example("chat", shown, (said("user", asked),), zh=zh, text=reply)

    def none_fits(self, language: str) -> Example:
        draw, zh = self.draw, language == "zh"
        language = language if zh else "en"
        tool = self.pool.target(language)
        if draw.chance(0.3):
            tool, *others = self.pool.compounds.family(self.pool.count() + 1)
            shown = Shown(draw, [other for other in others if other.names != tool.names], zh)
            return self._unfit(shown, question(draw, tool, values(draw, tool, zh), language), zh)
        near = tool.entity and draw.chance(0.45) and not tool.names[0].startswith("list_")
        tools = self.pool.near_misses(tool, self.pool.count()) if near else []
        shown = Shown(draw, tools or self.pool.strangers(tool, self.pool.count(), zh), zh)
        return self._unfit(shown, question(draw, tool, values(draw, tool, zh), language), zh)

    def _unfit(self, shown: Shown, asked: str, zh: bool) -> Example:
        reply = self.draw.one(self.chat["none_fits_zh" if zh else "none_fits"])
        return self._example("none", shown, (said("user", asked),), zh=zh, text=reply)

    def _small_talk(self, zh: bool) -> tuple[str, str]:
        draw = self.draw
        if zh:
            asked, reply = draw.one(self.chat["zh"])
            return asked, reply
        if draw.chance(0.45):
            asked, reply = draw.one(self.chat["en"])
        elif draw.chance(0.35):
            country, city = draw.one(self.chat["capitals"])
            asked = draw.one(["what is the capital of {}?", "which city is the capital of {}?"]).format(
                country
            )
            reply = f"The capital of {country} is {city}."
        else:
            asked, reply = self._made_talk()
        asked = draw.one([asked, capital(asked), capital(asked)])
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

    def _example(
        self, skill: str, shown: Shown, messages: tuple[Message, ...], *, zh: bool, **answer: Any
    ) -> Example:
        return Example(skill, tuple(shown.specs), messages, zh=zh, **answer)


def _joins(tool: Tool, zh: bool) -> bool:
    return bool(tool.zh_asks) if zh else any(mark == "!" for mark, _ in tool.asks)

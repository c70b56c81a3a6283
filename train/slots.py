"""Tools of several values, said in any order and each in a phrase of its own: data/slots.txt.

s names ; kind ; phrases ; what to ask ; Chinese name ; Chinese phrases ; what to ask in Chinese
t names ; description ; openings ; Chinese description ; Chinese openings ; values it may take

The same wish with one phrase less is the wish that lacks something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rightseat.types.messages import text_message
from train.catalogue import Parameter, Tool, split_parts
from train.draw import DATA, Draw, capitalise
from train.example import Example, make_call
from train.kinds import draw_value
from train.pool import ToolPool
from train.presented_tools import PresentedTools
from train.wording import add_small_talk, add_small_talk_zh

PICKED = [
    ("mode", "模式"),
    ("band", "频段"),
    ("variant", "款式"),
    ("plan", "套餐"),
    ("route", "线路"),
    ("style", "风格"),
]


@dataclass(frozen=True)
class Slot:
    names: tuple[str, ...]
    kind: str
    phrases: tuple[str, ...]
    asked: str
    zh: str
    zh_phrases: tuple[str, ...]
    zh_asked: str


@dataclass(frozen=True)
class Action:
    names: tuple[str, ...]
    description: str
    openings: tuple[str, ...]
    zh: str
    zh_openings: tuple[str, ...]
    takes: tuple[str, ...]


class SlotExamples:
    def __init__(self, draw: Draw, pool: ToolPool) -> None:
        self.draw, self.pool = draw, pool
        self.slots: dict[str, Slot] = {}
        self.actions: list[Action] = []
        for line in (DATA / "slots.txt").read_text("utf-8").splitlines():
            mark, _, rest = line.partition(" ")
            parts = split_parts(rest, " ; ")
            if mark == "s":
                names, kind, phrases, asked, zh, zh_phrases, zh_asked = parts
                spoken = split_parts(phrases, " / "), asked, zh, split_parts(zh_phrases, " / "), zh_asked
                self.slots[split_parts(names)[0]] = Slot(split_parts(names), kind, *spoken)
            else:
                names, described, openings, zh, zh_openings, takes = parts
                told = described, split_parts(openings, " / "), zh, split_parts(zh_openings, " / ")
                self.actions.append(Action(split_parts(names), *told, tuple(takes.split())))

    def make_complete(self, language: str) -> Example:
        """All that is needed is said, and some of what is not."""
        zh = language == "zh"
        tool, action, slots, shown = self._scene(zh)
        values, phrases = self._said(tool, slots, zh)
        made = make_call(shown.get_name(tool), shown.make_arguments(tool, values))
        asked = self._joined(action, list(phrases.values()), zh)
        return Example("call", tuple(shown.specs), (text_message("user", asked),), calls=(made,), zh=zh)

    def make_incomplete(self, language: str) -> Example:
        """One thing that is needed is not said."""
        draw, zh = self.draw, language == "zh"
        tool, action, slots, shown = self._scene(zh)
        _, phrases = self._said(tool, slots, zh)
        lacks = draw.one(tool.required)
        asked = self._joined(action, [text for index, text in phrases.items() if index != lacks], zh)
        reply = slots[lacks].zh_asked if zh else slots[lacks].asked
        return Example("missing", tuple(shown.specs), (text_message("user", asked),), text=reply, zh=zh)

    def _scene(self, zh: bool) -> tuple[Tool, Action, list[Slot], PresentedTools]:
        draw = self.draw
        action, *others = draw.some(self.actions, draw.one([1, 2, 2, 3, 3, 4]))
        tool, slots = self._tool(action)
        tools = [tool, *(self._tool(other)[0] for other in others)]
        if draw.chance(0.4):
            tools += self.pool.draw_strangers(None, draw.whole(1, 4), zh)
        return tool, action, slots, PresentedTools(draw, draw.some(tools, len(tools)), zh)

    def _tool(self, action: Action) -> tuple[Tool, list[Slot]]:
        draw = self.draw
        slots = [self.slots[name] for name in draw.some(action.takes, draw.one([1, 2, 2, 3, 3, 4]))]
        if draw.chance(0.35):
            slots.insert(0, self._pick())
        tool = Tool("slotted", "office", action.names, (action.description,), zh=(action.zh,))
        needed = max(1, len(slots) - draw.one([0, 0, 1, 1]))
        for index, slot in enumerate(slots):
            text = slot.names[0].replace("_", " ")
            tool.parameters.append(Parameter(index < needed, slot.names, slot.kind, text))
        tool.zh_parameters = tuple(slot.zh for slot in slots)
        return tool, slots

    def _pick(self) -> Slot:
        """One of some values that were never seen together: only the list says what can be meant."""
        draw = self.draw
        name, zh = draw.one(PICKED)
        first, second = draw.some(["tag", "element", "colour", "title_b", "service", "currency"], 2)
        plain = draw.chance(0.5)
        values = {
            draw.word(first).replace(" ", "_").lower()
            if plain
            else f"{draw.word(first)}{draw.one('-_')}{draw.word(second)}".replace(" ", "").lower()
            for _ in range(draw.whole(2, 5))
        }
        said = [f"{value}={value.replace('-', ' ').replace('_', ' ')}/{value}" for value in sorted(values)]
        listed = ", ".join(draw.some(said, len(said)))
        phrases = ("{}", "with {}", "as {}", f"{name} {{}}", f"{{}} as the {name}")
        zh_phrases = ("{}", f"{zh}{{}}", "选{}")
        return Slot((name,), f"enum {listed}", phrases, f"Which {name}?", zh, zh_phrases, f"请问选哪个{zh}？")

    def _said(self, tool: Tool, slots: list[Slot], zh: bool) -> tuple[dict[int, Any], dict[int, str]]:
        draw = self.draw
        values, phrases = dict[int, Any](), dict[int, str]()
        for index, slot in enumerate(slots):
            if not tool.parameters[index].required and draw.chance(0.5):
                continue
            values[index], words = draw_value(draw, slot.kind, zh)
            phrases[index] = draw.one(slot.zh_phrases if zh else slot.phrases).replace("{}", words)
        return values, phrases

    def _joined(self, action: Action, phrases: list[str], zh: bool) -> str:
        draw = self.draw
        opening = draw.one(action.zh_openings if zh else action.openings)
        mixed = draw.some(phrases, len(phrases))
        if zh:
            parts = [opening, *mixed] if draw.chance(0.7) else [*mixed, opening]
            return add_small_talk_zh(draw, draw.one(["", "", "请", "你好，"]) + "，".join(parts))
        glue = draw.one([" ", ", ", ", "])
        parts = [opening, *mixed] if draw.chance(0.75) else [*mixed, opening]
        text = glue.join(parts) if parts[0] == opening else ", ".join(parts)
        return add_small_talk(draw, draw.one([capitalise(text), text]) + draw.one(["", "", ".", " please"]))

"""Skill 4: which step of a flow comes next. Steps are tools without arguments, told apart by their words."""

from __future__ import annotations

from dataclasses import dataclass, field

from rightseat.messages import said
from rightseat.prompt import ToolSpec
from train.catalogue import parted
from train.draw import DATA, Draw
from train.example import Example, call
from train.pool import Pool
from train.shown import Shown
from train.wording import question, values

NOTHING = {"type": "object", "properties": {}, "required": list[str]()}
LEADS = ["", "", "", "Customer: ", "Message: ", "The user wrote: ", "Input: ", "Choose the next step. "]


@dataclass
class Step:
    name: str
    description: str
    texts: list[str] = field(default_factory=list)


def flows() -> list[list[Step]]:
    found: list[list[Step]] = []
    for line in filter(None, (DATA / "flows.txt").read_text("utf-8").splitlines()):
        mark, _, rest = line.partition(" ")
        if mark == "#":
            found.append([])
        elif mark == ">":
            name, described = parted(rest, " : ")
            found[-1].append(Step(name, described))
        else:
            found[-1][-1].texts.extend(parted(rest))
    return found


class Choices:
    def __init__(self, draw: Draw, pool: Pool) -> None:
        self.draw, self.pool = draw, pool
        every = flows()
        self.zh = [flow for flow in every if not flow[0].name.isascii()]
        self.en = [flow for flow in every if flow[0].name.isascii()]

    def by_text(self, zh: bool) -> Example:
        draw = self.draw
        flow = draw.one(self.zh if zh else self.en)
        step = draw.one(flow)
        others = draw.some([one for one in flow if one is not step], draw.whole(1, len(flow) - 1))
        if draw.chance(0.25):
            others += draw.some(
                [one for other in (self.zh if zh else self.en) if other is not flow for one in other], 2
            )
        steps = draw.some([step, *others], 1 + len(others))
        numbered = draw.chance(1 / 3)
        names = {one.name: f"step_{index}" if numbered else one.name for index, one in enumerate(steps, 1)}
        specs = tuple(ToolSpec(names[one.name], one.description, NOTHING) for one in steps)
        text = ("" if zh else draw.one(LEADS)) + draw.one(step.texts)
        return Example("choice", specs, (said("user", text),), calls=(call(names[step.name], {}),), zh=zh)

    def by_tool(self, zh: bool) -> Example:
        """Any tool's question, the tools told as steps: they take nothing."""
        draw, language = self.draw, "zh" if zh else "en"
        tool, tools = self.pool.scene(language)
        shown = Shown(draw, tools, zh)
        steps = tuple(ToolSpec(spec.name, spec.description or spec.name, NOTHING) for spec in shown.specs)
        text = question(draw, tool, values(draw, tool, zh), language)
        return Example("choice", steps, (said("user", text),), calls=(call(shown.name(tool), {}),), zh=zh)

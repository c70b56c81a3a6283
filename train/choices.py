"""Skill 4: which step of a flow comes next. Steps are tools without arguments, or the values of a schema."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from rightseat.engine.structured import SCHEMA_INSTRUCTION
from rightseat.types.messages import text_message
from rightseat.types.model import ToolSpec
from train.catalogue import split_parts
from train.draw import DATA, Draw
from train.example import Example, make_call
from train.pool import ToolPool
from train.presented_tools import PresentedTools
from train.wording import draw_arguments, format_question

NOTHING = {"type": "object", "properties": {}, "required": list[str]()}
ABOUT = ("About {}", "It has to do with {}", "Questions on {}", "{} and the like", "The people for {}")
ABOUT_ZH = ("关于{}", "和{}有关", "{}问题", "{}类")
LEADS = ["", "", "", "Customer: ", "Message: ", "The user wrote: ", "Input: ", "Choose the next step. "]


@dataclass
class Step:
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    texts: list[str] = field(default_factory=list)


def load_flows() -> list[list[Step]]:
    found: list[list[Step]] = []
    for line in filter(None, (DATA / "flows.txt").read_text("utf-8").splitlines()):
        mark, _, rest = line.partition(" ")
        if mark == "#":
            found.append([])
        elif mark == ">":
            names, described = split_parts(rest, " : ")
            found[-1].append(Step(split_parts(names), split_parts(described)))
        else:
            found[-1][-1].texts.extend(split_parts(rest))
    return found


def load_topics() -> list[Step]:
    """Of data/topics.txt: any of them can stand beside any other."""
    found: list[Step] = []
    for line in filter(None, (DATA / "topics.txt").read_text("utf-8").splitlines()):
        if line[0] == "#":
            names = split_parts(line[2:])
            told = ABOUT if names[0].isascii() else ABOUT_ZH
            described = tuple(words.format(name) for name in names for words in told)
            found.append(Step(tuple(_name(name) for name in names), described))
        else:
            found[-1].texts.extend(split_parts(line[2:]))
    return found


def _name(topic: str) -> str:
    return topic.replace(" ", "_")


class ChoiceExamples:
    def __init__(self, draw: Draw, pool: ToolPool) -> None:
        self.draw, self.pool = draw, pool
        every = load_flows()
        self.zh = [flow for flow in every if not flow[0].names[0].isascii()]
        self.en = [flow for flow in every if flow[0].names[0].isascii()]
        self.topics = {zh: [one for one in load_topics() if one.names[0].isascii() != zh] for zh in (True, False)}

    def make_by_text(self, zh: bool) -> Example:
        """Described steps of one flow, sometimes with a step of another one among them."""
        draw = self.draw
        steps, step = self._steps(zh)
        names = self._named(steps)
        specs = tuple(ToolSpec(names[id(one)], draw.one(one.descriptions), NOTHING) for one in steps)
        text = ("" if zh else draw.one(LEADS)) + draw.one(step.texts)
        return Example("choice", specs, (text_message("user", text),), calls=(make_call(names[id(step)], {}),), zh=zh)

    def make_by_schema(self, zh: bool) -> Example:
        """The same as a question whose answer is one of the names: as structured output asks it."""
        draw = self.draw
        steps, step = self._steps(zh)
        names = self._named(steps)
        schema = {"type": "string", "enum": [names[id(one)] for one in steps]}
        listed = "\n".join(f"- {names[id(one)]}: {draw.one(one.descriptions)}" for one in steps)
        asked = "选择下一步：" if zh else draw.one(["Choose the next step:", "Which step comes next?"])
        text = f"{draw.one(step.texts)}\n\n{asked}\n{listed}"
        messages = (
            text_message("system", SCHEMA_INSTRUCTION + msgspec.json.encode(schema).decode()),
            text_message("user", text),
        )
        return Example("schema", (), messages, text=f'"{names[id(step)]}"', zh=zh, schema=schema)

    def make_by_tool(self, zh: bool) -> Example:
        """Any tool's question, the tools told as steps: they take nothing."""
        draw, language = self.draw, "zh" if zh else "en"
        tool, tools = self.pool.draw_tools(language)
        shown = PresentedTools(draw, tools, zh)
        steps = tuple(ToolSpec(spec.name, spec.description or spec.name, NOTHING) for spec in shown.specs)
        text = format_question(draw, tool, draw_arguments(draw, tool, zh), language)
        return Example(
            "choice", steps, (text_message("user", text),), calls=(make_call(shown.get_name(tool), {}),), zh=zh
        )

    def _steps(self, zh: bool) -> tuple[list[Step], Step]:
        draw, known = self.draw, self.zh if zh else self.en
        if draw.chance(0.35):
            steps = draw.some(self.topics[zh], draw.whole(2, 5))
            return steps, draw.one(steps)
        flow = draw.one(known)
        step = draw.one(flow)
        others = draw.some([one for one in flow if one is not step], draw.whole(1, len(flow) - 1))
        if draw.chance(0.2):
            others += draw.some([one for other in known if other is not flow for one in other], 2)
        return draw.some([step, *others], 1 + len(others)), step

    def _named(self, steps: list[Step]) -> dict[int, str]:
        """By their own names, or by names that say nothing: then only the description tells them apart."""
        draw, how = self.draw, self.draw.random.random()
        if how < 0.25:
            return {id(one): f"step_{index}" for index, one in enumerate(steps, 1)}
        if how < 0.4:
            letters = draw.some("abcdefghkmnp", len(steps))
            return {id(one): f"path_{letter}" for one, letter in zip(steps, letters, strict=True)}
        return {id(one): draw.one(one.names) for one in steps}

"""How many examples of each skill there are, and what stands around them: system texts and earlier talk."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from rightseat.types.messages import text_message
from train.calls import CallExamples
from train.choices import ChoiceExamples
from train.draw import Draw
from train.example import Example
from train.missing import MissingArgumentExamples
from train.no_call import NoCallExamples
from train.pool import ToolPool
from train.results import ResultExamples
from train.slots import SlotExamples

Maker = Callable[[], Example | None]
CHINESE = 0.37
FOREIGN = 0.04
MAX_LENGTH = 3600
"""Letters of tools and talk together: about 1,000 tokens."""


class ExampleMix:
    def __init__(self, seed: int) -> None:
        self.draw = Draw(seed)
        self.pool = ToolPool(self.draw)
        self.calls = CallExamples(self.draw, self.pool)
        self.missing = MissingArgumentExamples(self.draw, self.pool)
        self.no_call = NoCallExamples(self.draw, self.pool)
        self.slots = SlotExamples(self.draw, self.pool)
        self.results = ResultExamples(self.draw, self.pool)
        self.choices = ChoiceExamples(self.draw, self.pool)

    def examples(self, count: int) -> Iterator[Example]:
        """Without repetitions, each one proven to be answerable from what it shows."""
        seen: set[tuple[str, str]] = set()
        while len(seen) < count:
            example = self._draw_example()
            if example is None or find_fault(example):
                continue
            key = (example.question, ",".join(tool.name for tool in example.tools))
            if key not in seen:
                seen.add(key)
                yield self._add_context(example)

    def _draw_example(self) -> Example | None:
        draw = self.draw
        zh = draw.chance(CHINESE)
        language = "zh" if zh else draw.one(["de", "fr", "es"]) if draw.chance(FOREIGN) else "en"
        plain = "zh" if zh else "en"
        makers: list[tuple[float, Maker]] = [
            (40, lambda: self.calls.make_one_call(language)),
            (4, lambda: self.calls.make_one_tool_twice(plain)),
            (5, lambda: self.calls.make_two_tools(plain)),
            (2, lambda: self.calls.make_follow_up(plain)),
            (8, lambda: self.slots.make_complete(plain)),
            (8, lambda: self.slots.make_incomplete(plain)),
            (6, lambda: self.missing.make_handwritten(plain)),
            (12, lambda: self.missing.make_withheld(plain)),
            (3, lambda: self.no_call.make_chat(plain)),
            (5, lambda: self.no_call.make_none_fits(plain)),
            (5, lambda: self.no_call.make_about_topic(plain)),
            (5, lambda: self.no_call.make_aside(plain)),
            (22, lambda: self.results.make_one(zh)),
            (14, lambda: self.results.make_rows(zh)),
            (3, lambda: self.results.make_several(zh)),
            (5, lambda: self.results.make_comparison(zh)),
            (2.5, lambda: self.results.make_error(zh)),
            (0.7, lambda: self.results.make_empty(zh)),
            (1.5, lambda: self.results.make_done(zh)),
            (10, lambda: self.choices.make_by_text(zh)),
            (3, lambda: self.choices.make_by_tool(zh)),
            (6, lambda: self.choices.make_by_schema(zh)),
        ]
        return draw.random.choices([maker for _, maker in makers], [share for share, _ in makers])[0]()

    def _add_context(self, example: Example) -> Example:
        draw, messages = self.draw, example.messages
        if draw.chance(0.06) and example.schema is None:
            asked, reply = draw.one(self.no_call.chat["zh" if example.zh else "en"])
            messages = (text_message("user", asked), text_message("assistant", reply), *messages)
        if draw.chance(0.25) and example.schema is None:
            messages = (text_message("system", draw.one(self.results.records.lists["systems"])), *messages)
        return replace(example, messages=messages)


def find_fault(example: Example) -> str:
    """Why an example would teach something wrong; nothing if it does not."""
    shown = sum(len(json.dumps(tool.parameters)) + len(tool.description) for tool in example.tools)
    talk = " ".join(message.text for message in example.messages)
    if shown + len(talk) * (3 if example.zh else 1) > MAX_LENGTH:
        return "too long"
    if re.search(r"\{\w?\}|\0", example.question.replace('"{}"', "")) and example.skill not in ("nothing",):
        return "a gap was not filled"
    tools = {tool.name: tool for tool in example.tools}
    asked = " ".join(message.text for message in example.messages if message.role == "user")
    for made in example.calls:
        wrong = find_mismatch(json.loads(made.arguments), tools[made.name].parameters, asked)
        if wrong:
            return wrong
    return ""


def find_mismatch(value: Any, schema: dict[str, Any], asked: str) -> str:
    """Where a value breaks its schema, or is text that the user did not write."""
    kind = schema.get("type")
    if kind == "object":
        properties = schema["properties"]
        if lacking := [key for key in schema.get("required", ()) if key not in value]:
            return f"{lacking[0]} is missing"
        return next(filter(None, (find_mismatch(inner, properties[key], asked) for key, inner in value.items())), "")
    if kind == "array":
        return next(filter(None, (find_mismatch(inner, schema["items"], asked) for inner in value)), "")
    if kind == "string":
        known = value in schema["enum"] if "enum" in schema else value in asked
        return "" if known else f"{value} is not in the question"
    return ""

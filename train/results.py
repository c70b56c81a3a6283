"""Skill 3: a short true sentence from what a tool gave: a value, rows, several results, errors, nothing."""

from __future__ import annotations

from typing import Any

from rightseat.types.messages import Message, text_message
from rightseat.types.model import ToolSpec
from train import layouts, qualified
from train.draw import Draw
from train.example import Example, make_call, make_exchange
from train.kinds import draw_value
from train.pool import ToolPool
from train.presented_tools import PresentedTools
from train.records import RecordQuestion, RecordQuestions
from train.similar_keys import SimilarKeyQuestions
from train.wording import add_small_talk, add_small_talk_zh, draw_arguments, format_question

FAILURE_REPLIES = [
    "That did not work: {}.",
    "Sorry, that failed: {}.",
    "I could not do that: {}.",
    "The tool reported an error: {}.",
]
FAILURE_REPLIES_ZH = ["抱歉，操作失败：{}。", "没有成功：{}。"]
EMPTY_REPLIES = ["I found nothing for {}.", "There are no results for {}."]
NAMES = ("name", "id", "title", "key")


class ResultExamples:
    def __init__(self, draw: Draw, pool: ToolPool) -> None:
        self.draw, self.pool = draw, pool
        self.records = RecordQuestions(draw, pool.compounds.nouns)
        self.rivals = SimilarKeyQuestions(draw, pool.compounds.nouns)

    def make_one(self, zh: bool) -> Example:
        asked = self.records.draw_question(zh)
        if self.draw.chance(0.5):
            alike = self.draw.chance(0.35)
            asked = (
                qualified.draw_question(self.draw, self.records.nouns, zh) if alike else self.rivals.draw_question(zh)
            )
        draw, row = self.draw, dict(asked.row)
        if asked.subject and draw.chance(0.6):
            row = {asked.argument if draw.chance(0.3) else draw.one(NAMES): asked.subject, **row}
        row = layouts.restyle_keys(draw, row, draw.chance(0.2))
        if draw.chance(0.07):
            result = draw.one([str(asked.value), layouts.dump_spaced({asked.field: asked.value})])
        else:
            result = layouts.format_row(draw, row)
        return self._example("result", [asked], [result], asked.answer, zh)

    def make_rows(self, zh: bool) -> Example:
        """One row among others, or the highest, the lowest, or how many there are."""
        draw, asked = self.draw, self.records.draw_question(zh)
        while not asked.subject:
            asked = self.records.draw_question(zh)
        if draw.chance(0.4):
            asked = self.rivals.draw_question(zh)
        key = draw.one(NAMES)
        others = {str(draw_value(draw, asked.kind, zh)[0]) for _ in range(draw.whole(1, 5))}
        rows = [{key: asked.subject, **asked.row}]
        rows += [{key: name, **self.records.draw_similar_row(asked, zh)} for name in sorted(others - {asked.subject})]
        kept = list(dict.fromkeys([asked.field, *draw.some(list(asked.row), draw.whole(1, 4))]))
        # In any order: what is asked for must not be known by its column.
        keep = [key, *draw.some(kept, len(kept))]
        rows = [{name: row[name] for name in keep if name in row} for row in draw.some(rows, len(rows))]
        reply = asked.answer
        if draw.chance(0.5) and len(rows) > 1:
            find = draw.one([self._over_all, self._over_all, self._backwards, self._names])
            asked, reply = find(asked, rows, key, zh)
        return self._example("rows", [asked], [layouts.format_rows(draw, rows)], reply, zh, listed=True)

    def _backwards(
        self, asked: RecordQuestion, rows: list[layouts.Row], key: str, zh: bool
    ) -> tuple[RecordQuestion, str]:
        """Which one has a value."""
        draw, row = self.draw, self.draw.one(rows)
        name, value, noun = row[key], row[asked.field], asked.noun or "one"
        if sum(other[asked.field] == value for other in rows) > 1:
            return self._over_all(asked, rows, key, zh)
        if zh:
            return _asking(asked, f"哪个的{asked.label}是{value}？"), f"{name}的{asked.label}是{value}。"
        words = [
            f"Which {noun} has the {asked.label} {value}?",
            f"which one is it with {value}?",
            f"Where is the {asked.label} {value}?",
            f"Which {noun} has {value} as its {asked.label}?",
            f"whose {asked.label} is {value}?",
        ]
        return _asking(asked, draw.one(words)), f"{name} has the {asked.label} {value}."

    def _names(self, asked: RecordQuestion, rows: list[layouts.Row], key: str, zh: bool) -> tuple[RecordQuestion, str]:
        """All of them."""
        draw, names = self.draw, [str(row[key]) for row in rows]
        noun = asked.noun or ("项" if zh else "entry")
        if zh:
            return _asking(asked, draw.one([f"有哪些{noun}？", f"列出{noun}"])), f"{noun}有：{'、'.join(names)}。"
        many = _plural(noun)
        words = [f"Which {many} are there?", f"list the {many}", f"What {many} have we got?", "Who is on the list?"]
        return _asking(asked, draw.one(words)), f"The {many} are {', '.join(names[:-1])} and {names[-1]}."

    def _over_all(
        self, asked: RecordQuestion, rows: list[layouts.Row], key: str, zh: bool
    ) -> tuple[RecordQuestion, str]:
        draw, noun, label = self.draw, asked.noun or ("项" if zh else "entry"), asked.label
        numbers = all(isinstance(row[asked.field], int | float) for row in rows)
        if not numbers or draw.chance(0.25):
            plural = _plural(noun)
            words = f"有多少{noun}？" if zh else draw.one([f"How many {plural} are there?", f"count the {plural}"])
            return _asking(asked, words), f"共有{len(rows)}个{noun}。" if zh else f"There are {len(rows)} {plural}."
        most = draw.chance(0.5)
        best = (max if most else min)(rows, key=lambda row: row[asked.field])
        name, value = best[key], best[asked.field]
        if zh:
            side = "最高" if most else "最低"
            return _asking(asked, f"哪个的{label}{side}？"), f"{name}的{label}{side}，为{value}。"
        side = "highest" if most else "lowest"
        forms = [
            f"Which {noun} has the {side} {label}?",
            f"Where is the {label} {side}?",
            f"which {noun} has the {'most' if most else 'least'} {label}?",
            f"Which one is {'first' if most else 'last'} in {label}?",
            f"the {'largest' if most else 'smallest'} {label}, which {noun} is that?",
        ]
        return _asking(asked, draw.one(forms)), f"{name} has the {side} {label}: {value}."

    def make_several(self, zh: bool) -> Example:
        draw = self.draw
        asked = [self.records.draw_question(zh), self.records.draw_question(zh)]
        results = [layouts.format_row(draw, layouts.restyle_keys(draw, one.row, False)) for one in asked]
        return self._example("results", asked, results, ("" if zh else " ").join(one.answer for one in asked), zh)

    def make_comparison(self, zh: bool) -> Example | None:
        """The same value of two things, one result each: which is more, or both."""
        draw, asked = self.draw, self.records.draw_question(zh)
        other = self.records.draw_similar_row(asked, zh)
        name = str(draw_value(draw, asked.kind, zh)[0]) if asked.subject else ""
        values = asked.value, other.get(asked.field)
        if not name or name == asked.subject or not all(isinstance(value, int | float) for value in values):
            return None
        mine, theirs = asked.subject, name
        if values[0] == values[1]:
            return None
        first = values[0] > values[1]
        best, most = (mine, values[0]) if first else (theirs, values[1])
        label = asked.label
        if zh:
            text = draw.one([f"{mine}和{theirs}哪个的{label}更高？", f"{mine}和{theirs}，谁的{label}多？"])
            reply = f"{best}的{label}更高，为{most}。"
            if draw.chance(0.4):
                text = draw.one([f"{mine}和{theirs}的{label}各是多少？", f"查{mine}和{theirs}的{label}"])
                reply = f"{mine}的{label}是{values[0]}，{theirs}的是{values[1]}。"
        elif draw.chance(0.3):
            text = draw.one([f"What {label} do {mine} and {theirs} have?", f"{label} of {mine} and of {theirs}?"])
            reply = f"The {label} of {mine} is {values[0]}, that of {theirs} is {values[1]}."
        else:
            words = [
                f"Which has more {label}, {mine} or {theirs}?",
                f"Who is ahead in {label}: {mine} or {theirs}?",
                f"compare the {label} of {mine} and {theirs}",
            ]
            text, reply = draw.one(words), f"{best} has the higher {label}: {most}."
        pair = [
            _asking(asked, text),
            RecordQuestion(**{**asked.__dict__, "subject": theirs, "row": other, "question": ""}),
        ]
        order = draw.some(list(asked.row), len(asked.row))
        results = [
            layouts.dump_spaced({"name": one.subject} | {key: one.row[key] for key in order if key in one.row})
            for one in pair
        ]
        return self._example("results", pair, results, reply, zh)

    def make_error(self, zh: bool) -> Example:
        draw, asked = self.draw, self.records.draw_question(zh)
        lists = self.records.lists
        message = draw.one(lists["errors_zh" if zh else "errors"])
        if not zh and asked.subject and draw.chance(0.3):
            message = f"{message}: {asked.subject}"
        result = layouts.format_error(draw, message)
        return self._example(
            "error", [asked], [result], draw.one(FAILURE_REPLIES_ZH if zh else FAILURE_REPLIES).format(message), zh
        )

    def make_empty(self, zh: bool) -> Example:
        draw, asked = self.draw, self.records.draw_question(zh)
        while not asked.subject:
            asked = self.records.draw_question(zh)
        result = draw.one(["[]", "{}", "null", '{"results": []}', '{"count": 0, "items": []}', "No results."])
        reply = f"没有找到{asked.subject}的结果。" if zh else draw.one(EMPTY_REPLIES).format(asked.subject)
        return self._example("nothing", [asked], [result], reply, zh)

    def make_done(self, zh: bool) -> Example:
        """An action that was carried out: say so, with the reference if there is one."""
        draw, language = self.draw, "zh" if zh else "en"
        tool = self.pool.draw_target(language)
        while tool.is_read_only:
            tool = self.pool.draw_target(language)
        shown = PresentedTools(draw, self.pool.add_neighbours([tool], self.pool.draw_count(), zh), zh)
        filled = draw_arguments(draw, tool, zh)
        made = make_call(shown.get_name(tool), shown.make_arguments(tool, filled.values))
        reference = draw.one([f"{draw.letters(2)}-{draw.digits(4)}", draw.digits(6), draw.made_up(3)])
        key = draw.one(["id", "reference", "confirmation", "number"])
        plain = draw.chance(0.4)
        row: dict[str, Any] = draw.one([{"status": "ok"}, {"success": True}, {"state": "done"}])
        result = (
            draw.one(["OK", "Done.", layouts.dump_spaced(row)])
            if plain
            else layouts.dump_json(draw, {**row, key: reference})
        )
        reply = (
            ("好的，已完成。" if zh else "Done.")
            if plain
            else (f"已完成，编号是{reference}。" if zh else f"Done. The {key} is {reference}.")
        )
        messages = make_exchange(format_question(draw, tool, filled, language), [made], [result])
        return Example("done", tuple(shown.specs), messages, text=reply, zh=zh)

    def _example(
        self, skill: str, asked: list[RecordQuestion], results: list[str], reply: str, zh: bool, listed: bool = False
    ) -> Example:
        draw = self.draw
        words = [one.question for one in asked if one.question]
        text = words[0] if len(words) == 1 else self._both(words, zh)
        text = add_small_talk_zh(draw, text) if zh else add_small_talk(draw, text)
        specs, calls = self._tools(asked, listed, zh)
        messages: tuple[Message, ...] = make_exchange(text, calls, results)
        if draw.chance(0.1):
            messages = (
                text_message("user", "你好" if zh else "Hi"),
                text_message("assistant", "你好！" if zh else "Hello!"),
                *messages,
            )
        return Example(skill, specs, messages, text=reply, zh=zh)

    def _both(self, words: list[str], zh: bool) -> str:
        if zh:
            return words[0].rstrip("？") + "？另外，" + words[1]
        return words[0].rstrip("?.") + self.draw.one(["? And ", ", and ", "? Also, "]) + words[1]

    def _tools(self, asked: list[RecordQuestion], listed: bool, zh: bool) -> tuple[tuple[ToolSpec, ...], list[Any]]:
        draw = self.draw
        shown = PresentedTools(draw, self.pool.draw_strangers(None, max(0, self.pool.draw_count() - 2), zh), zh)
        specs, calls = list(shown.specs), []
        for number, one in enumerate(asked):
            name = one.tool if not listed else f"list_{draw.one(['all', 'entries', one.tool.split('_')[-1]])}"
            takes = bool(one.argument) and not (listed and draw.chance(0.6))
            properties = {one.argument: {"type": "string"}} if takes else {}
            spec = ToolSpec(
                name, one.description, {"type": "object", "properties": properties, "required": list(properties)}
            )
            if all(other.name != name for other in specs):
                specs.append(spec)
            calls.append(make_call(name, {one.argument: one.subject} if takes else {}, number))
        return tuple(draw.some(specs, len(specs))), calls


def _asking(asked: RecordQuestion, words: str) -> RecordQuestion:
    return RecordQuestion(**{**asked.__dict__, "question": words})


def _plural(noun: str) -> str:
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"

"""What results tell of: things with values, and the questions that one value answers: data/answers.txt.

# tools ; kind of subject (- for none) ; description ; Chinese description
f keys ; kind                     a value; the first key names it here
q key ; questions ; answers       {s} is the subject, {v} the value
z key ; questions ; answers       the same in Chinese

data/keys.txt has single values of anything: e names ; kind ; questions ; answers, and z in Chinese.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from train.catalogue import split_parts
from train.draw import DATA, Draw, read_json
from train.kinds import draw_value


@dataclass
class RecordType:
    tools: tuple[str, ...]
    subject: str
    description: str
    description_zh: str
    keys: dict[str, tuple[tuple[str, ...], str]] = dataclasses.field(default_factory=dict)
    asks: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = dataclasses.field(default_factory=list)
    asks_zh: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = dataclasses.field(default_factory=list)


@dataclass(frozen=True)
class RecordKey:
    names: tuple[str, ...]
    kind: str
    asks: tuple[str, ...]
    answers: tuple[str, ...]
    zh: bool


@dataclass(frozen=True)
class RecordQuestion:
    """One question about one record. `row` has the subject, where there is one, under `key`."""

    tool: str
    description: str
    argument: str
    subject: str
    row: dict[str, Any]
    field: str
    question: str
    answer: str
    label: str
    noun: str
    kind: str
    """Of the subject."""
    kinds: dict[str, str] = dataclasses.field(default_factory=dict)
    """Of the row's values, where the keys alone do not tell."""

    @property
    def value(self) -> Any:
        return self.row[self.field]


def load_record_types() -> list[RecordType]:
    found: list[RecordType] = []
    for line in filter(None, (DATA / "answers.txt").read_text("utf-8").splitlines()):
        mark, _, rest = line.partition(" ")
        parts = split_parts(rest, " ; ")
        if mark == "#":
            found.append(RecordType(split_parts(parts[0]), parts[1], parts[2], parts[3]))
        elif mark == "f":
            names = split_parts(parts[0])
            found[-1].keys[names[0]] = (names, parts[1])
        else:
            asks = found[-1].asks if mark == "q" else found[-1].asks_zh
            asks.append((parts[0], split_parts(parts[1]), split_parts(parts[2])))
    return found


def load_record_keys() -> list[RecordKey]:
    found = []
    for line in filter(None, (DATA / "keys.txt").read_text("utf-8").splitlines()):
        mark, _, rest = line.partition(" ")
        names, kind, asks, answers = split_parts(rest, " ; ")
        found.append(RecordKey(split_parts(names), kind, split_parts(asks), split_parts(answers), mark == "z"))
    return found


class RecordQuestions:
    def __init__(self, draw: Draw, nouns: list[tuple[str, ...]]) -> None:
        self.draw = draw
        self.nouns = nouns
        self.keys = load_record_keys()
        self.things = load_record_types()
        self.lists: dict[str, Any] = read_json("labels.json")

    def draw_question(self, zh: bool) -> RecordQuestion:
        makers = (self._of_keys, self._of_keys, self._of_thing, self._of_anything)
        return self.draw.one(makers)(zh)

    def draw_similar_row(self, asked: RecordQuestion, zh: bool) -> dict[str, Any]:
        """Another row with the same keys."""
        kinds = asked.kinds or self._kinds(asked, zh)
        return {key: draw_value(self.draw, kinds[key], zh)[0] for key in asked.row if key in kinds}

    def _kinds(self, asked: RecordQuestion, zh: bool) -> dict[str, str]:
        kinds = {name: kind for thing in self.things for names, kind in thing.keys.values() for name in names}
        kinds |= {name: key.kind for key in self.keys for name in key.names}
        kinds |= {label: kind for label, _, kind in self.lists["labels"]}
        return kinds | dict(self.lists["labels_zh"])

    def _of_thing(self, zh: bool) -> RecordQuestion:
        draw = self.draw
        thing = draw.one([thing for thing in self.things if thing.asks_zh] if zh else self.things)
        subject = "" if thing.subject == "-" else str(draw_value(draw, thing.subject, zh)[0])
        row, renamed = {}, {}
        for key, (names, kind) in thing.keys.items():
            renamed[key] = draw.one(names)
            row[renamed[key]] = draw_value(draw, kind, zh)[0]
        key, questions, answers = draw.one(thing.asks_zh if zh else thing.asks)
        value = row[renamed[key]]
        return RecordQuestion(
            tool=draw.one(thing.tools),
            description=thing.description_zh if zh else thing.description,
            argument=_argument(thing.subject),
            subject=subject,
            row=row,
            field=renamed[key],
            question=draw.one(questions).replace("{s}", subject),
            answer=draw.one(answers).replace("{s}", subject).replace("{v}", str(value)),
            label=renamed[key].replace("_", " "),
            noun="",
            kind=thing.subject,
        )

    def _of_keys(self, zh: bool) -> RecordQuestion:
        """A record of values that have nothing to do with each other, asked for as people do."""
        draw = self.draw
        chosen = draw.some([key for key in self.keys if key.zh == zh], draw.whole(2, 7))
        names = [draw.one(key.names) for key in chosen]
        if len(set(names)) < len(names):
            return self._of_keys(zh)
        row = {name: draw_value(draw, key.kind, zh)[0] for name, key in zip(names, chosen, strict=True)}
        key, name = chosen[0], names[0]
        noun, _, noun_zh = draw.one(self.nouns)
        kind = draw.one(["code", "code", "first", "slug", "product", "company", "place", "int 1 90", "title"])
        subject = str(draw_value(draw, kind, zh)[0]).strip("\"“”'")
        spoken = noun_zh if zh else noun.replace("_", " ")
        plain = draw.chance(0.4) and not kind.startswith("int")
        named = subject if plain else f"{spoken}{subject}" if zh else f"{spoken} {subject}"
        asked = draw.one(key.asks).replace("{s}", named)
        return RecordQuestion(
            tool=draw.one(["get_{}", "{}_info", "{}_status", "lookup_{}", "show_{}"]).format(noun),
            description=f"查询{noun_zh}"
            if zh
            else draw.one(["What is known of a {}", "Details of a {}"]).format(spoken),
            argument=noun,
            subject=subject,
            row=row,
            field=name,
            question=asked if zh or draw.chance(0.4) else asked[:1].upper() + asked[1:],
            answer=_capital(draw.one(key.answers).replace("{s}", named).replace("{v}", str(row[name]))),
            label=name if zh else name.replace("_", " "),
            noun=spoken,
            kind=kind,
        )

    def _of_anything(self, zh: bool) -> RecordQuestion:
        """A record of nothing in particular: the label in the question says which value is meant."""
        draw = self.draw
        chosen = draw.some(self.lists["labels_zh" if zh else "labels"], draw.whole(2, 7))
        row = {entry[0]: draw_value(draw, entry[-1], zh)[0] for entry in chosen}
        entry = draw.one(chosen)
        label = entry[0] if zh else entry[1] or entry[0].replace("_", " ")
        noun = draw.one(self.lists["nouns_zh" if zh else "nouns"])
        kind = draw.one(self.lists["subjects"])
        subject = str(draw_value(draw, kind, zh)[0])
        named = subject if draw.chance(0.5) else f"{noun}{subject}" if zh else f"{noun} {subject}"
        question, answer = self._generic(label, named, str(row[entry[0]]), zh)
        return RecordQuestion(
            tool=draw.one(["get_{}", "{}_details", "lookup_{}", "fetch_{}"]).format(
                "record" if zh else noun.replace(" ", "_")
            ),
            description=f"查询{noun}" if zh else f"Get the details of one {noun}",
            argument="name",
            subject=subject,
            row=row,
            field=entry[0],
            question=question,
            answer=answer,
            label=label,
            noun=noun,
            kind=kind,
        )

    def _generic(self, label: str, named: str, value: str, zh: bool) -> tuple[str, str]:
        if zh:
            asked = ["{s}的{l}是多少？", "{s}的{l}是什么？", "查一下{s}的{l}", "告诉我{s}的{l}"]
            replies = ["{s}的{l}是{v}。"]
        else:
            asked = [
                "What is the {l} of {s}?",
                "what's the {l} of {s}",
                "Tell me the {l} of {s}.",
                "I need the {l} of {s}.",
                "{s}: which {l} does it have?",
                "Look up the {l} for {s}, please.",
                "Can you check the {l} of {s}?",
            ]
            replies = ["The {l} of {s} is {v}."]
        parts = {"l": label, "s": named, "v": value}
        return self.draw.one(asked).format(**parts), self.draw.one(replies).format(**parts)


def _argument(kind: str) -> str:
    """A name for the argument that takes the subject."""
    name = kind.split()[0]
    return {"-": "", "enum_free": "name", "expr": "expression"}.get(name, name)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]

"""Records of values of one kind, told apart by what they are for: data/rivals.txt.

# kind                            a group: any of its values can be taken for any other
keys ; kind ; questions ; label ; Chinese key ; Chinese questions        {s} is the subject

To answer, a question has to be brought together with the right key: the values beside it look the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from train.catalogue import split_parts
from train.draw import DATA, Draw, capitalise
from train.kinds import draw_value
from train.records import RecordQuestion

SUBJECTS = ["code", "code", "first", "slug", "product", "company", "place", "title", "person"]
QUESTIONS = ["What is the {l} of {s}?", "{l} of {s}?", "tell me the {l} of {s}", "I'd like to know the {l} of {s}."]
QUESTIONS_ZH = ["{s}的{l}是多少？", "{s}的{l}？", "查一下{s}的{l}", "请问{s}的{l}是什么？"]


@dataclass(frozen=True)
class SimilarKey:
    names: tuple[str, ...]
    kind: str
    asks: tuple[str, ...]
    label: str
    zh: str
    zh_asks: tuple[str, ...]


def load_key_groups() -> list[list[SimilarKey]]:
    found: list[list[SimilarKey]] = []
    for line in filter(None, (DATA / "rivals.txt").read_text("utf-8").splitlines()):
        if line[0] == "#":
            found.append([])
            continue
        names, kind, asks, label, zh, zh_asks = split_parts(line, " ; ")
        found[-1].append(SimilarKey(split_parts(names), kind, split_parts(asks), label, zh, split_parts(zh_asks)))
    return found


class SimilarKeyQuestions:
    def __init__(self, draw: Draw, nouns: list[tuple[str, ...]]) -> None:
        self.draw, self.nouns = draw, nouns
        self.groups = load_key_groups()

    def draw_question(self, zh: bool) -> RecordQuestion:
        draw = self.draw
        group = draw.one(self.groups)
        meant, *others = draw.some(group, draw.whole(2, 4))
        if draw.chance(0.5):
            others += [draw.one(draw.one(self.groups)) for _ in range(draw.whole(1, 3))]
        chinese = zh and draw.chance(0.65)
        keys = {one.zh if chinese else draw.one(one.names): one for one in draw.some([meant, *others], 9)}
        if meant not in keys.values():
            return self.draw_question(zh)
        key = next(name for name, one in keys.items() if one is meant)
        row = {name: draw_value(draw, one.kind, zh)[0] for name, one in keys.items()}
        noun, _, noun_zh = draw.one(self.nouns)
        kind = draw.one(SUBJECTS)
        subject = str(draw_value(draw, kind, zh)[0]).strip("\"“”'")
        spoken = noun_zh if zh else noun.replace("_", " ")
        named = subject if draw.chance(0.5) else f"{spoken}{subject}" if zh else f"{spoken} {subject}"
        question, answer = self._words(meant, named, str(row[key]), zh)
        return RecordQuestion(
            tool=draw.one(["get_{}", "{}_info", "find_{}", "{}_record", "show_{}"]).format(noun),
            description=f"查询{noun_zh}" if zh else f"What is known of a {spoken}",
            argument=noun,
            subject=subject,
            row=row,
            field=key,
            question=question,
            answer=answer,
            label=meant.zh if zh else meant.label,
            noun=spoken,
            kind=kind,
            kinds={name: one.kind for name, one in keys.items()},
        )

    def _words(self, meant: SimilarKey, named: str, value: str, zh: bool) -> tuple[str, str]:
        draw = self.draw
        if zh:
            asked = draw.one(meant.zh_asks if draw.chance(0.7) else QUESTIONS_ZH)
            return asked.format(s=named, l=meant.zh), f"{named}的{meant.zh}是{value}。"
        asked = draw.one(meant.asks if draw.chance(0.75) else QUESTIONS).format(s=named, l=meant.label)
        return draw.one([asked, capitalise(asked)]), capitalise(f"the {meant.label} of {named} is {value}.")

"""Tools made of a verb and a thing: data/compounds.txt. Thousands, so that no name can be learnt by heart.

v names ; description ; questions ; Chinese description ; Chinese questions ; further argument
n thing|things|Chinese
"""

from __future__ import annotations

from dataclasses import dataclass

from train.catalogue import Tool, apply_line, split_parts
from train.draw import DATA, Draw

IDS = ("code", "code", "code", "number", "slug", "letter", "name")


@dataclass(frozen=True)
class Verb:
    names: tuple[str, ...]
    description: str
    asks: tuple[str, ...]
    zh: str
    zh_asks: tuple[str, ...]
    more: str = ""

    @property
    def bare(self) -> bool:
        """Without an argument: about all of a kind."""
        return not any("{0}" in ask for ask in self.asks)


class CompoundTools:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.verbs: list[Verb] = []
        self.nouns: list[tuple[str, ...]] = []
        for line in (DATA / "compounds.txt").read_text("utf-8").splitlines():
            mark, _, rest = line.partition(" ")
            if mark == "v":
                names, described, asks, zh, zh_asks, *more = split_parts(rest, " ; ")
                parts = split_parts(names), described, split_parts(asks, " / "), zh, split_parts(zh_asks, " / ")
                self.verbs.append(Verb(*parts, more=more[0] if more else ""))
            else:
                self.nouns = [split_parts(noun) for noun in rest.split(" n ")]

    def draw_family(self, count: int) -> list[Tool]:
        """Tools of which most are for the same thing; the first one is meant."""
        draw = self.draw
        noun, others = draw.one(self.nouns), draw.some(self.nouns, 3)
        verbs = draw.some(self.verbs, count)
        kind = draw.one(IDS)
        found = [self._tool(verbs[0], noun, kind)]
        nouns = (noun if draw.chance(0.75) else draw.one(others) for _ in verbs)
        found += [self._tool(verb, other, kind) for verb, other in zip(verbs[1:], nouns, strict=False)]
        if draw.chance(0.3) and others[0] != noun:
            found[-1:] = [found[-1], self._tool(verbs[0], others[0], kind)]
        return found

    def _tool(self, verb: Verb, noun: tuple[str, ...], kind: str) -> Tool:
        one, many, zh = noun
        spoken = one.replace("_", " ")

        def named(text: str) -> str:
            return text.replace("{n}", spoken).replace("{p}", many).replace("{z}", zh)

        plural = verb.bare
        names = tuple(f"{name}_{many.replace(' ', '_') if plural else one}" for name in verb.names)
        tool = Tool("things", one, (*names, f"{one}_{verb.names[0]}"), (named(verb.description),))
        lines = [] if plural else [f"+ {one}|{one}_id|id ; {_KINDS[kind]} ; Which {spoken}", f"zp {zh}"]
        if verb.more:
            keys, value = verb.more.rpartition(" ")[0].split(" ", 1)
            described = verb.more.split(" ")[-1]
            lines.append(f"+ {keys} ; {value.replace('_', ' ')} ; {keys.split('|')[0].replace('_', ' ')}")
            lines.append(f"zp {zh}|{described}")
        asks, zh_asks = verb.asks, verb.zh_asks
        if self.draw.chance(0.4):
            # Where there is only one kind of thing, nobody says which kind it is.
            asks = tuple(ask.replace("{n} {0}", "{0}") for ask in asks)
            zh_asks = tuple(ask.replace("{z}{0}", "{0}") for ask in zh_asks)
        lines += [f"{_mark(ask)} {named(ask)}" for ask in asks]
        lines += [f"z {named(verb.zh)}", f"zt {'|'.join(map(named, zh_asks))}"]
        if not plural:
            lines.append(f"~ 0 ; {named(verb.asks[0]).replace(' {0}', '')} ; Which {spoken} do you mean?")
            lines.append(f"zm 0;{named(verb.zh_asks[0]).replace('{0}', '')};请问是哪个{zh}？")
        if verb.more:
            lines += _lacking(verb, spoken, zh)
        for line in lines:
            apply_line(tool, line)
        return tool


_KINDS = {
    "code": "code",
    "number": "int 1 40",
    "slug": "slug",
    "letter": "enum_free A/B/C/D/E/North/South",
    "name": "first",
}


_SUBJECTS = frozenset(
    [
        "{n}",
        "{0}",
        "{1}",
        "I",
        "the",
        "we",
        "somebody",
        "everything",
        "nobody",
        "they",
        "if",
        "from",
        "not",
        "a",
        "people",
        "everybody",
        "any",
    ]
)


def _mark(wording: str) -> str:
    """A question, a statement or a wish."""
    first = wording.split()[0]
    if first in ("what", "which", "how", "where", "who", "whom", "is", "did", "does"):
        return "?"
    return "." if first in _SUBJECTS else "!"


def _lacking(verb: Verb, spoken: str, zh: str) -> list[str]:
    """A question without the further value."""
    what = verb.more.split("|")[0].split(" ")[0].replace("_", " ")
    verbs = verb.names[0].replace("_", " ")
    described = verb.more.split(" ")[-1]
    return [
        f"~ 1 ; {verbs} {spoken} {{0}} ; What {what} should I use for {spoken} {{0}}?",
        f"~ 1 ; please {verbs} {spoken} {{0}} ; Which {what} do you want?",
        f"zm 1;{verb.zh.replace('{z}', zh)}：{{0}};请问{described}是什么？",
    ]

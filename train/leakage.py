"""python -m train.leakage [COUNT]: what the final questions share with the training data: nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence

from train.mix import ExampleMix
from train.questions import HeldOutQuestion, load_questions

PLACEHOLDER = re.compile(r"\{\w*\}(?: \{\w\})?")


def normalise_name(name: str) -> str:
    """A name without its style: getTime, get_time and time__get_time are one."""
    return re.sub(r"[^\w]|_", "", re.sub(r"^.*(?:__|\.)", "", name)).lower()


def make_pattern(wording: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in PLACEHOLDER.split(wording.rstrip("？。?. ").lower())]
    return re.compile("(.+)".join(parts))


def list_wordings(mix: ExampleMix) -> list[str]:
    """Whole sentences of the training data; those of a few words ("send {1} to {0}") fit anything."""
    pool, chat = mix.pool, mix.no_call.chat
    found = [ask for tool in pool.tools for _, ask in tool.asks]
    found += [ask for tool in pool.tools for ask in tool.zh_asks]
    found += [lacks for tool in pool.tools for lacks, _ in (*tool.missing, *tool.zh_missing)]
    found += [ask for verb in pool.compounds.verbs for ask in (*verb.asks, *verb.zh_asks)]
    for thing in mix.results.records.things:
        found += [ask for _, asks, _ in (*thing.asks, *thing.asks_zh) for ask in asks]
    flows = (*mix.choices.en, *mix.choices.zh, *mix.choices.topics.values())
    found += [text for flow in flows for step in flow for text in step.texts]
    found += [*mix.no_call.list_templates(), *(ask for ask, _ in (*chat["en"], *chat["zh"]))]
    found += [ask for key in mix.results.records.keys for ask in key.asks]
    rivals = (one for group in mix.results.rivals.groups for one in group)
    found += [ask for one in rivals for ask in (*one.asks, *one.zh_asks)]
    return [ask for ask in found if _is_whole_sentence(ask)]


def _is_whole_sentence(wording: str) -> bool:
    left = PLACEHOLDER.sub("", wording).rstrip("？。?. ")
    if not wording.isascii():
        return len(left) > 6
    return len(left.split()) > max(2, wording.count("{"))


def find_shared(count: int, parts: Sequence[str] = ("final",)) -> Iterator[str]:
    mix = ExampleMix(11)
    pool = mix.pool
    known = {normalise_name(name) for tool in pool.tools for name in tool.names}
    patterns = [make_pattern(wording) for wording in list_wordings(mix)]
    questions, names = set[str](), set[str]()
    for example in mix.examples(count):
        questions.add(example.question.lower())
        names.update(normalise_name(tool.name) for tool in example.tools)
    domains = {tool.domain for tool in pool.tools}
    for item in (item for part in parts for item in load_questions(part)):
        yield from find_leaks(item, known | names, patterns, questions, domains)


def find_leaks(
    item: HeldOutQuestion, names: set[str], patterns: list[re.Pattern[str]], questions: set[str], domains: set[str]
) -> Iterator[str]:
    where = f"{item.skill} [{item.set}] {item.question}"
    for tool in item.tools:
        if normalise_name(tool.name) in names:
            yield f"{where}: the tool {tool.name}"
    asked = item.question.rstrip("？。?. ").lower()
    if any(found.fullmatch(asked) for found in patterns):
        yield f"{where}: the wording"
    if item.question.lower() in questions:
        yield f"{where}: the question"
    if item.set in domains:
        yield f"{where}: the domain"


def main(count: int = 20_000) -> int:
    found = list(find_shared(count))
    print("\n".join(found) or "nothing is shared")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

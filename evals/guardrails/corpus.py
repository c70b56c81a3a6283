"""Sentences with what should be found in them, and how often that fails."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rightseat.middleware.guardrails.matchers import WordList
from rightseat.middleware.guardrails.personal_data import DATA_KINDS, PersonalDataFinder

FOLDER = Path(__file__).resolve().parents[2] / "evals" / "guardrails"


@dataclass
class DetectionCount:
    lines: int = 0
    expected: int = 0
    """Things that should be found."""
    false_positives: int = 0
    """Found, and not there."""
    false_negatives: int = 0

    def add(self, wanted: list[str], found: list[str]) -> None:
        rest = list(wanted)
        for one in found:
            if one in rest:
                rest.remove(one)
            else:
                self.false_positives += 1
        self.lines += 1
        self.expected += len(wanted)
        self.false_negatives += len(rest)


def read_lines(name: str) -> Iterator[dict[str, object]]:
    for line in (FOLDER / name).read_text("utf-8").splitlines():
        yield json.loads(line)


def find_personal_data(text: str) -> list[str]:
    return [edit.text.strip("[]") for edit in PersonalDataFinder(DATA_KINDS).find_edits(text)]


def load_topics() -> dict[str, WordList]:
    given = json.loads((FOLDER / "topics.json").read_text("utf-8"))
    return {name: WordList(words) for name, words in given.items()}


def count_detections() -> dict[tuple[str, str], DetectionCount]:
    """By what is looked for and by language."""
    made: dict[tuple[str, str], DetectionCount] = {}
    known = load_topics()
    for line in read_lines("personal.jsonl"):
        kinds = line["kinds"]
        assert isinstance(kinds, list)
        count = made.setdefault(("personal data", str(line["lang"])), DetectionCount())
        count.add(kinds, find_personal_data(str(line["text"])))
    for line in read_lines("topics.jsonl"):
        wanted = [str(line["topic"])] if line["topic"] else []
        found = [name for name, words in known.items() if words.matches(str(line["text"]))]
        made.setdefault(("topics by words", str(line["lang"])), DetectionCount()).add(wanted, found)
    return made

"""Sentences of the server: each in every language, with the same values, and each one used."""

import re
import string
from pathlib import Path

import pytest

import rightseat
from rightseat.types.language import LANGUAGES
from rightseat.types.sentences import SENTENCES, get_sentence
from tests.kit.cases import each_case

PACKAGE = Path(rightseat.__file__).parent


def list_values(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.demand("language.sentences_in_persons_language")
@each_case("key", SENTENCES)
def test_a_sentence_is_there_in_every_language_with_the_same_values(key: str) -> None:
    assert tuple(SENTENCES[key]) == LANGUAGES
    names = list_values(SENTENCES[key]["en"])
    if key != "openbb_reading_file":
        assert all(list_values(text) == names for text in SENTENCES[key].values())
    filled = get_sentence(key, "zh", **dict.fromkeys(names, "1"))
    assert "problem" in names or re.search(r"[\u4e00-\u9fff]", filled)


@pytest.mark.demand("language.sentences_in_persons_language")
def test_each_sentence_is_used() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "sentences.py"]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files).replace("'", '"')
    parts = {key: key.removeprefix("openbb_").removeprefix("guard_").removesuffix("_refused") for key in SENTENCES}
    assert [key for key, part in parts.items() if f'"{key}"' not in code and f'"{part}"' not in code] == []


def test_braces_in_a_value_stay() -> None:
    assert get_sentence("allow_call", "en", name="f", arguments='{"a": 1}') == 'Allow f with {"a": 1}?'

"""The same grammars in llama.cpp's own engine: each parses there, and both agree on every text."""

import importlib.util
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.models.llamacpp.corpus import CORPUS
from tests.unit.models.llamacpp.gbnf import Grammar
from tests.unit.models.llamacpp.schema_grammar import build_grammar

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]


def match_in_engine(cases: list[tuple[str, list[str]]]) -> list[list[bool] | None]:
    lines = "\n".join(json.dumps({"grammar": text, "texts": texts}) for text, texts in cases)
    script = Path(__file__).parents[1] / "grammar_engine.py"
    done = subprocess.run(
        [sys.executable, str(script)],
        input=lines,
        capture_output=True,
        text=True,
        timeout=5 * HANG_TIMEOUT,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def mutate(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return rng.choice([text[:at], text[:at] + text[at + 1 :], text[:at] + rng.choice('"0,a}\\ ') + text[at:]])


@pytest.mark.demand("llamacpp.text_grammar_accepts_validates")
@pytest.mark.long
def test_the_engine_agrees_on_the_whole_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(1)
    asked, expected = [], []
    for schema in CORPUS.values():
        said = build_grammar(schema).text
        read = Grammar.parse(said)
        good = [read.generate(rng, size=60) for _ in range(3)]
        texts = [text for text in (*good, *(mutate(text, rng) for text in good)) if len(text) < 1500]
        asked.append((said, texts))
        expected.append([read.accepts(text) for text in texts])
    answers = match_in_engine(asked)
    wrong = [name for name, got, want in zip(CORPUS, answers, expected, strict=True) if got != want]
    with capsys.disabled():
        print(f" [{len(answers)} grammars, {sum(map(len, expected))} texts, {len(wrong)} differ]", end=" ")
    assert not wrong


def test_the_engine_finds_a_broken_grammar() -> None:
    assert match_in_engine([("root ::= nowhere", []), ('root ::= "a"', ["a", "b", ""])]) == [None, [True, False, False]]

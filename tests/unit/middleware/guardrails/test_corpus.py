"""The corpus does not get worse."""

import pytest

from evals.guardrails.__main__ import BEGIN, PAGE, format_table
from evals.guardrails.corpus import count_detections, read_lines

# (false positives, false negatives) at most.
MOST = {
    ("personal data", "en"): (1, 0),
    ("personal data", "zh"): (0, 0),
    ("topics by words", "en"): (3, 6),
    ("topics by words", "zh"): (0, 7),
}


def test_there_are_enough_sentences_and_none_twice() -> None:
    texts = [str(line["text"]) for name in ("personal.jsonl", "topics.jsonl") for line in read_lines(name)]
    assert len(texts) == len(set(texts)) >= 200


@pytest.mark.demand("models.guardrail_corpus_false_positive")
def test_what_is_found_falsely_and_missed() -> None:
    found = count_detections()
    print(format_table())
    assert set(found) == set(MOST)
    for name, count in found.items():
        assert count.false_positives <= MOST[name][0], (name, count)
        assert count.false_negatives <= MOST[name][1], (name, count)


@pytest.mark.demand("models.guardrail_corpus_false_positive")
def test_the_page_shows_the_figures() -> None:
    assert PAGE.read_text("utf-8").partition(BEGIN)[2].strip() == format_table()

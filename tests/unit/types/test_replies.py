"""How people say yes and no: one list, held against sentences as people type them."""

import tomllib
from pathlib import Path

import pytest

from rightseat.types.replies import (
    MAX_REPLY_LENGTH,
    asks_for_run,
    asks_nothing,
    is_decline,
    is_only_thanks,
    parse_consent,
)
from tests.kit.cases import each_case

CORPUS: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("replies.toml").read_text("utf-8"))
EXPECTED = {"yes": True, "no": False, "neither": None}
CASES = [(sentence, EXPECTED[name]) for name, sentences in CORPUS.items() for sentence in sentences]


@pytest.mark.demand("approvals.how_people_say_yes")
def test_the_corpus_is_large_has_both_languages_and_no_sentence_twice() -> None:
    sentences = [sentence for sentence, _ in CASES]
    chinese = [sentence for sentence in sentences if any("\u4e00" <= char <= "\u9fff" for char in sentence)]
    assert len(sentences) == len(set(sentences)) >= 300
    assert len(chinese) >= 100
    assert all(len(group) >= 100 for group in CORPUS.values())


@pytest.mark.demand("approvals.how_people_say_yes")
def test_no_sentence_is_taken_for_something_else() -> None:
    wrong = [
        (sentence, parse_consent(sentence), said) for sentence, said in CASES if parse_consent(sentence) is not said
    ]
    false_approvals = [sentence for sentence, heard, _ in wrong if heard]
    assert false_approvals == []
    assert wrong == []


@pytest.mark.demand("approvals.how_people_say_yes")
@each_case("end", [" but only two", "?", ", if free", " not", "，但是只要两个", "吗", "的话", " p-001"])
def test_no_yes_survives_a_condition_a_question_or_a_change(end: str) -> None:
    assert [sentence for sentence in CORPUS["yes"] if parse_consent(sentence.strip() + end)] == []


@pytest.mark.demand("approvals.how_people_say_yes")
@each_case("begin", ["don't ", "do not ", "never ", "if ", "why ", "不要", "如果", "是否", "没有说"])
def test_no_yes_survives_a_negation_before_it(begin: str) -> None:
    assert [sentence for sentence in CORPUS["yes"] if parse_consent(begin + sentence.strip().split(",")[0])] == []


def test_a_long_text_is_no_answer_and_costs_nothing() -> None:
    assert parse_consent("yes " * (MAX_REPLY_LENGTH // 4)) is True
    assert parse_consent("yes " * MAX_REPLY_LENGTH) is None
    assert parse_consent("好" * 10_000_000) is None


ASK_NOTHING = """
thanks | thanks! | Thank you very much! | ok | ok thanks | yes | Yes please, go ahead | yes yes | great | perfect!
Great, thank you | cool | got it | no | no thanks | that's all, thanks | bye | 👍 | 🙏 | nice work! | don't run it
谢谢 | 谢谢！ | 好的 | 好的，谢谢 | 辛苦了 | 知道了 | 明白了 | 不用了 | 太好了 | 再见 | 好了 | 不要执行
"""
ASK_SOMETHING = """
order one | thanks, and order two | yes, order two | ok? | what is p-001? | great, now list them | again | run it
do it again | yes, run it again | go | 谢谢，再订一个 | 好的，下单 | 查一下 | 再来一次 | 执行 | 不确定
"""


def split_sentences(text: str) -> list[str]:
    return [sentence.strip() for line in text.strip().splitlines() for sentence in line.split("|")]


@pytest.mark.demand("approvals.words_that_ask_nothing")
@each_case("text", split_sentences(ASK_NOTHING))
def test_words_that_ask_for_nothing(text: str) -> None:
    assert asks_nothing(text)
    assert not asks_for_run(text)


@pytest.mark.demand("approvals.words_that_ask_nothing")
@each_case("text", ["", *split_sentences(ASK_SOMETHING)])
def test_words_that_ask_for_something(text: str) -> None:
    assert not asks_nothing(text)


def test_words_that_ask_for_another_run() -> None:
    texts = [
        "again",
        "once more please",
        "run it",
        "yes, run it again",
        "do it again",
        "再来一次",
        "执行吧",
        "好的，重新执行",
    ]
    assert [text for text in texts if not asks_for_run(text)] == []
    others = ["yes", "go ahead", "don't run it", "不要执行", "run it with two", "again?", "order again"]
    assert [text for text in others if asks_for_run(text)] == []


def test_thanks_answer_no_question() -> None:
    assert all(map(is_only_thanks, ["thanks", "great, thank you", "谢谢", "bye", "well done"]))
    assert not any(map(is_only_thanks, ["yes", "ok thanks", "no thanks", "好的，谢谢", "again", "", "order"]))


def test_what_ends_a_form() -> None:
    declines = ["cancel", "Cancel that.", "never mind", "forget it", "no thanks", "No, thank you", "no, cancel it"]
    assert all(map(is_decline, [*declines, "取消", "算了", "不用了", "不用了，谢谢", "不，谢谢"]))
    assert not any(map(is_decline, ["no", "不", "n", "yes", "web-1", "cancel order A7", "thanks", "", "oh no"]))

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


BOOK = 'Allow book with {"people":2}?'
BOOK_TABLE = 'Allow book_table with {"people":2,"note":"cancel it"}?'
BOOK_ZH = '是否允许执行 book，参数为 {"people":2}？'
CANCEL = 'Allow cancel_order with {"order":"A7"}?'
CANCEL_ZH = "是否取消预订？"
SAYS_YES = """
yes please, book it | Yes, book it. | yes book it please | ok, book it | sure, go ahead and book it | 好的,订吧
好的，请帮我订 | 是的，预订吧 | 可以，订 | yes, do it | sure, that is fine, thanks | 好的，办吧 | 可以，去做吧
that's fine, book it now
"""
SAYS_NO = """
nope, I changed my mind | nope I changed my mind | no, leave it | no, that is too expensive
No, the day is wrong | ok, no, I changed my mind | don't book it | no, don't book it
no, I do not need it any more | no, maybe later | 不用了,谢谢 | 不用了，我改主意了 | 算了，太贵了 | 不要订
不，别订 | no thanks, we are staying at home
"""
SAYS_NEITHER = """
yes please, cancel it | yes, cancel | sure but for 3 people | yes, book it for 3 people | yes, book two
yes, book it tomorrow | yes, book it if it is free | yes, book it? | yes, order it and pay | yes, pay it
yes, delete it | ok, book it but wait | book it or not | no, book it | no, yes, book it | no, go ahead
no, wait | no, if it rains | no objection | no idea | book it | 是的，取消 | 好的，发送吧 | 好的，订三个人的
没问题就订 | 可以就订吧 | 好的，订吗 | 不，订吧 | 不用，可以 | 好的，明天订 | 没问题，就订 | yes, book it...
yes, I think book it | yes, cancel the booking | yes, stop it | yes, book the other table
"""


@pytest.mark.demand("approvals.yes_that_names_the_action")
@each_case("question", [BOOK, BOOK_TABLE, BOOK_ZH, "Shall I book a table for 2?", "要订 2 个人的桌子吗？"])
def test_a_yes_may_name_the_action_and_a_no_may_give_a_reason(question: str) -> None:
    expected = ((SAYS_YES, True), (SAYS_NO, False), (SAYS_NEITHER, None))
    wrong = [
        (text, heard)
        for listing, said in expected
        for text in split_sentences(listing)
        if (heard := parse_consent(text, question)) is not said
    ]
    assert wrong == []


@pytest.mark.demand("approvals.yes_that_names_the_action")
@each_case(
    ("question", "text", "said"),
    [
        (CANCEL, "yes please, cancel it", True),
        (CANCEL, "yes, cancel the order", True),
        (CANCEL, "是的，取消", True),
        (CANCEL, "ok, cancel it", None),
        (CANCEL, "cancel it", False),
        (CANCEL, "cancel it, the trip is off", None),
        (CANCEL, "don't cancel it", False),
        (CANCEL, "yes, order it", None),
        (CANCEL, "yes, book it", None),
        (CANCEL, "yes, cancel order A8", None),
        (CANCEL_ZH, "是的，取消吧", True),
        (CANCEL_ZH, "是的，订吧", None),
        ('Allow order_cancel with {"order":"A7"}?', "yes, order it", None),
        ('Allow return_order with {"order":"A7"}?', "yes, order it", None),
        ('Allow deployService with {"name":"web"}?', "yes, deploy it", True),
        ('Allow deployService with {"name":"web"}?', "yes, deploy the service", True),
        ('Allow demo_book with {"people":2}?', "yes please, book it", True),
        ('是否允许执行 demo_book，参数为 {"people":2}？', "好的,订吧", True),
        ('Allow restaurant__book with {"people":2}?', "yes, book it", True),
        ('是否允许执行 order.cancel，参数为 {"id":2}？', "是的，取消", True),
        ('Allow order.cancel with {"id":2}?', "yes, order it", None),
        ("Allow POST /orders/7/cancel at example.com with {}?", "yes, post it", None),
        ("Allow DELETE /orders/7 at example.com with {}?", "yes, delete it", True),
        ("Allow the step 'order' (order) of p/f?", "yes, order it", True),
        ('Allow wait_for_job with {"id":1}?', "yes, wait", None),
        ("Cancel the old booking and book a new one?", "yes, cancel it", None),
        ("Send it without a signature?", "yes, send it", None),
        ("Is it ok?", "yes, is it", None),
        ("", "yes, book it", None),
        (BOOK_TABLE, "yes, book the table", True),
        (BOOK, "yes, book the table", None),
        (BOOK, "好的订吧", True),
        (BOOK, "好的请帮我订", True),
        (BOOK, "可以订吧", None),
        (BOOK, "好的就订", None),
        (BOOK, "好的订三个", None),
        (BOOK, "是的取消", None),
        (BOOK, "yes, and then book it", None),
    ],
)
def test_only_the_action_of_the_question_may_follow_a_yes(question: str, text: str, said: bool | None) -> None:
    assert parse_consent(text, question) is said


@pytest.mark.demand("approvals.yes_that_names_the_action")
@each_case("question", [BOOK, BOOK_ZH, CANCEL, CANCEL_ZH])
def test_no_other_sentence_becomes_a_yes_by_a_question(question: str) -> None:
    others = [sentence for sentence, said in CASES if not said and parse_consent(sentence, question)]
    named = ["yes cancel it", "yes, cancel", "是的，取消"] if question in (CANCEL, CANCEL_ZH) else []
    assert others == named


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

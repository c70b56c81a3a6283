"""What rules find in a whole text: words of every script, expressions that cannot run away, personal data."""

import time

import pytest

from rightseat.errors import ConfigError
from rightseat.middleware.guardrails.matchers import PatternList, WordList, is_anchored
from rightseat.middleware.guardrails.personal_data import (
    DATA_KINDS,
    DATA_PATTERNS,
    PersonalDataFinder,
    PersonalDataScan,
)
from rightseat.middleware.guardrails.rules import REASONS, TextRules, format_refusal
from tests.kit.cases import each_case

LONGEST_MATCH = max(
    sum(most for _, _, most in pattern.runs) for patterns in DATA_PATTERNS.values() for pattern in patterns
)


@pytest.mark.demand("models.allow_deny_lists_topics")
@each_case(
    ("word", "text", "found"),
    [
        ("gun", "Buy a GUN now", True),
        ("gun", "We have begun", False),
        ("gun", "gun-shop", True),
        ("gun", "guns", False),
        ("gun", "ＧＵＮ", True),
        ("gun", "g\u200bu\u00adn", True),
        ("gun", "gun_powder", False),
        ("two words", "Two \n\t words!", True),
        ("two words", "twowords", False),
        ("赌博", "我想去赌博网站", True),
        ("赌博", "赌一把，博一回", False),
        ("微信pay", "用微信Pay付款", True),
        ("微信pay", "用微信payment", False),
        ("straße", "in der STRASSE", True),
        ("café", "cafe\u0301", True),
        ("cafe", "café", False),
        ("도박", "도박을 하자", True),
        ("c++", "I write C++ daily", True),
        ("c++", "I write c daily", False),
        ("", "anything", False),
        ("gun", "", False),
    ],
)
def test_words_whole_in_any_case_width_and_script(word: str, text: str, found: bool) -> None:
    assert WordList([word]).matches(text) is found
    assert TextRules(deny=WordList([word])).find_problem(text) == ("words" if found else None)


@pytest.mark.demand("models.allow_deny_lists_topics")
def test_an_expression_takes_linear_time() -> None:
    patterns = PatternList([r"(a+)+\$", r"(x|x)*y", r"(?i)\bkennwort:\s*\S+"])
    start = time.process_time()
    assert not patterns.matches("a" * 200_000 + "!" + "x" * 200_000)
    assert time.process_time() - start < 1
    assert patterns.matches("Mein KENNWORT: 1234")


@pytest.mark.demand("models.allow_deny_lists_topics")
@pytest.mark.parametrize("pattern", [r"(?<=a)b", r"(a)\1", r"(", r"((a{1000}){1000})"])
def test_an_expression_that_could_run_away_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="not a supported expression"):
        PatternList([pattern])


def test_anchors() -> None:
    assert [is_anchored(one) for one in ("^a", "a$", r"a\$", r"a\\$", "a^b", "[$]")] == [
        True,
        True,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.demand("models.length_token_limits_pii")
@each_case(
    ("text", "redacted"),
    [
        ("Mail joe.doe+x@mail.example.co.uk, please.", "Mail [email], please."),
        ("邮箱a@b.cn吗", "邮箱[email]吗"),
        ("at@ home, a@b, @all, x@.com", "at@ home, a@b, @all, x@.com"),
        ("card 4111 1111 1111 1111 or 4111111111111111", "card [card] or [card]"),
        ("Amex 3782 822463 10005", "Amex [card]"),
        ("order 4111 1111 1111 1112, 0000000000000000", "order 4111 1111 1111 1112, 0000000000000000"),
        ("DE89 3704 0044 0532 0130 00.", "[iban]."),
        ("gb29nwbk60161331926819", "[iban]"),
        ("DE89 3704 0044 0532 0130 01", "DE89 3704 0044 0532 0130 01"),
        ("身份证11010519491231002X。", "身份证[national_id]。"),
        ("110105194912310021", "110105194912310021"),
        ("SSN 078-05-1120, not 000-12-3456", "SSN [national_id], not 000-12-3456"),
        ("电话13812345678或138-1234-5678", "电话[phone]或[phone]"),
        ("+49 (30) 1234567, (212) 555-1234, 212-555-1234", "[phone], [phone], [phone]"),
        ("2024-05-06 12:30:45, 1,234,567.89, 3.14159265358979", "2024-05-06 12:30:45, 1,234,567.89, 3.14159265358979"),
        ("host 10.0.0.255, v1.2.3, 999.1.1.1, 01.2.3.4", "host [ip], v1.2.3, 999.1.1.1, 01.2.3.4"),
        ("2001:db8:0:0:0:0:0:1 at 12:30:45", "[ip] at 12:30:45"),
        ("key sk-abcdefghijklmnopqrstuv and sk-short", "key [secret] and sk-short"),
        ("AKIA" + "IOSFODNN7EXAMPLE", "[secret]"),
        (f"eyJ{'a' * 20}.{'b' * 20}.{'c' * 20}", "[secret]"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY-----", "[secret]"),
    ],
)
def test_personal_data_by_its_form(text: str, redacted: str) -> None:
    assert PersonalDataFinder(DATA_KINDS).redact(text) == redacted
    assert TextRules(refused=DATA_KINDS).find_problem(text) == ("personal" if redacted != text else None)


def test_only_the_kinds_that_are_asked_for() -> None:
    assert PersonalDataFinder(["phone"]).redact("a@b.cn 13812345678") == "a@b.cn [phone]"
    assert PersonalDataFinder([]).redact("a@b.cn") == "a@b.cn"


@pytest.mark.demand("models.length_token_limits_pii")
@pytest.mark.slow
@each_case(
    "text", ["a" * 100_000, "1" * 100_000, "1 " * 50_000, "a@" * 50_000, "a@" + "a." * 50_000, "+1" + "(" * 100_000]
)
def test_personal_data_takes_linear_time(text: str) -> None:
    start = time.process_time()
    PersonalDataFinder(DATA_KINDS).redact(text)
    scan = PersonalDataScan(PersonalDataFinder(DATA_KINDS))
    assert scan.feed(text) <= LONGEST_MATCH
    assert time.process_time() - start < 15


def test_every_shape_is_bounded() -> None:
    assert LONGEST_MATCH < 6100


def test_every_kind_of_rule_has_its_words_in_both_directions() -> None:
    for kind in REASONS:
        assert "not" in format_refusal("input", kind)
        assert format_refusal("output", kind).startswith("The answer was stopped: ")

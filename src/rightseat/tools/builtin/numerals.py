"""Numbers in words, English and Chinese, as digits."""

from __future__ import annotations

import math
import re
from decimal import Decimal

_ONES_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES = {word: value for value, word in enumerate(_ONES_WORDS.split())}
_TENS = {word: 10 * value for value, word in enumerate(_TENS_WORDS.split(), 2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_WORD = "|".join(sorted((*_ONES, *_TENS, *_SCALES), key=len, reverse=True))
_ENGLISH = re.compile(
    rf"\b(?:a\s+(?=hundred|thousand|million|billion))?(?:{_WORD})(?:(?:[\s-]+|\s+and\s+)(?:{_WORD}))*\b"
)
_SCALED_DIGITS = re.compile(r"(\d+(?:\.\d+)?)\s+(hundred|thousand|million|billion)\b")

CHINESE_DIGITS = {
    "零": 0,
    "〇": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
_CHINESE_SCALES = {"十": 10, "百": 100, "千": 1000}
_CHINESE = re.compile(r"[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+)?")
_DIGIT_SCALES = {**_CHINESE_SCALES, "万": 10**4, "亿": 10**8}
_CHINESE_SCALED = re.compile(r"(?:\d+(?:\.\d+)?(?:[十百千][万亿]?|[万亿]))+(?!分)")
_SCALED_PART = re.compile(r"(\d+(?:\.\d+)?)([十百千万亿]*)")


def read_names(text: str) -> dict[str, str]:
    """Return the value of each name in lines of the form `value: name, name`."""
    lines = (line.partition(":") for line in text.strip().splitlines())
    return {name.strip(): value for value, _, names in lines for name in names.split(",")}


def scale_digits(digits: str, scale: int) -> str:
    return format(Decimal(digits) * scale, "f").rstrip("0").rstrip(".") if "." in digits else str(int(digits) * scale)


def replace_english_numerals(text: str) -> str:
    """Return a text in lower case with its number words as digits: `one hundred and five` is 105."""
    text = _SCALED_DIGITS.sub(lambda match: scale_digits(match[1], _SCALES[match[2]]), text)
    return _ENGLISH.sub(lambda match: read_english_numeral(match[0]), text)


def read_english_numeral(text: str) -> str:
    """Return the digits of number words; words that make no number, such as `two five`, stay apart."""
    total = group = 0
    last = 0
    parts: list[str] = []
    for word in re.findall(rf"and|{_WORD}", text):
        if word == "and":
            # `three and five` are two numbers; `one hundred and five` is one.
            if last < 100:
                parts.append(f"{total + group} and ")
                total = group = last = 0
            continue
        if word in _SCALES:
            scale = _SCALES[word]
            group = (group or 1) * scale
            if scale > 100:
                total, group = total + group, 0
            last = scale
            continue
        value = _ONES.get(word, _TENS.get(word, 0))
        follows = last == 0 or last >= 100 or (last in _TENS.values() and 0 < value < 10)
        if not follows:
            parts.append(f"{total + group} ")
            total = group = 0
        group += value
        last = value or 1
    return "".join(parts) + str(total + group)


def replace_chinese_numerals(text: str) -> str:
    """Return a text with its Chinese numerals as digits: 一百二十五 is 125, 3万 is 30000."""
    text = _CHINESE_SCALED.sub(lambda match: add_scaled_digits(match[0]), text)
    return _CHINESE.sub(lambda match: read_chinese_numeral(match[0]), text)


def add_scaled_digits(text: str) -> str:
    """Return the digits of a number such as 3万5千."""
    parts = (
        (digits, math.prod(_DIGIT_SCALES[char] for char in scales)) for digits, scales in _SCALED_PART.findall(text)
    )
    return scale_digits(format(sum(Decimal(digits) * scale for digits, scale in parts), "f"), 1)


def read_chinese_numeral(text: str) -> str:
    whole, _, decimals = text.partition("点")
    digits = "".join(str(CHINESE_DIGITS[char]) for char in decimals)
    if all(char in CHINESE_DIGITS for char in whole) and whole:
        # Digit by digit, as years are written: 二〇二四.
        number = "".join(str(CHINESE_DIGITS[char]) for char in whole)
    elif whole in ("万", "亿"):
        return text
    else:
        number = str(read_chinese_group(whole))
    return f"{number}.{digits}" if digits else number


def read_chinese_group(text: str) -> int:
    for char, scale in (("亿", 10**8), ("万", 10**4)):
        high, found, low = text.partition(char)
        if found:
            return (read_chinese_group(high) if high else 1) * scale + (read_chinese_group(low) if low else 0)
    total = digit = 0
    last_scale = 1
    for char in text:
        if char in _CHINESE_SCALES:
            last_scale = _CHINESE_SCALES[char]
            total += (digit or 1) * last_scale
            digit = 0
        else:
            digit = CHINESE_DIGITS[char]
    # 一百二 is 120, 一百零二 is 102.
    elided = last_scale > 10 and digit and len(text) > 1 and text[-2] in _CHINESE_SCALES
    return total + digit * (last_scale // 10 if elided else 1)

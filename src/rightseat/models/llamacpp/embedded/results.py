"""Answers from tool results: an answer that contradicts a result, or has a number that stands nowhere, is found
here, and the result itself is formatted in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from rightseat.types.language import Language
from rightseat.types.messages import Message
from rightseat.types.sentences import SENTENCES, get_sentence
from rightseat.types.text import decode_or_none
from rightseat.types.tools import UNDEFINED_RESULT

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_LIST_MARKS = re.compile(r"^\s*\d{1,2}[.)、]\s", re.MULTILINE)
_TAGS = re.compile(r"</?tool_(?:call|response)|<\|[a-z_]+\|>")
_FAILURE = re.compile(
    r"\b(?:error|fail|could ?n[o']t|could not|cannot|can't|unable|did ?n[o']t|did not|unsuccess|problem|invalid|sorry)|"
    r"错误|失败|出错|无法|不能|未能|没能|抱歉|对不起",
    re.IGNORECASE,
)
_ABSENCE = re.compile(r"\b(?:not found|no results?|nothing)|没有|找不到", re.IGNORECASE)
_REFUSALS = {"denied": SENTENCES["call_denied"], "cancelled": SENTENCES["call_cancelled"]}
_WORD = re.compile(r"[a-z0-9]{2,}|\d|[\u4e00-\u9fff]")
_SHORT_RESULT = 60
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|old|long|far|tall)\b|多少|几[个位天岁]", re.IGNORECASE)
_SAYS_NUMBER = re.compile(
    r"\d|\b(?:no|none|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|nothing)\b|"
    r"[零一二两三四五六七八九十百千万没无]",
    re.IGNORECASE,
)
_FENCE = re.compile(r"<untrusted (\w+)>\n([\s\S]*)\n</untrusted \1>")
_PLAIN_SUCCESS = ("ok", "okay", "done", "success", "true", "yes", "null", "none", "0", "1")
_MAX_LINES = 12
_MAX_CHARS = 1500


def list_results(messages: Iterable[Message]) -> list[str]:
    """Return the texts of the tool results after the last message of the person."""
    return [remove_fence(message.text) for message in list_result_messages(messages)]


def list_result_messages(messages: Iterable[Message]) -> list[Message]:
    """Return the tool results after the last message of the person."""
    found: list[Message] = []
    for message in messages:
        if message.role == "user":
            found = []
        elif message.role == "tool":
            found.append(message)
    return found


def remove_fence(result: str) -> str:
    """Return the result without the tags of guardrails around it."""
    match = _FENCE.fullmatch(result)
    return match[2] if match else result


def find_problem(answer: str, results: list[str], sources: Iterable[str], question: str = "") -> str | None:
    """Return what is wrong with an answer from results; None if nothing is. `sources`: other texts whose numbers
    it may use."""
    if not answer.strip():
        return "empty"
    if _TAGS.search(answer):
        return "a tag"
    failures = [result for result in results if get_error(result) is not None]
    if failures and not _FAILURE.search(answer) and not _ABSENCE.search(answer):
        return "a failure told as a success"
    if results and not failures:
        shown = "\n".join(results).lower()
        wrong_words = [*_FAILURE.findall(answer), *(() if any(map(is_empty, results)) else _ABSENCE.findall(answer))]
        if any(word.lower() not in shown for word in wrong_words):
            return "a success told as a failure"
    unknown = list_unknown_numbers(answer, [*results, *sources])
    if unknown:
        return f"the number {unknown[0]}"
    if _ASKS_NUMBER.search(question) and results and not failures and not _SAYS_NUMBER.search(answer):
        return "no number" if any(map(_NUMBER.search, results)) else None
    # "OK" may be told in other words.
    is_short = (
        len(results) == 1
        and results[0].strip(" .!").lower() not in _PLAIN_SUCCESS
        and len(results[0]) <= _SHORT_RESULT
        and results[0][:1] not in "{["
    )
    return "nothing of the result" if is_short and not _tells_result(answer, results[0]) else None


def is_empty(result: str) -> bool:
    """Tell whether a result says that nothing was found."""
    value = decode_or_none(result)
    if isinstance(value, dict):
        return not value or any(not part and part is not False for part in value.values())
    return not result.strip() or value in ([], 0, "") or result.strip().lower() in ("null", "none")


def _tells_result(answer: str, result: str) -> bool:
    """Tell whether the answer has most words of a short result: one of two may be the order's number alone."""
    words = {word for word in _WORD.findall(result.lower()) if not word.isdecimal()}
    return 2 * len(words & set(_WORD.findall(answer.lower()))) > len(words) if words else True


def list_unknown_numbers(answer: str, sources: Iterable[str]) -> list[str]:
    """Return the numbers of the answer that stand in none of the sources and count no rows of them."""
    known: set[str] = set()
    for source in sources:
        known.update(map(_normalize_number, _NUMBER.findall(source)))
        known.update(digits.lstrip("0") or "0" for digits in re.findall(r"\d+", source))
        known.update(_count_rows(source))
    return [
        number
        for number in _NUMBER.findall(_LIST_MARKS.sub("", answer))
        if _normalize_number(number) not in known
        and not all((digits.lstrip("0") or "0") in known for digits in re.findall(r"\d+", number))
    ]


def get_error(result: str) -> dict[str, Any] | None:
    """Return the error of a failed call."""
    value = decode_or_none(result)
    error = value.get("error") if isinstance(value, dict) else None
    return error if isinstance(error, dict) and "code" in error else None


def is_refused(result: str) -> bool:
    """Whether the person did not allow the call, or did not want to answer its question."""
    return find_refusal(result) is not None


def find_refusal(result: str) -> Language | None:
    """Return the language of a refusal; None for other results, also where a service denied something."""
    error = get_error(result) or {}
    sentences = _REFUSALS.get(str(error.get("code")), {})
    return next((language for language, sentence in sentences.items() if sentence == error.get("message")), None)


def format_refusal(results: list[str], language: Language) -> str | None:
    """Return the answer where the person refused a call; None where none was. A person who refuses in Chinese has the
    result in Chinese."""
    languages = {refusal for result in results if (refusal := find_refusal(result)) is not None}
    return format_results(results, "zh" if "zh" in languages else language) if languages else None


def is_final(result: str) -> bool:
    """Whether a result answers the question: one of a call that succeeded, or that has no result at any time."""
    error = get_error(result)
    return error is None or error["code"] == UNDEFINED_RESULT


def format_results(results: list[str], language: Language) -> str:
    """Return an answer that shows the results as they are."""
    shown = [_format_result(result, language) for result in results if not is_refused(result)]
    if len(shown) < len(results):
        shown.append(get_sentence("result_rest_denied" if shown else "result_denied", language))
    return "\n\n".join(shown)


def _format_result(result: str, language: Language) -> str:
    error = get_error(result)
    if error is not None:
        return get_sentence("result_failed", language, problem=error.get("message") or error["code"])
    value = decode_or_none(result)
    if not result.strip() or value in ([], {}) or result.strip() == "null":
        return get_sentence("result_empty", language)
    lines = list(_format_value(value if value is not None else result))
    if len(lines) > _MAX_LINES:
        lines[_MAX_LINES:] = [get_sentence("result_more", language, count=len(lines) - _MAX_LINES)]
    return get_sentence("result_shown", language, result="\n".join(lines))[:_MAX_CHARS]


def _format_value(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{key}: {_format_cell(cell)}" for key, cell in value.items())
    elif isinstance(value, list):
        for row in value:
            cells = row.items() if isinstance(row, dict) else ()
            yield "- " + (", ".join(f"{key}: {_format_cell(cell)}" for key, cell in cells) or _format_cell(row))
    else:
        yield from _format_cell(value).splitlines() or [""]


def _format_cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else "–" if value is None else str(value)


def _normalize_number(text: str) -> str:
    """Return the number without separators of thousands and without zeros that do not count."""
    plain = re.sub(r",(?=\d{3}\b)", "", text).replace(",", ".")
    whole, _, fraction = plain.partition(".")
    fraction = fraction.rstrip("0")
    return (whole.lstrip("0") or "0") + (f".{fraction}" if fraction else "")


def _count_rows(source: str) -> list[str]:
    value = decode_or_none(source)
    lists = [value, *value.values()] if isinstance(value, dict) else [value]
    return [str(len(rows)) for rows in lists if isinstance(rows, list)]

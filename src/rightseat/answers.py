"""A person's answer, fitted to the question: a value as it is, or text read as the value asked for."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec

from rightseat.errors import RightseatError
from rightseat.prompt import Model
from rightseat.schema import checker
from rightseat.structured import structured
from rightseat.tools import Ask
from rightseat.turn import Answer

# fmt: off
YES = frozenset((
    "yes", "y", "yep", "yeah", "ok", "okay", "sure", "approve", "approved", "confirm", "allow", "go ahead",
    "是", "是的", "好", "好的", "行", "可以", "同意", "确认", "批准", "允许", "继续",
))
NO = frozenset((
    "no", "n", "nope", "deny", "denied", "reject", "refuse", "cancel", "stop", "don't", "do not", "never",
    "不", "不是", "不要", "不行", "不可以", "不同意", "否", "拒绝", "取消", "停止", "别",
))
# fmt: on


class Unfit(Exception):
    """The answer is not what was asked for; the text says why, to the person."""


def consent(text: str) -> bool | None:
    """Yes, no, or neither. Only listed words count: an approval is never a matter of interpretation."""
    word = text.strip().strip(".!。！ ").lower()
    return True if word in YES else False if word in NO else None


async def fit(ask: Ask, answer: Answer, model: Model) -> Any:
    """The answer as a value of the question's schema, or Unfit."""
    value = answer.payload if answer.text is None else await read(ask, answer.text, model)
    if ask.kind == "confirm" and isinstance(value, bool):
        value = {"approved": value}
    problem = checker(ask.schema).problem(value)
    if problem is not None:
        raise Unfit(problem)
    return value


async def read(ask: Ask, text: str, model: Model) -> Any:
    """Text as a value: simple values by rule, JSON as JSON, and only a real form by the model."""
    if ask.kind == "confirm":
        return consent(text)
    simple = plain(ask.schema, text)
    if simple is not None:
        return simple
    properties = ask.schema.get("properties") or {}
    if len(properties) == 1:
        (name, schema), *_ = properties.items()
        only = plain(schema, text) if isinstance(schema, dict) else None
        if only is not None:
            return {name: only}
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        value = msgspec.json.decode(text)
        # An object was meant as the answer, right or wrong; a bare number may just be words.
        if isinstance(value, dict) or checker(ask.schema).problem(value) is None:
            return value
    question = f"{ask.message}\n\nThe person answered:\n{text}\n\nGive the values that the answer states."
    try:
        return await structured(model, question, ask.schema)
    except RightseatError:
        raise Unfit("the answer could not be read; please give each value by name") from None


def plain(schema: dict[str, Any], text: str) -> Any:
    """The text as a single simple value of the schema; None when the schema asks for more than that."""
    text = text.strip()
    for choice in schema.get("enum") or ():
        if str(choice).lower() == text.lower():
            return choice
    match schema.get("type"):
        case "string":
            return text
        case "integer" | "number":
            number = text.replace(",", "").replace("，", "")
            if re.fullmatch(r"[+-]?\d{1,30}(\.\d{1,30})?", number):
                return float(number) if "." in number else int(number)
        case "boolean":
            return consent(text)
    return None

"""Convert a person's answer to a value of the question's schema."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec

from rightseat.engine.structured import generate_structured
from rightseat.errors import RightseatError
from rightseat.types.language import Language
from rightseat.types.model import Model
from rightseat.types.schema import get_validator
from rightseat.types.sentences import get_sentence
from rightseat.types.tools import Ask
from rightseat.types.turn import InterruptAnswer

# fmt: off
YES_WORDS = frozenset((
    "yes", "y", "yep", "yeah", "ok", "okay", "sure", "approve", "approved", "confirm", "allow", "go ahead",
    "是", "是的", "好", "好的", "行", "可以", "同意", "确认", "批准", "允许", "继续",
))
NO_WORDS = frozenset((
    "no", "n", "nope", "deny", "denied", "reject", "refuse", "cancel", "stop", "don't", "do not", "never",
    "不", "不是", "不要", "不行", "不可以", "不同意", "否", "拒绝", "取消", "停止", "别",
))
# fmt: on
DECLINE_WORDS = frozenset(("cancel", "never mind", "nevermind", "forget it", "取消", "算了", "不用了"))


class AnswerDeclined(Exception):
    """The person does not want to answer."""


class AnswerInvalid(Exception):
    """The answer does not fit the question; the text tells the person why. `accepted_fields` are the valid
    fields of a form, which are not asked for again."""

    def __init__(self, why: str, accepted_fields: dict[str, Any] | None = None) -> None:
        super().__init__(why)
        self.accepted_fields = accepted_fields or {}


def parse_consent(text: str) -> bool | None:
    """Return True for yes, False for no, else None. Only listed words count: never interpret an approval."""
    word = normalize_reply(text)
    return True if word in YES_WORDS else False if word in NO_WORDS else None


def normalize_reply(text: str) -> str:
    return text.strip().strip(".!。！ ").lower()


async def resolve_answer(
    ask: Ask, answer: InterruptAnswer, model: Model, language: Language = "en", earlier: dict[str, Any] | None = None
) -> Any:
    """Return the answer as a value of the schema; raise AnswerInvalid or AnswerDeclined. `earlier` of
    a form are added."""
    accepted_fields = earlier or {}
    try:
        value = answer.payload if answer.text is None else await parse_answer(ask, answer.text, model, language)
    except AnswerInvalid as invalid:
        raise AnswerInvalid(str(invalid), accepted_fields) from None
    if ask.kind == "confirm" and isinstance(value, bool):
        value = {"approved": value}
    if ask.kind == "form" and isinstance(value, dict):
        value = {**accepted_fields, **value}
    problem = get_validator(ask.schema).find_problem(value)
    if problem is not None:
        why = describe_missing_fields(ask.schema, value, language)
        why = why or get_sentence("answer_invalid", language, problem=problem)
        raise AnswerInvalid(why, valid_fields(ask.schema, value) or accepted_fields)
    return value


def describe_missing_fields(schema: dict[str, Any], value: Any, language: Language) -> str:
    """Describe the missing required fields of a form; empty if there are none."""
    required = schema.get("required") or ()
    missing = [name for name in required if isinstance(value, dict) and name not in value]
    return get_sentence("fields_not_said", language, fields=", ".join(missing)) if missing else ""


def valid_fields(schema: dict[str, Any], value: Any) -> dict[str, Any]:
    """Return the fields that are valid by themselves."""
    fields = schema_fields(schema)
    defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    values = {name: value[name] for name in value if name in fields} if isinstance(value, dict) else {}
    return {name: v for name, v in values.items() if not get_validator({**fields[name], **defs}).find_problem(v)}


async def parse_answer(ask: Ask, text: str, model: Model, language: Language) -> Any:
    """Parse text as a value: scalars by rule, JSON as JSON, other forms by the model."""
    if ask.kind == "confirm":
        return parse_consent(text)
    if ask.kind == "form" and is_decline(ask.schema, text):
        raise AnswerDeclined
    simple = parse_scalar(ask.schema, text)
    if simple is not None:
        return simple
    properties = schema_fields(ask.schema)
    if len(properties) == 1:
        (name, schema), *_ = properties.items()
        if (only := parse_scalar(schema, text)) is not None:
            return {name: only}
        if choices := schema.get("enum"):
            raise AnswerInvalid(get_sentence("answer_one_of", language, choices=", ".join(map(str, choices))))
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        value = msgspec.json.decode(text)
        # An object is the answer, valid or not; other JSON, such as a number, may be plain text.
        if isinstance(value, dict) or get_validator(ask.schema).find_problem(value) is None:
            return value
    return parse_named_values(properties, text) or await extract_with_model(ask, text, model, language)


async def extract_with_model(ask: Ask, text: str, model: Model, language: Language) -> Any:
    """Let the model extract the values. All fields are optional, so that it invents none."""
    question = f"{ask.message}\n\nThe person answered:\n{text}\n\nGive the values that the answer states."
    optional = {key: value for key, value in ask.schema.items() if key != "required"}
    try:
        return await generate_structured(model, question, optional)
    except RightseatError:
        raise AnswerInvalid(get_sentence("answer_unreadable", language)) from None


def schema_fields(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    properties = schema.get("properties") or {}
    return {name: field for name, field in properties.items() if isinstance(field, dict)}


def is_decline(schema: dict[str, Any], text: str) -> bool:
    """Whether the text declines to answer and is not one of the offered choices."""
    forms = (schema, *schema_fields(schema).values())
    offered = {str(choice).lower() for form in forms for choice in form.get("enum") or ()}
    return normalize_reply(text) in DECLINE_WORDS - offered


def parse_named_values(properties: dict[str, dict[str, Any]], text: str) -> dict[str, Any] | None:
    """Parse `name: value` lines or comma-separated pairs; None if the text is anything else."""
    lines = text.strip().splitlines()
    values: dict[str, Any] = {}
    for part in lines if len(lines) > 1 else re.split("[,;，；]", text):
        name, mark, text_value = re.sub("[=：]", ":", part, count=1).partition(":")
        name = name.strip(" -*`\"'")
        value = parse_scalar(properties[name], text_value) if mark and name in properties else None
        if value is None:
            return None
        values[name] = value
    return values


def parse_scalar(schema: dict[str, Any], text: str) -> Any:
    """Parse the text as a scalar of the schema; None if it does not fit or the schema is not scalar."""
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
            return parse_consent(text)
    return None

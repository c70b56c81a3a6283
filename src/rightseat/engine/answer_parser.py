"""Convert a person's answer to a value of the question's schema."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec

from rightseat.engine.form_values import (
    drop_required,
    find_json,
    fit_value,
    has_type,
    is_container,
    keep_valid_fields,
    merge_deep,
    parse_list,
    parse_named_values,
    resolve_core_schema,
)
from rightseat.engine.structured import generate_structured
from rightseat.errors import RightseatError
from rightseat.types.language import Language
from rightseat.types.model import Model
from rightseat.types.replies import is_decline, parse_consent
from rightseat.types.schema import get_validator
from rightseat.types.sentences import get_sentence
from rightseat.types.tools import Ask
from rightseat.types.turn import InterruptAnswer


class AnswerDeclined(Exception):
    """The person does not want to answer."""


class AnswerInvalid(Exception):
    """The answer does not fit the question; the text tells the person why. `accepted_fields` are the valid
    fields of a form, which are not asked for again."""

    def __init__(self, why: str, accepted_fields: dict[str, Any] | None = None) -> None:
        super().__init__(why)
        self.accepted_fields = accepted_fields or {}


class AnswerUnclear(AnswerInvalid):
    """The text is neither a yes nor a no: the question stays open, however often it is asked."""


async def resolve_answer(
    ask: Ask, answer: InterruptAnswer, model: Model, language: Language = "en", earlier: dict[str, Any] | None = None
) -> Any:
    """Return the answer as a value of the schema; raise AnswerInvalid or AnswerDeclined. `earlier` are
    the fields of a form that were accepted before."""
    accepted_fields = earlier or {}
    try:
        value = await read_answer(ask, answer, model, language)
    except AnswerUnclear:
        raise
    except AnswerInvalid as invalid:
        raise AnswerInvalid(str(invalid), accepted_fields) from None
    if ask.kind == "confirm" and isinstance(value, bool):
        value = {"approved": value}
    if ask.kind == "form" and isinstance(value, dict):
        value = merge_deep(accepted_fields, value)
    problem = get_validator(ask.schema).find_problem(value)
    if problem is not None:
        why = describe_missing_fields(ask.schema, value, language)
        why = why or get_sentence("answer_invalid", language, problem=problem)
        raise AnswerInvalid(why, keep_valid_fields(ask.schema, value, ask.schema) or accepted_fields)
    return value


async def read_answer(ask: Ask, answer: InterruptAnswer, model: Model, language: Language) -> Any:
    """Return the answer's value, in the shape of a form's schema where that is plain."""
    value = answer.payload
    is_form = ask.kind == "form"
    if answer.text is not None:
        value = await parse_answer(ask, answer.text, model, language)
    elif isinstance(value, str) and (ask.kind == "confirm" or (is_form and schema_fields(ask.schema))):
        # Some clients can only send text.
        value = await parse_answer(ask, value, model, language)
    if not is_form:
        return value
    value = fit_value(ask.schema, value, parse_scalar, ask.schema)
    fields = schema_fields(ask.schema)
    values = value if isinstance(value, dict) else {}
    words = {
        name: text
        for name, text in values.items()
        if isinstance(text, str) and name in fields and is_container(fields[name], ask.schema)
    }
    if not words:
        return value
    text = "\n".join(f"{name}: {words[name]}" for name in words)
    extracted = await extract_with_model(ask, text, model, language)
    rest = {name: inner for name, inner in values.items() if name not in words}
    return merge_deep(rest, extracted) if isinstance(extracted, dict) else rest


def describe_missing_fields(schema: dict[str, Any], value: Any, language: Language) -> str:
    """Describe the missing required fields of a form; empty if there are none."""
    if not isinstance(value, dict):
        return ""
    paths = get_validator(schema).find_missing(value)
    if paths is None:
        paths = [(name,) for name in schema.get("required") or () if name not in value]
    names = ", ".join(".".join(path) for path in paths)
    return get_sentence("fields_not_said", language, fields=names) if names else ""


async def parse_answer(ask: Ask, text: str, model: Model, language: Language) -> Any:
    """Parse text as a value: scalars by rule, JSON as JSON, other forms by the model."""
    if ask.kind == "confirm":
        approved = parse_consent(text, ask.message)
        if approved is None:
            raise AnswerUnclear(get_sentence("answer_yes_or_no", language))
        return approved
    if ask.kind == "form" and is_decline(text) and not is_choice(ask.schema, text):
        raise AnswerDeclined
    properties = schema_fields(ask.schema)
    decoded = find_json(text) if properties else None
    if isinstance(decoded, dict) and decoded.keys() & properties:
        return decoded
    simple = parse_scalar(ask.schema, text)
    if simple is not None:
        return simple
    if len(properties) == 1:
        [(name, field)] = properties.items()
        core = resolve_core_schema(field, ask.schema)
        if (only := parse_scalar(core, text)) is not None:
            return {name: only}
        if choices := core.get("enum"):
            raise AnswerInvalid(get_sentence("answer_one_of", language, choices=", ".join(map(str, choices))))
    return await parse_form(ask, text, decoded, model, language)


async def parse_form(ask: Ask, text: str, decoded: Any, model: Model, language: Language) -> Any:
    """Parse text as the values of a form: JSON, `name: value` pairs, a list, or words that the model reads."""
    if decoded is not None:
        fitted = fit_value(ask.schema, decoded, parse_scalar, ask.schema)
        # An object is the answer, valid or not; a list may be a part of a sentence.
        if isinstance(decoded, dict) or fitted is not decoded:
            return fitted
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        value = msgspec.json.decode(text)
        if get_validator(ask.schema).find_problem(value) is None:
            return value
    if named := parse_named_values(ask.schema, text, parse_scalar):
        return named
    properties = schema_fields(ask.schema)
    if len(properties) == 1:
        [(name, field)] = properties.items()
        core = resolve_core_schema(field, ask.schema)
        values = parse_list(core, text, parse_scalar, ask.schema) if has_type(core, "array") else None
        if values is not None:
            return {name: values}
    return await extract_with_model(ask, text, model, language)


async def extract_with_model(ask: Ask, text: str, model: Model, language: Language) -> Any:
    """Let the model extract the values. All fields are optional, so that it invents none."""
    question = f"{ask.message}\n\nThe person answered:\n{text}\n\nGive the values that the answer states."
    try:
        return await generate_structured(model, question, drop_required(ask.schema))
    except RightseatError:
        raise AnswerInvalid(get_sentence("answer_unreadable", language)) from None


def schema_fields(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    properties = schema.get("properties") or {}
    return {name: field for name, field in properties.items() if isinstance(field, dict)}


def is_choice(schema: dict[str, Any], text: str) -> bool:
    """Whether the text is one of the choices that the schema or one of its fields offers."""
    forms = (schema, *schema_fields(schema).values())
    return text.strip(".!。！ ").lower() in {str(choice).lower() for form in forms for choice in form.get("enum") or ()}


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

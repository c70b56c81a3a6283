"""Convert a person's answer to a value of the question's schema."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec

from rightseat.engine.structured import structured
from rightseat.errors import RightseatError
from rightseat.types.model import Model
from rightseat.types.schema import checker
from rightseat.types.tools import Ask
from rightseat.types.turn import Answer

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
GIVE_UP = frozenset(("cancel", "never mind", "nevermind", "forget it", "取消", "算了", "不用了"))


class GivenUp(Exception):
    """The person does not want to answer."""


class Unfit(Exception):
    """The answer does not fit the question; the text tells the person why. `accepted_fields` are the valid
    fields of a form, which are not asked for again."""

    def __init__(self, why: str, given: dict[str, Any] | None = None) -> None:
        super().__init__(why)
        self.given = given or {}


def consent(text: str) -> bool | None:
    """Return True for yes, False for no, else None. Only listed words count: never interpret an approval."""
    word = bare(text)
    return True if word in YES else False if word in NO else None


def bare(text: str) -> str:
    return text.strip().strip(".!。！ ").lower()


async def fit(ask: Ask, answer: Answer, model: Model, before: dict[str, Any] | None = None) -> Any:
    """Return the answer as a value of the schema; raise AnswerInvalid or AnswerDeclined. `earlier_fields` of
    a form are added."""
    given = before or {}
    try:
        value = answer.payload if answer.text is None else await read(ask, answer.text, model)
    except Unfit as unfit:
        raise Unfit(str(unfit), given) from None
    if ask.kind == "confirm" and isinstance(value, bool):
        value = {"approved": value}
    if ask.kind == "form" and isinstance(value, dict):
        value = {**given, **value}
    problem = checker(ask.schema).problem(value)
    if problem is not None:
        raise Unfit(unsaid(ask.schema, value) or problem, fitting(ask.schema, value) or given)
    return value


def unsaid(schema: dict[str, Any], value: Any) -> str:
    """Describe the missing required fields of a form; empty if there are none."""
    wanted = schema.get("required") or ()
    missing = [name for name in wanted if isinstance(value, dict) and name not in value]
    return f"the answer does not say {', '.join(missing)}; please give each value by name" if missing else ""


def fitting(schema: dict[str, Any], value: Any) -> dict[str, Any]:
    """Return the fields that are valid by themselves."""
    known = fields(schema)
    defs = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    said = value.items() if isinstance(value, dict) else ()
    return {
        name: one for name, one in said if name in known and not checker({**known[name], **defs}).problem(one)
    }


async def read(ask: Ask, text: str, model: Model) -> Any:
    """Parse text as a value: scalars by rule, JSON as JSON, other forms by the model."""
    if ask.kind == "confirm":
        return consent(text)
    if ask.kind == "form" and gives_up(ask.schema, text):
        raise GivenUp
    simple = plain(ask.schema, text)
    if simple is not None:
        return simple
    properties = fields(ask.schema)
    if len(properties) == 1:
        (name, schema), *_ = properties.items()
        if (only := plain(schema, text)) is not None:
            return {name: only}
        if choices := schema.get("enum"):
            raise Unfit(f"please answer with one of: {', '.join(map(str, choices))}")
    with contextlib.suppress(msgspec.DecodeError, RecursionError):
        value = msgspec.json.decode(text)
        # An object is the answer, valid or not; other JSON, such as a number, may be plain text.
        if isinstance(value, dict) or checker(ask.schema).problem(value) is None:
            return value
    return by_name(properties, text) or await understood(ask, text, model)


async def understood(ask: Ask, text: str, model: Model) -> Any:
    """Let the model extract the values. All fields are optional, so that it invents none."""
    question = f"{ask.message}\n\nThe person answered:\n{text}\n\nGive the values that the answer states."
    optional = {key: value for key, value in ask.schema.items() if key != "required"}
    try:
        return await structured(model, question, optional)
    except RightseatError:
        raise Unfit("the answer could not be read; please give each value by name") from None


def fields(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = schema.get("properties") or {}
    return {name: field for name, field in found.items() if isinstance(field, dict)}


def gives_up(schema: dict[str, Any], text: str) -> bool:
    """Whether the text declines to answer and is not one of the offered choices."""
    forms = (schema, *fields(schema).values())
    offered = {str(choice).lower() for form in forms for choice in form.get("enum") or ()}
    return bare(text) in GIVE_UP - offered


def by_name(properties: dict[str, dict[str, Any]], text: str) -> dict[str, Any] | None:
    """Parse `name: value` lines or comma-separated pairs; None if the text is anything else."""
    lines = text.strip().splitlines()
    found: dict[str, Any] = {}
    for part in lines if len(lines) > 1 else re.split("[,;，；]", text):
        name, mark, said = re.sub("[=：]", ":", part, count=1).partition(":")
        name = name.strip(" -*`\"'")
        value = plain(properties[name], said) if mark and name in properties else None
        if value is None:
            return None
        found[name] = value
    return found


def plain(schema: dict[str, Any], text: str) -> Any:
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
            return consent(text)
    return None

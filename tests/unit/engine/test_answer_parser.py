"""A person's answer as the value that was asked for."""

from typing import Any

import pytest

from rightseat.engine.answer_parser import AnswerDeclined, AnswerInvalid, AnswerUnclear, parse_scalar, resolve_answer
from rightseat.types.tools import APPROVAL_SCHEMA, Ask
from rightseat.types.turn import InterruptAnswer
from tests.kit.app_server import FakeModel, reply_text

FORM = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
ONE_FIELD_FORM = {"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]}


async def resolve_text(schema: dict[str, Any], text: str, *lines: str, kind: Any = "form") -> Any:
    """The text as a value; the model may say the given lines, and says them all."""
    model = FakeModel(*(reply_text(line) for line in lines))
    try:
        return await resolve_answer(Ask("Which?", kind, schema), InterruptAnswer("i", text=text), model)
    finally:
        assert len(model.prompts) == len(lines)


@pytest.mark.demand("approvals.how_people_say_yes")
async def test_an_approval_in_words() -> None:
    assert await resolve_text(APPROVAL_SCHEMA, "Yes please, do", kind="confirm") == {"approved": True}
    assert await resolve_text(APPROVAL_SCHEMA, "不用了", kind="confirm") == {"approved": False}
    with pytest.raises(AnswerUnclear, match="reply yes or no"):
        await resolve_text(APPROVAL_SCHEMA, "yes but only two", kind="confirm")


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"type": "string"}, "  as said ", "as said"),
        ({"type": "string"}, "5", "5"),
        ({"type": "integer"}, "5", 5),
        ({"type": "integer"}, "-1,200", -1200),
        ({"type": "integer"}, "１２", 12),
        ({"type": "number"}, "+2.5", 2.5),
        ({"type": "boolean"}, "是的", True),
        ({"type": "boolean"}, "no", False),
        ({"enum": ["Red", "Blue"]}, "blue", "Blue"),
        ({"enum": [1, 2]}, "2", 2),
        ({"type": "string", "enum": ["Red"]}, "RED", "Red"),
        (ONE_FIELD_FORM, "3", {"days": 3}),
        (ONE_FIELD_FORM, '{"days": 4}', {"days": 4}),
        (FORM, '{"city": "Rome", "days": 2}', {"city": "Rome", "days": 2}),
        ({"type": "array", "items": {"type": "integer"}}, "[1, 2]", [1, 2]),
    ],
)
async def test_simple_answers_need_no_model(schema: dict[str, Any], text: str, value: Any) -> None:
    assert await resolve_text(schema, text) == value


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "enum": ["Red"]}, "green"),
        ({"type": "integer"}, "2.5"),
        ({"type": "string", "minLength": 3}, "ab"),
        (FORM, '{"city": "Rome"}'),
    ],
)
async def test_what_does_not_fit_is_said(schema: dict[str, Any], text: str) -> None:
    with pytest.raises(AnswerInvalid) as caught:
        await resolve_text(schema, text)
    assert str(caught.value)


async def test_a_form_in_words_is_read_by_the_model() -> None:
    said_so = '{"city":"Rome","days":3}'
    assert await resolve_text(FORM, "Rome, for three days", said_so) == {"city": "Rome", "days": 3}


async def test_the_model_sees_question_answer_and_schema() -> None:
    model = FakeModel(reply_text('{"city":"Rome","days":3}'))
    await resolve_answer(Ask("Where to?", "form", FORM), InterruptAnswer("i", text="Rome, three days"), model)
    [prompt] = model.prompts
    told = "\n".join(message.text for message in prompt.messages)
    assert "Where to?" in told
    assert "Rome, three days" in told
    assert prompt.output_schema == {"type": "object", "properties": FORM["properties"]}


@pytest.mark.demand("plugins.missing_required_values_question")
async def test_what_the_answer_does_not_say_is_asked_for_and_not_invented() -> None:
    with pytest.raises(AnswerInvalid, match="does not say days"):
        await resolve_text(FORM, "Rome, I think", '{"city":"Rome"}')
    with pytest.raises(AnswerInvalid, match="does not say city, days"):
        await resolve_text(FORM, "hm", "{}")


async def test_one_of_several_is_said_with_what_there_is() -> None:
    form = {"type": "object", "properties": {"answer": {"enum": ["large", "small"]}}, "required": ["answer"]}
    with pytest.raises(AnswerInvalid, match="please answer with one of: large, small"):
        await resolve_text(form, "middling")
    assert await resolve_text(form, "Small") == {"answer": "small"}


@pytest.mark.parametrize(
    "text", ["city: Rome\ndays: 3", "- city = Rome\n- days = 3", "city: Rome, days: 3", "days：3；city：Rome"]
)
async def test_values_by_name_need_no_model(text: str) -> None:
    assert await resolve_text(FORM, text) == {"city": "Rome", "days": 3}


@pytest.mark.parametrize("text", ["city: Rome, Italy, days: 3", "city: Rome, days: three", "to: Rome"])
async def test_all_else_is_for_the_model(text: str) -> None:
    said_so = '{"city":"Rome","days":3}'
    assert await resolve_text(FORM, text, said_so) == {"city": "Rome", "days": 3}


@pytest.mark.parametrize("text", ["cancel", "Never mind.", "取消", "算了。"])
@pytest.mark.parametrize("schema", [FORM, ONE_FIELD_FORM, {"type": "object", "properties": {"s": {"type": "string"}}}])
async def test_a_form_can_be_given_up(schema: dict[str, Any], text: str) -> None:
    with pytest.raises(AnswerDeclined):
        await resolve_text(schema, text)


async def test_a_word_to_choose_is_an_answer() -> None:
    schema = {"type": "object", "properties": {"do": {"type": "string", "enum": ["Cancel", "Ship"]}}}
    assert await resolve_text(schema, "cancel") == {"do": "Cancel"}
    assert await resolve_text({"type": "string"}, "cancel", kind="ask") == "cancel"


@pytest.mark.parametrize("first", ["not JSON", '{"city":"Rome","days":"x"}', ""])
async def test_the_model_may_repair_once(first: str) -> None:
    assert await resolve_text(FORM, "Rome, 3 days", first, '{"city":"Rome","days":3}') == {"city": "Rome", "days": 3}


async def test_after_two_tries_the_answer_is_unfit() -> None:
    with pytest.raises(AnswerInvalid, match="by name"):
        await resolve_text(FORM, "hm", "[]", "[]")


@pytest.mark.parametrize(("text", "approved"), [("yes", True), ("不要", False)])
async def test_a_confirmation_in_words(text: str, approved: bool) -> None:
    assert await resolve_text(APPROVAL_SCHEMA, text, kind="confirm") == {"approved": approved}


async def test_a_confirmation_is_never_judged_by_a_model() -> None:
    with pytest.raises(AnswerInvalid):
        await resolve_text(APPROVAL_SCHEMA, "I suppose that would be fine", kind="confirm")


@pytest.mark.parametrize(
    ("kind", "schema", "payload", "value"),
    [
        ("confirm", APPROVAL_SCHEMA, True, {"approved": True}),
        ("confirm", APPROVAL_SCHEMA, "true", {"approved": True}),
        ("confirm", APPROVAL_SCHEMA, {"approved": False}, {"approved": False}),
        ("ask", {"type": "string"}, "Monday", "Monday"),
        ("form", FORM, {"city": "Rome", "days": 1}, {"city": "Rome", "days": 1}),
    ],
)
async def test_values_are_taken_as_they_are(kind: Any, schema: dict[str, Any], payload: Any, value: Any) -> None:
    assert await resolve_answer(Ask("?", kind, schema), InterruptAnswer("i", payload=payload), FakeModel()) == value


@pytest.mark.parametrize("payload", [None, "maybe", "1", 1, {"approved": "yes"}, {}])
async def test_a_value_that_is_no_approval_is_none(payload: Any) -> None:
    with pytest.raises(AnswerInvalid):
        await resolve_answer(Ask("?", "confirm", APPROVAL_SCHEMA), InterruptAnswer("i", payload=payload), FakeModel())


def test_a_value_is_not_read_as_text() -> None:
    assert parse_scalar({"type": "object"}, "5") is None
    assert parse_scalar({}, "5") is None


@pytest.mark.parametrize("text", ["+-5", "--5", "9" * 5000])
def test_a_number_that_is_none_is_not_read_as_one(text: str) -> None:
    assert parse_scalar({"type": "integer"}, text) is None


async def test_a_form_answered_by_a_bare_number_is_read_by_the_model() -> None:
    form = {"type": "object", "properties": {"days": {"type": "integer"}, "note": {"type": "string"}}}
    assert await resolve_text(form, "5", '{"days":5}') == {"days": 5}

"""Missing objects and lists are asked for, and answers in words or JSON are understood: over HTTP, by what reaches
the API."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.plugins.flows.served import AguiFlowClient, OpenAIFlowClient, make_json_body, serve_plugin
from tests.unit.plugins.http.recording_api import serve_recording_api

TEXT = {"type": "string"}
ADDRESS = {"type": "object", "properties": {"street": TEXT, "city": TEXT}, "required": ["street", "city"]}
CUSTOMER = {
    "type": "object",
    "properties": {"name": {**TEXT, "description": "Full name"}, "address": ADDRESS, "vip": {"type": "boolean"}},
    "required": ["name", "address"],
}
ITEM = {"type": "object", "properties": {"sku": TEXT, "count": {"type": "integer"}}, "required": ["sku", "count"]}
ITEMS = {"type": "array", "items": ITEM, "minItems": 1}
TAGS = {"type": "array", "items": TEXT}
ANNA = {"name": "Anna", "address": {"street": "Main 1", "city": "Bonn"}}
FLOW = """
name: f
description: Orders.
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders}, next: end}
  - {name: end, call_type: none, params: {say: Ordered.}}
"""
GARBLED = reply_text("I do not know.")


async def order(
    folder: Path, fields: dict[str, Any], answers: list[Any], *lines: Any, agui: bool = False, by_model: bool = False
) -> tuple[list[Any], list[Any], FakeModel]:
    """The bodies that arrive, what the client saw turn by turn, and the model."""
    call = reply_calls(("p_post_orders", "{}"))
    unknown = reply_text(json.dumps(dict.fromkeys(fields)))
    model = FakeModel(*((call, *lines, reply_text("Ordered.")) if by_model else (unknown, *lines)))
    paths = {"/orders": {"post": make_json_body(*fields, **fields)}}
    async with serve_recording_api() as api, serve_plugin(folder, api.url, paths, model, f=FLOW) as url:
        person = (AguiFlowClient if agui else OpenAIFlowClient)(url, "default" if by_model else "p.f")
        seen = [await person.send_message("Order something.")]
        for answer in answers:
            assert api.requests == [], "nothing is sent before all is known"
            seen.append(await person.answer_question(answer))
    return [json.loads(request.body) for request in api.requests], seen, model


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
@pytest.mark.parametrize("by_model", [False, True])
@pytest.mark.parametrize(
    "answer",
    [
        json.dumps({"customer": ANNA}),
        json.dumps(ANNA),
        f"```json\n{json.dumps(ANNA)}\n```",
        f"Here it is: {json.dumps(ANNA)}",
        "name: Anna\nstreet: Main 1\ncity: Bonn",
        "customer.name: Anna, customer.address.street: Main 1, customer.address.city = Bonn",
        "full name：Anna，street：Main 1，city：Bonn",
    ],
)
async def test_an_object_is_given_as_json_or_by_name_without_a_model(
    tmp_path: Path, answer: str, by_model: bool
) -> None:
    bodies, seen, model = await order(tmp_path, {"customer": CUSTOMER}, [answer], by_model=by_model)
    assert "customer.name: Full name" in seen[0].text, "the text names what is to be said"
    assert "\n- customer.address.city\n- customer.vip (optional)" in seen[0].text
    assert bodies == [{"customer": ANNA}]
    assert seen[1].text == "Ordered."
    assert model.replies == []


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
@pytest.mark.parametrize("by_model", [False, True])
async def test_words_are_read_by_the_model_and_only_the_rest_is_asked_again(tmp_path: Path, by_model: bool) -> None:
    lines = (
        reply_text(json.dumps({"customer": {"name": "Anna", "address": {"city": "Bonn"}}})),
        reply_text(json.dumps({"customer": {"address": {"street": "Main 1"}}})),
    )
    answers = ["It is Anna from Bonn.", "She lives in Main 1."]
    bodies, seen, model = await order(tmp_path, {"customer": CUSTOMER}, answers, *lines, by_model=by_model)
    assert "(the answer does not say customer.address.street;" in seen[1].text
    assert bodies == [{"customer": ANNA}]
    schema = model.prompts[1].output_schema
    assert schema is not None
    assert '"required"' not in json.dumps(schema), "so that nothing is made up"


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
@pytest.mark.parametrize("by_model", [False, True])
@pytest.mark.parametrize("payload", [{"customer": ANNA}, ANNA, json.dumps(ANNA), {"customer": json.dumps(ANNA)}])
async def test_a_form_takes_the_object_in_every_shape(tmp_path: Path, payload: Any, by_model: bool) -> None:
    bodies, seen, _ = await order(tmp_path, {"customer": CUSTOMER}, [payload], agui=True, by_model=by_model)
    (question,) = seen[0].questions
    assert question["responseSchema"]["properties"] == {"customer": CUSTOMER}
    assert bodies == [{"customer": ANNA}]


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_a_form_field_in_words_is_read_by_the_model(tmp_path: Path) -> None:
    line = reply_text(json.dumps({"customer": ANNA}))
    bodies, _, model = await order(
        tmp_path, {"customer": CUSTOMER}, [{"customer": "Anna, Main 1, Bonn"}], line, agui=True
    )
    assert bodies == [{"customer": ANNA}]
    assert "Anna, Main 1, Bonn" in model.prompts[1].messages[-1].text


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("red, blue; green", ["red", "blue", "green"]),
        ("红、蓝，绿", ["红", "蓝", "绿"]),
        ("- red\n- light blue", ["red", "light blue"]),
        ('["red", "blue"]', ["red", "blue"]),
        ('{"tags": ["red"]}', ["red"]),
        ("tags: red, blue", ["red", "blue"]),
        ("red", ["red"]),
    ],
)
async def test_a_list_of_texts_is_given_with_commas_or_lines(tmp_path: Path, answer: str, expected: list[str]) -> None:
    bodies, _, model = await order(tmp_path, {"tags": TAGS}, [answer])
    assert bodies == [{"tags": expected}]
    assert model.replies == []


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
@pytest.mark.parametrize("by_model", [False, True])
async def test_a_list_of_objects_is_given_in_words_or_json(tmp_path: Path, by_model: bool) -> None:
    items = [{"sku": "A7", "count": 2}, {"sku": "B1", "count": 1}]
    line = reply_text(json.dumps({"items": items}))
    bodies, seen, _ = await order(tmp_path / "a", {"items": ITEMS}, ["two A7 and one B1"], line, by_model=by_model)
    assert "items[].sku" in seen[0].text
    assert bodies == [{"items": items}]
    for number, answer in enumerate((items, {"items": items}, items[0])):
        folder = tmp_path / f"{number}"
        bodies, _, _ = await order(folder, {"items": ITEMS}, [json.dumps(answer)], by_model=by_model)
        assert bodies == [{"items": items if number < 2 else items[:1]}]


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_several_are_given_one_after_the_other(tmp_path: Path) -> None:
    fields = {"customer": CUSTOMER, "tags": TAGS, "note": TEXT}
    answers = [json.dumps({"customer": ANNA}), "tags: red, blue\nnote: soon"]
    bodies, seen, _ = await order(tmp_path, fields, answers)
    assert "the answer does not say tags, note" in seen[1].text
    assert bodies == [{"customer": ANNA, "tags": ["red", "blue"], "note": "soon"}]


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_a_model_that_says_no_arguments_leaves_them_to_the_person(tmp_path: Path) -> None:
    paths = {"/orders": {"post": make_json_body("customer", customer=CUSTOMER)}}
    for number, lines in enumerate(
        ([reply_text("{}")] * 2, [GARBLED, GARBLED], [reply_text('{"customer": {"vip": true}}')])
    ):
        model = FakeModel(*lines)
        folder = tmp_path / str(number)
        async with serve_recording_api() as api, serve_plugin(folder, api.url, paths, model, f=FLOW) as url:
            person = AguiFlowClient(url, "p.f")
            seen = await person.send_message("Order something.")
            assert (len(seen.questions), person.errors) == (1, []), number
            await person.answer_question({"customer": ANNA})
        vip = {"vip": True} if number == 2 else {}
        assert [json.loads(request.body) for request in api.requests] == [{"customer": ANNA | vip}]


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_a_list_whose_items_lack_something_is_asked_for(tmp_path: Path) -> None:
    paths = {"/orders": {"post": make_json_body("items", items=ITEMS)}}
    model = FakeModel(reply_text('{"items": [{"sku": "A7"}]}'), reply_text('{"items": [{"sku": "A7"}]}'))
    async with serve_recording_api() as api, serve_plugin(tmp_path, api.url, paths, model, f=FLOW) as url:
        person = AguiFlowClient(url, "p.f")
        seen = await person.send_message("Order A7.")
        assert (len(seen.questions), person.errors) == (1, [])
        await person.answer_question({"items": [{"sku": "A7", "count": 3}]})
    assert [json.loads(request.body) for request in api.requests] == [{"items": [{"sku": "A7", "count": 3}]}]


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_an_empty_field_of_a_form_is_asked_for_again(tmp_path: Path) -> None:
    bodies, seen, _ = await order(tmp_path, {"note": TEXT}, [{"note": ""}, {"note": "soon"}], agui=True)
    assert (bodies, len(seen[1].questions)) == ([{"note": "soon"}], 1)


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_an_answer_that_stays_unreadable_ends_the_flow_in_words(tmp_path: Path) -> None:
    lines = [reply_text("{}")] * 3
    bodies, seen, _ = await order(tmp_path, {"customer": CUSTOMER}, ["hm", "what?", "eh"], *lines)
    assert bodies == []
    assert "the answer does not say customer" in seen[1].text
    assert "it has asked three times" in seen[3].text


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_a_form_of_an_ask_step_is_answered_the_same_way(tmp_path: Path) -> None:
    schema = json.dumps({"type": "object", "properties": {"customer": CUSTOMER}, "required": ["customer"]})
    flow = f"""
name: f
description: Asks.
steps:
  - {{name: start, call_type: ask, params: {{question: "For whom?", schema: {schema}}}, next: end}}
  - {{name: end, call_type: none, params: {{say: "To {{start.customer.address.city}}."}}}}
"""
    async with serve_plugin(tmp_path, "http://127.0.0.1:9", {"/x": {"get": {}}}, f=flow) as url:
        person = OpenAIFlowClient(url, "p.f")
        assert "customer.address.city" in (await person.send_message("go")).text
        assert (await person.answer_question(json.dumps(ANNA))).text == "To Bonn."


@pytest.mark.io
@pytest.mark.demand("flows.missing_objects_asked_in_form")
async def test_optional_arguments_are_never_left_out_in_silence(tmp_path: Path) -> None:
    paths = {"/orders": {"post": make_json_body(items=ITEMS, customer=CUSTOMER)}}
    for number, lines in enumerate(([GARBLED, GARBLED], [reply_text('{"items": [{"sku": "A7"}]}')] * 2)):
        model, folder = FakeModel(*lines), tmp_path / str(number)
        async with serve_recording_api() as api, serve_plugin(folder, api.url, paths, model, f=FLOW) as url:
            person = AguiFlowClient(url, "p.f")
            seen = await person.send_message("Order A7.")
        assert (seen.error, api.requests) == ("flow_failed", [])

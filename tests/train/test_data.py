"""The training data of the adapter: rendered as the runtime asks, answerable, repeatable, not leaked."""

import json

import pytest

from rightseat.models.llamacpp.control_tokens import ControlTokens
from rightseat.models.llamacpp.formats.format import FormatContext
from rightseat.models.llamacpp.formats.hermes import SignatureFormat
from rightseat.models.llamacpp.template import load_chatml, load_template
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt, ToolSpec
from rightseat.types.schema import get_validator
from train import leakage, questions
from train.draw import Draw
from train.example import Example, make_call, make_exchange
from train.missing import to_label
from train.mix import ExampleMix, find_fault
from train.render import END, Renderer
from train.values import draw_simple


@pytest.fixture(scope="module")
def examples() -> list[Example]:
    return list(ExampleMix(7).examples(600))


@pytest.mark.demand("adapter.training_data_rendered_runtime")
@pytest.mark.long
@pytest.mark.io
async def test_prompts_are_what_the_runtime_sends() -> None:
    """Byte by byte, for calls, words and results, with a system text and with talk before."""
    template = await load_template(load_chatml(), eos=END)
    renderer, format = Renderer(template), SignatureFormat()
    for example in ExampleMix(8).examples(200):
        prompt = Prompt(messages=example.messages, tools=example.tools, output_schema=example.schema)
        plan = format.make_plan(FormatContext(prompt=prompt, capabilities=template.capabilities))
        assert renderer.render_prompt(example) == template.render(plan.messages, control_tokens=ControlTokens(()))


@pytest.mark.demand("adapter.training_data_rendered_runtime")
@pytest.mark.long
@pytest.mark.io
async def test_answers_are_read_back_as_the_calls_they_are() -> None:
    template = await load_template(load_chatml(), eos=END)
    renderer, format = Renderer(template), SignatureFormat()
    for example in ExampleMix(9).examples(150):
        prompt = Prompt(messages=(text_message("user", "x"),), tools=example.tools)
        reader = format.make_plan(FormatContext(prompt=prompt, capabilities=template.capabilities)).make_reader()
        fragments = [*reader.feed(renderer.render_answer(example).removesuffix(END)), *reader.close()]
        names = [fragment.name for fragment in fragments if hasattr(fragment, "name")]
        assert names == [made.name for made in example.calls]


@pytest.mark.demand("adapter.all_four_skills_data")
def test_every_call_satisfies_its_schema(examples: list[Example]) -> None:
    for example in examples:
        schemas = {tool.name: tool.parameters for tool in example.tools}
        for made in example.calls:
            assert get_validator(schemas[made.name]).find_problem(json.loads(made.arguments)) is None


@pytest.mark.demand("adapter.all_four_skills_data")
def test_every_skill_is_there_in_both_languages(examples: list[Example]) -> None:
    skills = {(example.skill, example.zh) for example in examples}
    assert {
        (skill, zh)
        for skill in ("call", "missing", "result", "rows", "choice", "none", "schema")
        for zh in (True, False)
    } <= skills


@pytest.mark.demand("adapter.seeds_fixed")
def test_a_seed_gives_the_same_data() -> None:
    assert list(ExampleMix(3).examples(40)) == list(ExampleMix(3).examples(40))


@pytest.mark.demand("adapter.all_four_skills_data")
def test_values_that_nobody_wrote_are_refused() -> None:
    tool = ToolSpec("find", "", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
    good = Example("call", (tool,), (text_message("user", "find tea"),), calls=(make_call("find", {"q": "tea"}),))
    bad = Example("call", (tool,), (text_message("user", "find tea"),), calls=(make_call("find", {"q": "milk"}),))
    assert not find_fault(good)
    assert find_fault(bad)


@pytest.mark.demand("adapter.all_four_skills_data")
def test_results_come_after_the_call_that_led_to_them() -> None:
    made = make_call("get_time", {})
    messages = make_exchange("What time is it?", [made], ["12:00"])
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert messages[2].call_id == made.id


@pytest.mark.demand("adapter.least_300_held_questions")
@pytest.mark.parametrize("part", ["dev", "final"])
def test_held_out_questions_are_sound(part: str) -> None:
    every = list(questions.load_questions(part))
    assert len(every) >= 300
    assert {item.skill for item in every} == {"calls", "missing", "results", "choices"}
    for item in every:
        schemas = {tool.name: tool.parameters for tool in item.tools}
        wanted = item.calls if item.kind == "call" else []
        for name, arguments in [*(one for right in wanted for one in right), *item.earlier_calls]:
            assert get_validator(schemas[name]).find_problem(arguments) is None, item.question


@pytest.mark.demand("adapter.least_300_held_questions")
@pytest.mark.long
def test_final_questions_share_nothing_with_the_training_data() -> None:
    assert list(leakage.find_shared(1500)) == []


@pytest.mark.demand("adapter.least_300_held_questions")
def test_final_questions_share_no_set_with_those_that_were_read() -> None:
    dev, final = ({item.set for item in questions.load_questions(part)} for part in ("dev", "final"))
    assert not dev & final


@pytest.mark.demand("adapter.least_300_held_questions")
def test_what_is_shared_is_found() -> None:
    """A question of the training data is no held-out question."""
    tool = ToolSpec("get_time", "", {"type": "object", "properties": {}})
    item = questions.HeldOutQuestion("calls", "clock", (tool,), "What is the time?", wanted="none")
    found = list(leakage.find_leaks(item, {"gettime"}, [leakage.make_pattern("what is {0}")], set(), {"clock"}))
    assert len(found) == 3


@pytest.mark.demand("adapter.all_four_skills_data")
def test_what_is_lacking_is_asked_for() -> None:
    mix = ExampleMix(5)
    asks = {slot.asked for slot in mix.slots.slots.values()}
    examples = [mix.slots.make_incomplete("en") for _ in range(60)]
    assert not any(example.calls for example in examples)
    assert all(example.text in asks or example.text.startswith("Which ") for example in examples)


def test_an_argument_is_named_as_people_do() -> None:
    keys = ("temperature_c", "birthDate", "id", "unit_no")
    assert [to_label(key) for key in keys] == ["temperature", "birth date", "id", "unit"]


@pytest.mark.demand("adapter.all_four_skills_data")
def test_what_is_asked_for_stands_in_any_column() -> None:
    """Else the place would tell the value, and the key would not be learnt."""
    mix = ExampleMix(6)
    places = set()
    for _ in range(60):
        example = mix.results.make_rows(False)
        table = example.messages[-1].text
        if table.startswith("| ") and len(table.splitlines()[0].split("|")) > 4:
            cells = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
            places |= {row.index(one) for row in cells for one in row[1:] if f"is {one}." in example.text}
    assert len(places) > 1


@pytest.mark.demand("adapter.all_four_skills_data")
def test_rivals_are_of_one_kind_and_one_is_told() -> None:
    mix = ExampleMix(6)
    for zh in (True, False):
        for _ in range(40):
            asked = mix.results.rivals.draw_question(zh)
            assert len(asked.row) > 1
            assert str(asked.value) in asked.answer
            assert asked.subject in asked.question


@pytest.mark.demand("adapter.all_four_skills_data")
def test_chinese_names_can_be_of_any_characters() -> None:
    draw = Draw(3)
    listed = set("".join(word for words in draw.words.values() for word in words))
    drawn = set("".join(draw_simple(draw, "place", True) for _ in range(200)))
    assert len(drawn - listed) > 50

"""The choice step: conditions first, the model second, and never an unknown step."""

from typing import Any

import pytest

from rightseat.errors import UpstreamGarbled
from rightseat.plugins.flows.step_context import StepError
from rightseat.plugins.flows.steps import get_kind
from rightseat.plugins.plugin import Step
from rightseat.types.events import Custom
from rightseat.types.text import estimate_tokens
from tests.kit.app_server import reply_text
from tests.unit.plugins.flows.step_runs import (
    check_step,
    get_prompt_text,
    list_prompts,
    make_context,
    make_services,
    run_step,
    run_step_to_output,
)

SEED = (
    {"step": "report_gen", "description": "返回值不是Markdown格式"},
    {"step": "end", "description": "返回值是Markdown格式"},
)
MANY = {"step": "many", "when": {"path": "before.count", "above": 10}}
NONE = {"step": "none", "when": {"path": "data.count", "equals": 0}}


def make_choice_step(*choices: Any, instruction: str = "返回值是否为Markdown报告？") -> Step:
    return Step(name="pick", kind="choice", params={"instruction": instruction, "choices": list(choices)})


@pytest.mark.demand("flows.choice_model_picks_among", "flows.call_type_embedded_model")
async def test_the_guides_choice_is_the_models() -> None:
    used = make_services(reply_text('{"step": "report_gen"}'))
    made = await run_step_to_output(make_context(make_choice_step(*SEED), used, before="plain text"))
    assert (made.jump, made.data) == ("report_gen", "report_gen")
    schema = list_prompts(used)[0].output_schema
    assert schema is not None
    assert schema["properties"]["step"]["enum"] == ["report_gen", "end"]
    for part in ("返回值是否为Markdown报告？", "返回值不是Markdown格式", "plain text", "What is there?"):
        assert part in get_prompt_text(used)


@pytest.mark.demand("flows.choice_model_picks_among")
async def test_an_unknown_step_is_never_taken() -> None:
    used = make_services(reply_text('{"step": "elsewhere"}'), reply_text('{"step": "end"}'))
    assert (await run_step_to_output(make_context(make_choice_step(*SEED), used))).jump == "end"
    with pytest.raises(UpstreamGarbled):
        await run_step_to_output(
            make_context(
                make_choice_step(*SEED), make_services(reply_text("elsewhere"), reply_text('{"step": "Report_Gen"}'))
            )
        )


@pytest.mark.demand("flows.choice_model_picks_among", "flows.deterministic_steps_model_call")
@pytest.mark.parametrize(("count", "expected"), [(11, "many"), (0, "none"), (5, "end")])
async def test_conditions_ask_no_model(count: int, expected: str) -> None:
    used = make_services()
    made = await run_step_to_output(
        make_context(make_choice_step(MANY, NONE, {"step": "end"}), used, before={"count": count})
    )
    assert made.jump == expected
    assert list_prompts(used) == []


@pytest.mark.demand("flows.choice_model_picks_among")
async def test_the_model_picks_only_among_those_without_a_condition() -> None:
    used = make_services(reply_text('{"step": "end"}'))
    assert (
        await run_step_to_output(make_context(make_choice_step(MANY, *SEED), used, before={"count": 1}))
    ).jump == "end"
    schema = list_prompts(used)[0].output_schema
    assert schema is not None
    assert "many" not in schema["properties"]["step"]["enum"]


@pytest.mark.demand("flows.choice_model_picks_among")
async def test_where_no_condition_holds_and_nothing_is_left_it_fails() -> None:
    with pytest.raises(StepError, match="No condition of the choice is true"):
        await run_step_to_output(make_context(make_choice_step(MANY, NONE), make_services(), before={"count": 5}))


@pytest.mark.demand("flows.llm_context_conversation_finished")
async def test_its_prompt_stays_within_80_percent() -> None:
    used = make_services(reply_text('{"step": "end"}'), context=1000)
    made = await run_step(make_context(make_choice_step(*SEED), used, before="word " * 20_000))
    assert any(isinstance(item, Custom) and item.name == "prompt_cut" for item in made)
    assert sum(estimate_tokens(one.text) for one in list_prompts(used)[0].messages) <= 800


def test_its_ways_are_known() -> None:
    assert list(get_kind("choice").jumps(make_choice_step(MANY, *SEED))) == ["many", "report_gen", "end"]


def test_params_are_checked() -> None:
    ways = (Step(name="report_gen", kind="llm"), Step(name="before", kind="api"))
    assert check_step(make_choice_step(*SEED), other_steps=ways) == []
    assert (
        check_step(make_choice_step({"step": "end", "when": {"path": "before.x", "is": "empty"}}), other_steps=ways)
        == []
    )

    def error(*choices: Any) -> str:
        found = check_step(make_choice_step(*choices), other_steps=ways)
        return f"{found[0].gravity} {found[0].key}: {found[0].what}"

    assert error() == "error steps.pick.params.choices: There is nothing to choose from."
    assert error("end").startswith("error steps.pick.params.choices[0]: It names no step")
    assert "bigger" not in error({"step": "end", "when": {"path": "before", "bigger": 1}})
    assert "one of is, equals" in error({"step": "end", "when": {"path": "before", "bigger": 1}})
    assert "begins with no step's name" in error({"step": "end", "when": {"path": "befor.x", "equals": 1}})
    assert error({"step": "end"}, {"step": "report_gen"}).startswith("warning")

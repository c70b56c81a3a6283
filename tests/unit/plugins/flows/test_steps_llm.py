"""The llm step: prompts, cuts, streaming."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rightseat.errors import ContextTooLong, Incomplete
from rightseat.plugins.flows.step_context import StepError, StepOutput
from rightseat.plugins.flows.templates import ANSWER_STEP, StepVariables, fit_templates
from rightseat.plugins.plugin import Step
from rightseat.types.chunks import FinishChunk, ReasoningChunk, TextChunk
from rightseat.types.events import Custom, ReasoningDelta, TextDelta, TextEnd, TextStart
from rightseat.types.messages import text_message
from rightseat.types.model import SamplingSettings
from rightseat.types.text import estimate_tokens
from rightseat.types.turn import Turn
from tests.kit.app_server import reply_text
from tests.kit.rounds import limit_rounds
from tests.unit.plugins.flows.step_runs import (
    check_step,
    get_prompt_text,
    list_prompts,
    make_context,
    make_services,
    run_step,
    run_step_to_output,
)

SEED = """用户问题：
{question}

工具的输出信息：
{data}

上下文信息：
{context}

当前时间：
{time}

根据上述信息，撰写系统性能分析报告。"""


def make_llm_step(**params: Any) -> Step:
    return Step(name="report", kind="llm", params=params)


@pytest.mark.demand("flows.llm_system_prompt_user", "flows.call_type_embedded_model")
async def test_the_guides_prompt_is_filled_in() -> None:
    used = make_services(reply_text("A ", "report"))
    step = make_llm_step(system_prompt='你是助手，输出JSON：{"a": 1}', user_prompt=SEED)
    made = await run_step_to_output(make_context(step, used, before={"cpu": 0.9}, question="主机慢吗？"))
    assert made.data == "A report"
    system, user = list_prompts(used)[0].messages
    assert (system.role, system.text) == ("system", '你是助手，输出JSON：{"a": 1}')
    assert user.text.startswith('用户问题：\n主机慢吗？\n\n工具的输出信息：\n{"cpu":0.9}\n')
    assert "当前时间：\n2026-11-15 10:00:00 UTC" in user.text


async def test_without_prompts_it_has_its_own() -> None:
    used = make_services(reply_text("ok"))
    await run_step_to_output(make_context(make_llm_step(), used, before="the data"))
    assert "the data" in get_prompt_text(used)
    assert "What is there?" in get_prompt_text(used)


@pytest.mark.demand("flows.llm_streams_user_last")
async def test_the_last_step_streams() -> None:
    line = [ReasoningChunk("hm"), TextChunk("It "), TextChunk("is."), FinishChunk("stop")]
    made = await run_step(make_context(make_llm_step(), make_services(line), last=True))
    kinds = [type(item) for item in made]
    assert [one for one in kinds if one in (TextStart, TextDelta, TextEnd)] == [
        TextStart,
        TextDelta,
        TextDelta,
        TextEnd,
    ]
    assert ReasoningDelta in kinds
    assert made[-1] == StepOutput("It is.", made[-1].message)  # type: ignore[union-attr]


@pytest.mark.demand("flows.llm_streams_user_last")
async def test_no_other_step_does() -> None:
    assert [
        type(item) for item in await run_step(make_context(make_llm_step(), make_services(reply_text("It is."))))
    ] == [StepOutput]


async def test_a_callers_settings_are_for_the_answer() -> None:
    turn = Turn(messages=(text_message("user", "x"),), settings=SamplingSettings(temperature=1.0, stop=("END",)))
    inner, last = make_services(reply_text("a")), make_services(reply_text("b"))
    await run_step(make_context(make_llm_step(temperature=0.1, max_tokens=50), inner, turn=turn))
    await run_step(make_context(make_llm_step(max_tokens=50), last, turn=turn, last=True))
    assert list_prompts(inner)[0].settings == SamplingSettings(temperature=0.1, max_tokens=50)
    assert list_prompts(last)[0].settings == SamplingSettings(temperature=1.0, max_tokens=50, stop=("END",))


async def test_a_callers_schema_is_the_answers() -> None:
    schema = {"type": "object"}
    turn = Turn(messages=(text_message("user", "x"),), output_schema=schema)
    inner, last = make_services(reply_text("a")), make_services(reply_text("{}"))
    await run_step(make_context(make_llm_step(), inner, turn=turn))
    await run_step(make_context(make_llm_step(), last, turn=turn, last=True))
    assert (list_prompts(inner)[0].output_schema, list_prompts(last)[0].output_schema) == (None, schema)


@pytest.mark.demand("flows.llm_context_conversation_finished")
@pytest.mark.parametrize("size", [500, 50_000])
async def test_prompts_stay_within_80_percent_of_the_context(size: int) -> None:
    used = make_services(reply_text("ok"), context=2000)
    rows = [{"name": f"host-{number}", "cpu": number} for number in range(size)]
    made = await run_step(make_context(make_llm_step(user_prompt=SEED), used, before=rows, question="Which? " * 600))
    [cut] = [item for item in made if isinstance(item, Custom)]
    assert cut == Custom("prompt_cut", {"step": "report", "cut": ["question", "data"]})
    assert 1000 < sum(estimate_tokens(one.text) for one in list_prompts(used)[0].messages) <= 1600
    assert "rows left out" in get_prompt_text(used)
    assert "根据上述信息" in get_prompt_text(used)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=20), inner, max_size=10),
    max_leaves=40,
)


@given(JSON, st.text(max_size=2000), st.integers(60, 600))
@settings(max_examples=limit_rounds(150), deadline=None)
def test_whatever_is_filled_in_there_is_never_more_than_fits(data: Any, question: str, left: int) -> None:
    names = StepVariables(make_context(make_llm_step(), make_services(), before=data, question=question))
    try:
        made = fit_templates(["You are {a} model.", "{question}\n{data}\n{data}"], names, left)
    except ContextTooLong:
        assert left < 100
        return
    assert sum(map(estimate_tokens, made.texts)) <= left


async def test_what_fits_is_not_cut() -> None:
    used = make_services(reply_text("ok"), context=2000)
    made = await run_step(make_context(make_llm_step(), used, before="x" * 3000))
    assert [type(item) for item in made] == [StepOutput]
    assert "x" * 3000 in get_prompt_text(used)


@pytest.mark.demand("flows.llm_context_conversation_finished")
async def test_a_prompt_that_cannot_fit_says_so() -> None:
    with pytest.raises(ContextTooLong, match="room for 80"):
        await run_step_to_output(
            make_context(make_llm_step(user_prompt="word " * 400), make_services(reply_text("ok"), context=100))
        )


async def test_a_model_that_says_nothing_is_an_error() -> None:
    with pytest.raises(StepError, match="said nothing"):
        await run_step_to_output(make_context(make_llm_step(), make_services(reply_text(" "))))
    with pytest.raises(StepError, match="filter"):
        await run_step_to_output(make_context(make_llm_step(), make_services(reply_text("", finish="content_filter"))))
    with pytest.raises(Incomplete):
        await run_step_to_output(make_context(make_llm_step(), make_services([TextChunk("half")])))


@pytest.mark.demand("flows.last_step_llm_model")
async def test_the_answer_comes_from_question_description_and_outputs() -> None:
    used = make_services(reply_text("All of it."))
    given = make_context(ANSWER_STEP, used, outputs={"start": {"n": 3}, "pick": StepOutput("x", jump="x")}, last=True)
    made = await run_step_to_output(given)
    assert made.data == "All of it."
    for part in ("Sells things.", '{"start":{"n":3}}', "What is there?"):
        assert part in get_prompt_text(used)


def test_params_are_checked() -> None:
    assert check_step(make_llm_step(system_prompt="a", user_prompt="b", temperature=0.5, max_tokens=9)) == []
    for params in ({"user_prompt": 3}, {"temperature": "hot"}, {"max_tokens": 1.5}, {"max_tokens": True}):
        [found] = check_step(make_llm_step(**params))
        assert (found.gravity, found.key) == ("error", f"steps.report.params.{next(iter(params))}")
    [found] = check_step(make_llm_step(prompt="x"))
    assert found.gravity == "warning"


def test_a_name_that_is_nearly_one_is_told_to_authors() -> None:
    text = '{question} {qestion} {reprot.x} {{ dta }} {"a": 1} {output} {report[0]} {start_time}'
    found = check_step(make_llm_step(user_prompt=text))
    assert [(one.gravity, one.what.partition(" ")[0], one.fix) for one in found] == [
        ("style", "{qestion}", "Did you mean {question}?"),
        ("style", "{reprot.x}", "Did you mean {report}?"),
        ("style", "{dta}", "Did you mean {data}?"),
    ]

"""The flow of the guide, to the letter."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat.plugins.flows.context import FlowServices
from rightseat.types.events import StepStart, TextDelta
from tests.kit.house import Lines, says
from tests.unit.plugins.flows.acting import Scene, flow
from tests.unit.plugins.http.plugged import operation, plugin, tools
from tests.unit.plugins.http.target import Target, said, sent, target

pytestmark = pytest.mark.io

GUIDE = """name: example_id
description: 这里是样例描述。
on_error:
  call_type: llm
  params:
    system_prompt: You are a helpful assistant.
    user_prompt: |
      当前工具执行发生错误，原始错误信息为：{data}。请向用户展示错误信息，并给出可能的解决方案。

      背景信息：{context}
steps:
  - name: start
    call_type: api
    params:
      endpoint: GET /api/test
    next: flow_choice
  - name: flow_choice
    call_type: choice
    params:
      instruction: 返回值是否为Markdown报告？
      choices:
        - step: report_gen
          description: 返回值不是Markdown格式
        - step: end
          description: 返回值是Markdown格式
  - name: report_gen
    call_type: llm
    params:
      system_prompt: 你是一个擅长Linux系统性能优化，且能够根据具体情况撰写分析报告的智能助手。
      user_prompt: |-
        用户问题：
        {question}

        工具的输出信息：
        {data}

        上下文信息：
        {context}

        当前时间：
        {time}

        根据上述信息，撰写系统性能分析报告。
    next: end
  - name: end
    call_type: none
next_flow:
  - example_2
  - example_3
"""


@pytest.fixture
async def api() -> AsyncIterator[Target]:
    async with target() as made:
        yield made


async def played(api: Target, *lines: Any) -> tuple[Scene, list[str]]:
    """The flow's end, and what the model was asked."""
    one = operation("GET", "/api/test", url=api.url)
    async with tools(plugin(one)) as (tool,):
        model = Lines(*lines)
        kit = FlowServices(model=model, operations={one.id: tool}, scripts={}, flows={}, databases={})
        scene = Scene(flow(GUIDE), kit)
        assert await scene.ask("系统慢吗？") == []
    assert scene.failed is None
    assert model.lines == []
    return scene, ["\n".join(message.text for message in prompt.messages) for prompt in model.asked]


def steps(scene: Scene) -> list[str]:
    return [event.name for event in scene.events if isinstance(event, StepStart)]


@pytest.mark.demand("flows.llm_streams_user_last", "flows.seed_yaml_verbatim_runs")
async def test_the_report_is_written_from_what_the_api_gave(api: Target) -> None:
    api.replies = [said({"cpu": 97})]
    scene, asked = await played(api, says('{"step": "report_gen"}'), says("# 报告\n", "CPU过高"))
    assert steps(scene) == ["start", "flow_choice", "report_gen"]
    assert "返回值是否为Markdown报告？" in asked[0]
    # What the choice said is not what the report is about.
    assert '工具的输出信息：\n{"cpu":97}\n' in asked[1]
    assert "用户问题：\n系统慢吗？\n" in asked[1]
    assert scene.text == "# 报告\nCPU过高"
    assert [event.text for event in scene.events if isinstance(event, TextDelta)] == ["# 报告\n", "CPU过高"]


@pytest.mark.demand("flows.last_step_llm_model", "flows.seed_yaml_verbatim_runs")
async def test_at_the_end_the_model_answers_from_what_there_is(api: Target) -> None:
    api.replies = [sent(b"# Report", content_type="text/markdown")]
    scene, asked = await played(api, says('{"step": "end"}'), says("这是报告。"))
    assert steps(scene) == ["start", "flow_choice"]
    for part in ("# Report", "这里是样例描述。", "系统慢吗？"):
        assert part in asked[1]
    assert scene.text == "这是报告。"


@pytest.mark.demand("flows.api_2xx_success_other", "flows.seed_yaml_verbatim_runs")
async def test_an_error_is_told_with_its_real_words(api: Target) -> None:
    api.replies = [said({"detail": "磁盘已满"}, 507)]
    scene, asked = await played(api, says("磁盘满了，请清理。"))
    assert "原始错误信息为：GET /api/test answered 507" in asked[0]
    assert "磁盘已满" in asked[0]
    assert scene.text == "磁盘满了，请清理。"

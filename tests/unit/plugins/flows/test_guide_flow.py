"""The flow of the guide, to the letter."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat.plugins.flows.step_context import FlowServices
from rightseat.types.events import StepStart, TextDelta
from tests.kit.app_server import FakeModel, reply_text
from tests.unit.plugins.flows.conversations import FlowConversation, make_flow
from tests.unit.plugins.http.plugin_values import make_operation, make_plugin, open_tools
from tests.unit.plugins.http.recording_api import (
    RecordingApi,
    make_json_response,
    make_raw_response,
    serve_recording_api,
)

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
async def api() -> AsyncIterator[RecordingApi]:
    async with serve_recording_api() as made:
        yield made


async def run_guide(api: RecordingApi, *lines: Any) -> tuple[FlowConversation, list[str]]:
    """The flow's end, and what the model was asked."""
    one = make_operation("GET", "/api/test", url=api.url)
    async with open_tools(make_plugin(one)) as (tool,):
        model = FakeModel(*lines)
        kit = FlowServices(model=model, operations={one.id: tool}, scripts={}, flows={}, databases={})
        scene = FlowConversation(make_flow(GUIDE), kit)
        assert await scene.send("系统慢吗？") == []
    assert scene.failure is None
    assert model.replies == []
    return scene, ["\n".join(message.text for message in prompt.messages) for prompt in model.prompts]


def list_steps(scene: FlowConversation) -> list[str]:
    return [event.name for event in scene.events if isinstance(event, StepStart)]


@pytest.mark.demand("flows.llm_streams_user_last", "flows.seed_yaml_verbatim_runs")
async def test_the_report_is_written_from_what_the_api_gave(api: RecordingApi) -> None:
    api.replies = [make_json_response({"cpu": 97})]
    scene, asked = await run_guide(api, reply_text('{"step": "report_gen"}'), reply_text("# 报告\n", "CPU过高"))
    assert list_steps(scene) == ["start", "flow_choice", "report_gen"]
    assert "返回值是否为Markdown报告？" in asked[0]
    # What the choice said is not what the report is about.
    assert '工具的输出信息：\n{"cpu":97}\n' in asked[1]
    assert "用户问题：\n系统慢吗？\n" in asked[1]
    assert scene.text == "# 报告\nCPU过高"
    assert [event.text for event in scene.events if isinstance(event, TextDelta)] == ["# 报告\n", "CPU过高"]


@pytest.mark.demand("flows.last_step_llm_model", "flows.seed_yaml_verbatim_runs")
async def test_at_the_end_the_model_answers_from_what_there_is(api: RecordingApi) -> None:
    api.replies = [make_raw_response(b"# Report", content_type="text/markdown")]
    scene, asked = await run_guide(api, reply_text('{"step": "end"}'), reply_text("这是报告。"))
    assert list_steps(scene) == ["start", "flow_choice"]
    for part in ("# Report", "这里是样例描述。", "系统慢吗？"):
        assert part in asked[1]
    assert scene.text == "这是报告。"


@pytest.mark.demand("flows.api_2xx_success_other", "flows.seed_yaml_verbatim_runs")
async def test_an_error_is_told_with_its_real_words(api: RecordingApi) -> None:
    api.replies = [make_json_response({"detail": "磁盘已满"}, 507)]
    scene, asked = await run_guide(api, reply_text("磁盘满了，请清理。"))
    assert "原始错误信息为：GET /api/test answered 507" in asked[0]
    assert "磁盘已满" in asked[0]
    assert scene.text == "磁盘满了，请清理。"

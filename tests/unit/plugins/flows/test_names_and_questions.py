"""What clients see of flows: names of tools, the predefined question, and questions that could come next."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.plugins.selection import ToolSelection
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.runtime import Runtime
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.plugins.runtime.api_plugins import write_api_plugin

RuntimeFactory = Callable[..., Runtime]
TELL = "steps: [{name: start, call_type: llm, params: {user_prompt: 'Tell of {question}'}}]"
NEXT = "next_flow: [{flow: tell, question: And tomorrow?}, {flow: other, question: 还有别的吗？}]"


@pytest.fixture
def make_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RuntimeFactory:
    monkeypatch.chdir(tmp_path)

    def make(files: dict[str, str], **manifest: Any) -> Runtime:
        home = write_api_plugin(tmp_path / "plugins" / "shop", **manifest)
        for name, text in files.items():
            path = home / "flows" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        turns = {"turns": [{"when": {"user": "^Tell of"}, "say": "{user}"}, {"say": "You said: {user}"}]}
        (tmp_path / "turns.json").write_text(json.dumps(turns), "utf-8")
        table = '[models.m]\nspec = "scripted:turns.json"\n[[plugins]]\npath = "plugins"\n'
        (tmp_path / "rightseat.toml").write_text(table, "utf-8")
        return build_runtime(load_config(env={}), env={})

    return make


async def post(runtime: Runtime, **body: Any) -> tuple[int, Any]:
    """The answer's text, or the error."""
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as client:
        await client.post_json("/v1/chat/completions", body)
        status = (await client.read_head()).status
        if body.get("stream"):
            frames = [json.loads(str(frame.data)) async for frame in client.iterate_frames() if frame.data != "[DONE]"]
            return status, "".join(frame["choices"][0]["delta"].get("content") or "" for frame in frames)
        answer = await client.read_json()
        return status, answer["choices"][0]["message"]["content"] if status == 200 else answer["error"]


@pytest.mark.demand("flows.chinese_tool_names")
@pytest.mark.io
async def test_the_tool_of_a_chinese_flow_is_named_by_its_file(make_runtime: RuntimeFactory) -> None:
    files = {
        "sales_report.yaml": f"name: 销售报告\ndescription: d\n{TELL}\n",
        "库存.yaml": f"name: 库存\ndescription: d\n{TELL}\n",
        "stock.yaml": f"name: stock\ndescription: d\n{TELL}\n",
        "sub.stock.yaml": f"name: 另一个库存\ndescription: d\n{TELL}\n",
    }
    runtime = make_runtime(files)
    source = runtime.assistants["default"].toolset
    assert isinstance(source, ToolSelection)
    names = set(source.catalog.by_name)
    assert {"shop_sales_report", "shop_stock", "shop_sub_stock"} <= names
    assert len(names) == 5
    assert "shop.销售报告" in runtime.responders, "the flow keeps its own name"
    await runtime.close()


@pytest.mark.demand("flows.suggestions_openai")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.io
async def test_next_flows_are_suggested_in_the_text(make_runtime: RuntimeFactory, stream: bool) -> None:
    files = {
        "tell.yaml": f"name: tell\ndescription: d\n{TELL}\n{NEXT}\n",
        "other.yaml": f"name: other\ndescription: d\n{TELL}\n",
    }
    messages = [{"role": "user", "content": "today"}]
    status, text = await post(make_runtime(files), model="shop.tell", messages=messages, stream=stream)
    assert (status, text) == (200, "Tell of today\n\nYou could ask next:\n- And tomorrow?\n- 还有别的吗？")


@pytest.mark.demand("flows.suggestions_openai")
@pytest.mark.io
async def test_suggestions_are_in_the_language_of_the_person_and_never_part_of_json(
    make_runtime: RuntimeFactory,
) -> None:
    files = {"tell.yaml": f"name: tell\ndescription: d\n{TELL}\n{NEXT}\n"}
    _, text = await post(make_runtime(files), model="shop.tell", messages=[{"role": "user", "content": "今天"}])
    assert text == "Tell of 今天\n\n接下来可以问：\n- And tomorrow?"
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "string"}}}
    _, text = await post(
        make_runtime(files), model="shop.tell", messages=[{"role": "user", "content": "today"}], response_format=form
    )
    assert text == "Tell of today"


@pytest.mark.demand("flows.empty_messages_ask_predefined")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"model": "shop.tell"}, "Tell of What is sold?"),
        ({"model": "shop"}, "You said: What is sold?"),
        ({"plugins": ["shop"]}, "You said: What is sold?"),
        ({}, "You said: What is sold?"),
        ({"model": "shop.tell", "messages": [{"role": "user", "content": " "}]}, "Tell of What is sold?"),
    ],
)
@pytest.mark.io
async def test_an_empty_conversation_asks_the_predefined_question(
    make_runtime: RuntimeFactory, tmp_path: Path, body: dict[str, Any], expected: str
) -> None:
    files = {"tell.yaml": f"name: tell\ndescription: d\n{TELL}\n"}
    make_runtime(files, predefined_question="What is sold?")
    with (tmp_path / "rightseat.toml").open("a", encoding="utf-8") as config:
        config.write("appears = true\n")
    runtime = build_runtime(load_config(env={}), env={})
    assert await post(runtime, **{"messages": [], **body}) == (200, expected)


@pytest.mark.demand("flows.empty_messages_ask_predefined")
@pytest.mark.io
async def test_an_empty_conversation_asks_it_at_agui_too(make_runtime: RuntimeFactory) -> None:
    files = {"tell.yaml": f"name: tell\ndescription: d\n{TELL}\n"}
    run = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}, "forwardedProps": {}}
    async with (
        serve_runtime(make_runtime(files, predefined_question="What is sold?")) as server,
        RawHttpClient(server.url) as client,
    ):
        await client.post_json("/agui/shop.tell", run)
        assert (await client.read_head()).status == 200
        assert b"Tell of What is sold?" in await client.read_body()


@pytest.mark.demand("flows.empty_messages_ask_predefined")
@pytest.mark.io
async def test_an_empty_conversation_without_a_predefined_question_is_refused(make_runtime: RuntimeFactory) -> None:
    status, error = await post(make_runtime({}), messages=[])
    assert (status, error["param"]) == (400, "messages")
    assert "Send at least one message" in error["message"]


@pytest.mark.demand("flows.suggestions_openai")
@pytest.mark.io
async def test_without_a_message_the_suggestions_say_the_language(make_runtime: RuntimeFactory) -> None:
    flow = f"name: tell\ndescription: d\n{TELL}\nnext_flow: [{{flow: tell, question: 还有别的吗？}}]\n"
    _, text = await post(
        make_runtime({"tell.yaml": flow}, predefined_question="卖什么？"), model="shop.tell", messages=[]
    )
    assert text == "Tell of 卖什么？\n\n接下来可以问：\n- 还有别的吗？"

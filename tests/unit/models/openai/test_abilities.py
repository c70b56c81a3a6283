"""What the table says of OpenAI's models, as requests show it."""

from typing import Any

import pytest

from rightseat.models.openai import OpenAIModel, model
from rightseat.models.openai.emulated import EmulatedToolsModel
from rightseat.models.openai.request import Dialect, build_chat_body
from rightseat.models.openai.vendors import OpenAIVendor
from rightseat.types.model import Prompt, SamplingSettings, ToolSpec
from tests.kit import answers
from tests.kit.cases import each_case
from tests.kit.upstream import FakeUpstream
from tests.unit.models.model_calls import HELLO, collect_chunks

ADD = ToolSpec("add", "Adds.", {"type": "object"})
TUNED = SamplingSettings(
    temperature=0.2, top_p=0.9, stop=("x",), seed=1, extra={"reasoning_effort": "low", "logit_bias": {}}
)


def make_openai_model(name: str, **options: Any) -> OpenAIModel:
    return model(name, {"base_url": "https://api.openai.com/v1", "api_key": "k", **options})


@pytest.mark.demand("models.unknown_tuning_knobs_ignored")
@pytest.mark.parametrize(
    ("name", "sent"),
    [("gpt-4o", {"temperature", "top_p", "stop", "seed", "logit_bias"}), ("gpt-5-mini", {"seed", "reasoning_effort"})],
)
def test_tuning_that_openai_would_refuse_is_left_out(name: str, sent: set[str]) -> None:
    able = make_openai_model(name).capabilities
    ours = OpenAIVendor(kind="openai").make_dialect(able, developer_role=None, strict_tools=False, usage=True)
    found = build_chat_body(name, Prompt(messages=HELLO.messages, settings=TUNED), ours)
    assert set(found) - {"model", "messages", "stream", "stream_options"} == sent
    # Another's server knows best what it knows.
    theirs = OpenAIVendor(kind="compatible").make_dialect(able, developer_role=None, strict_tools=False, usage=True)
    body = build_chat_body(name, Prompt(messages=(), settings=TUNED), theirs)
    assert {"temperature", "reasoning_effort"} <= set(body)


def test_where_one_call_is_all_there_is_nothing_is_said_of_more() -> None:
    settings = SamplingSettings(parallel_calls=False)
    prompt = Prompt(messages=HELLO.messages, tools=(ADD,), settings=settings)
    for name, said in (("gpt-4o", True), ("gpt-5", True), ("o3-mini", False)):
        able = make_openai_model(name).capabilities
        dialect = OpenAIVendor(kind="openai").make_dialect(able, developer_role=None, strict_tools=False, usage=True)
        assert ("parallel_tool_calls" in build_chat_body(name, prompt, dialect)) is said


@pytest.mark.demand("models.table_model_tools_parallel")
@each_case(
    ("name", "options", "kind", "tools"),
    [
        ("gpt-4o", {}, OpenAIModel, True),
        ("o1-mini", {}, EmulatedToolsModel, True),
        ("chatgpt-4o-latest", {}, EmulatedToolsModel, True),
        ("o1-mini", {"tools": "native"}, OpenAIModel, True),
        ("o1-mini", {"tools": True}, OpenAIModel, True),
        ("gpt-4o", {"tools": False}, OpenAIModel, False),
        ("gpt-4o", {"tools": "schema"}, EmulatedToolsModel, True),
    ],
)
def test_a_known_model_without_tools_calls_them_all_the_same(
    name: str, options: dict[str, Any], kind: type[OpenAIModel], tools: bool
) -> None:
    found = make_openai_model(name, **options)
    assert type(found) is kind
    assert found.capabilities.tools is tools


@pytest.mark.demand("models.table_model_tools_parallel")
def test_a_schema_is_said_in_words_where_the_server_takes_none() -> None:
    dialect = Dialect(developer_role=False, max_completion_tokens=False, strict_tools=False, usage=False, schema=False)
    found = build_chat_body("m", Prompt(messages=HELLO.messages, output_schema={"type": "integer"}), dialect)
    assert "response_format" not in found
    assert [message["role"] for message in found["messages"]] == ["system", "user"]
    assert '{"type":"integer"}' in found["messages"][0]["content"]
    assert not make_openai_model("gpt-4", strict_tools=True).capabilities.enforces_schema
    assert make_openai_model("gpt-4o", strict_tools=True).capabilities.enforces_schema


@pytest.mark.io
@pytest.mark.parametrize(
    ("name", "options", "sees", "takes"),
    [
        ("kit-model", {}, False, True),
        ("kit-model", {"images": True}, True, True),
        ("kit-model", {"images": False}, False, False),
        ("qwen2.5-vl", {}, True, True),
        ("Qwen/Qwen3-8B", {}, False, False),
    ],
)
async def test_pictures_at_a_server_of_one_s_own(name: str, options: dict[str, Any], sees: bool, takes: bool) -> None:
    async with FakeUpstream() as upstream:
        upstream.reply = answers.answer_text()
        found = model(name, {"base_url": upstream.base_url, **options})
        _, error = await collect_chunks(found)
        await found.close()
    assert error is None
    assert (found.capabilities.supports_images, found.capabilities.images) == (sees, takes)


@pytest.mark.demand("openai.client_shapes")
@each_case(
    ("name", "options", "hears"),
    [
        ("gpt-audio", {}, True),
        ("gpt-4o-audio-preview", {}, True),
        ("gpt-audio", {"api": "responses"}, False),
        ("gpt-4o", {}, False),
        ("gpt-4o", {"audio": True}, True),
        ("voxtral-mini", {"base_url": "http://127.0.0.1:1/v1"}, True),
        ("gpt-audio", {"audio": False}, False),
    ],
)
def test_which_models_hear(name: str, options: dict[str, Any], hears: bool) -> None:
    assert make_openai_model(name, **options).capabilities.audio is hears


@pytest.mark.demand("openai.client_shapes")
def test_which_servers_know_allowed_tools() -> None:
    assert make_openai_model("gpt-5").capabilities.allowed_tools
    assert not make_openai_model("gpt-5", tools="schema").capabilities.allowed_tools
    assert not make_openai_model("gpt-5", base_url="http://127.0.0.1:1/v1").capabilities.allowed_tools

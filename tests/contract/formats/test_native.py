"""The contract of formats for the engine's own chat route, against a stand-in of a recent llama-server."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rightseat import Runtime
from rightseat.config.settings import ServerSettings
from rightseat.errors import CallerError, ConfigError, ContextTooLong, RightseatError, UpstreamError, UpstreamGarbled
from rightseat.models.llamacpp.control_tokens import WORD_JOINER
from rightseat.models.llamacpp.formats.native import add_types, is_plain_schema
from rightseat.types.chunks import FinishChunk, ModelChunk, TextChunk, ToolCallStart, UsageChunk
from rightseat.types.events import Usage
from rightseat.types.messages import Message, ToolCall, make_client_reasoning, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from rightseat.types.streams import closing
from tests.contract.formats.cases import CASES, FIND_CALL, HOSTILE, OUTPUT_SCHEMA, PLAIN, RING_CALL, TOOLS, FormatCase
from tests.contract.formats.checking import USER, make_expected
from tests.contract.formats.native_engine import collect_chunks, make_delta, make_events, open_native_model
from tests.contract.formats.native_templates import NATIVE_TEMPLATES, TOKEN, XML
from tests.contract.models.cases import CollectedAnswer, collect_answer
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io

EMPTY = FormatCase("empty", "Good day.")
CALL = FormatCase("call", calls=(FIND_CALL,))
TEXT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
SAY_TOOL = ToolSpec("say", "Says.", TEXT_SCHEMA)
SAY_CALL = ("say", '{"text": "no\\nSTOP\\nhere"}')


async def ask(
    case: FormatCase | list[Any] = EMPTY,
    *,
    source: str = XML,
    finish: str | None = None,
    options: dict[str, Any] | None = None,
    **prompt: Any,
) -> tuple[list[ModelChunk], dict[str, Any]]:
    """Return the chunks of an answer and the request that the engine's chat route got."""
    async with open_native_model(source, **(options or {})) as (model, engine, _):
        engine.events = case if isinstance(case, list) else make_events(case, finish)
        chunks = await collect_chunks(model, **{"messages": (USER,), "tools": TOOLS, **prompt})
        return chunks, engine.chat


def read_answer(chunks: Sequence[ModelChunk]) -> CollectedAnswer:
    """Return text, thoughts and calls of an answer."""
    return collect_answer([chunk for chunk in chunks if not isinstance(chunk, UsageChunk | FinishChunk)])


@pytest.mark.demand("llamacpp.native_chat_route")
@pytest.mark.parametrize("source", NATIVE_TEMPLATES.values(), ids=NATIVE_TEMPLATES)
async def test_every_case_is_read_by_the_engine(source: str) -> None:
    async with open_native_model(source) as (model, engine, _):
        for case in CASES:
            for size in (1, 3, 1000):
                engine.events = make_events(case, size=size)
                chunks = await collect_chunks(model, messages=(USER,), tools=TOOLS)
                assert read_answer(chunks) == make_expected(case)
                assert chunks[-1] == FinishChunk("calls" if case.calls else "stop")
                assert chunks[-2] == UsageChunk(Usage(9, 4, 5))
        assert not engine.list_bodies("/completion")
    assert engine.chat["tools"][0]["function"]["name"] == "find_word"
    assert engine.chat["stream"] is True
    assert engine.chat["cache_prompt"] is True


@pytest.mark.demand("llamacpp.native_chat_route")
@pytest.mark.parametrize("source", NATIVE_TEMPLATES.values(), ids=NATIVE_TEMPLATES)
async def test_tool_choice_and_parallel_calls(source: str) -> None:
    _, auto = await ask(source=source)
    assert auto["tool_choice"] == "auto"
    assert "parallel_tool_calls" not in auto
    assert auto["messages"][-1]["role"] == "user"
    _, required = await ask(CALL, source=source, tool_choice=ToolChoice("required"))
    assert required["tool_choice"] == "required"
    # The engine lets text precede a required call: the answer goes on from the call's beginning.
    assert required["messages"][-1]["role"] == "assistant"
    assert required["messages"][-1]["content"] in NATIVE_OPENINGS
    assert required["continue_final_message"] is True
    _, named = await ask(FormatCase("", calls=(RING_CALL,)), source=source, tool_choice=ToolChoice("named", "ring"))
    assert [tool["function"]["name"] for tool in named["tools"]] == ["ring"]
    assert named["tool_choice"] == "required"
    _, none = await ask(source=source, tool_choice=ToolChoice("none"))
    assert "tools" not in none
    assert "find_word" not in json.dumps(none["messages"])
    for parallel in (True, False):
        _, request = await ask(source=source, settings=SamplingSettings(parallel_calls=parallel))
        assert request["parallel_tool_calls"] is parallel


NATIVE_OPENINGS = ("<tool_call>\n<function=", "<|call_begin|>", '[CALLS][{"')


@pytest.mark.parametrize(("parallel", "most"), [(None, 8), (False, 1)])
async def test_calls_without_end_are_ended(parallel: bool | None, most: int) -> None:
    async with open_native_model() as (model, engine, upstream):
        engine.events = make_events(FormatCase("", calls=(RING_CALL,) * 20))
        chunks = await collect_chunks(
            model, messages=(USER,), tools=TOOLS, settings=SamplingSettings(parallel_calls=parallel)
        )
        assert collect_answer(chunks).calls == (RING_CALL,) * most
        assert chunks[-2:] == [UsageChunk(Usage(9, 3, 5)), FinishChunk("calls")]
        await upstream.wait_closed(1)


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_an_answer_that_is_cut() -> None:
    name, arguments = FIND_CALL
    async with open_native_model() as (model, engine, _):
        for size in range(len(arguments)):
            engine.events = make_events(FormatCase("", calls=(RING_CALL, (name, arguments[:size]))), "length")
            chunks = await collect_chunks(model, messages=(USER,), tools=TOOLS)
            assert chunks[-1] == FinishChunk("length")
    chunks, _ = await ask(EMPTY, finish="length")
    assert read_answer(chunks) == CollectedAnswer(text="Good day.")
    assert chunks[-1] == FinishChunk("length")
    # The engine died: there is no end.
    with pytest.raises(UpstreamError):
        await ask(make_events(EMPTY)[:-3])


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_arguments_come_early_and_are_checked_where_the_engine_enforces_them() -> None:
    for arguments in ('{"text": "hi"}', '{"text": "hi", "text": "you"}'):
        chunks, _ = await ask(FormatCase("", calls=(("say", arguments),)), tools=(SAY_TOOL,))
        assert [chunk.enforced for chunk in chunks if isinstance(chunk, ToolCallStart)] == [True]
        assert collect_answer(chunks).calls == (("say", arguments),)
    for arguments in ("{}", '{"text": 1}', '{"text": "hi"', "[]"):
        with pytest.raises(UpstreamGarbled, match="broke its tool format"):
            await ask(FormatCase("", calls=(("say", arguments),)), tools=(SAY_TOOL,))
    # An enum is not enforced in every syntax: the call is held back until it is checked.
    chunks, _ = await ask(CALL)
    assert [chunk.enforced for chunk in chunks if isinstance(chunk, ToolCallStart)] == [False]


LFM_TEMPLATE = """\
{%- if tools %}<|sys|>List of tools: [{{ tools | tojson }}]{% endif -%}
{%- for message in messages %}<|{{ message.role }}|>{{ message.content }}{% endfor -%}
{%- if add_generation_prompt %}<|assistant|>{% endif -%}
"""


async def test_a_family_whose_template_renders_no_calls() -> None:
    call = ToolCall("call_1", "say", '{"text": "hi", "times": 2, "loud": true}')
    history = (USER, Message("assistant", calls=(call,)), text_message("tool", "Said.", call_id="call_1", name="say"))
    async with open_native_model(LFM_TEMPLATE, {"supports_tools": True}) as (model, engine, _):
        engine.events = make_events(FormatCase("", calls=(SAY_CALL,)))
        required = ToolChoice("required")
        chunks = await collect_chunks(model, messages=history, tools=(SAY_TOOL,), tool_choice=required)
        # The engine's grammar has no schemas for it, so that calls are held back until they are validated.
        assert [chunk.enforced for chunk in chunks if isinstance(chunk, ToolCallStart)] == [False]
        _, called, _, begun = engine.chat["messages"]
    assert called["content"] == "<|tool_call_start|>[say(text='hi', times=2, loud=True)]<|tool_call_end|>"
    assert begun["content"] == "<|tool_call_start|>["


async def test_a_call_that_must_be_and_is_not() -> None:
    with pytest.raises(UpstreamGarbled, match="there is no call"):
        await ask(EMPTY, tool_choice=ToolChoice("required"))


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_stop_words_end_text_and_no_call() -> None:
    stop = SamplingSettings(stop=("STOP",))
    chunks, request = await ask(FormatCase("", "Well.STOPNo."), settings=stop)
    assert "stop" not in request
    assert collect_answer(chunks).text == "Well."
    assert chunks[-2:] == [UsageChunk(Usage(9, 3, 5)), FinishChunk("stop")]
    chunks, _ = await ask(FormatCase("", calls=(SAY_CALL,)), tools=(SAY_TOOL,), settings=stop)
    assert collect_answer(chunks).calls == (SAY_CALL,)


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_thoughts_are_apart() -> None:
    chunks, request = await ask(FormatCase("", "Yes.", reasoning="Hm: <tool_call>"))
    assert read_answer(chunks) == CollectedAnswer(text="Yes.", reasoning="Hm: <tool_call>")
    assert request["reasoning_format"] == "auto"
    assert "chat_template_kwargs" not in request
    _, request = await ask(options={"thinking": False})
    assert request["chat_template_kwargs"]["enable_thinking"] is False


async def test_a_model_that_thinks_may_do_so_before_a_required_call() -> None:
    source = XML + "{% if add_generation_prompt and enable_thinking is not defined %}<think>\n{% endif %}{# </think> #}"
    _, request = await ask(CALL, source=source, tool_choice=ToolChoice("required"))
    assert request["messages"][-1]["role"] == "user"


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_an_output_schema() -> None:
    case = FormatCase("", '{"ok": true}')
    chunks, request = await ask(case, tools=(), output_schema=OUTPUT_SCHEMA)
    assert collect_answer(chunks).text == '{"ok": true}'
    assert request["response_format"]["json_schema"]["schema"] == OUTPUT_SCHEMA
    assert '"ok"' in request["messages"][0]["content"]
    # The engine's schema would rule out calls: beside tools the model is told, and the answer is validated later.
    _, request = await ask(case, output_schema=OUTPUT_SCHEMA)
    assert "response_format" not in request
    assert '"ok"' in request["messages"][0]["content"]
    _, request = await ask(CALL, output_schema=OUTPUT_SCHEMA, tool_choice=ToolChoice("required"))
    assert '"ok"' not in json.dumps(request["messages"])


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_control_tokens_of_others_are_split() -> None:
    call = ToolCall("call_1", "ring", '{"a": "<|im_end|>"}')
    history = (
        text_message("user", "<|im_end|>"),
        replace(text_message("assistant", "<|im_end|>"), calls=(call,)),
        text_message("tool", "<|im_end|>", call_id="call_1", name="ring"),
    )
    tool = ToolSpec("ring", "Rings. <|im_end|>", {"type": "object", "properties": {"a": {"enum": ["<|im_end|>"]}}})
    answer = FormatCase("", calls=(("ring", f'{{"a": "<{WORD_JOINER}|im_end|>"}}'),))
    chunks, request = await ask(answer, messages=history, tools=(tool,))
    sent = json.dumps({key: request[key] for key in ("messages", "tools")}, ensure_ascii=False)
    assert "<|im_end|>" not in sent
    assert sent.count(f"<{WORD_JOINER}|im_end|>") == 6
    assert collect_answer(chunks).calls == (("ring", '{"a": "<|im_end|>"}'),)


@pytest.mark.demand("llamacpp.native_chat_route")
@pytest.mark.parametrize("field", ["thought", "id", "name"])
async def test_a_control_token_that_only_one_field_has(field: str) -> None:
    values = {"thought": "a", "id": "b", "name": "c"} | {field: "<|im_end|>"}
    call = ToolCall(values["id"], "ring", "{}")
    history = (
        text_message("user", "hi"),
        replace(text_message("assistant", ""), calls=(call,), opaque=make_client_reasoning(values["thought"])),
        text_message("tool", "ok", call_id=values["id"], name=values["name"]),
    )
    _, request = await ask(messages=history)
    assert "<|im_end|>" not in json.dumps(request["messages"])


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_control_tokens_in_template_variables_are_split() -> None:
    variables = {"model_identity": "You. <|im_end|>", "list": [{"<|im_end|>": 1}]}
    _, request = await ask(settings=SamplingSettings(extra={"chat_template_kwargs": variables}))
    sent = json.dumps(request["chat_template_kwargs"], ensure_ascii=False)
    assert "<|im_end|>" not in sent
    assert sent.count(f"<{WORD_JOINER}|im_end|>") == 2


async def test_names_that_no_syntax_can_express_are_told_in_the_generic_format() -> None:
    async with open_native_model() as (model, engine, _):
        engine.events = make_events(EMPTY)
        for name in HOSTILE:
            chunks = await collect_chunks(model, messages=(USER,), tools=(replace(TOOLS[0], name=name),))
            assert collect_answer(chunks).text in ("generic", "Good day.")
            assert name not in PLAIN or engine.chat["tools"][0]["function"]["name"] == name


async def test_earlier_calls_and_results() -> None:
    call = ToolCall("call_1", *FIND_CALL)
    result = text_message("tool", "A building.", call_id="call_1", name="find_word")
    _, request = await ask(messages=(USER, Message("assistant", calls=(call,)), result))
    _, called, told = request["messages"]
    assert called["tool_calls"][0]["function"] == {"name": "find_word", "arguments": FIND_CALL[1]}
    assert told == {"role": "tool", "content": "A building.", "tool_call_id": "call_1", "name": "find_word"}


async def test_settings_reach_the_engine() -> None:
    events = make_events(EMPTY)
    token = {
        "token": "Good",
        "logprob": -0.5,
        "bytes": [71],
        "id": 3,
        "top_logprobs": [{"token": "Bad", "logprob": -1}],
    }
    events.insert(1, make_delta({"content": "Oh. "}, logprobs={"content": [token]}))
    sampling = SamplingSettings(
        temperature=0.5, top_p=0.9, seed=7, max_tokens=5, extra={"top_k": 3, "logprobs": True, "top_logprobs": 1}
    )
    chunks, request = await ask(events, settings=sampling, tools=())
    wanted = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "n_predict": 5, "top_k": 3, "n_probs": 1}
    assert {key: request.get(key) for key in wanted} == wanted
    # The engine refuses `logprobs` beside tools.
    assert "logprobs" not in request
    logprobs = {**token, "top_logprobs": [{"token": "Bad", "logprob": -1, "bytes": None}]}
    del logprobs["id"]
    assert chunks[0] == TextChunk("Oh. ", {"content": [logprobs]})


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_leaving_stops_the_engine() -> None:
    async with open_native_model() as (model, engine, upstream):
        engine.events, engine.endless = [make_delta({"content": "more "})], True
        async with closing(model.stream(Prompt(messages=(USER,), tools=TOOLS))) as chunks:
            await anext(chunks)
        await upstream.wait_closed(1)


async def test_a_prompt_that_is_too_long() -> None:
    async with open_native_model() as (model, engine, _):
        engine.error = (400, {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 99, "n_ctx": 50})
        with pytest.raises(ContextTooLong, match="99 tokens"):
            await collect_chunks(model, messages=(USER,), tools=TOOLS)


@pytest.mark.demand("llamacpp.native_falls_back")
@pytest.mark.parametrize("status", [400, 500])
async def test_what_the_engine_cannot_do_is_asked_in_the_generic_format(status: int) -> None:
    message = "JSON schema conversion failed" if status == 400 else "output that does not match the expected peg format"
    async with open_native_model() as (model, engine, _):
        engine.error = (status, {"code": status, "message": message})
        chunks = await collect_chunks(model, messages=(USER,), tools=TOOLS)
        assert collect_answer(chunks).text == "generic"
        assert "find_word" in engine.list_bodies("/completion")[0]["prompt"]


@pytest.mark.demand("llamacpp.native_falls_back")
async def test_an_error_of_the_engine_is_not_repeated() -> None:
    async with open_native_model() as (model, engine, _):
        engine.error = (500, {"code": 500, "message": "out of memory"})
        with pytest.raises(RightseatError):
            await collect_chunks(model, messages=(USER,), tools=TOOLS)
        engine.error = None
        engine.events = [make_delta({"content": "Good"}), {"error": {"code": 400, "message": "no more"}}]
        with pytest.raises(CallerError):
            await collect_chunks(model, messages=(USER,), tools=TOOLS)
        assert not engine.list_bodies("/completion")


@pytest.mark.demand("llamacpp.native_falls_back")
@pytest.mark.parametrize("capabilities", [None, {"supports_tools": True}, {"supports_tools": False}, "yes"])
async def test_an_engine_that_does_not_know_the_template(capabilities: Any) -> None:
    async with open_native_model(capabilities=capabilities) as (model, engine, _):
        chunks = await collect_chunks(model, messages=(USER,), tools=TOOLS)
        assert collect_answer(chunks).text == "generic"
        assert not engine.list_bodies("/v1/chat/completions")
    async with open_native_model(capabilities=capabilities, tool_format="native") as (model, _, _):
        with pytest.raises(ConfigError, match="Leave tool_format out"):
            await model.start()


@pytest.mark.demand("llamacpp.native_falls_back")
async def test_an_engine_with_another_template(tmp_path: Any) -> None:
    file = tmp_path / "other.jinja"
    file.write_text(TOKEN)
    async with open_native_model(chat_template=str(file)) as (model, engine, _):
        chunks = await collect_chunks(model, messages=(USER,), tools=TOOLS)
        assert collect_answer(chunks).text == "generic"
        assert "<|sys|>" not in engine.list_bodies("/completion")[0]["prompt"]


async def test_native_by_choice() -> None:
    _, request = await ask(options={"tool_format": "native"})
    assert request["tools"]


@pytest.mark.parametrize(
    ("schema", "plain"),
    [
        ({"type": "object"}, True),
        ({"type": "object", "properties": {"a": {"type": "integer", "title": "A"}}, "required": ["a"]}, True),
        ({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}, True),
        ({"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}, False),
        ({"type": "object", "properties": {"a": {"enum": ["b"]}}}, False),
        ({"type": "object", "properties": {"a": {"type": ["string", "null"]}}}, False),
        ({"type": "object", "properties": {"a": True}}, False),
        ({"type": "object", "properties": {}, "required": ["a"]}, False),
        ({"type": "object", "not": {}}, False),
        ({"type": "array"}, False),
        ({}, False),
        (True, False),
    ],
)
def test_plain_schemas(schema: Any, plain: bool) -> None:
    assert is_plain_schema(schema) is plain


def test_types_that_templates_read() -> None:
    schema = {
        "properties": {"a": {"enum": ["x"]}, "b": {"const": 1}, "c": {"enum": [1, "x"]}, "enum": {"enum": [True]}}
    }
    typed = add_types({**schema, "anyOf": [{"const": None}, {"enum": []}]})
    assert {name: entry.get("type") for name, entry in typed["properties"].items()} == {
        "a": "string",
        "b": "integer",
        "c": None,
        "enum": "boolean",
    }
    assert [entry.get("type") for entry in typed["anyOf"]] == ["null", None]


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["type", "enum", "const", "properties", "items", "required", "default"]), inner
            )
        ),
    )
)
def test_any_schema_is_taken(schema: Any) -> None:
    assert isinstance(is_plain_schema(schema), bool)
    add_types(schema)


@pytest.mark.demand("llamacpp.native_chat_route")
async def test_a_client_of_the_openai_door_gets_the_engines_calls() -> None:
    function = {"name": "say", "description": "Says.", "parameters": TEXT_SCHEMA}
    body = {
        "messages": [{"role": "user", "content": "Say it."}],
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "say"}},
        "parallel_tool_calls": False,
        "temperature": 0.1,
    }
    settings = ServerSettings(port=0, stream_arguments=True)
    async with open_native_model() as (model, engine, _), serve_runtime(Runtime(model=model), settings) as server:
        engine.events = make_events(FormatCase("", calls=(SAY_CALL,), reasoning="Hm."))
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/chat/completions", body)
            await client.read_head()
            answer = await client.read_json()
        async with RawHttpClient(server.url) as client:
            await client.post_json("/v1/chat/completions", {**body, "stream": True})
            await client.read_head()
            frames = [frame.json async for frame in client.iterate_frames() if frame.data and frame.data != "[DONE]"]
        assert engine.chat["tool_choice"] == "required"
        assert engine.chat["parallel_tool_calls"] is False
        assert engine.chat["temperature"] == 0.1
    (choice,) = answer["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["reasoning_content"] == "Hm."
    assert [call["function"]["name"] for call in choice["message"]["tool_calls"]] == ["say"]
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 5}
    deltas = [frame["choices"][0]["delta"] for frame in frames if frame["choices"]]
    pieces = [call["function"].get("arguments", "") for delta in deltas for call in delta.get("tool_calls", ())]
    assert "".join(pieces) == SAY_CALL[1] == choice["message"]["tool_calls"][0]["function"]["arguments"]
    assert len(pieces) > 3

"""Shapes of chat requests that real clients send: each is understood, or refused with the place of the problem."""

import json
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from rightseat import Runtime, tool
from rightseat.doors.openai.messages import parse_messages
from rightseat.doors.openai.wire import ChatMessage
from rightseat.engine.history import name_unreadable_files
from rightseat.types.messages import Message, make_client_reasoning
from rightseat.types.model import Capabilities, ToolChoice
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.unit.doors.openai.test_openai import HI, post_chat, post_once

pytestmark = [pytest.mark.io, pytest.mark.demand("openai.client_shapes")]

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "weather", "description": "The weather.", "parameters": PARAMETERS}
WEATHER_TOOL = {"type": "function", "function": WEATHER}
CLOCK_TOOL = {"type": "function", "function": {"name": "clock"}}
RUN_TOOL = {"type": "custom", "custom": {"name": "run", "description": "Runs code."}}
OSLO = '{"city": "Oslo"}'


def make_call(arguments: Any = OSLO, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}, **fields}


async def get_history(*messages: dict[str, Any], **options: Any) -> tuple[Message, ...]:
    """Post the messages; return them as the model gets them."""
    model = FakeModel(reply_text("Yes."))
    status, body = await post_once(Runtime(model=model), {"messages": messages, **options})
    assert status == 200, body
    return model.prompts[0].messages


async def get_refusal(runtime: Runtime | None = None, path: str = "/v1/chat/completions", **body: Any) -> str:
    """Post a request that is refused; return the place of the problem and the message."""
    status, answer = await post_once(runtime or Runtime(model=FakeModel()), {"messages": HI, **body}, path)
    assert status == 400, answer
    return f"{answer['error']['param']} | {answer['error']['message']}"


# ---- messages


@pytest.mark.parametrize("arguments", [{"city": "Oslo"}, OSLO])
async def test_object_arguments_are_encoded(arguments: Any) -> None:
    answer = {"role": "tool", "tool_call_id": "c1", "content": "cold"}
    _, called, _ = await get_history(*HI, {"role": "assistant", "tool_calls": [make_call(arguments)]}, answer)
    assert json.loads(called.calls[0].arguments) == {"city": "Oslo"}


@pytest.mark.demand("llamacpp.seed_answer_posted_back")
async def test_an_answer_with_an_object_of_arguments_is_taken_back() -> None:
    arguments = {"location": "San Francisco, CA", "format": "celsius", "num_days": 4}
    call = {"id": "call_970977", "type": "function", "function": {"name": "forecast", "arguments": arguments}}
    answer = {"role": "assistant", "name": None, "tool_call_id": None, "content": "Two calls.", "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "call_970977", "content": "cold"}
    _, called, given = await get_history(*HI, answer, result)
    assert (called.text, called.calls[0].id, given.call_id) == ("Two calls.", "call_970977", "call_970977")
    assert json.loads(called.calls[0].arguments) == arguments


@pytest.mark.parametrize("content", [None, "", []])
async def test_a_refusal_sent_back_is_the_text_of_its_message(content: Any) -> None:
    _, refused, _ = await get_history(*HI, {"role": "assistant", "content": content, "refusal": "No."}, *HI)
    assert refused.text == "No."


@pytest.mark.parametrize("arguments", [None, ""])
async def test_a_call_without_arguments_has_an_empty_object(arguments: Any) -> None:
    answer = {"role": "tool", "tool_call_id": "c1", "content": "cold"}
    _, called, _ = await get_history(*HI, {"role": "assistant", "tool_calls": [make_call(arguments)]}, answer)
    assert called.calls[0].arguments in ("", "{}")


@pytest.mark.parametrize(
    "fields",
    [
        {"content": "Yes.", "reasoning_content": "Hmm."},
        {"content": "Yes.", "reasoning": "Hmm."},
        {"content": "Yes.", "thinking": "Hmm."},
        {"content": [{"type": "thinking", "thinking": "Hmm.", "signature": "s"}, {"type": "text", "text": "Yes."}]},
        {"content": [{"type": "reasoning", "text": "Hmm."}, {"type": "text", "text": "Yes."}]},
        {"content": [{"type": "reasoning", "reasoning": "Hmm."}, "Yes."]},
        {
            "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Yes."}],
            "reasoning": "Hmm.",
        },
    ],
)
async def test_thoughts_in_the_history_are_apart_from_the_text(fields: dict[str, Any]) -> None:
    _, answered, _ = await get_history(*HI, {"role": "assistant", **fields}, {"role": "user", "content": "more"})
    assert (answered.text, answered.opaque) == ("Yes.", make_client_reasoning("Hmm."))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("hi", "hi"),
        (None, ""),
        ([], ""),
        (["a", "b"], "ab"),
        ([{"type": "text", "text": "a"}, "b"], "ab"),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}], "ab"),
    ],
)
async def test_contents(content: Any, text: str) -> None:
    first, *_ = await get_history({"role": "user", "content": content}, *HI)
    assert first.text == text


async def test_a_message_may_have_no_content() -> None:
    first, last = await get_history({"role": "user"}, *HI)
    assert (first.text, last.text) == ("", "hi")


async def test_an_image_may_be_a_plain_address() -> None:
    part = {"type": "image_url", "image_url": "https://a.example/b.png"}
    [message] = await get_history({"role": "user", "content": [part]})
    assert message.parts[0].url == "https://a.example/b.png"  # type: ignore[union-attr]


async def test_developer_and_names() -> None:
    first, last = await get_history(
        {"role": "developer", "content": "Be brief.", "name": "boss"}, {"role": "user", "content": "hi", "name": "ada"}
    )
    assert (first.role, first.name, last.name) == ("developer", "boss", "ada")


async def test_a_result_without_an_id_belongs_to_the_open_call() -> None:
    called = {"role": "assistant", "tool_calls": [make_call()]}
    *_, result = await get_history(*HI, called, {"role": "tool", "content": "cold"})
    assert (result.call_id, result.text) == ("c1", "cold")


async def test_results_without_ids_are_found_by_name() -> None:
    clock = {"type": "function", "function": {"name": "clock", "arguments": {}}}
    weather = {"type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
    results = [{"role": "tool", "name": name, "content": name} for name in ("weather", "clock")]
    _, called, *answers = await get_history(*HI, {"role": "assistant", "tool_calls": [clock, weather]}, *results)
    assert [call.id for call in called.calls] == [answer.call_id for answer in answers]
    assert [answer.text for answer in answers] == ["clock", "weather"]
    assert len({call.id for call in called.calls}) == 2


@pytest.mark.parametrize(
    "messages",
    [
        [*HI, {"role": "tool", "content": "cold"}],
        [*HI, {"role": "assistant", "tool_calls": [make_call(), make_call(id="c2")]}, {"role": "tool", "content": "x"}],
    ],
)
async def test_a_result_whose_call_is_unknown_is_refused(messages: list[Any]) -> None:
    place, _, words = (await get_refusal(messages=messages)).partition(" | ")
    assert place == f"messages[{len(messages) - 1}]"
    assert "tool_call_id" in words


async def test_sound_is_refused_by_a_model_that_does_not_hear() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    refusal = await get_refusal(messages=[{"role": "user", "content": [sound]}])
    assert refusal.startswith("messages | This model does not accept audio.")


def test_sound_is_no_attached_file() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    [message] = parse_messages(convert([{"role": "user", "content": [sound]}], list[ChatMessage]))
    for capabilities in (Capabilities(audio=True), Capabilities(text_only=True)):
        assert name_unreadable_files([message], capabilities) == [message]
    file = replace(message, parts=(replace(message.parts[0], name="a.wav"),))
    assert name_unreadable_files([file], Capabilities())[0].text == "\n[attached file: a.wav (audio/wav)]"


async def test_sound_reaches_a_model_that_hears() -> None:
    model = FakeModel(reply_text("Yes."))
    model.capabilities = Capabilities(audio=True)
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    await post_once(Runtime(model=model), {"messages": [{"role": "user", "content": [sound]}]})
    [part] = model.prompts[0].messages[0].parts
    assert (part.media_type, part.data) == ("audio/wav", "UklGRg==")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ({"role": "user", "content": [{"type": "video", "video": "x"}]}, "messages[0].content[0].type"),
        ({"role": "user", "content": [7]}, "messages[0].content[0]"),
        ({"role": "user", "content": 7}, "messages[0].content"),
        ({"role": "human", "content": "hi"}, "messages[0].role"),
        ({"role": "assistant", "tool_calls": [make_call(7)]}, "messages[0].tool_calls[0].function.arguments"),
        ({"role": "assistant", "tool_calls": [{"type": "spell"}]}, "messages[0].tool_calls[0]"),
        ({"role": "assistant", "tool_calls": [{"type": "function"}]}, "messages[0].tool_calls[0]"),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
            "messages[0].content[0].input_audio.data",
        ),
    ],
)
async def test_other_shapes_name_their_place(message: dict[str, Any], place: str) -> None:
    assert (await get_refusal(messages=[message])).partition(" | ")[0] == place


# ---- options


@pytest.mark.parametrize(
    "options",
    [
        {"tools": []},
        {"tools": None},
        {"tools": [], "tool_choice": "auto"},
        {"tool_choice": "none"},
        {"tool_choice": "auto"},
        {"tool_choice": None},
        {"stream_options": {"include_usage": True}},
        {"stream_options": None},
        {
            "max_tokens": None,
            "max_completion_tokens": None,
            "temperature": None,
            "top_p": None,
            "stop": None,
            "n": None,
        },
        {"functions": [], "function_call": "auto"},
        {"functions": None, "function_call": None},
        {"parallel_tool_calls": None, "response_format": None, "user": None, "logit_bias": None},
    ],
)
async def test_options_that_say_nothing(options: dict[str, Any]) -> None:
    status, body = await post_chat(Runtime(model=FakeModel(reply_text("Yes."))), **options)
    assert (status, body["choices"][0]["message"]["content"]) == (200, "Yes.")


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "weather"}}}, "tool_choice"),
        ({"tools": [WEATHER_TOOL], "tool_choice": "any"}, "tool_choice"),
        ({"tools": [WEATHER_TOOL], "tool_choice": {"type": "custom", "custom": {"name": "run"}}}, "tool_choice"),
        ({"function_call": {"name": "weather"}}, "function_call"),
        ({"functions": [WEATHER], "function_call": {"name": "clock"}}, "function_call"),
        ({"functions": [WEATHER], "tools": [CLOCK_TOOL]}, "functions"),
        ({"functions": [{"name": "a b"}]}, "functions[0].name"),
        ({"functions": [{"name": "f", "parameters": {"type": 7}}]}, "functions[0].parameters"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ],
)
async def test_options_that_are_refused(options: dict[str, Any], place: str) -> None:
    assert (await get_refusal(**options)).partition(" | ")[0] == place


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"messages": [{"role": "human", "content": "Hi"}]}, "messages[0].role | assistant, developer"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0].type | image_url"),
        ({"tools": [WEATHER_TOOL], "tool_choice": "any"}, "tool_choice | auto, none, required"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type | function"),
        ({"response_format": {"type": "xml"}}, "response_format.type | json_schema"),
        ({"truncation": "never"}, "truncation | auto, disabled"),
    ],
)
async def test_a_refused_word_is_answered_with_those_that_are_taken(options: dict[str, Any], refusal: str) -> None:
    place, choice = refusal.split(" | ")
    got = await get_refusal(**options)
    assert got.startswith(f"{place} | {place}: Invalid")
    assert choice in got.partition(" Send one of: ")[2]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"messages": [{"content": "Hi"}]}, "messages[0].role"),
        ({"tools": [{"type": "function", "name": "flat"}]}, "tools[0].function"),
        ({"path": "/v1/completions"}, "prompt"),
    ],
)
async def test_a_missing_field_is_named(options: dict[str, Any], place: str) -> None:
    assert await get_refusal(**options) == f"{place} | {place}: this field is missing. Send it."


# ---- the function API of 2023


async def test_legacy_functions_whole() -> None:
    model = FakeModel(reply_calls(("weather", OSLO)), reply_text("Cold."))
    runtime = Runtime(model=model)
    status, body = await post_chat(runtime, functions=[WEATHER], function_call={"name": "weather"})
    assert status == 200
    [choice] = body["choices"]
    assert choice["finish_reason"] == "function_call"
    assert choice["message"]["function_call"] == {"name": "weather", "arguments": OSLO}
    assert "tool_calls" not in choice["message"]
    prompt = model.prompts[0]
    assert (prompt.tool_choice, prompt.settings.parallel_calls) == (ToolChoice("named", "weather"), False)
    assert [spec.parameters for spec in prompt.tools] == [PARAMETERS]


async def test_legacy_functions_streamed() -> None:
    model = FakeModel(reply_calls(("weather", OSLO), ("weather", OSLO), enforced=True))
    _, frames = await post_chat(Runtime(model=model), functions=[WEATHER], stream=True)
    deltas = [json.loads(frame)["choices"][0] for frame in frames[:-1]]
    calls = [choice["delta"]["function_call"] for choice in deltas if "function_call" in choice["delta"]]
    assert calls[0] == {"name": "weather", "arguments": ""}
    # There is one call in an answer.
    assert json.loads("".join(call["arguments"] for call in calls)) == {"city": "Oslo"}
    assert deltas[-1]["finish_reason"] == "function_call"
    assert not any("tool_calls" in choice["delta"] for choice in deltas)


async def test_the_legacy_loop_keeps_the_servers_results() -> None:
    executed: list[int] = []

    @tool
    def add(a: int) -> int:
        """Add."""
        executed.append(a)
        return a + 1

    model = FakeModel(reply_calls(("add", '{"a": 1}'), ("weather", OSLO)), reply_text("Cold, 2."))

    async def post(*messages: dict[str, Any]) -> Any:
        _, body = await post_once(runtime, {"messages": messages, "functions": [WEATHER]})
        return body["choices"][0]["message"]

    runtime = Runtime(model=model, tools=[add])
    called = await post(*HI)
    result = {"role": "function", "name": "weather", "content": "cold"}
    assert (await post(*HI, called, result))["content"] == "Cold, 2."
    assert executed == [1]
    texts = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert texts == ["2", "cold"]


# ---- allowed tools


@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_only_allowed_tools_are_offered(mode: str) -> None:
    model = FakeModel(reply_text("Yes."))
    allowed = {"mode": mode, "tools": [{"type": "function", "function": {"name": "clock"}}]}
    status, _ = await post_chat(
        Runtime(model=model),
        tools=[WEATHER_TOOL, CLOCK_TOOL, RUN_TOOL],
        tool_choice={"type": "allowed_tools", "allowed_tools": allowed},
    )
    assert status == 200
    assert [spec.name for spec in model.prompts[0].tools] == ["clock"]
    assert model.prompts[0].tool_choice == ToolChoice(mode)  # type: ignore[arg-type]


async def test_the_tools_stay_where_the_model_knows_allowed_ones() -> None:
    model = FakeModel(reply_text("Yes."))
    model.capabilities = Capabilities(allowed_tools=True)
    # The shape without a second level is that of the responses API.
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "custom", "name": "run"}]}
    await post_chat(Runtime(model=model), tools=[WEATHER_TOOL, RUN_TOOL], tool_choice=choice)
    assert [spec.name for spec in model.prompts[0].tools] == ["weather", "run"]
    assert model.prompts[0].tool_choice == ToolChoice("auto", allowed=("run",))
    assert [spec.name for spec in model.prompts[0].callable_tools] == ["run"]


@pytest.mark.parametrize("tools", [[], [{"type": "function", "function": {"name": "fly"}}], [{"type": "function"}]])
async def test_allowed_tools_are_among_the_tools(tools: list[Any]) -> None:
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}}
    place, _, words = (await get_refusal(tools=[WEATHER_TOOL], tool_choice=choice)).partition(" | ")
    assert place.startswith("tool_choice")
    assert words


# ---- custom tools


async def test_a_custom_tool_has_one_text() -> None:
    model = FakeModel(reply_calls(("run", '{"input": "1 + 1"}'), ("weather", OSLO)))
    choice = {"type": "custom", "custom": {"name": "run"}}
    status, body = await post_chat(Runtime(model=model), tools=[WEATHER_TOOL, RUN_TOOL], tool_choice=choice)
    assert status == 200
    custom, function = body["choices"][0]["message"]["tool_calls"]
    assert (custom["type"], custom["custom"]) == ("custom", {"name": "run", "input": "1 + 1"})
    assert "function" not in custom
    assert function["type"] == "function"
    spec = model.prompts[0].tools[1]
    assert (spec.name, spec.description, list(spec.parameters["properties"])) == ("run", "Runs code.", ["input"])
    assert model.prompts[0].tool_choice == ToolChoice("named", "run")


async def test_a_custom_call_streams() -> None:
    model = FakeModel(reply_calls(("run", '{"input": "1 + 1"}'), enforced=True))
    _, frames = await post_chat(Runtime(model=model), tools=[RUN_TOOL], stream=True)
    choices = [json.loads(frame)["choices"][0] for frame in frames[:-1]]
    deltas = [delta for choice in choices for delta in choice["delta"].get("tool_calls", ())]
    assert (deltas[0]["type"], deltas[0]["custom"]) == ("custom", {"name": "run", "input": ""})
    assert "".join(delta["custom"]["input"] for delta in deltas) == "1 + 1"
    assert choices[-1]["finish_reason"] == "tool_calls"


async def test_custom_calls_in_the_history() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "run", "input": 'print("é")'}}
    result = {"role": "tool", "tool_call_id": "c1", "content": "é"}
    _, called, _ = await get_history(*HI, {"role": "assistant", "tool_calls": [call]}, result, tools=[RUN_TOOL])
    assert json.loads(called.calls[0].arguments) == {"input": 'print("é")'}


async def test_a_regex_of_a_custom_tool_is_held() -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "regex", "definition": "[0-9]+"}}
    digits = {"type": "custom", "custom": {"name": "digits", "format": grammar}}
    model = FakeModel(reply_calls(("digits", '{"input": "a1"}')), reply_calls(("digits", '{"input": "12"}')))
    _, body = await post_chat(Runtime(model=model), tools=[digits])
    [call] = body["choices"][0]["message"]["tool_calls"]
    assert call["custom"]["input"] == "12"
    assert "invalid_arguments" in model.prompts[1].messages[-1].text


@pytest.mark.parametrize(
    ("custom", "place"),
    [
        (
            {"name": "a", "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: A"}}},
            "format",
        ),
        ({"name": "a", "format": {"type": "grammar", "grammar": {"syntax": "regex", "definition": "("}}}, "format"),
        ({"name": "a b"}, "name"),
    ],
)
async def test_custom_tools_that_are_refused(custom: dict[str, Any], place: str) -> None:
    assert (await get_refusal(tools=[{"type": "custom", "custom": custom}])).startswith(f"tools[0].custom.{place}")


async def test_a_text_format_is_no_format() -> None:
    custom = {"type": "custom", "custom": {"name": "run", "format": {"type": "text"}}}
    status, _ = await post_chat(Runtime(model=FakeModel(reply_text("Yes."))), tools=[custom])
    assert status == 200


# ---- paths, fingerprint, suffix


@pytest.mark.parametrize("prefix", ["", "/v1"])
async def test_paths_with_and_without_v1(prefix: str) -> None:
    runtime = Runtime(model=FakeModel(reply_text("Yes."), reply_text("Yes.")))
    _, chat = await post_once(runtime, {"messages": HI}, f"{prefix}/chat/completions")
    assert chat["choices"][0]["message"]["content"] == "Yes."
    _, completion = await post_once(runtime, {"prompt": "hi"}, f"{prefix}/completions")
    assert completion["choices"][0]["text"] == "Yes."
    status, body = await post_once(runtime, {"input": "hi"}, f"{prefix}/embeddings")
    assert (status, body["error"]["code"]) == (503, "not_configured")


async def test_a_fingerprint_is_sent() -> None:
    async def get_fingerprints(runtime: Runtime) -> list[str]:
        _, whole = await post_chat(runtime)
        _, frames = await post_chat(runtime, stream=True)
        _, completion = await post_once(runtime, {"prompt": "hi"}, "/v1/completions")
        return [body["system_fingerprint"] for body in (whole, *map(json.loads, frames[:-1]), completion)]

    def make_runtime(system: str) -> Runtime:
        return Runtime(model=FakeModel(*[reply_text("Yes.")] * 3), system=system)

    first = await get_fingerprints(make_runtime("Be brief."))
    assert set(first) == set(await get_fingerprints(make_runtime("Be brief.")))
    assert len(set(first)) == 1
    assert first[0].startswith("fp_")
    assert set(await get_fingerprints(make_runtime("Be long."))).isdisjoint(first)


async def test_a_suffix_is_refused_where_the_model_cannot_fill_in() -> None:
    refusal = await get_refusal(path="/v1/completions", prompt="def f(", suffix="return 1")
    assert refusal.startswith("suffix | suffix: this model")
    runtime = Runtime(model=FakeModel(reply_text("Yes."), reply_text("Yes.")))
    for suffix in ("", None):
        status, _ = await post_once(runtime, {"prompt": "hi", "suffix": suffix}, "/v1/completions")
        assert status == 200

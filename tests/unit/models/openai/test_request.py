from typing import Any

import pytest

from rightseat.models.openai.request import RESERVED_KEYS, Dialect, build_chat_body
from rightseat.types.messages import FileMessagePart, ImageMessagePart, Message, TextMessagePart, ToolCall, text_message
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from tests.kit.cases import each_case

PLAIN = Dialect(developer_role=False, max_completion_tokens=False, strict_tools=False, usage=True)
VENDOR = Dialect(developer_role=True, max_completion_tokens=True, strict_tools=True, usage=False)
ADD = ToolSpec("add", "Adds.", {"type": "object"})
HELLO = text_message("user", "hello")


def build_body(dialect: Dialect = PLAIN, /, *messages: Message, **fields: Any) -> dict[str, Any]:
    return build_chat_body("m", Prompt(messages=messages or (HELLO,), **fields), dialect)


def build_message(message: Message, dialect: Dialect = PLAIN) -> Any:
    return build_body(dialect, message)["messages"][0]


def test_a_plain_prompt_sends_nothing_that_was_not_given() -> None:
    assert build_body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert "stream_options" not in build_body(VENDOR)


@each_case(
    ("given", "sent"),
    [
        (text_message("system", "s"), {"role": "system", "content": "s"}),
        (text_message("developer", "d"), {"role": "system", "content": "d"}),
        (text_message("user", "u", name="Ann"), {"role": "user", "content": "u", "name": "Ann"}),
        (text_message("assistant", "a"), {"role": "assistant", "content": "a"}),
        (text_message("assistant", ""), {"role": "assistant", "content": ""}),
        (text_message("tool", "42", call_id="c1", name="add"), {"role": "tool", "content": "42", "tool_call_id": "c1"}),
        (text_message("tool", "", call_id="c1"), {"role": "tool", "content": "", "tool_call_id": "c1"}),
        (
            text_message("assistant", "", calls=(ToolCall("c1", "add", '{"a":1}'),)),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a":1}'}}],
            },
        ),
    ],
)
def test_roles(given: Message, sent: dict[str, Any]) -> None:
    assert build_message(given) == sent


def test_the_developer_stays_one_where_that_is_known() -> None:
    assert build_message(text_message("developer", "d"), VENDOR)["role"] == "developer"


def test_parts() -> None:
    parts = (
        TextMessagePart("see"),
        ImageMessagePart("data:image/png;base64,AA=="),
        ImageMessagePart("https://x.test/a.png", "low"),
        FileMessagePart("a.pdf", "application/pdf", "AAAA"),
        FileMessagePart(data="data:text/plain;base64,AA=="),
        FileMessagePart(data="AA=="),
        FileMessagePart(file_id="f1"),
    )
    assert build_message(Message("user", parts))["content"] == [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}},
        {"type": "file", "file": {"file_data": "data:text/plain;base64,AA=="}},
        {"type": "file", "file": {"file_data": "data:application/octet-stream;base64,AA=="}},
        {"type": "file", "file": {"file_id": "f1"}},
    ]


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
def test_zero_and_false_are_given() -> None:
    settings = SamplingSettings(temperature=0, top_p=0, max_tokens=0, seed=0, stop=("x",), parallel_calls=False)
    sent = build_body(tools=(ADD,), settings=settings)
    assert (sent["temperature"], sent["top_p"], sent["max_tokens"], sent["seed"]) == (0, 0, 0, 0)
    assert sent["parallel_tool_calls"] is False
    assert sent["stop"] == ["x"]


def test_the_limit_has_the_name_the_server_knows() -> None:
    sent = build_body(VENDOR, settings=SamplingSettings(max_tokens=5))
    assert sent["max_completion_tokens"] == 5
    assert "max_tokens" not in sent


def test_tools() -> None:
    function = {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}
    sent = build_body(tools=(ADD,))
    assert sent["tools"] == [{"type": "function", "function": function}]
    assert "tool_choice" not in sent
    assert build_body(VENDOR, tools=(ADD,))["tools"] == [{"type": "function", "function": {**function, "strict": True}}]


@pytest.mark.parametrize(
    ("choice", "sent"),
    [
        (ToolChoice("none"), "none"),
        (ToolChoice("required"), "required"),
        (ToolChoice("named", "add"), {"type": "function", "function": {"name": "add"}}),
        (
            ToolChoice("auto", allowed=("add",)),
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "add"}}]},
            },
        ),
    ],
)
def test_tool_choice(choice: ToolChoice, sent: object) -> None:
    assert build_body(tools=(ADD,), tool_choice=choice)["tool_choice"] == sent


def test_audio() -> None:
    sound = FileMessagePart(media_type="audio/mp3", data="AA==")
    part = {"type": "input_audio", "input_audio": {"data": "AA==", "format": "mp3"}}
    assert build_message(Message("user", (TextMessagePart("a"), sound)))["content"][1] == part
    assert build_message(Message("user", (sound,)))["content"] == [part]


def test_without_tools_nothing_is_said_about_them() -> None:
    sent = build_body(tool_choice=ToolChoice("required"), settings=SamplingSettings(parallel_calls=True))
    assert not {"tools", "tool_choice", "parallel_tool_calls"} & sent.keys()


def test_an_output_schema() -> None:
    schema = {"type": "object"}
    format_ = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    assert build_body(output_schema=schema)["response_format"] == format_
    assert build_body(VENDOR, output_schema=schema)["response_format"]["json_schema"]["strict"] is True


def test_extra_is_passed_on_but_does_not_take_over() -> None:
    extra = {"min_p": 0, "logprobs": False, "temperature": 1, **dict.fromkeys(RESERVED_KEYS, "evil")}
    sent = build_body(settings=SamplingSettings(temperature=0, extra=extra))
    assert (sent["min_p"], sent["logprobs"], sent["temperature"]) == (0, False, 1)
    assert "evil" not in sent.values()
    assert sent["stream"] is True

"""What Google gets of a prompt, as it stands on the wire."""

import base64

import pytest
from msgspec.structs import replace

from rightseat.errors import CallerError
from rightseat.models.google.request import SKIP_SIGNATURE
from rightseat.types.chunks import ProviderDataChunk
from rightseat.types.messages import (
    FileMessagePart,
    ImageMessagePart,
    Message,
    ProviderData,
    TextMessagePart,
    ToolCall,
    text_message,
)
from rightseat.types.model import Prompt, SamplingSettings, ToolChoice, ToolSpec
from tests.kit.vendors.google import GoogleReply, answer_text, make_call_part, make_chunk, make_part
from tests.unit.models.google.model_calls import capture_request_body, collect_chunks, connect_model

pytestmark = pytest.mark.io

PIXEL = base64.b64encode(b"\x89PNG-kit").decode()
ADD = ToolSpec(
    "add",
    "Adds two numbers.",
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]},
)
OK = answer_text("ok")


def make_prompt_with_results(*opaque: ProviderData) -> Prompt:
    """Two calls and their results; the last one is no object."""
    calls = (ToolCall("call_1", "add", '{"a": 2}'), ToolCall("call_2", "look", "{}"))
    return Prompt(
        messages=(
            text_message("system", "Be brief."),
            text_message("user", "go"),
            Message("assistant", (TextMessagePart("Let me see."),), calls, opaque=opaque),
            text_message("tool", '{"sum": 5}', call_id="call_1"),
            text_message("tool", "a cat", call_id="call_2"),
        ),
        tools=(ADD,),
    )


async def test_a_plain_prompt() -> None:
    prompt = Prompt(
        messages=(
            text_message("system", "Be brief."),
            text_message("developer", "And kind."),
            text_message("user", "hi"),
            text_message("assistant", "Hello."),
            text_message("user", "bye"),
        ),
        settings=SamplingSettings(
            temperature=0.0, top_p=0.5, max_tokens=9, stop=("END",), seed=4, extra={"top_k": 3, "wild": 1}
        ),
    )
    assert await capture_request_body(prompt, OK) == {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"text": "Hello."}]},
            {"role": "user", "parts": [{"text": "bye"}]},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief.\n\nAnd kind."}]},
        "generationConfig": {
            "temperature": 0.0,
            "topP": 0.5,
            "topK": 3.0,
            "maxOutputTokens": 9,
            "stopSequences": ["END"],
            "seed": 4,
            "thinkingConfig": {"includeThoughts": True},
        },
    }


@pytest.mark.demand("models.google_gemini_api")
async def test_calls_and_all_results_of_a_turn_in_one_content() -> None:
    body = await capture_request_body(make_prompt_with_results(), OK)
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "go"}]},
        {
            "role": "model",
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"name": "add", "args": {"a": 2}}},
                {"functionCall": {"name": "look", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "add", "response": {"sum": 5}}},
                {"functionResponse": {"name": "look", "response": {"output": "a cat"}}},
            ],
        },
    ]
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "add",
                    "description": "Adds two numbers.",
                    "parametersJsonSchema": {
                        "type": "object",
                        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                        "required": ["a"],
                    },
                }
            ]
        }
    ]
    assert "toolConfig" not in body


@pytest.mark.demand("models.google_gemini_api")
@pytest.mark.parametrize(
    ("choice", "config"),
    [
        (ToolChoice("none"), {"mode": "NONE"}),
        (ToolChoice("required"), {"mode": "ANY"}),
        (ToolChoice("named", "add"), {"mode": "ANY", "allowedFunctionNames": ["add"]}),
    ],
)
async def test_a_choice_of_tools(choice: ToolChoice, config: object) -> None:
    body = await capture_request_body(replace(make_prompt_with_results(), tool_choice=choice), OK)
    assert body["toolConfig"] == {"functionCallingConfig": config}


@pytest.mark.demand("models.google_thought_signatures_safety")
async def test_what_an_answer_was_signed_with_goes_back_at_its_place() -> None:
    """One answer, given back as the engine keeps it: same parts, same ids, same signatures."""
    reply = GoogleReply(
        [
            make_chunk(make_part("I think", thought=True, signature=b"\x00thought")),
            make_chunk(make_part("Let me ")),
            make_chunk(make_part("see.", signature=b"\xfftext")),
            make_chunk(
                make_call_part("add", {"a": 2}, id="up_1", signature=b"\x80call"),
                make_call_part("look", {}, id="up_2"),
                finish="STOP",
            ),
        ]
    )
    async with connect_model(reply, "gemini-3-pro-preview") as (upstream, model):
        fragments, error = await collect_chunks(model)
        assert error is None
        opaque = tuple(ProviderData(one.provider, one.blob) for one in fragments if isinstance(one, ProviderDataChunk))
        assert [one.provider for one in opaque] == ["google"] * 4
        upstream.reply = OK
        _, error = await collect_chunks(model, make_prompt_with_results(*opaque))
        assert error is None
        answered, results = upstream.requests[-1].json["contents"][1:]
    signed = {
        name: base64.b64encode(raw).decode()
        for name, raw in (("thought", b"\x00thought"), ("text", b"\xfftext"), ("call", b"\x80call"))
    }
    assert answered["parts"] == [
        {"text": "I think", "thought": True, "thoughtSignature": signed["thought"]},
        {"text": "Let me "},
        {"text": "see.", "thoughtSignature": signed["text"]},
        {"functionCall": {"id": "up_1", "name": "add", "args": {"a": 2}}, "thoughtSignature": signed["call"]},
        {"functionCall": {"id": "up_2", "name": "look", "args": {}}},
    ]
    assert [one["functionResponse"]["id"] for one in results["parts"]] == ["up_1", "up_2"]


@pytest.mark.parametrize(
    "blob",
    [
        {"signature": "not base64!", "call": 0, "name": "add"},
        {"signature": "aGk=", "call": 0, "name": "another"},
        {"signature": "aGk=", "start": 5, "end": 900},
        {"unknown": 1},
        "text",
    ],
)
async def test_a_mark_that_does_not_fit_any_more_is_left_out(blob: object) -> None:
    body = await capture_request_body(make_prompt_with_results(ProviderData("google", blob)), OK)
    assert "thoughtSignature" not in str(body)


@pytest.mark.demand("models.google_thought_signatures_safety", "models.conversation_moves_between_vendors")
async def test_calls_of_another_vendor_are_given_the_word_that_gemini_3_takes() -> None:
    foreign = make_prompt_with_results(ProviderData("anthropic", {"signature": "theirs"}))
    body = await capture_request_body(foreign, OK, "gemini-3-flash-preview")
    calls = body["contents"][1]["parts"][1:]
    assert calls[0]["thoughtSignature"] == SKIP_SIGNATURE
    assert "thoughtSignature" not in calls[1]
    assert "theirs" not in str(body)
    assert "thoughtSignature" not in str(await capture_request_body(foreign, OK, "gemini-2.5-pro"))


@pytest.mark.demand("models.google_thought_signatures_safety", "models.model_contract_suite_passes")
async def test_images_and_files() -> None:
    parts = (
        TextMessagePart("what?"),
        ImageMessagePart(f"data:image/png;base64,{PIXEL}"),
        ImageMessagePart("https://example.org/a/cat.jpg?size=1"),
        ImageMessagePart("gs://bucket/dog.webp"),
        FileMessagePart(name="a.pdf", media_type="application/pdf", data=PIXEL),
        FileMessagePart(file_id="https://example.org/v1/files/7", media_type="text/plain"),
    )
    body = await capture_request_body(Prompt(messages=(Message("user", parts),)), OK)
    assert body["contents"][0]["parts"] == [
        {"text": "what?"},
        {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
        {"fileData": {"fileUri": "https://example.org/a/cat.jpg?size=1", "mimeType": "image/jpeg"}},
        {"fileData": {"fileUri": "gs://bucket/dog.webp", "mimeType": "image/webp"}},
        {"inlineData": {"mimeType": "application/pdf", "data": PIXEL}},
        {"fileData": {"fileUri": "https://example.org/v1/files/7", "mimeType": "text/plain"}},
    ]


@pytest.mark.parametrize(
    "image",
    [
        ImageMessagePart("file:///etc/passwd"),
        ImageMessagePart("http://example.org/cat.png"),
        ImageMessagePart("data:image/png;base64,###"),
        ImageMessagePart("x"),
        FileMessagePart(name="empty"),
    ],
)
async def test_what_cannot_be_shown_is_refused(image: ImageMessagePart | FileMessagePart) -> None:
    async with connect_model(OK) as (upstream, model):
        fragments, error = await collect_chunks(model, Prompt(messages=(Message("user", (image,)),)))
        assert isinstance(error, CallerError)
        assert not fragments
        assert not upstream.requests


async def test_an_image_of_a_tool_follows_the_results() -> None:
    base = make_prompt_with_results()
    shown = replace(
        base.messages[-1], parts=(TextMessagePart("a cat"), ImageMessagePart(f"data:image/png;base64,{PIXEL}"))
    )
    body = await capture_request_body(replace(base, messages=(*base.messages[:-1], shown)), OK)
    assert [len(one["parts"]) for one in body["contents"]] == [1, 3, 2, 1]
    assert "inlineData" in body["contents"][-1]["parts"][0]


@pytest.mark.demand("models.google_thought_signatures_safety")
async def test_empty_messages_are_left_out() -> None:
    prompt = Prompt(
        messages=(
            text_message("user", "a"),
            text_message("assistant", ""),
            text_message("user", ""),
            text_message("user", "b"),
        )
    )
    body = await capture_request_body(prompt, OK)
    assert [one["parts"] for one in body["contents"]] == [[{"text": "a"}], [{"text": "b"}]]


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_a_message_of_calls_alone_is_not_empty() -> None:
    """CopilotKit's adapter drops what has no words, and with it the calls that the next results are of."""
    call = Message("assistant", calls=(ToolCall("c1", "add", '{"a":1}'),))
    body = await capture_request_body(
        Prompt(messages=(text_message("user", "go"), call, text_message("tool", "1", call_id="c1"))), OK
    )
    parts = [key for one in body["contents"] for part in one["parts"] for key in part]
    assert parts == ["text", "functionCall", "functionResponse"]


@pytest.mark.parametrize("messages", [(), (text_message("assistant", "I begin."),), (text_message("user", ""),)])
async def test_a_conversation_always_begins_with_the_user(messages: tuple[Message, ...]) -> None:
    body = await capture_request_body(Prompt(messages=messages), OK)
    assert body["contents"][0] == {"role": "user", "parts": [{"text": "…"}]}


async def test_a_result_without_its_call_is_told_as_words() -> None:
    prompt = Prompt(messages=(text_message("user", "a"), text_message("tool", "lost", call_id="gone")))
    assert (await capture_request_body(prompt, OK))["contents"][-1] == {"role": "user", "parts": [{"text": "lost"}]}


async def test_an_output_schema_beside_tools_only_where_it_is_taken() -> None:
    schema = {"type": "object", "properties": {"x": {"const": "a"}}}
    narrow = {"type": "object", "properties": {"x": {"type": "string", "enum": ["a"]}}}
    alone = Prompt(messages=(text_message("user", "a"),), output_schema=schema)
    made = (await capture_request_body(alone, OK))["generationConfig"]
    assert (made["responseMimeType"], made["responseJsonSchema"]) == ("application/json", narrow)
    beside = replace(alone, tools=(ADD,))
    body = await capture_request_body(beside, OK)
    assert "responseJsonSchema" not in body["generationConfig"]
    assert body["systemInstruction"]["parts"][0]["text"].endswith('{"x":{"const":"a"}}}')
    assert "responseJsonSchema" in (await capture_request_body(beside, OK, "gemini-3-pro"))["generationConfig"]


async def test_how_it_thinks_is_an_option() -> None:
    prompt = Prompt(messages=(text_message("user", "a"),))
    made = await capture_request_body(prompt, OK, thoughts=False, thinking_budget=0)
    assert made["generationConfig"]["thinkingConfig"] == {"thinkingBudget": 0}
    made = await capture_request_body(prompt, OK, "gemini-3-pro", thinking_level="low")
    assert made["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, "thinkingLevel": "LOW"}
    assert not (await capture_request_body(prompt, OK, "gemini-2.0-flash"))["generationConfig"]


async def test_half_a_character_is_refused_before_it_is_sent() -> None:
    async with connect_model(OK) as (upstream, model):
        _, error = await collect_chunks(model, Prompt(messages=(text_message("user", "half \ud800"),)))
        assert isinstance(error, CallerError)
        assert not upstream.requests


@pytest.mark.demand("models.google_gemini_api")
async def test_a_schema_that_a_model_does_not_keep_to_is_told_in_words() -> None:
    prompt = Prompt(messages=(text_message("user", "a"),), output_schema={"type": "object"})
    enforced = await capture_request_body(prompt, OK)
    assert "responseJsonSchema" in enforced["generationConfig"]
    told = await capture_request_body(prompt, OK, schema=False)
    assert "responseJsonSchema" not in told.get("generationConfig", {})
    assert "fits this JSON Schema" in told["systemInstruction"]["parts"][0]["text"]

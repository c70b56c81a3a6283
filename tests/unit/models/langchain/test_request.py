"""What a LangChain model is given of a prompt."""

from typing import Any

import pytest
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from rightseat.errors import Misused
from rightseat.models.langchain.request import build_messages
from rightseat.types.chunks import TextChunk
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
from tests.kit.vendors.langchain import FakeChatModel, make_message_chunk
from tests.unit.models.langchain.model_calls import HELLO, collect_chunks

ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
LOOK = ToolSpec("look", "", {"type": "object"}, strict=True)
SECRET = '{"lc": 1, "type": "secret", "id": ["KIT_SECRET"]}'


def test_a_conversation() -> None:
    prompt = Prompt(
        messages=(
            text_message("system", "Be brief."),
            text_message("user", "go", name="ann"),
            Message(
                "assistant",
                (TextMessagePart("Let me see."),),
                (ToolCall("c1", "add", '{"a": 2}'), ToolCall("c2", "look", "{")),
            ),
            text_message("tool", "5", call_id="c1", name="add"),
            text_message("tool", "?", call_id="c2"),
            text_message("developer", "Now."),
        )
    )
    assert build_messages(prompt, "kit") == [
        SystemMessage("Be brief."),
        HumanMessage("go", name="ann"),
        AIMessage(
            "Let me see.",
            tool_calls=[{"name": "add", "args": {"a": 2}, "id": "c1"}, {"name": "look", "args": {}, "id": "c2"}],
        ),
        ToolMessage("5", tool_call_id="c1", name="add"),
        ToolMessage("?", tool_call_id="c2"),
        SystemMessage("Now."),
    ]


def test_images_and_files() -> None:
    parts = (
        TextMessagePart("what?"),
        ImageMessagePart("data:image/png;base64,AA==", detail="low"),
        ImageMessagePart("https://example.org/cat.png"),
        FileMessagePart(name="a.pdf", media_type="application/pdf", data="AA=="),
        FileMessagePart(file_id="f1"),
    )
    (found,) = build_messages(Prompt(messages=(Message("user", parts),)), "kit")
    assert found.content == [
        {"type": "text", "text": "what?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,AA=="}},
        {"type": "file", "file": {"file_id": "f1"}},
    ]


@pytest.mark.parametrize(
    ("blob", "content"),
    [
        ({"model": "kit", "blocks": [{"type": "thinking", "signature": "s"}]}, True),
        ({"model": "other", "blocks": [{"type": "thinking", "signature": "s"}]}, False),
        ({"model": "kit", "blocks": "x"}, False),
        ("x", False),
    ],
)
def test_signed_thoughts_go_back_to_whom_they_are_of(blob: Any, content: bool) -> None:
    message = Message(
        "assistant", (TextMessagePart("yes"),), opaque=(ProviderData("google", {}), ProviderData("langchain", blob))
    )
    (found,) = build_messages(Prompt(messages=(message,)), "kit")
    signed: list[Any] = [{"type": "thinking", "signature": "s"}, {"type": "text", "text": "yes"}]
    assert found.content == (signed if content else "yes")


async def test_an_output_schema_is_told_in_words() -> None:
    model = FakeChatModel(chunks=[make_message_chunk("{}")])
    schema = {"type": "object"}
    for first in ((), (text_message("system", "Be brief."),)):
        await collect_chunks(model, Prompt(messages=(*first, text_message("user", "x")), output_schema=schema))
    alone, beside = (heard[0][0] for heard in model.requests)
    assert alone.text.endswith('{"type":"object"}')
    assert beside.text.startswith("Be brief.\n\n")
    assert beside.text.endswith(alone.text)


@pytest.mark.demand("models.langchain_module_attr_basechatmodel")
@pytest.mark.parametrize(
    ("choice", "tools", "wanted"),
    [
        (ToolChoice(), 2, None),
        (ToolChoice("required"), 2, "any"),
        (ToolChoice("named", "look"), 2, "look"),
        (ToolChoice("none"), 0, None),
    ],
)
async def test_tools_are_bound(choice: ToolChoice, tools: int, wanted: str | None) -> None:
    model = FakeChatModel(chunks=[make_message_chunk("ok")])
    prompt = Prompt(messages=HELLO.messages, tools=(ADD, LOOK), tool_choice=choice)
    for thing in (model, model.bind(user="ann"), model.with_config(tags=["x"])):
        assert (await collect_chunks(thing, prompt))[1] is None
    for _, given in model.requests:
        assert len(given.get("tools", ())) == tools
        assert given.get("tool_choice") == wanted
    assert model.requests[1][1]["user"] == "ann"
    if tools:
        assert model.requests[0][1]["tools"][1] == {
            "type": "function",
            "function": {"name": "look", "description": "", "parameters": {"type": "object"}, "strict": True},
        }


async def test_settings_go_where_the_model_has_a_field_for_them() -> None:
    model = FakeChatModel(chunks=[make_message_chunk("ok")])
    settings = SamplingSettings(temperature=0.0, top_p=0.5, max_tokens=9, stop=("END",), seed=3, extra={"wild": 1})
    await collect_chunks(model, Prompt(messages=HELLO.messages, settings=settings))
    await collect_chunks(model)
    assert model.requests[0][1] == {"temperature": 0.0, "max_output_tokens": 9, "stop": ["END"]}
    assert model.requests[1][1] == {"stop": None}


async def test_a_model_without_tools_says_so() -> None:
    prompt = Prompt(messages=HELLO.messages, tools=(ADD,))
    _, error = await collect_chunks(GenericFakeChatModel(messages=iter(["x"])), prompt)
    assert isinstance(error, Misused)
    assert "GenericFakeChatModel takes no tools" in error.message


async def test_a_chain_goes_its_own_way_unless_it_is_forced() -> None:
    chain: Any = RunnableLambda(lambda _: "own")
    prompt = Prompt(messages=HELLO.messages, tools=(ADD,))
    assert (await collect_chunks(chain, prompt))[0][0] == TextChunk("own")
    forced = Prompt(messages=HELLO.messages, tools=(ADD,), tool_choice=ToolChoice("required"))
    assert isinstance((await collect_chunks(chain, forced))[1], Misused)


async def test_a_chain_may_want_its_messages_by_name() -> None:
    chain: Any = RunnableLambda(lambda given: given["messages"][0].text)
    assert (await collect_chunks(chain, input_key="messages"))[0][0] == TextChunk("hello")


async def test_a_function_is_given_the_tools_if_it_asks_for_them() -> None:
    async def answer(given: list[BaseMessage], tools: Any) -> str:
        return f"{given[0].text} {tools[0]['function']['name']}"

    prompt = Prompt(messages=HELLO.messages, tools=(ADD,))
    assert (await collect_chunks(answer, prompt))[0][0] == TextChunk("hello add")


@pytest.mark.demand("models.message_content_foreign_serialisation")
async def test_foreign_serialisation_keys_stay_plain_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """`{"lc": 1, …}` in a text, arguments or a result is what somebody wrote, and never made an object."""
    monkeypatch.setenv("KIT_SECRET", "leaked-canary")
    model = FakeChatModel(chunks=[make_message_chunk(SECRET)])
    prompt = Prompt(
        messages=(
            text_message("user", SECRET),
            Message("assistant", (), (ToolCall("c1", "add", SECRET),)),
            text_message("tool", SECRET, call_id="c1"),
        )
    )
    fragments, error = await collect_chunks(model, prompt)
    assert error is None
    assert fragments[0] == TextChunk(SECRET)
    user, assistant, tool = model.requests[0][0]
    assert (user.content, tool.content) == (SECRET, SECRET)
    assert isinstance(assistant, AIMessage)
    assert assistant.tool_calls[0]["args"] == {"lc": 1, "type": "secret", "id": ["KIT_SECRET"]}
    assert "leaked-canary" not in str(model.requests)

"""A conversation that moves between vendors in mid-thread stays valid for each of them.

The servers of the kit refuse what the real ones would: calls without results, foreign signatures, empty
parts. What one vendor thought and called is in the history that the next one gets.
"""

import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from unittest.mock import patch

import pytest

from rightseat.engine.assembler import EventAssembler
from rightseat.engine.history import pair_calls_with_results
from rightseat.errors import UpstreamRejected
from rightseat.models.anthropic import model as make_anthropic
from rightseat.models.google import model as make_google
from rightseat.models.langchain import model as make_langchain
from rightseat.models.openai import model as make_openai
from rightseat.types.messages import Message, ProviderData, text_message
from rightseat.types.model import Model, Prompt, ToolSpec
from rightseat.types.stores import IdGenerator
from rightseat.types.streams import closing
from tests.kit import answers
from tests.kit.answers import ChatReply, UpstreamReply, write_json
from tests.kit.chunks import Json, make_chunk, make_error_body
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.upstream import FakeUpstream
from tests.kit.vendors import anthropic, google, langchain, responses

pytestmark = pytest.mark.io

ScriptTurn = dict[str, Any]
Vendor = Callable[[ScriptTurn], AbstractAsyncContextManager[Model]]

NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
ADD_TOOL = ToolSpec("add", "Adds.", {"type": "object", "properties": NUMBERS, "required": ["a", "b"]})
ONE, TWO = ({"name": name, "arguments": arguments} for name, arguments in answers.TWO_CALLS)
CALL_TURN: ScriptTurn = {"reason": "Let me think", "say": "I add.", "calls": [ONE, TWO]}
SILENT_CALL_TURN: ScriptTurn = {"calls": [ONE]}
TEXT_TURN: ScriptTurn = {"say": "Done."}


class StrictChatReply:
    """A chat completion for a request that OpenAI would take."""

    def __init__(self, turn: ScriptTurn) -> None:
        calls = [(one["name"], one["arguments"]) for one in turn.get("calls", ())]
        called = answers.answer_tool_calls(*calls).chunks if calls else []
        text_chunks = [make_chunk({"content": turn["say"]})] if "say" in turn else []
        self.answer = ChatReply([*text_chunks, *called], {}, "tool_calls" if calls else "stop")

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        if (why := find_problem(request.messages)) is not None:
            await write_json(connection, 400, make_error_body(why, "invalid_value", "invalid_request_error"))
        else:
            await self.answer(connection, request)


def find_problem(messages: list[Json]) -> str | None:
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return "a result without its call"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return "a call without its result"
        if set(message) - {"role", "content", "name", "tool_calls"}:
            return "an unknown field"
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
        if message["content"] in ("", None) and not open_calls:
            return "an empty message"
    return "a call without its result" if open_calls else None


def answer_signed_turn(turn: ScriptTurn) -> UpstreamReply:
    """As Gemini 3 has it: the first of several calls carries the signature of what was thought."""
    parts = [google.make_part(turn["say"])] if "say" in turn else []
    for number, one in enumerate(turn.get("calls", ())):
        signature = None if number else b"kit-signature"
        parts.append(google.make_call_part(one["name"], json.loads(one["arguments"]), signature=signature))
    return google.GoogleReply([google.make_chunk(*parts), google.make_chunk(google.make_part(""), finish="STOP")])


def make_vendor(reply: Callable[[ScriptTurn], UpstreamReply], make: Callable[[FakeUpstream], Any]) -> Vendor:
    @asynccontextmanager
    async def vendor(turn: ScriptTurn) -> AsyncIterator[Model]:
        async with FakeUpstream() as upstream:
            upstream.reply = reply(turn)
            model = make(upstream)
            try:
                yield model
            finally:
                await model.close()

    return vendor


@asynccontextmanager
async def make_langchain_model(turn: ScriptTurn) -> AsyncIterator[Model]:
    with patch.object(langchain, "MODEL", langchain.answer_turn(turn), create=True):
        model = make_langchain("tests.kit.vendors.langchain:MODEL", {})
    yield model


VENDORS: dict[str, Vendor] = {
    "openai": make_vendor(StrictChatReply, lambda up: make_openai("gpt-4o", {"base_url": up.base_url})),
    "openai by responses": make_vendor(
        responses.answer_turn, lambda up: make_openai("gpt-5", {"base_url": up.base_url, "api": "responses"})
    ),
    "anthropic": make_vendor(
        anthropic.answer_turn, lambda up: make_anthropic("claude-opus-5-5", {"base_url": up.origin})
    ),
    "google": make_vendor(
        answer_signed_turn, lambda up: make_google("gemini-3-pro", {"base_url": up.origin, "api_key": "k"})
    ),
    "langchain": make_langchain_model,
}


async def get_answer(vendor: Vendor, turn: ScriptTurn, messages: list[Message]) -> Message:
    """What the vendor makes of the conversation, as the engine keeps it."""
    assembler = EventAssembler(IdGenerator(), {"add": False})
    async with vendor(turn) as model:
        prompt = Prompt(messages=tuple(pair_calls_with_results(messages)), tools=(ADD_TOOL,))
        async with closing(model.stream(prompt)) as fragments:
            async for fragment in fragments:
                assembler.push(fragment)
    assembler.finish()
    return assembler.build_answer().message


def append_results(message: Message) -> list[Message]:
    return [message, *(text_message("tool", '{"sum": 5}', call_id=call.id) for call in message.calls)]


@pytest.mark.demand("models.model_contract_suite_passes", "models.conversation_moves_between_vendors")
@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(VENDORS, 2)])
async def test_calls_of_one_and_answers_of_another(one: str, other: str) -> None:
    talk = [text_message("system", "Be brief."), text_message("user", "2+3 and 40+2?")]
    first = await get_answer(VENDORS[one], CALL_TURN, talk)
    assert len(first.calls) == 2
    talk += append_results(first)
    # In mid-turn: the results of one vendor's calls are read by the other, which calls again.
    second = await get_answer(VENDORS[other], SILENT_CALL_TURN, talk)
    talk += append_results(second)
    third = await get_answer(VENDORS[one], TEXT_TURN, talk)
    assert third.text == "Done."
    talk += [third, text_message("user", "And now?")]
    last = await get_answer(VENDORS[other], TEXT_TURN, talk)
    assert last.text == "Done."


@pytest.mark.demand("models.conversation_moves_between_vendors")
async def test_through_all_of_them_and_back() -> None:
    talk = [text_message("system", "Be brief."), text_message("user", "2+3 and 40+2?")]
    providers = set()
    for name in (*VENDORS, *reversed(VENDORS)):
        message = await get_answer(VENDORS[name], CALL_TURN, talk)
        providers |= {kept.provider for kept in message.opaque}
        talk += append_results(message)
    # Else nothing foreign was ever in the history.
    assert len(providers) >= 3


@pytest.mark.demand("models.conversation_moves_between_vendors")
async def test_the_kit_would_notice() -> None:
    """A call that was never answered, and a thought that another vendor had, are refused."""
    talk = [
        text_message("user", "2+3?"),
        *append_results(await get_answer(VENDORS["openai"], SILENT_CALL_TURN, [text_message("user", "x")])),
    ]
    assert find_problem([{"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}]) is not None
    blob = {"said": False, "calls": 0, "item": {"type": "reasoning", "id": "r"}}
    stray = text_message("assistant", "ok", opaque=(ProviderData("openai-responses", blob),))
    with pytest.raises(UpstreamRejected, match="does not take this request"):
        await get_answer(VENDORS["openai by responses"], TEXT_TURN, [*talk, stray, text_message("user", "?")])

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
from tests.kit.answers import Answer, Reply, write_json
from tests.kit.chunks import Json, chunk, error
from tests.kit.connection import Connection, Received
from tests.kit.upstream import Upstream
from tests.kit.vendors import anthropic, google, langchain, responses

pytestmark = pytest.mark.io

Turn = dict[str, Any]
Vendor = Callable[[Turn], AbstractAsyncContextManager[Model]]

NUMBERS = {"a": {"type": "integer"}, "b": {"type": "integer"}}
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": NUMBERS, "required": ["a", "b"]})
ONE, TWO = ({"name": name, "arguments": arguments} for name, arguments in answers.TWO)
CALLING: Turn = {"reason": "Let me think", "say": "I add.", "calls": [ONE, TWO]}
SILENT: Turn = {"calls": [ONE]}
SAYING: Turn = {"say": "Done."}


class Strict:
    """A chat completion for a request that OpenAI would take."""

    def __init__(self, turn: Turn) -> None:
        calls = [(one["name"], one["arguments"]) for one in turn.get("calls", ())]
        called = answers.tools(*calls).chunks if calls else []
        said_ = [chunk({"content": turn["say"]})] if "say" in turn else []
        self.answer = Answer([*said_, *called], {}, "tool_calls" if calls else "stop")

    async def __call__(self, connection: Connection, request: Received) -> None:
        if (why := unfit(request.messages)) is not None:
            await write_json(connection, 400, error(why, "invalid_value", "invalid_request_error"))
        else:
            await self.answer(connection, request)


def unfit(messages: list[Json]) -> str | None:
    open_: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_:
                return "a result without its call"
            open_.remove(message["tool_call_id"])
            continue
        if open_:
            return "a call without its result"
        if set(message) - {"role", "content", "name", "tool_calls"}:
            return "an unknown field"
        open_ = [call["id"] for call in message.get("tool_calls", ())]
        if message["content"] in ("", None) and not open_:
            return "an empty message"
    return "a call without its result" if open_ else None


def signed(turn: Turn) -> Reply:
    """As Gemini 3 has it: the first of several calls carries the signature of what was thought."""
    parts = [google.part(turn["say"])] if "say" in turn else []
    for number, one in enumerate(turn.get("calls", ())):
        signature = None if number else b"kit-signature"
        parts.append(google.call(one["name"], json.loads(one["arguments"]), signature=signature))
    return google.Streamed([google.chunk(*parts), google.chunk(google.part(""), finish="STOP")])


def at(reply: Callable[[Turn], Reply], make: Callable[[Upstream], Any]) -> Vendor:
    @asynccontextmanager
    async def vendor(turn: Turn) -> AsyncIterator[Model]:
        async with Upstream() as upstream:
            upstream.reply = reply(turn)
            model = make(upstream)
            try:
                yield model
            finally:
                await model.close()

    return vendor


@asynccontextmanager
async def by_langchain(turn: Turn) -> AsyncIterator[Model]:
    with patch.object(langchain, "MODEL", langchain.of_turn(turn), create=True):
        made = make_langchain("tests.kit.vendors.langchain:MODEL", {})
    yield made


VENDORS: dict[str, Vendor] = {
    "openai": at(Strict, lambda up: make_openai("gpt-4o", {"base_url": up.url})),
    "openai by responses": at(
        responses.of_turn, lambda up: make_openai("gpt-5", {"base_url": up.url, "api": "responses"})
    ),
    "anthropic": at(anthropic.of_turn, lambda up: make_anthropic("claude-opus-5-5", {"base_url": up.origin})),
    "google": at(signed, lambda up: make_google("gemini-3-pro", {"base_url": up.origin})),
    "langchain": by_langchain,
}


async def answered(vendor: Vendor, turn: Turn, messages: list[Message]) -> Message:
    """What the vendor makes of the conversation, as the engine keeps it."""
    desk = EventAssembler(IdGenerator(), {"add": False})
    async with vendor(turn) as model:
        prompt = Prompt(messages=tuple(pair_calls_with_results(messages)), tools=(ADD,))
        async with closing(model.stream(prompt)) as fragments:
            async for fragment in fragments:
                desk.push(fragment)
    desk.finish()
    return desk.build_answer().message


def with_results(message: Message) -> list[Message]:
    return [message, *(text_message("tool", '{"sum": 5}', call_id=call.id) for call in message.calls)]


@pytest.mark.demand("models.model_contract_suite_passes", "models.conversation_moves_between_vendors")
@pytest.mark.parametrize(("one", "other"), [*itertools.permutations(VENDORS, 2)])
async def test_calls_of_one_and_answers_of_another(one: str, other: str) -> None:
    talk = [text_message("system", "Be brief."), text_message("user", "2+3 and 40+2?")]
    first = await answered(VENDORS[one], CALLING, talk)
    assert len(first.calls) == 2
    talk += with_results(first)
    # In mid-turn: the results of one vendor's calls are read by the other, which calls again.
    second = await answered(VENDORS[other], SILENT, talk)
    talk += with_results(second)
    third = await answered(VENDORS[one], SAYING, talk)
    assert third.text == "Done."
    talk += [third, text_message("user", "And now?")]
    last = await answered(VENDORS[other], SAYING, talk)
    assert last.text == "Done."


@pytest.mark.demand("models.conversation_moves_between_vendors")
async def test_through_all_of_them_and_back() -> None:
    talk = [text_message("system", "Be brief."), text_message("user", "2+3 and 40+2?")]
    providers = set()
    for name in (*VENDORS, *reversed(VENDORS)):
        message = await answered(VENDORS[name], CALLING, talk)
        providers |= {kept.provider for kept in message.opaque}
        talk += with_results(message)
    # Else nothing foreign was ever in the history.
    assert len(providers) >= 3


@pytest.mark.demand("models.conversation_moves_between_vendors")
async def test_the_kit_would_notice() -> None:
    """A call that was never answered, and a thought that another vendor had, are refused."""
    talk = [
        text_message("user", "2+3?"),
        *with_results(await answered(VENDORS["openai"], SILENT, [text_message("user", "x")])),
    ]
    assert unfit([{"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]}]) is not None
    blob = {"said": False, "calls": 0, "item": {"type": "reasoning", "id": "r"}}
    stray = text_message("assistant", "ok", opaque=(ProviderData("openai-responses", blob),))
    with pytest.raises(UpstreamRejected, match="does not take this request"):
        await answered(VENDORS["openai by responses"], SAYING, [*talk, stray, text_message("user", "?")])

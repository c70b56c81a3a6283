"""The upstream behind the scripted model of the client libraries: it reads what stands in the conversation and
answers in the way that the request leaves open, by text, by a call, or by an object of a schema."""

import asyncio
import json
import re

from tests.kit.answers import ChatReply, UpstreamReply, answer_tokens, answer_tool_call
from tests.kit.chunks import Json
from tests.kit.connection import Connection, ReceivedRequest
from tests.peers.echo_upstream import answer_in_steps
from tests.peers.library_program import PERSON_QUESTION, WEATHER_QUESTION

FIRST_PIECE, REST = "Hello ", "from the upstream: é漢😀"
GREETING_TEXT = FIRST_PIECE + REST
WEATHER_CALL = {"city": "Oslo"}
WEATHER_TEXT = "It is 21 degrees in Oslo."
PERSON = {"name": "Ada", "age": 36}
RESULT = re.compile(r"\d+ degrees in Oslo")


class LibraryReply:
    """Answers of a model that never errs. A greeting is held after its first piece until `released` is set."""

    def __init__(self) -> None:
        self.released = asyncio.Event()

    async def __call__(self, connection: Connection, request: ReceivedRequest) -> None:
        await self.choose_reply(request)(connection, request)

    def choose_reply(self, request: ReceivedRequest) -> UpstreamReply:
        text = json.dumps(request.messages)
        if PERSON_QUESTION in text:
            is_structured = bool(request.json.get("response_format"))
            return call_tool(request, PERSON) or answer_tokens([json.dumps(PERSON) if is_structured else "Ada."])
        if WEATHER_QUESTION not in text:
            self.released.clear()
            return answer_by_tool(request, GREETING_TEXT) or answer_in_steps(FIRST_PIECE, (self.released, REST))
        if (result := RESULT.search(text)) is not None:
            answer = f"It is {result[0]}."
            return answer_by_tool(request, answer) or answer_tokens([answer])
        reply = call_tool(request, WEATHER_CALL)
        assert reply is not None, "no tool for the weather was offered"
        return reply


def call_tool(request: ReceivedRequest, arguments: Json) -> ChatReply | None:
    """Call the first tool that has these parameters and no others."""
    for tool in request.json.get("tools") or ():
        if tool["function"]["parameters"].get("properties", {}).keys() == arguments.keys():
            return answer_tool_call(tool["function"]["name"], json.dumps(arguments))
    return None


def answer_by_tool(request: ReceivedRequest, text: str) -> ChatReply | None:
    """Answer by a tool, for a library that wants its answer so."""
    return call_tool(request, {"answer": text}) or call_tool(request, {"text": text})

"""One rule at every door: a client tool's arguments are shown as they come and checked at the end, a server tool's
are held until they are valid. A client runs no call that proves invalid."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.middleware.guardrails import GuardrailPolicies, GuardrailPolicy, TextRules, WordList
from rightseat.types.chunks import FinishChunk, ModelChunk, ToolCallArgs, ToolCallStart
from rightseat.types.model import Prompt
from tests.contract.doors.members import MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import ACCEPT, make_text_message

pytestmark = [pytest.mark.io, pytest.mark.demand("copilotkit.streamed_arguments")]

GRAPHQL_MEMBERS = ("copilotkit-planned", "copilotkit-executed", "copilotkit-whole")
STREAMING_MEMBERS = ("agui", "copilotkit-single", "copilotkit-routes", "copilotkit-planned")
PIECES = ['{"ti', 'tle": "seventy', '-seven"}']
BROKEN_JSON = '{"title": "on'
GUARDED = GuardrailPolicies(GuardrailPolicy(output=TextRules(deny=WordList(["forbidden fruit"]))))


@tool
def note(title: str) -> str:
    """Note a title."""
    return f"noted {title}"


class GatedCall:
    """A model's call that is finished when the gate is open."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate = asyncio.Event()
        self.written = asyncio.Event()

    async def __call__(self, prompt: Prompt) -> AsyncIterator[ModelChunk]:
        yield ToolCallStart(0, self.name)
        for piece in PIECES[:-1]:
            yield ToolCallArgs(0, piece)
        self.written.set()
        await self.gate.wait()
        yield ToolCallArgs(0, PIECES[-1])
        yield FinishChunk("calls")


def make_question(member: str) -> dict[str, Any]:
    if member in GRAPHQL_MEMBERS:
        return make_text_message("show it", id="u0")
    return {"id": "u0", "role": "human" if member.startswith("openbb") else "user", "content": "show it"}


async def read_gated_call(member: str, name: str, *, is_shown: bool) -> bytes:
    """Return what the client reads. The gate opens when it has read the first arguments, or where they are not shown,
    when the model has written them."""
    call = GatedCall(name)
    runtime = Runtime(model=FakeModel(call, reply_text("Done.")), tools=[note])
    client = MEMBERS[member]("")
    client.history.append(make_question(member))
    path, body = client.build_request()
    async with serve_runtime(runtime) as server, RawHttpClient(server.url) as http:
        await http.post_json(path, body, {"Accept": ACCEPT} if member in GRAPHQL_MEMBERS else None)
        if not is_shown:
            await call.written.wait()
            call.gate.set()
        await http.read_head()
        data = b""
        async for piece in http.iterate_pieces():
            data += piece
            if b"seventy" in data:
                call.gate.set()
    return data


@pytest.mark.parametrize("member", MEMBERS)
async def test_arguments_of_a_client_tool_are_shown_as_they_come(member: str) -> None:
    is_shown = member in STREAMING_MEMBERS
    data = await read_gated_call(member, "show", is_shown=is_shown)
    if member not in GRAPHQL_MEMBERS:
        # In one piece where a client gets whole calls.
        assert (b"seventy-seven" in data) != is_shown


@pytest.mark.parametrize("member", STREAMING_MEMBERS)
async def test_arguments_of_a_server_tool_are_held_until_they_are_valid(member: str) -> None:
    assert b"seventy-seven" in await read_gated_call(member, "note", is_shown=False)


@pytest.mark.parametrize("guardrails", [GuardrailPolicies(), GUARDED], ids=["open", "guarded"])
@pytest.mark.parametrize("arguments", [BROKEN_JSON, "[1]"])
@pytest.mark.parametrize("member", MEMBERS)
async def test_a_client_runs_no_call_that_proves_invalid(
    member: str, arguments: str, guardrails: GuardrailPolicies
) -> None:
    valid = ("show", '{"title": "one"}')
    model = FakeModel(reply_calls(("paint", arguments)), reply_calls(valid), reply_text("Done."), reply_text("Bye."))
    async with serve_runtime(Runtime(model=model, guards=guardrails)) as server:
        client = MEMBERS[member](server.url)
        seen = await client.send_message("paint it")
        assert (seen.error, list(seen.calls.values())) == (None, [("show", {"title": "one"})])
        seen = await client.send_results(dict.fromkeys(seen.calls, "shown"))
        assert (seen.error, seen.text) == (None, "Done.")
        seen = await client.send_message("bye")
    assert (seen.error, seen.text) == (None, "Bye.")
    # The model was told why, and no broken arguments come back with the history.
    [result] = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert "error" in result
    assert all(
        call.arguments.startswith("{") and call.arguments.endswith("}")
        for prompt in model.prompts
        for message in prompt.messages
        for call in message.calls
    )


@pytest.mark.parametrize("arguments", ["", "null", " {} "])
@pytest.mark.parametrize("path", ["/agui/default", "/copilotkit/agent/default/run"])
async def test_a_call_without_arguments_has_an_empty_object(path: str, arguments: str) -> None:
    _, body = MEMBERS["agui"]("").build_request()
    body["messages"] = [make_question("agui")]
    body["tools"] = [{"name": "refresh", "description": "Refresh.", "parameters": {"type": "object"}}]
    model = FakeModel(reply_calls(("refresh", arguments)))
    async with serve_runtime(Runtime(model=model)) as server, RawHttpClient(server.url) as http:
        await http.post_json(path, body)
        await http.read_head()
        events: list[dict[str, Any]] = [frame.json async for frame in http.iterate_frames() if frame.data]
    call_events = [event for event in events if event["type"].startswith("TOOL_CALL_")]
    assert [event["type"] for event in call_events] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert call_events[1]["delta"].strip() == "{}"
    assert events[-1]["type"] == "RUN_FINISHED"

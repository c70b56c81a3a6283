"""An answer that the token limit cuts in the middle of a call: calls before the cut one are kept, no cut call is."""

from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.config.settings import ServerSettings
from rightseat.types.chunks import FinishChunk, ModelChunk, ToolCallArgs, ToolCallStart
from tests.contract.doors.members import MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = [pytest.mark.io, pytest.mark.demand("openai.cut_calls")]

FIRST = ("show", '{"title": "one"}')
CUT = ("paint", '{"title": "tw')
# Calls reach these clients when they are complete.
WHOLE_MEMBERS = ("openai-whole", "openai-streamed", "openbb-today", "openbb-2024")
executed: list[str] = []


@tool
def note(title: str) -> str:
    """Note a title."""
    executed.append(title)
    return "noted"


@pytest.fixture(autouse=True)
def clear_executed() -> None:
    executed.clear()


def cut_calls(*pairs: tuple[str, str], enforced: bool = False) -> list[ModelChunk]:
    return [*reply_calls(*pairs, enforced=enforced)[:-1], FinishChunk("length")]


@pytest.mark.parametrize("member", MEMBERS)
async def test_a_call_before_a_cut_one_is_run_and_the_turn_goes_on(member: str) -> None:
    model = FakeModel(cut_calls(FIRST, CUT), reply_text("Done."))
    async with serve_runtime(Runtime(model=model)) as server:
        client = MEMBERS[member](server.url)
        seen = await client.send_message("show both")
        if member not in WHOLE_MEMBERS:
            # The cut call was shown as it came.
            assert (seen.error, seen.calls) == ("length", {})
            return
        assert (seen.error, list(seen.calls.values())) == (None, [("show", {"title": "one"})])
        if member.startswith("openai"):
            assert seen.finish_reason == "length"
        seen = await client.send_results(dict.fromkeys(seen.calls, "shown"))
    assert (seen.error, seen.text) == (None, "Done.")
    [call] = [call for message in model.prompts[1].messages for call in message.calls]
    assert call.name == "show"


@pytest.mark.parametrize("member", MEMBERS)
async def test_a_cut_call_that_was_shown_is_no_call(member: str) -> None:
    model = FakeModel(cut_calls(FIRST, CUT, enforced=True), reply_text("Done."))
    async with serve_runtime(Runtime(model=model)) as server:
        client = MEMBERS[member](server.url)
        seen = await client.send_message("show both")
        kept = [("show", {"title": "one"})] if member in WHOLE_MEMBERS else []
        assert list(seen.calls.values()) == kept
        assert kept or seen.error == "length"
        # The client posts what it has, the cut call too: the model sees complete calls only.
        seen = await client.send_message("go on")
    assert (seen.error, seen.text) == (None, "Done.")
    calls = [call.name for message in model.prompts[1].messages for call in message.calls]
    assert calls in ([], ["show"])


@pytest.mark.parametrize("enforced", [False, True])
@pytest.mark.parametrize("member", MEMBERS)
async def test_a_server_tool_runs_for_no_cut_call(member: str, enforced: bool) -> None:
    cut = cut_calls(("note", '{"title": "one"}'), ("note", '{"title": "tw'), enforced=enforced)
    async with serve_runtime(Runtime(model=FakeModel(cut), tools=[note])) as server:
        seen = await MEMBERS[member](server.url).send_message("note both")
    assert seen.calls == {}
    # Nobody would see what the first one did: the answer ends here.
    assert executed == []


@pytest.mark.parametrize("member", MEMBERS)
async def test_a_server_tool_runs_beside_a_kept_call(member: str) -> None:
    cut = cut_calls(("note", '{"title": "one"}'), FIRST, ("note", '{"title": "tw'))
    async with serve_runtime(Runtime(model=FakeModel(cut, reply_text("Done.")), tools=[note])) as server:
        client = MEMBERS[member](server.url)
        seen = await client.send_message("note and show")
        assert (executed, [name for name, _ in seen.calls.values()]) == (["one"], ["show"])
        seen = await client.send_results(dict.fromkeys(seen.calls, "shown"))
    assert (seen.error, seen.text, executed) == (None, "Done.", ["one"])


@pytest.mark.parametrize("path", ["/agui/default", "/copilotkit/agent/default/run"])
async def test_agui_shows_no_end_of_a_cut_call(path: str) -> None:
    _, body = MEMBERS["agui"]("").build_request()
    body["messages"] = [{"id": "u1", "role": "user", "content": "show both"}]
    model = FakeModel(cut_calls(FIRST, CUT, enforced=True))
    async with serve_runtime(Runtime(model=model)) as server, RawHttpClient(server.url) as client:
        await client.post_json(path, body)
        await client.read_head()
        events: list[dict[str, Any]] = [frame.json async for frame in client.iterate_frames() if frame.data]
    starts = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
    ends = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_END"]
    assert (len(starts), ends) == (2, starts[:1])
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "length")


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_openai_door_streams_arguments_where_the_server_is_told_to(streamed: bool) -> None:
    pieces = ['{"title"', ': "on', 'e"}']
    chunks: list[ModelChunk] = [ToolCallStart(0, "show", enforced=True), *(ToolCallArgs(0, text) for text in pieces)]
    model = FakeModel([*chunks, FinishChunk("calls")])
    client = MEMBERS["openai-streamed"]("")
    client.history.append({"role": "user", "content": "show it"})
    path, body = client.build_request()
    settings = ServerSettings(stream_arguments=streamed)
    async with serve_runtime(Runtime(model=model), settings) as server, RawHttpClient(server.url) as http:
        await http.post_json(path, body)
        await http.read_head()
        frames = [frame.json async for frame in http.iterate_frames() if frame.data not in (None, "[DONE]")]
    deltas = [call for frame in frames for call in frame["choices"][0]["delta"].get("tool_calls") or ()]
    arguments = [delta["function"]["arguments"] for delta in deltas]
    assert "".join(arguments) == "".join(pieces)
    assert arguments[1:] == (pieces if streamed else ["".join(pieces)])

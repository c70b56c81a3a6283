"""What a page says by AG-UI, as the model hears it: failed tools, files at an address, suggestions."""

from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.types.events import StateDelta
from rightseat.types.messages import FileMessagePart
from rightseat.types.model import Prompt
from rightseat.types.tools import Result
from tests.kit.app_server import AppServer, FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, SseFrame
from tests.unit.doors.copilotkit.agui import (
    THREADS_PATH,
    join_text,
    list_event_types,
    make_envelope,
    make_run_input,
    request_json,
)
from tests.unit.doors.copilotkit.client import make_input, make_request_body, make_text_message, post_graphql

pytestmark = pytest.mark.io

AT = "https://files.example/report.pdf"
PDF = {"mimeType": "application/pdf"}
over_routes = pytest.mark.parametrize("way", ["/agui/default", "/copilotkit/agent/default/run"])


async def collect_run_frames(server: AppServer, way: str, body: dict[str, Any]) -> list[SseFrame]:
    async with RawHttpClient(server.url) as client:
        await client.post_json(way, body)
        assert (await client.read_head()).status == 200
        return [frame async for frame in client.iterate_frames() if frame.data]


async def capture_prompt(way: str, *messages: dict[str, Any]) -> Prompt:
    model = FakeModel(reply_text("Yes."))
    async with serve_runtime(Runtime(model=model)) as server:
        await collect_run_frames(server, way, {**make_run_input(), "messages": list(messages)})
    return model.prompts[0]


@over_routes
@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"content": "", "error": "no map"}, "no map"),
        ({"content": "half", "error": "no map"}, "half"),
        ({"content": "", "error": {"a": 1}}, ""),
        ({"content": "fine"}, "fine"),
    ],
)
async def test_a_tool_of_the_page_that_failed(way: str, told: dict[str, Any], words: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "locate", "arguments": "{}"}}
    prompt = await capture_prompt(
        way,
        {"id": "1", "role": "user", "content": "where am i"},
        {"id": "2", "role": "assistant", "toolCalls": [call]},
        {"id": "3", "role": "tool", "toolCallId": "c", **told},
    )
    [result] = [message for message in prompt.messages if message.role == "tool"]
    assert result.text == words


@over_routes
@pytest.mark.parametrize(
    "part",
    [
        {"type": "document", "source": {"type": "url", "value": AT, **PDF}},
        {"type": "document", "source": {"type": "url", "value": AT}},
        {"type": "video", "source": {"type": "url", "value": AT}},
        {"type": "binary", **PDF, "url": AT},
    ],
)
async def test_a_file_at_an_address_is_told_and_refuses_no_thread(way: str, part: dict[str, Any]) -> None:
    content = [{"type": "text", "text": "Read it."}, part]
    prompt = await capture_prompt(way, {"id": "1", "role": "user", "content": content})
    assert prompt.messages[-1].text.startswith("Read it.")
    assert AT in prompt.messages[-1].text


@over_routes
async def test_a_file_inside_its_address_is_a_file(way: str) -> None:
    source = {"type": "url", "value": "data:text/plain;base64,aGk=", "mimeType": "text/plain"}
    named = {"type": "document", "source": source, "metadata": {"filename": "a.txt"}}
    prompt = await capture_prompt(way, {"id": "1", "role": "user", "content": [named]})
    assert any(isinstance(part, FileMessagePart) or "a.txt" in str(part) for part in prompt.messages[-1].parts)


@pytest.mark.demand("copilotkit.copilottask_suggestions_textarea_requests")
@pytest.mark.parametrize("single", [False, True])
async def test_suggestions_by_a_run_leave_no_thread(single: bool) -> None:
    """Clients that know no route for suggestions ask by a run, each time on a thread of its own."""
    choice = {"type": "function", "function": {"name": "copilotkitSuggest"}}
    tools = [{"name": "copilotkitSuggest", "description": "", "parameters": {"type": "object"}}]
    body = make_run_input("hi", thread="beside", tools=tools, forwardedProps={"toolChoice": choice})
    envelope = {"method": "agent/run", "params": {"agentId": "default"}, "body": body}
    way, sent = ("/copilotkit", envelope) if single else ("/copilotkit/agent/default/run", body)
    async with serve_runtime(
        Runtime(model=FakeModel(reply_calls(("copilotkitSuggest", "{}")), reply_text("Yes.")))
    ) as server:
        frames = await collect_run_frames(server, way, sent)
        _, none = await request_json(server, THREADS_PATH, method="GET")
        await collect_run_frames(server, "/copilotkit/agent/default/run", make_run_input("hi", thread="kept"))
        _, one = await request_json(server, THREADS_PATH, method="GET")
    assert list_event_types(frames)[1:4] == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END"]
    assert none["threads"] == []
    assert [thread["id"] for thread in one["threads"]] == ["kept"]


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
async def test_plain_ag_ui_rejoins_a_kept_thread_behind_what_was_seen() -> None:
    """And starts no second run: the model has one line more, which nobody asks for."""
    model = FakeModel(reply_text("Good ", "day."), reply_text("Again."))
    async with serve_runtime(Runtime(model=model)) as server:
        first = await collect_run_frames(server, "/copilotkit/agent/default/run", make_run_input("hi"))
        async with RawHttpClient(server.url) as client:
            await client.post_json("/agui/default", make_run_input("hi"), {"Last-Event-ID": str(first[1].id)})
            assert (await client.read_head()).status == 200
            rest = [frame async for frame in client.iterate_frames() if frame.data]
    assert (join_text(rest), rest[-1].data) == ("Good day.", first[-1].data)
    assert "RUN_STARTED" not in list_event_types(rest)
    assert len(model.prompts) == 1


async def test_a_change_of_a_state_that_nobody_has_yet() -> None:
    """Clients begin with an empty one."""

    @tool
    async def count(ctx: ToolContext) -> Any:
        """Count."""
        yield StateDelta([{"op": "add", "path": "/count", "value": 1}])
        yield Result("Counted.")

    lines = (reply_calls(("count", "{}")), reply_text("Done."))
    async with serve_runtime(Runtime(model=FakeModel(*lines, *lines), tools=[count])) as server:
        await collect_run_frames(server, "/copilotkit/agent/default/run", make_run_input("hi", state=None))
        _, kept = await request_json(server, f"{THREADS_PATH}/t/state", method="GET")
        answer = await post_graphql(
            server.url, make_request_body(make_input(make_text_message("hi"), threadId="other"))
        )
    assert kept == {"state": {"count": 1}}
    [state] = {m["state"] for m in answer.messages if m["__typename"] == "AgentStateMessageOutput"}
    assert state == '{"count":1}'


@pytest.mark.parametrize("way", ["/copilotkit/agent/default/run", "/copilotkit"])
async def test_a_refusal_is_short_where_its_user_sees_all_of_it(way: str) -> None:
    """Today's clients show the body as it is; only others find more in it."""
    wrong = make_run_input("hi", tools=[{"name": "not a name"}])
    sent = make_envelope("run", wrong) if way == "/copilotkit" else wrong
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        head, told = await request_json(server, way, sent, headers={"Accept": "text/event-stream"})
        _, more = await request_json(server, way, sent)
    assert (head.status, sorted(told)) == (400, ["code", "error", "message"])
    assert "tools[0].name" in told["message"]
    assert more["errors"][0]["message"] == told["message"]

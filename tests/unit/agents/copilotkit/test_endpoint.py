"""A remote endpoint over sockets: what it has, what it is sent, and everything that can go wrong."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Result, Runtime, ToolContext
from rightseat.agents._peer import source
from rightseat.agents.copilotkit import copilotkit
from rightseat.agents.copilotkit.endpoint import CopilotKitSource, build_parameters_schema
from rightseat.errors import ConfigError
from rightseat.types.events import StepEnd, StepStart, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import ForwardedProps, Owner, Turn, TurnClient
from tests.contract.agents.conversation import Conversation
from tests.contract.agents.members import host_source
from tests.kit.answers import UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.connection_faults import close_at_once, send_garbage, send_nothing
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.agents.agui.fake_agent import FrameFault, cut_after, garble_after, stall_after
from tests.unit.agents.agui.test_agent import get_idle_timeout, reply_500, reply_html, reply_redirect
from tests.unit.agents.copilotkit.endpoint import FakeRemoteEndpoint
from tests.unit.doors.copilotkit.client import make_input, make_request_body, post_graphql, serve_copilotkit

pytestmark = pytest.mark.io


@pytest.fixture(autouse=True)
def fast_health_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MIN_RETRY_DELAY", 0.05)


@asynccontextmanager
async def serve_endpoint(remote: FakeRemoteEndpoint, **options: Any) -> AsyncIterator[Runtime]:
    async with remote, host_source(copilotkit("ck", {"url": remote.url, "tries": 1, **options})) as runtime:
        yield runtime


@asynccontextmanager
async def start_source(remote: FakeRemoteEndpoint, **options: Any) -> AsyncIterator[CopilotKitSource]:
    source = copilotkit("ck", {"url": remote.url, "tries": 1, **options})
    await source.start()
    try:
        yield source
    finally:
        await source.close()


# What it has.


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_what_it_has() -> None:
    async with FakeRemoteEndpoint() as remote, start_source(remote) as source:
        ((name, agent),) = source.agents.items()
        assert (name, agent.name, agent.description) == ("desk", "desk", "Does what it is told.")
        assert agent.unavailable_reason == ""
        (tool,) = source.tools
        assert (tool.name, tool.description) == ("get_weather", "The weather.")
        assert tool.parameters["required"] == ["city"]
        (request,) = remote.upstream.requests
        assert (request.method, request.target) == ("POST", "/copilotkit/info")
        assert request.json == {"properties": {}, "frontendUrl": None}


async def test_only_those_that_are_wanted() -> None:
    async with FakeRemoteEndpoint() as remote:
        remote.agents += [{"name": "other", "type": "langgraph"}, {"no": "name"}]
        async with start_source(remote) as source:
            assert set(source.agents) == {"desk", "other"}
        async with start_source(remote, agents=["other"]) as source:
            assert set(source.agents) == {"other"}


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_it_is_asked_again_what_it_has() -> None:
    async with FakeRemoteEndpoint() as remote, start_source(remote, refresh=0.05) as source:
        kept = source.agents["desk"]
        remote.agents = [*remote.agents, {"name": "new", "type": "crewai"}]
        remote.actions = []
        await wait_until(lambda: "new" in source.agents)
        assert source.agents["desk"] is kept
        assert source.tools == ()


async def reply_without_agents(connection: Connection, request: ReceivedRequest) -> None:
    await write_json(connection, 200, {"message": "secret words"})


async def reply_404(connection: Connection, request: ReceivedRequest) -> None:
    await write_json(connection, 404, {"detail": "secret words"})


async def reply_401(connection: Connection, request: ReceivedRequest) -> None:
    await write_json(connection, 401, {"detail": "secret words"})


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects")
@pytest.mark.parametrize(
    ("instead", "why"),
    [
        (reply_404, "there is no such path"),
        (reply_html, "another server may be there"),
        (reply_without_agents, "not a list of agents"),
        (reply_redirect, "there is no such path"),
        (reply_401, "check headers"),
        (reply_500, "HTTP 500"),
        (send_garbage(), "another server may be there"),
        (close_at_once(), "nobody answers there"),
        (send_nothing(), "said nothing"),
    ],
    ids=["404", "html", "no agents", "redirect", "401", "500", "no http", "closed", "mute"],
)
async def test_an_endpoint_that_is_none_is_listed_as_down_and_found_later(instead: UpstreamReply, why: str) -> None:
    async with FakeRemoteEndpoint() as remote:
        remote.reply_override = instead
        async with start_source(remote, timeout=1 if why == "said nothing" else HANG_TIMEOUT) as source:
            down = source.agents["ck"].unavailable_reason
            assert "/copilotkit/info" in down
            assert why in down
            assert "secret" not in down
            remote.reply_override = None
            await wait_until(lambda: set(source.agents) == {"desk"})
            assert source.agents["desk"].unavailable_reason == ""


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects")
async def test_who_asks_has_it_looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MIN_RETRY_DELAY", 60)
    async with FakeRemoteEndpoint() as remote:
        remote.reply_override = reply_404
        async with host_source(copilotkit("ck", {"url": remote.url, "agents": ["desk", "other"]})) as runtime:
            assert (await Conversation(runtime).send_message("say hello")).error.code == "discovery_failed"
            remote.reply_override = None
            assert "You said say more." in (await Conversation(runtime).send_message("say more")).text
            gone = (await Conversation(runtime, "other").send_message("say hello")).error
            assert gone.code in ("agent_not_found", "not_found")
            assert "desk" in gone.message


async def test_named_agents_are_listed_before_they_are_found() -> None:
    async with FakeRemoteEndpoint() as remote:
        remote.reply_override = reply_404
        async with start_source(remote, agents=["desk", "other"]) as source:
            assert set(source.agents) == {"desk", "other"}
            assert all(agent.unavailable_reason for agent in source.agents.values())


# Its actions.


async def call_weather_action(source: CopilotKitSource, city: str) -> Result:
    (tool,) = source.tools
    assert tool.call is not None
    turn = Turn(messages=(), client=TurnClient(forwarded=ForwardedProps({"tone": "dry"})))
    async with closing(tool.call({"city": city}, ToolContext(turn))) as parts:
        (result,) = [part async for part in parts]
    assert isinstance(result, Result)
    return result


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_an_action_runs_there() -> None:
    async with FakeRemoteEndpoint() as remote, start_source(remote) as source:
        result = await call_weather_action(source, "Oslo")
        assert (result.content, result.failed) == ({"city": "Oslo", "temp": 21}, False)
        told = {"name": "get_weather", "arguments": {"city": "Oslo"}, "properties": {"tone": "dry"}}
        assert remote.upstream.requests[-1].json == told


async def test_an_action_that_fails_is_sent_once() -> None:
    async with FakeRemoteEndpoint() as remote, start_source(remote, tries=3) as source:
        result = await call_weather_action(source, "Atlantis")
        assert result.failed
        assert "secret" not in result.text
        paths = [request.target for request in remote.upstream.requests]
        assert paths.count("/copilotkit/actions/execute") == 1
        remote.reply_override = reply_404
        assert "has it no more" in (await call_weather_action(source, "Oslo")).text


def test_parameters_as_a_schema() -> None:
    made = build_parameters_schema(
        [
            {"name": "a", "type": "number", "enum": [1, 2]},
            {"name": "b", "type": "string[]", "required": False, "description": "Some"},
            {"name": "c", "type": "object", "attributes": [{"name": "d", "type": "boolean"}]},
            {"name": "e", "type": "object[]"},
            {"name": "f"},
            "nothing",
        ]
    )
    assert made["required"] == ["a", "c", "e", "f"]
    assert made["properties"]["a"] == {"type": "number", "enum": [1, 2]}
    assert made["properties"]["b"] == {"type": "array", "items": {"type": "string"}, "description": "Some"}
    assert made["properties"]["c"]["properties"] == {"d": {"type": "boolean"}}
    assert made["properties"]["e"] == {"type": "array", "items": {"type": "object"}}
    assert made["properties"]["f"] == {"type": "string"}


# Its agents.


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_what_an_agent_is_sent() -> None:
    remote = FakeRemoteEndpoint()
    async with serve_endpoint(remote) as runtime:
        talk = Conversation(
            runtime, state={"a": 1}, client=TurnClient(forwarded=ForwardedProps({"tone": "dry"}, config={"n": 1}))
        )
        await talk.send_message("add")
        await talk.send_message("paint it")
    first, second = remote.request_bodies
    assert first["state"] == {"a": 1}
    assert (first["properties"], first["config"]) == ({"tone": "dry"}, {"n": 1})
    assert (first["nodeName"], first["metaEvents"]) == (None, [])
    assert [action["name"] for action in first["actions"]] == ["paint"]
    kinds = ["TextMessage", "ActionExecutionMessage", "ResultMessage", "TextMessage", "TextMessage"]
    assert [message["type"] for message in second["messages"]] == kinds
    assert second["messages"][1]["arguments"] == {"a": 2, "b": 3}
    assert second["messages"][2]["actionName"] == "add"


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_state_and_messages_are_recalled() -> None:
    remote = FakeRemoteEndpoint()
    async with serve_endpoint(remote) as runtime:
        await Conversation(runtime).send_message("add")
        agent = runtime.responders.find_agent("desk")
        assert agent is not None
        told = await agent.get_thread_state(Owner("ada"), "t-1")
        assert told is not None
        assert "notes" in told.state
        assert [message.role for message in told.messages] == ["user", "assistant", "tool", "assistant"]
        assert [call.name for call in told.messages[1].calls] == ["add"]
        assert await agent.get_thread_state(Owner("bob"), "t-1") is None


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects")
@pytest.mark.parametrize("kind", ["langgraph", "crewai"])
async def test_an_answer_is_a_text(kind: str) -> None:
    remote = FakeRemoteEndpoint(kind)
    async with serve_endpoint(remote) as runtime:
        talk = Conversation(runtime)
        (question,) = (await talk.send_message("ask me")).questions
        assert question.value == {"question": "Approve it?", "document": "Hello"}
        await talk.answer_question(question, '{"approved": true}')
    answer = {"name": "LangGraphInterruptEvent", "response": '{"approved": true}'}
    assert remote.request_bodies[-1]["metaEvents"] == [answer]
    assert remote.request_bodies[-1]["nodeName"] is None, "it goes to where it was asked"


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects")
async def test_an_agent_that_stopped_at_a_breakpoint_goes_on_behind_it() -> None:
    remote = FakeRemoteEndpoint()

    async def stopped(connection: Connection, frames: list[bytes]) -> None:
        last = json.loads(frames[-1])
        frames[-1] = json.dumps({**last, "node_name": "draft"}).encode() + b"\n"
        for frame in frames:
            await connection.write_chunk(frame)
        await connection.write_chunk(b"")

    async with serve_endpoint(remote) as runtime:
        talk = Conversation(runtime)
        remote.fault = stopped
        await talk.send_message("say hello")
        await talk.send_message("say more")
        await talk.send_message("say again")
        await Conversation(
            runtime, thread="t-2", client=TurnClient(forwarded=ForwardedProps(node="review"))
        ).send_message("say hello")
    assert [body["nodeName"] for body in remote.request_bodies] == [None, "draft", None, "review"]


async def test_a_question_by_a_call_to_the_page() -> None:
    """CopilotKit's helper in a graph asks by a call, whose result is the answer."""
    remote = FakeRemoteEndpoint()
    made = {"id": "c9", "name": "paint", "arguments": {"colour": "red"}, "parentMessageId": "m"}
    asking = {"event": "on_copilotkit_interrupt", "data": {"value": '{"action": "paint"}', "messages": [made]}}

    async def ask(connection: Connection, frames: list[bytes]) -> None:
        await connection.write_chunk(json.dumps(asking).encode() + b"\n")
        await connection.write_chunk(b"")

    async with serve_endpoint(remote) as runtime:
        talk = Conversation(runtime)
        remote.fault = ask
        seen = await talk.send_message("say hello")
        assert (seen.finish_reason, seen.pending) == ("calls", ("c9",))
        assert "painted" in (await talk.send_results({"c9": "painted"})).text


@pytest.mark.demand("agents.faults_agent_dies_mid")
@pytest.mark.parametrize(
    ("instead", "code"),
    [
        (reply_html, "upstream_garbled"),
        (reply_redirect, "upstream_rejected"),
        (reply_404, "upstream_rejected"),
        (reply_500, "upstream_error"),
        (send_garbage(), "upstream_garbled"),
        (close_at_once(), "upstream_unreachable"),
        (send_nothing(), "upstream_timeout"),
    ],
    ids=["html", "redirect", "404", "500", "no http", "closed", "mute"],
)
async def test_an_endpoint_that_does_not_answer(instead: UpstreamReply, code: str) -> None:
    remote = FakeRemoteEndpoint()
    async with serve_endpoint(remote, timeout=get_idle_timeout(code)) as runtime:
        talk = Conversation(runtime)
        remote.reply_override = instead
        failed = (await talk.send_message("say hello")).error
        assert failed.code == code
        assert "secret" not in failed.message
        remote.reply_override = None
        assert "You said say more." in (await talk.send_message("say more")).text


@pytest.mark.demand(
    "agents.copilotkit_langgraph_crewai_dialects", "agents.faults_agent_dies_mid", "copilotkit.peer_bugs_listed_notes"
)
@pytest.mark.parametrize("kind", ["langgraph", "crewai"])
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (cut_after(3), "agent_failed"),
        (stall_after(3), "upstream_timeout"),
        (garble_after(3, b"{half\n"), "upstream_garbled"),
        (garble_after(3, b"[1]\n"), "upstream_garbled"),
        (garble_after(0, b""), "incomplete"),
        (garble_after(0, b"<html>"), "upstream_garbled"),
    ],
    ids=["cut", "silent", "no json", "no object", "nothing", "html"],
)
async def test_an_endpoint_that_breaks_off(kind: str, fault: Any, code: str) -> None:
    remote = FakeRemoteEndpoint(kind)
    async with serve_endpoint(remote, timeout=get_idle_timeout(code)) as runtime:
        talk = Conversation(runtime)
        remote.fault = fault
        assert (await talk.send_message("say hello")).error.code == code
        assert "You said say more." in (await talk.send_message("say more")).text


def make_busy_once(remote: FakeRemoteEndpoint) -> UpstreamReply:
    """Once, and not again."""

    async def reply(connection: Connection, request: ReceivedRequest) -> None:
        remote.reply_override = None
        await write_json(connection, 503, {"detail": "busy"})

    return reply


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects", "copilotkit.peer_bugs_listed_notes")
async def test_what_was_not_taken_is_sent_again() -> None:
    remote = FakeRemoteEndpoint()
    remote.reply_override = make_busy_once(remote)
    async with serve_endpoint(remote, tries=2) as runtime:
        assert runtime.responders.find_agent("desk") is not None, "found at the second try"
        remote.reply_override = make_busy_once(remote)
        assert "You said say hello." in (await Conversation(runtime).send_message("say hello")).text
        # An agent that broke off may have done half of its work.
        sent = len(remote.upstream.requests)
        remote.fault = garble_after(0, b"")
        assert (await Conversation(runtime).send_message("say hello")).error.code == "incomplete"
        assert len(remote.upstream.requests) == sent + 1


async def test_who_leaves_ends_the_run_there() -> None:
    remote = FakeRemoteEndpoint("crewai")
    async with serve_endpoint(remote) as runtime:
        remote.fault = stall_after(5)
        turn = Turn(messages=(text_message("user", "say hello"),), assistant="desk")
        async with closing(runtime.run(turn)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await remote.upstream.wait_closed(1)


def test_wrong_options() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'agents'"):
        copilotkit("ck", {"url": "http://127.0.0.1:1", "agent": []})


def make_lines_fault(*lines: Any) -> FrameFault:
    async def write_lines(connection: Connection, frames: list[bytes]) -> None:
        for line in lines:
            await connection.write_chunk(json.dumps(line).encode() + b"\n")
        await connection.write_chunk(b"")

    return write_lines


def make_sync(node: str, state: Any, *, active: bool) -> dict[str, Any]:
    about = {"event": "on_copilotkit_state_sync", "run_id": "r", "thread_id": "t", "agent_name": "desk"}
    return {**about, "node_name": node, "state": state, "active": active, "running": active, "role": "assistant"}


@pytest.mark.parametrize("has_data", [False, True])
async def test_a_page_sees_the_states_of_an_agent_that_asks(has_data: bool) -> None:
    """As CopilotKit's runtime tells it: the first state with its node, and at the end what the endpoint says."""
    remote = FakeRemoteEndpoint()
    # Some endpoints send `data` with every line: the name of the event says what it is.
    asking = {"event": "on_interrupt", "value": "Approve it?", **({"data": {"messages": []}} if has_data else {})}
    remote.fault = make_lines_fault(
        make_sync("chat", {"step": 1}, active=True), asking, make_sync("__end__", {"step": 2}, active=False)
    )
    data = make_input(agentSession={"agentName": "desk"}, runId="r1")
    async with serve_endpoint(remote) as runtime, serve_copilotkit(runtime) as url:
        answer = await post_graphql(url, make_request_body(data))
    assert [event["value"] for event in answer.response["metaEvents"]] == ["Approve it?"]
    states = [m for m in answer.messages if m["__typename"] == "AgentStateMessageOutput"]
    shown = [(m["nodeName"], m["active"], m["running"], json.loads(m["state"])) for m in states]
    assert ("chat", True, True, {"step": 1}) in shown
    assert shown[-1] == ("__end__", False, False, {"step": 2})


async def test_the_event_of_a_synced_node_starts_it_once() -> None:
    remote = FakeRemoteEndpoint()
    started = {"event": "on_chain_start", "name": "chat", "run_id": "n1", "parent_ids": ["0"], "tags": ["graph:step:1"]}
    node = {"metadata": {"langgraph_node": "chat", "langgraph_checkpoint_ns": "chat:1"}, "data": {}}
    ended = {**started, **node, "event": "on_chain_end"}
    remote.fault = make_lines_fault(
        make_sync("chat", {"step": 1}, active=True), {**started, **node}, ended, make_sync("__end__", {}, active=False)
    )
    async with serve_endpoint(remote) as runtime:
        turn = Turn(messages=(text_message("user", "go", id="u"),), assistant="desk")
        events = [event async for event in runtime.run(turn)]
    assert [event.name for event in events if isinstance(event, StepStart)] == ["chat"]
    assert [event.name for event in events if isinstance(event, StepEnd)] == ["chat"]

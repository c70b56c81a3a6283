"""A remote endpoint over sockets: what it has, what it is sent, and everything that can go wrong."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Result, Runtime, ToolContext
from rightseat.agents._peer import health
from rightseat.agents.copilotkit import copilotkit
from rightseat.agents.copilotkit.endpoint import CopilotKitEndpoint, build_parameters_schema
from rightseat.errors import ConfigError
from rightseat.types.events import TextDelta
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import ForwardedProps, Owner, Turn
from tests.contract.agents.members import hosted
from tests.contract.agents.talk import Talk
from tests.kit.answers import Reply, write_json
from tests.kit.breaks import close_at_once, garbage, mute
from tests.kit.connection import Connection, Received
from tests.kit.patience import STUCK
from tests.kit.waiting import until
from tests.unit.agents.agui.desk import cut, garbled, stall
from tests.unit.agents.agui.test_agent import broken, elsewhere, page, patience
from tests.unit.agents.copilotkit.endpoint import RemoteEndpoint

pytestmark = pytest.mark.io


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MIN_RETRY_DELAY", 0.05)


@asynccontextmanager
async def asked(remote: RemoteEndpoint, **options: Any) -> AsyncIterator[Runtime]:
    async with remote, hosted(copilotkit("ck", {"url": remote.url, "tries": 1, **options})) as runtime:
        yield runtime


@asynccontextmanager
async def looked(remote: RemoteEndpoint, **options: Any) -> AsyncIterator[CopilotKitEndpoint]:
    source = copilotkit("ck", {"url": remote.url, "tries": 1, **options})
    await source.start()
    try:
        yield source
    finally:
        await source.close()


# What it has.


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_what_it_has() -> None:
    async with RemoteEndpoint() as remote, looked(remote) as source:
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
    async with RemoteEndpoint() as remote:
        remote.agents += [{"name": "other", "type": "langgraph"}, {"no": "name"}]
        async with looked(remote) as source:
            assert set(source.agents) == {"desk", "other"}
        async with looked(remote, agents=["other"]) as source:
            assert set(source.agents) == {"other"}


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_it_is_asked_again_what_it_has() -> None:
    async with RemoteEndpoint() as remote, looked(remote, refresh=0.05) as source:
        kept = source.agents["desk"]
        remote.agents = [*remote.agents, {"name": "new", "type": "crewai"}]
        remote.actions = []
        await until(lambda: "new" in source.agents)
        assert source.agents["desk"] is kept
        assert source.tools == ()


async def words(connection: Connection, request: Received) -> None:
    await write_json(connection, 200, {"message": "secret words"})


async def missing(connection: Connection, request: Received) -> None:
    await write_json(connection, 404, {"detail": "secret words"})


async def denied(connection: Connection, request: Received) -> None:
    await write_json(connection, 401, {"detail": "secret words"})


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects")
@pytest.mark.parametrize(
    ("instead", "why"),
    [
        (missing, "there is no such path"),
        (page, "another server may be there"),
        (words, "not a list of agents"),
        (elsewhere, "there is no such path"),
        (denied, "check headers"),
        (broken, "HTTP 500"),
        (garbage(), "another server may be there"),
        (close_at_once(), "nobody answers there"),
        (mute(), "said nothing"),
    ],
    ids=["404", "html", "no agents", "redirect", "401", "500", "no http", "closed", "mute"],
)
async def test_an_endpoint_that_is_none_is_listed_as_down_and_found_later(instead: Reply, why: str) -> None:
    async with RemoteEndpoint() as remote:
        remote.instead = instead
        async with looked(remote, timeout=1 if why == "said nothing" else STUCK) as source:
            down = source.agents["ck"].unavailable_reason
            assert "/copilotkit/info" in down
            assert why in down
            assert "secret" not in down
            remote.instead = None
            await until(lambda: set(source.agents) == {"desk"})
            assert source.agents["desk"].unavailable_reason == ""


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects")
async def test_who_asks_has_it_looked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "MIN_RETRY_DELAY", 60)
    async with RemoteEndpoint() as remote:
        remote.instead = missing
        async with hosted(copilotkit("ck", {"url": remote.url, "agents": ["desk", "other"]})) as runtime:
            assert (await Talk(runtime).say("say hello")).error.code == "discovery_failed"
            remote.instead = None
            assert "You said say more." in (await Talk(runtime).say("say more")).text
            gone = (await Talk(runtime, "other").say("say hello")).error
            assert gone.code in ("agent_not_found", "not_found")
            assert "desk" in gone.message


async def test_named_agents_are_listed_before_they_are_found() -> None:
    async with RemoteEndpoint() as remote:
        remote.instead = missing
        async with looked(remote, agents=["desk", "other"]) as source:
            assert set(source.agents) == {"desk", "other"}
            assert all(agent.unavailable_reason for agent in source.agents.values())


# Its actions.


async def acted(source: CopilotKitEndpoint, city: str) -> Result:
    (tool,) = source.tools
    assert tool.call is not None
    turn = Turn(messages=(), forwarded=ForwardedProps({"tone": "dry"}))
    async with closing(tool.call({"city": city}, ToolContext(turn))) as parts:
        (result,) = [part async for part in parts]
    assert isinstance(result, Result)
    return result


@pytest.mark.demand("agents.copilotkit_remote_endpoints_info")
async def test_an_action_runs_there() -> None:
    async with RemoteEndpoint() as remote, looked(remote) as source:
        result = await acted(source, "Oslo")
        assert (result.content, result.failed) == ({"city": "Oslo", "temp": 21}, False)
        told = {"name": "get_weather", "arguments": {"city": "Oslo"}, "properties": {"tone": "dry"}}
        assert remote.upstream.requests[-1].json == told


async def test_an_action_that_fails_is_sent_once() -> None:
    async with RemoteEndpoint() as remote, looked(remote, tries=3) as source:
        result = await acted(source, "Atlantis")
        assert result.failed
        assert "secret" not in result.text
        paths = [request.target for request in remote.upstream.requests]
        assert paths.count("/copilotkit/actions/execute") == 1
        remote.instead = missing
        assert "has it no more" in (await acted(source, "Oslo")).text


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
    remote = RemoteEndpoint()
    async with asked(remote) as runtime:
        talk = Talk(runtime, state={"a": 1}, forwarded=ForwardedProps({"tone": "dry"}, config={"n": 1}))
        await talk.say("add")
        await talk.say("paint it")
    first, second = remote.bodies
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
    remote = RemoteEndpoint()
    async with asked(remote) as runtime:
        await Talk(runtime).say("add")
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
    remote = RemoteEndpoint(kind)
    async with asked(remote) as runtime:
        talk = Talk(runtime)
        (question,) = (await talk.say("ask me")).questions
        assert question.value == {"question": "Approve it?", "document": "Hello"}
        await talk.answer(question, '{"approved": true}')
    answer = {"name": "LangGraphInterruptEvent", "response": '{"approved": true}'}
    assert remote.bodies[-1]["metaEvents"] == [answer]
    assert remote.bodies[-1]["nodeName"] is None, "it goes to where it was asked"


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects")
async def test_an_agent_that_stopped_at_a_breakpoint_goes_on_behind_it() -> None:
    remote = RemoteEndpoint()

    async def stopped(connection: Connection, frames: list[bytes]) -> None:
        last = json.loads(frames[-1])
        frames[-1] = json.dumps({**last, "node_name": "draft"}).encode() + b"\n"
        for frame in frames:
            await connection.chunk(frame)
        await connection.chunk(b"")

    async with asked(remote) as runtime:
        talk = Talk(runtime)
        remote.fault = stopped
        await talk.say("say hello")
        await talk.say("say more")
        await talk.say("say again")
        await Talk(runtime, thread="t-2", forwarded=ForwardedProps(node="review")).say("say hello")
    assert [body["nodeName"] for body in remote.bodies] == [None, "draft", None, "review"]


async def test_a_question_by_a_call_to_the_page() -> None:
    """CopilotKit's helper in a graph asks by a call, whose result is the answer."""
    remote = RemoteEndpoint()
    made = {"id": "c9", "name": "paint", "arguments": {"colour": "red"}, "parentMessageId": "m"}
    asking = {"event": "on_copilotkit_interrupt", "data": {"value": '{"action": "paint"}', "messages": [made]}}

    async def ask(connection: Connection, frames: list[bytes]) -> None:
        await connection.chunk(json.dumps(asking).encode() + b"\n")
        await connection.chunk(b"")

    async with asked(remote) as runtime:
        talk = Talk(runtime)
        remote.fault = ask
        seen = await talk.say("say hello")
        assert (seen.reason, seen.pending) == ("calls", ("c9",))
        assert "painted" in (await talk.give({"c9": "painted"})).text


@pytest.mark.demand("agents.faults_agent_dies_mid")
@pytest.mark.parametrize(
    ("instead", "code"),
    [
        (page, "upstream_garbled"),
        (elsewhere, "upstream_rejected"),
        (missing, "upstream_rejected"),
        (broken, "upstream_error"),
        (garbage(), "upstream_garbled"),
        (close_at_once(), "upstream_unreachable"),
        (mute(), "upstream_timeout"),
    ],
    ids=["html", "redirect", "404", "500", "no http", "closed", "mute"],
)
async def test_an_endpoint_that_does_not_answer(instead: Reply, code: str) -> None:
    remote = RemoteEndpoint()
    async with asked(remote, timeout=patience(code)) as runtime:
        talk = Talk(runtime)
        remote.instead = instead
        failed = (await talk.say("say hello")).error
        assert failed.code == code
        assert "secret" not in failed.message
        remote.instead = None
        assert "You said say more." in (await talk.say("say more")).text


@pytest.mark.demand(
    "agents.copilotkit_langgraph_crewai_dialects", "agents.faults_agent_dies_mid", "copilotkit.peer_bugs_listed_notes"
)
@pytest.mark.parametrize("kind", ["langgraph", "crewai"])
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (cut(3), "agent_failed"),
        (stall(3), "upstream_timeout"),
        (garbled(3, b"{half\n"), "upstream_garbled"),
        (garbled(3, b"[1]\n"), "upstream_garbled"),
        (garbled(0, b""), "incomplete"),
        (garbled(0, b"<html>"), "upstream_garbled"),
    ],
    ids=["cut", "silent", "no json", "no object", "nothing", "html"],
)
async def test_an_endpoint_that_breaks_off(kind: str, fault: Any, code: str) -> None:
    remote = RemoteEndpoint(kind)
    async with asked(remote, timeout=patience(code)) as runtime:
        talk = Talk(runtime)
        remote.fault = fault
        assert (await talk.say("say hello")).error.code == code
        assert "You said say more." in (await talk.say("say more")).text


def busy(remote: RemoteEndpoint) -> Reply:
    """Once, and not again."""

    async def reply(connection: Connection, request: Received) -> None:
        remote.instead = None
        await write_json(connection, 503, {"detail": "busy"})

    return reply


@pytest.mark.demand("agents.copilotkit_langgraph_crewai_dialects", "copilotkit.peer_bugs_listed_notes")
async def test_what_was_not_taken_is_sent_again() -> None:
    remote = RemoteEndpoint()
    remote.instead = busy(remote)
    async with asked(remote, tries=2) as runtime:
        assert runtime.responders.find_agent("desk") is not None, "found at the second try"
        remote.instead = busy(remote)
        assert "You said say hello." in (await Talk(runtime).say("say hello")).text
        # An agent that broke off may have done half of its work.
        sent = len(remote.upstream.requests)
        remote.fault = garbled(0, b"")
        assert (await Talk(runtime).say("say hello")).error.code == "incomplete"
        assert len(remote.upstream.requests) == sent + 1


async def test_who_leaves_ends_the_run_there() -> None:
    remote = RemoteEndpoint("crewai")
    async with asked(remote) as runtime:
        remote.fault = stall(5)
        turn = Turn(messages=(text_message("user", "say hello"),), assistant="desk")
        async with closing(runtime.run(turn)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await remote.upstream.all_closed(1)


def test_wrong_options() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'agents'"):
        copilotkit("ck", {"url": "http://127.0.0.1:1", "agent": []})

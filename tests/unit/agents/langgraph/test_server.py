"""An agent on a server: found, lost and found again; cut and joined; left and cancelled; each owner's own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.agents._peer import source
from rightseat.agents.langgraph import langgraph, server
from rightseat.engine.loop import Assistant
from rightseat.errors import ConfigError
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import TextDelta
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import ForwardedProps, InterruptAnswer, Owner, Turn, TurnClient
from tests.contract.agents.conversation import Conversation
from tests.kit.answers import UpstreamReply, write_json
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.connection_faults import close_at_once, send_garbage, send_nothing
from tests.kit.waiting import wait_until
from tests.unit.agents.agui.test_agent import get_idle_timeout
from tests.unit.agents.langgraph.fake_server import (
    ASSISTANT_ID,
    FakeLangGraphServer,
    FrameFault,
    cut_after,
    garble_after,
    stall_after,
)
from tests.unit.agents.langgraph.scripted_graph import ROOT_RUN_ID

pytestmark = pytest.mark.io


@asynccontextmanager
async def serve_graph(platform: FakeLangGraphServer, name: str = "desk", **options: Any) -> AsyncIterator[Runtime]:
    made = langgraph(name, {"url": platform.url, "tries": 1, **options})
    runtime = Runtime(agent_sources=[made], store=MemoryStore())
    await runtime.start()
    try:
        yield runtime
    finally:
        await runtime.close()


@pytest.mark.demand(
    "agents.langgraph_langgraph_platform_langgraph",
    "agents.agent_takes_headers_env",
    "copilotkit.peer_bugs_listed_notes",
)
async def test_what_a_run_is_asked_for() -> None:
    options: dict[str, Any] = {"api_key": "key-1", "headers": {"X-Team": "blue"}, "config": {"recursion_limit": 7}}
    async with FakeLangGraphServer() as platform, serve_graph(platform, **options) as runtime:
        await Conversation(
            runtime, client=TurnClient(headers={"authorization": "Bearer ada", "x-api-key": "theirs"})
        ).send_message("say hi")
    body = platform.request_bodies[0]
    assert body["assistant_id"] == ASSISTANT_ID
    assert body["stream_mode"] == ["events", "values", "updates"]
    assert body["stream_resumable"] is True
    assert body["config"] == {"recursion_limit": 7}
    run = next(request for request in platform.requests if request.target.endswith("/runs/stream"))
    assert run.headers["x-api-key"] == "key-1"
    assert run.headers["x-team"] == "blue"
    assert run.headers["authorization"] == "Bearer ada"


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph", "agents.ids_never_reach_another")
async def test_threads_are_their_owners() -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        await Conversation(runtime, thread="../../assistants").send_message("say hi")
        await Conversation(runtime, thread="../../assistants", owner=Owner("bob")).send_message("say hi")
        assert len(platform.threads) == 2
        mine = await runtime.recall("desk", Owner("ada"), "../../assistants")
        assert mine is not None
        assert [message.text for message in mine.messages] == ["say hi", "You said say hi."]
        assert mine.state == {"notes": ["2 messages"]}
        assert await runtime.recall("desk", Owner("ada"), "other") is None
    assert not any(".." in request.target for request in platform.requests)


async def test_an_answer_finds_its_thread() -> None:
    """Some clients do not bring their thread along with the answer to a question."""
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        (question,) = (await Conversation(runtime).send_message("ask me")).questions
        assert question.value == {"question": "Approve it?", "document": "Hello"}
        other = await Conversation(runtime, thread="t-2").answer_question(question, "yes")
        assert "You answered yes." in other.text


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph", "agents.agent_takes_headers_env")
@pytest.mark.parametrize(
    ("names", "wanted", "found"),
    [
        (("desk", "other"), (), ["desk"]),
        (("one", "two"), (), ["one", "two"]),
        (("one", "two"), ("two",), ["two"]),
        (("one",), (ASSISTANT_ID,), [ASSISTANT_ID]),
    ],
)
async def test_which_assistants_are_offered(names: tuple[str, ...], wanted: tuple[str, ...], found: list[str]) -> None:
    async with FakeLangGraphServer(names) as platform, serve_graph(platform, agents=wanted) as runtime:
        assert list(runtime.responders) == found
        assert "You said say hi." in (await Conversation(runtime, name=found[0]).send_message("say hi")).text


@pytest.mark.demand("agents.availableagents_lists_agent_down")
async def test_an_assistant_that_is_not_there() -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform, agents=["desk", "gone"]) as runtime:
        described = runtime.describe("gone")
        assert described is not None
        assert "has no assistant called 'gone'" in described.description
        seen = await Conversation(runtime, name="gone").send_message("say hi")
        assert seen.error.code == "discovery_failed"
        platform.graph_names = ("desk", "gone")
        assert "You said say hi." in (await Conversation(runtime, name="gone").send_message("say hi")).text


@pytest.mark.demand("agents.availableagents_lists_agent_down")
async def test_a_server_that_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MIN_RETRY_DELAY", 0.001)
    async with FakeLangGraphServer() as platform:
        platform.reply_override = close_at_once()
        async with serve_graph(platform) as runtime:
            assert list(runtime.responders) == ["desk"], "it is listed"
            agent = runtime.responders.find_agent("desk")
            assert agent is not None
            assert "cannot be reached" in agent.unavailable_reason
            seen = await Conversation(runtime).send_message("say hi")
            assert seen.error.code == "discovery_failed"
            platform.reply_override = None
            await wait_until(lambda: not agent.unavailable_reason)
            assert "You said say hi." in (await Conversation(runtime).send_message("say hi")).text


@pytest.mark.demand("agents.availableagents_lists_agent_down")
async def test_a_server_that_goes_is_listed_as_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MIN_RETRY_DELAY", 0.001)
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        agent = runtime.responders.find_agent("desk")
        assert agent is not None
        assert not agent.unavailable_reason
        platform.reply_override = close_at_once()
        assert (await Conversation(runtime).send_message("say hi")).error.code == "upstream_unreachable"
        assert "cannot be reached" in agent.unavailable_reason
        platform.reply_override = None
        await wait_until(lambda: not agent.unavailable_reason)


@pytest.mark.demand("agents.availableagents_lists_agent_down")
async def test_another_assistant_is_found_in_time() -> None:
    async with FakeLangGraphServer(("one",)) as platform, serve_graph(platform, refresh=0.01) as runtime:
        assert list(runtime.responders) == ["one"]
        platform.graph_names = ("one", "two")
        await wait_until(lambda: list(runtime.responders) == ["one", "two"])


@pytest.mark.demand("agents.langgraph_parallel_tool_calls")
@pytest.mark.parametrize("after", [1, 3, 5, 12])
async def test_a_cut_stream_is_joined_again(after: int) -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        platform.fault = cut_after(after)
        seen = await Conversation(runtime).send_message("say one two three")
        assert seen.text == "You said say one two three."
        assert seen.steps == ["desk", "note"]
        assert platform.last_event_ids == [f"17-{after}"]
        assert len(platform.request_bodies) == 1, "it is not run twice"


@pytest.mark.demand("agents.faults_agent_dies_mid")
async def test_a_stream_that_is_cut_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        platform.fault = cut_after(3)

        async def rejoin(connection: Connection, request: ReceivedRequest) -> None:
            platform.last_event_ids.append("")
            await connection.write_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"})
            await connection.fin()

        monkeypatch.setattr(platform, "rejoin_stream", rejoin)
        talk = Conversation(runtime)
        assert (await talk.send_message("say one")).error.code == "incomplete"
        assert len(platform.last_event_ids) == server.MAX_REJOINS
        await wait_until(lambda: platform.cancelled_runs == [ROOT_RUN_ID])
        assert "You said say two." in (await talk.send_message("say two")).text


async def test_whoever_leaves_cancels_the_run() -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        platform.fault = stall_after(6)
        turn = Turn(messages=(text_message("user", "say hi"),), assistant="desk", thread="t")
        async with closing(runtime.run(turn)) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
        await wait_until(lambda: platform.cancelled_runs == [ROOT_RUN_ID])


HTML = "<html><body>Log in</body></html>"


async def reply_html(connection: Connection, _request: ReceivedRequest) -> None:
    await connection.write_head(200, {"Content-Type": "text/html", "Content-Length": str(len(HTML))})
    await connection.write(HTML.encode())


async def reply_redirect(connection: Connection, _request: ReceivedRequest) -> None:
    await write_json(connection, 307, {}, Location="http://127.0.0.1:1/")


@pytest.mark.demand("agents.faults_agent_dies_mid")
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (reply_html, "upstream_garbled"),
        (reply_redirect, "upstream_rejected"),
        (send_garbage(), "upstream_garbled"),
        (close_at_once(), "upstream_unreachable"),
        (send_nothing(), "upstream_timeout"),
    ],
)
async def test_a_server_that_answers_something_else(reply: UpstreamReply, code: str) -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform, timeout=get_idle_timeout(code)) as runtime:
        talk = Conversation(runtime)
        platform.reply_override = reply
        seen = await talk.send_message("say hi")
        assert seen.error.code == code
        assert "Log in" not in seen.error.message
        platform.reply_override = None
        assert "You said say again." in (await talk.send_message("say again")).text


@pytest.mark.demand("agents.faults_agent_dies_mid")
@pytest.mark.parametrize(
    ("fault", "code"), [(garble_after(4), "upstream_garbled"), (stall_after(4), "upstream_timeout")]
)
async def test_a_run_that_goes_wrong(fault: FrameFault, code: str) -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform, timeout=get_idle_timeout(code)) as runtime:
        talk = Conversation(runtime)
        platform.fault = fault
        assert (await talk.send_message("say hi")).error.code == code
        await wait_until(lambda: platform.cancelled_runs == [ROOT_RUN_ID])
        assert "You said say again." in (await talk.send_message("say again")).text


async def test_many_at_once() -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        talks = [Conversation(runtime, thread=f"t-{number}") for number in range(20)]
        seen = await asyncio.gather(*(talk.send_message(f"say {number}") for number, talk in enumerate(talks)))
        assert [one.text for one in seen] == [f"You said say {number}." for number in range(20)]


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
async def test_going_on_from_a_node() -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        talk = Conversation(runtime)
        await talk.send_message("say hi")
        (thread,) = platform.threads.values()
        thread.next = ["note"]
        await talk.run_turn(client=TurnClient(forwarded=ForwardedProps(node="desk")), state={"document": "new"})
        assert thread.values["document"] == "new"
        assert platform.request_bodies[-1]["input"] is None


async def test_an_answer_for_another_agent_is_none() -> None:
    async with FakeLangGraphServer() as platform, serve_graph(platform) as runtime:
        seen = await Conversation(runtime).run_turn(answers=(InterruptAnswer("ask_1", text="x"),))
        assert seen.error.code == "already_answered"


@pytest.mark.demand("agents.hand_off_agent_flow")
async def test_an_assistant_hands_over_and_its_person_is_asked() -> None:
    async with FakeLangGraphServer() as platform:
        model = FakeModel(reply_calls(("ask_desk", '{"request": "ask for me"}')), reply_text("It was approved."))
        desk = Assistant("default", model, agents=("desk",))
        source = langgraph("desk", {"url": platform.url})
        runtime = Runtime(assistants=[desk], agent_sources=[source], store=MemoryStore())
        await runtime.start()
        talk = Conversation(runtime, name="default")
        first = await talk.send_message("please")
        (question,) = first.questions
        assert question.message == "Approve it?"
        assert first.steps == ["desk", "review"], "its steps are seen while it works"
        second = await talk.answer_question(question, "yes")
        assert second.text == "It was approved."
        (result,) = second.results.values()
        assert "You answered yes." in result
        await runtime.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs `url`"),
        ({"url": "http://x", "graph": "a:b"}, "needs `url`"),
        ({"url": "http://x", "agent": ["a"]}, "Did you mean 'agents'"),
        ({"url": "http://x", "timeout": 0}, "timeout above 0"),
        ({"url": "http://x", "agents": "desk"}, "wrong option"),
        ({"url": "http://x", "config": {"recursion": 5}}, "wrong option"),
        ({"graph": "json:dumps"}, "not a LangGraph graph"),
        ({"graph": "json"}, "module:attribute"),
        ({"graph": object(), "api_key": "x"}, "api_key is only for a `url`"),
        ({"url": "desk"}, "must begin with http"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        langgraph("desk", options)

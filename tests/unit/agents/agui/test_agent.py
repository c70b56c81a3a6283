"""An AG-UI agent over sockets: what it is sent, whose threads are whose, and everything that can go wrong."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.agents._peer import source
from rightseat.agents.agui import agui
from rightseat.errors import ConfigError
from rightseat.types.events import Event, RunFinished, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import AppContext, ForwardedProps, InterruptAnswer, Owner, Turn, TurnClient
from tests.contract.agents.conversation import Conversation
from tests.contract.agents.members import host_source
from tests.kit.answers import UpstreamReply, write_json
from tests.kit.connection import Connection, ReceivedRequest
from tests.kit.connection_faults import close_at_once, send_garbage, send_nothing
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.unit.agents.agui.fake_agent import FakeAguiAgent, cut_after, end_after, garble_after, stall_after

pytestmark = pytest.mark.io


@pytest.fixture(autouse=True)
def fast_health_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MIN_RETRY_DELAY", 0.05)


@asynccontextmanager
async def serve_agent(agent: FakeAguiAgent, **options: Any) -> AsyncIterator[Runtime]:
    async with agent, host_source(agui("desk", {"url": agent.url, "tries": 1, **options})) as runtime:
        yield runtime


@pytest.mark.demand("agents.agui_ag_ui_http")
async def test_what_it_is_sent() -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk) as runtime:
        talk = Conversation(
            runtime,
            context=(AppContext("page", "home"),),
            state={"a": 1},
            client=TurnClient(forwarded=ForwardedProps({"tone": "dry", "command": {"resume": "x"}}, config={"n": 1})),
        )
        await talk.send_message("say hello")
        await talk.send_message("say more")
    first, second = desk.request_bodies
    assert first["protocolVersion"] == "1.0"
    assert first["state"] == {"a": 1}
    assert first["context"] == [{"description": "page", "value": "home"}]
    assert first["forwardedProps"] == {"tone": "dry", "command": {"resume": "x"}, "config": {"n": 1}}
    assert [tool["name"] for tool in first["tools"]] == ["paint"]
    assert [(m["role"], m["content"]) for m in second["messages"]] == [
        ("user", "say hello"),
        ("assistant", "You said say hello."),
        ("user", "say more"),
    ]
    assert first["threadId"] == second["threadId"]
    assert first["runId"] != second["runId"]


async def test_messages_without_ids_keep_theirs_from_turn_to_turn() -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk) as runtime:
        for history in (("say a",), ("say a", "say b")):
            turn = Turn(messages=tuple(text_message("user", text) for text in history), assistant="desk", thread="t")
            await run_to_finish(runtime, turn)
    (one,), (again, other) = (body["messages"] for body in desk.request_bodies)
    assert one["id"] == again["id"] != other["id"]


async def test_results_go_back_under_the_peers_own_names() -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk) as runtime:
        talk = Conversation(runtime)
        await talk.send_message("add")
        await talk.send_message("say more")
    run = desk.request_bodies[0]["runId"]
    (result,) = [message for message in desk.request_bodies[1]["messages"] if message["role"] == "tool"]
    assert result["id"] == f"r-{run}"


@pytest.mark.demand("agents.ids_never_reach_another")
async def test_owners_never_meet() -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk) as runtime:
        for name in ("ada", "bob"):
            await Conversation(runtime, owner=Owner(name)).send_message("say hello")
        await Conversation(runtime, thread="../../other").send_message("say hello")
    threads = {body["threadId"] for body in desk.request_bodies}
    assert len(threads) == 3
    assert {request.target for request in desk.upstream.requests} == {"/agent"}


async def test_an_answer_through_a_client_that_has_only_text() -> None:
    """Such a client names no thread, and posts neither ids nor calls."""
    desk = FakeAguiAgent()
    async with serve_agent(desk) as runtime:
        (question,) = (await Conversation(runtime).send_message("ask me")).questions
        late = Conversation(runtime, thread="another")
        seen = await late.answer_question(question, "yes")
        assert "You answered yes." in seen.text
    first, second = desk.request_bodies
    assert first["threadId"] == second["threadId"]
    assert second["resume"] == [{"interruptId": f"q-{first['runId']}", "status": "resolved", "payload": "yes"}]


@pytest.mark.parametrize("older", [True, False])
async def test_an_answer_without_a_name_is_for_the_question_that_waits(older: bool) -> None:
    desk = FakeAguiAgent(legacy=older)
    async with serve_agent(desk) as runtime:
        talk = Conversation(runtime)
        await talk.send_message("ask me")
        nameless = InterruptAnswer("", text="yes")
        assert "You answered yes." in (await talk.run_turn(answers=(nameless,))).text
        assert (await talk.run_turn(answers=(nameless,))).error.code == "already_answered"
    async with serve_agent(FakeAguiAgent(legacy=True)) as runtime:
        # After a restart the peer knows: this one has asked nothing.
        assert (await Conversation(runtime).run_turn(answers=(nameless,))).error.code == "agent_failed"


async def test_an_answer_that_failed_can_be_given_again() -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk) as runtime:
        talk = Conversation(runtime)
        (question,) = (await talk.send_message("ask me")).questions
        desk.fault = cut_after(1)
        assert (await talk.answer_question(question, "yes")).error.code == "incomplete"
        # The fake peer took the answer before it broke: it opens its question again.
        desk.open_questions[desk.request_bodies[0]["threadId"]] = "r"
        assert "yes" in (await talk.answer_question(question, "yes")).text


@pytest.mark.demand("agents.agent_takes_headers_env")
async def test_headers_of_the_configuration_win() -> None:
    desk = FakeAguiAgent()
    hook = "tests.unit.agents.agui.test_agent:make_owner_header"
    async with serve_agent(desk, headers={"Authorization": "Bearer ours"}, on_before_request=hook) as runtime:
        await Conversation(
            runtime, client=TurnClient(headers={"authorization": "Bearer theirs", "x-tenant": "t"})
        ).send_message("say hello")
    headers = desk.upstream.requests[-1].headers
    assert (headers["authorization"], headers["x-tenant"]) == ("Bearer ours", "t")
    assert headers["x-owner"] == "ada"


def make_owner_header(request: Any) -> dict[str, str]:
    return {"X-Owner": request.owner.name if request.owner else "nobody"}


@pytest.mark.demand("agents.agui_ag_ui_http")
async def test_a_peer_before_1_0_that_refuses_what_it_does_not_know() -> None:
    desk = FakeAguiAgent(legacy=True, strict=True)
    async with serve_agent(desk) as runtime:
        talk = Conversation(runtime)
        await talk.send_message("say hello")
        await talk.send_message("say more")
    assert [request.method for request in desk.upstream.requests] == ["GET", "POST", "POST", "POST"]
    assert all("protocolVersion" not in body for body in desk.request_bodies)


def get_idle_timeout(code: str) -> float:
    """How long a peer may be silent where it fails with this code."""
    return 1 if code == "upstream_timeout" else HANG_TIMEOUT


async def reply_html(connection: Connection, request: ReceivedRequest) -> None:
    body = b"<html>secret words</html>"
    await connection.write_head(200, {"Content-Type": "text/html", "Content-Length": str(len(body))})
    await connection.write(body)


async def reply_redirect(connection: Connection, request: ReceivedRequest) -> None:
    await connection.write_head(307, {"Location": "http://127.0.0.1:1/secret", "Content-Length": "0"})


async def reply_500(connection: Connection, request: ReceivedRequest) -> None:
    await write_json(connection, 500, {"error": "secret words"})


@pytest.mark.demand("agents.faults_agent_dies_mid")
@pytest.mark.parametrize(
    ("instead", "code"),
    [
        (reply_html, "upstream_garbled"),
        (reply_redirect, "upstream_rejected"),
        (reply_500, "upstream_error"),
        (send_garbage(), "upstream_garbled"),
        (close_at_once(), "upstream_unreachable"),
        (send_nothing(), "upstream_timeout"),
    ],
    ids=["html", "redirect", "500", "no http", "closed", "mute"],
)
async def test_a_peer_that_does_not_answer(instead: UpstreamReply, code: str) -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk, timeout=get_idle_timeout(code)) as runtime:
        talk = Conversation(runtime)
        desk.reply_override = instead
        failed = (await talk.send_message("say hello")).error
        assert failed.code == code
        assert "secret" not in failed.message
        desk.reply_override = None
        assert "You said say more." in (await talk.send_message("say more")).text


@pytest.mark.demand("agents.faults_agent_dies_mid")
@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (cut_after(5), "incomplete"),
        (end_after(5), "incomplete"),
        (stall_after(5), "upstream_timeout"),
        (garble_after(5, b"data: {half\n\n"), "upstream_garbled"),
        (garble_after(5, b"data: [1]\n\n"), "upstream_garbled"),
        (garble_after(5, b"data: \xff\xfe\n\n"), "upstream_garbled"),
    ],
    ids=["cut", "no end", "silent", "no json", "no object", "no text"],
)
async def test_a_peer_that_breaks_off(fault: Any, code: str) -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk, timeout=get_idle_timeout(code)) as runtime:
        talk = Conversation(runtime)
        desk.fault = fault
        failed = await talk.send_message("say hello")
        assert failed.error.code == code
        assert failed.text.startswith("You"), "what came before is told"
        assert "You said say more." in (await talk.send_message("say more")).text


async def test_who_leaves_ends_the_run_there() -> None:
    desk = FakeAguiAgent()
    async with serve_agent(desk) as runtime:
        desk.fault = stall_after(5)
        turn = Turn(messages=(text_message("user", "say hello"),), assistant="desk")
        async with closing(runtime.run(turn)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        await desk.upstream.wait_closed(1)


async def test_a_peer_that_is_down_is_found_again() -> None:
    async with FakeAguiAgent() as gone:
        url = gone.url
    source = agui("desk", {"url": url, "tries": 1})
    await source.start()
    try:
        agent = source.agents["desk"]
        assert "cannot be reached" in agent.unavailable_reason
        port = int(url.split(":")[2].split("/")[0])
        server = await asyncio.start_server(reply_405, "127.0.0.1", port)
        async with server:
            await wait_until(lambda: not agent.unavailable_reason)
    finally:
        await source.close()


async def reply_405(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
    writer.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "url"),
        ({"url": "nowhere"}, "http://"),
        ({"url": "http://127.0.0.1:1", "timout": 3}, "Did you mean 'timeout'?"),
        ({"url": "http://127.0.0.1:1", "timeout": 0}, "above 0"),
        ({"url": "http://127.0.0.1:1", "headers": {"X": "a\nb"}}, "header"),
        ({"url": "http://127.0.0.1:1", "on_before_request": "nothing:here"}, "on_before_request"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        agui("desk", options)


async def run_to_finish(runtime: Runtime, turn: Turn) -> list[Event]:
    found: list[Event] = []
    async with closing(runtime.run(turn)) as events:
        async for event in events:
            found += [event]
    assert isinstance(found[-1], RunFinished), json.dumps(str(found[-1]))
    return found

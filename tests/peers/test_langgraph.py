"""A real LangGraph server (langgraph-cli[inmem]) with a graph of ours, and the same graph in one process.

One server, and all conversations at the same time: what costs is its start, and its queue, which is looked at
once a second. The tests then look at what was seen.
"""

import asyncio
import contextlib
import os
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from rightseat import Runtime
from rightseat.agents.langgraph import langgraph
from rightseat.config.settings import ServerSettings
from rightseat.server.app import App
from rightseat.stores.memory import MemoryStore
from rightseat.types.events import Event, Interrupt, ReasoningDelta, RunStarted, StateDelta, TextDelta
from rightseat.types.messages import text_message
from rightseat.types.streams import closing
from rightseat.types.turn import AppContext, InterruptAnswer, Owner, Turn
from rightseat.wiring.lookup import load_all
from tests.contract.agents.conversation import Conversation, RunResult
from tests.contract.agents.verifier import verify_events
from tests.kit.app_server import serve_app
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.kit.waiting import wait_until
from tests.peers.install import PEERS_FOLDER
from tests.peers.langgraph_server import HERE, PEER_HOME, CuttingProxy, run_langgraph_server
from tests.peers.prerequisites import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
SOURCE = Path(__file__).parents[2] / "src"
Results = dict[str, Any]


@contextlib.asynccontextmanager
async def host_agents(url: str) -> AsyncIterator[Runtime]:
    runtime = Runtime(agent_sources=[langgraph("lg", {"url": url, "agents": ["desk", "stops"]})], store=MemoryStore())
    await runtime.start()
    try:
        yield runtime
    finally:
        await runtime.close()


async def send_one_message(runtime: Runtime, word: str, **more: Any) -> RunResult:
    return await Conversation(runtime, thread=f"t-{word}", **more).send_message(word)


async def run_paint_case(runtime: Runtime) -> tuple[RunResult, RunResult, RunResult]:
    talk = Conversation(runtime, thread="t-paint")
    first = await talk.send_message("paint it")
    second = await talk.send_results({first.find_call_id("paint"): "painted"})
    return first, second, await talk.send_message("more")


async def run_question_case(runtime: Runtime) -> tuple[RunResult, RunResult, RunResult, RunResult]:
    talk = Conversation(runtime, thread="t-ask")
    first = await talk.send_message("ask me")
    (question,) = first.questions
    stolen = await Conversation(runtime, thread="t-ask", owner=Owner("bob")).answer_question(question, "mine")
    second = await talk.answer_question(question, '{"ok": true}')
    return first, stolen, second, await talk.answer_question(question, "again")


async def run_text_answer_case(runtime: Runtime) -> RunResult:
    talk = Conversation(runtime, thread="t-said")
    await talk.send_message("ask me")
    return await talk.send_message("just do it")


async def run_stop_case(runtime: Runtime) -> tuple[RunResult, RunResult]:
    talk = Conversation(runtime, name="stops", thread="t-stop")
    first = await talk.send_message("stop there")
    (question,) = first.questions
    return first, await talk.run_turn(answers=(InterruptAnswer(question.id, payload={"approved": True}),))


async def run_edit_case(runtime: Runtime) -> tuple[RunResult, Any]:
    talk = Conversation(runtime, thread="t-back")
    await talk.send_message("first")
    await talk.send_message("second")
    talk.history = talk.history[:2]
    seen = await talk.send_message("third")
    return seen, await runtime.recall("desk", Owner("ada"), "t-back")


async def run_leave_case(url: str) -> tuple[str, RunResult]:
    """What became of a run whose reader left, and whether its thread can be used again."""
    async with CuttingProxy(url) as way, host_agents(way.url) as runtime:
        await leave_midway(runtime)
        await wait_until(lambda: any("/cancel" in line for line in way.request_lines))
        seen = await Conversation(runtime, thread="t-left").send_message("after leaving")
        return await get_run_status(url, "after leaving"), seen


async def leave_midway(runtime: Runtime) -> None:
    turn = Turn(
        messages=(text_message("user", "slow for ever", id="s"),), assistant="desk", thread="t-left", owner=Owner("ada")
    )
    async with closing(runtime.run(turn)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break


async def get_run_status(url: str, word: str) -> str:
    """Of the first run of the thread that has this word in it."""
    async with RawHttpClient(url) as client:
        await client.post_json("/threads/search", {"limit": 100})
        await client.read_head()
        threads = await client.read_json()
    for thread in threads:
        if any(m.get("content") == word for m in (thread.get("values") or {}).get("messages", [])):
            async with RawHttpClient(url) as client:
                await client.get(f"/threads/{thread['thread_id']}/runs")
                await client.read_head()
                runs = await client.read_json()
            return str(sorted(runs, key=lambda run: run["created_at"])[0]["status"])
    return "no such thread"


async def run_cut_case(url: str) -> tuple[RunResult, CuttingProxy]:
    async with CuttingProxy(url) as way, host_agents(way.url) as runtime:
        way.cut_after = 20_000
        return await send_one_message(runtime, "slow cut"), way


async def run_page_case(runtime: Runtime) -> Any:
    """What CopilotKit's own client shows of the agent."""
    async with serve_app(App(runtime, ServerSettings(port=0), load_all("doors"))) as url:
        line = ("node", str(HERE / "agent_page.mjs"), url, str(PEERS_FOLDER / "copilotkit-gql"))
        process = await asyncio.create_subprocess_exec(*line, stdout=PIPE, stderr=PIPE)
        out, noted = await asyncio.wait_for(process.communicate(), HANG_TIMEOUT)
        assert process.returncode == 0, noted.decode()[-2000:]
        return msgspec.json.decode(out)


async def run_in_process(folder: Path) -> dict[str, list[Event]]:
    """The graph in the process of rightseat, which here is a process of the peer's environment."""
    # Only PYTHONPATH makes rightseat's source visible there; what it needs is in the peer's lock.
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{SOURCE}{os.pathsep}{HERE}", "HOME": str(folder)}
    python = PEER_HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    with (folder / "inside").open("wb") as log_file:
        process = await asyncio.create_subprocess_exec(
            str(python), str(HERE / "inside_graph.py"), stdin=PIPE, stdout=PIPE, stderr=log_file, env=env, limit=1 << 22
        )
    assert process.stdin is not None
    assert process.stdout is not None
    events: dict[str, list[Event]] = {}
    answer: Any = None
    try:
        for name, text in (("hello", "hello"), ("both", "both"), ("paint", "paint"), ("ask", "ask"), ("yes", "ask")):
            given = {"text": text, "thread": text, "answer": answer if name == "yes" else None}
            process.stdin.write(msgspec.json.encode(given) + b"\n")
            line = await asyncio.wait_for(process.stdout.readline(), HANG_TIMEOUT)
            assert line, (folder / "inside").read_text("utf-8")[-2000:]
            events[name] = msgspec.json.decode(line, type=list[Event])
            asked = [event for event in events[name] if isinstance(event, Interrupt)]
            answer = {"id": asked[0].id, "text": "yes"} if asked else None
    finally:
        process.stdin.close()
        process.kill()
        await process.wait()
    return events


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def results(
    record_driven: Callable[[str, str], None], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Results]:
    for name in ("langgraph-server", "copilotkit-gql"):
        require(name)
    folder = tmp_path_factory.mktemp("langgraph")
    within = asyncio.create_task(run_in_process(tmp_path_factory.mktemp("inside")))
    async with run_langgraph_server(folder) as url, host_agents(url) as runtime:
        words = ("hello", "add", "both", "write", "hand", "think", "boom", "quiet")
        state = {"document": "mine", "undeclared": 1}
        context = (AppContext("page", "colours"),)
        cases = {
            **{word: send_one_message(runtime, word) for word in words},
            "tools?": send_one_message(runtime, "tools?", state=state, context=context),
            "paint": run_paint_case(runtime),
            "ask": run_question_case(runtime),
            "said": run_text_answer_case(runtime),
            "stop": run_stop_case(runtime),
            "back": run_edit_case(runtime),
            "left": run_leave_case(url),
            "cut": run_cut_case(url),
            "page": run_page_case(runtime),
        }
        found: Results = dict(zip(cases, await asyncio.gather(*cases.values()), strict=True))
        found["listed"] = list(runtime.responders)
        found["inside"] = await within
        record_driven("langgraph-server", read_version())
        yield found


def read_version() -> str:
    lock = (HERE / "requirements.txt").read_text("utf-8")
    return " ".join(re.findall(r"^langgraph(?:-api|-cli)?==\S+", lock, re.MULTILINE))


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph")
async def test_assistants_are_found(results: Results) -> None:
    assert results["listed"] == ["desk", "stops"]


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph", "agents.real_langgraph_server_graph")
async def test_text_and_two_nodes(results: Results) -> None:
    one: RunResult = results["hello"]
    assert one.text == "You said hello."
    assert one.steps == ["desk", "note"]
    assert one.states == [{"notes": []}, {"notes": ["2 messages"]}]
    assert one.finish_reason == "stop"


@pytest.mark.demand("agents.langgraph_parallel_tool_calls", "agents.real_langgraph_server_graph")
async def test_tools_of_the_graph(results: Results) -> None:
    one: RunResult = results["add"]
    assert one.results == {one.find_call_id("add"): "5"}
    assert one.steps == ["desk", "tools", "desk", "note"]
    assert one.text == "It is 5."
    both: RunResult = results["both"]
    assert sorted(both.results.values()) == ["10", "2"]
    assert sorted(both.join_arguments(id) for id in both.calls) == ['{"a": 1, "b": 1}', '{"a": 5, "b": 5}']


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
async def test_state_before_it_is_there(results: Results) -> None:
    values = [patch[0]["value"] for patch in results["write"].state_patches]
    assert values == ["He", "Hello wor", "Hello world"]


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
async def test_what_is_sent_by_hand_thought_and_kept_quiet(results: Results) -> None:
    assert results["hand"].text == "By hand.You said hand."
    assert {"notes": [], "document": "Half"} in results["hand"].states
    assert [e.text for e in results["think"].events if isinstance(e, ReasoningDelta)] == ["Let me see."]
    assert results["think"].text == "Seen."
    assert results["quiet"].text == ""


@pytest.mark.demand("agents.real_langgraph_server_graph")
async def test_an_error_of_the_graph(results: Results) -> None:
    error = results["boom"].error
    assert error.code == "agent_failed"
    assert "ValueError" in error.message
    assert "secret words" not in error.message


@pytest.mark.demand("agents.frontend_actions_reach_agent")
async def test_state_tools_and_context_reach_the_graph(results: Results) -> None:
    told = results["tools?"].text
    assert told.startswith("['paint'] ")
    assert "colours" in told
    assert told.endswith(" mine")


@pytest.mark.demand("agents.frontend_actions_reach_agent")
async def test_a_tool_of_the_client(results: Results) -> None:
    first, second, third = results["paint"]
    id = first.find_call_id("paint")
    assert first.calls[id].client
    assert (first.finish_reason, first.pending) == ("calls", (id,))
    assert second.text == "It is painted."
    assert third.text == "You said more."


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds", "agents.real_langgraph_server_graph")
async def test_a_question_its_answer_and_its_owner(results: Results) -> None:
    first, stolen, second, again = results["ask"]
    (question,) = first.questions
    assert question.value == {"question": "Approve it?", "document": "Hello"}
    assert first.finish_reason == "interrupt"
    assert stolen.error.fault == "caller"
    assert second.text == "You answered {'ok': True}."
    assert second.states[-1]["approved"] == {"ok": True}
    assert again.error.code == "already_answered"
    assert "just do it" in results["said"].text


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
async def test_a_breakpoint(results: Results) -> None:
    first, second = results["stop"]
    assert first.finish_reason == "interrupt"
    assert first.questions[0].message == "Go on with note?"
    assert second.steps == ["note"]


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph")
async def test_what_was_taken_back_is_gone(results: Results) -> None:
    last, recalled = results["back"]
    assert last.text == "You said third."
    assert [message.text for message in recalled.messages] == ["first", "You said first.", "third", "You said third."]


@pytest.mark.demand("agents.langgraph_parallel_tool_calls", "agents.real_langgraph_server_graph")
async def test_a_cut_stream_is_joined_again(results: Results) -> None:
    one, proxy = results["cut"]
    assert one.text == " ".join(f"w{number}" for number in range(60))
    assert proxy.cuts == 1
    assert sum(line.startswith("POST") and "/runs/stream" in line for line in proxy.request_lines) == 1
    assert sum(line.startswith("GET") and line.split()[1].endswith("/stream") for line in proxy.request_lines) == 1


@pytest.mark.demand("agents.real_langgraph_server_graph")
async def test_whoever_leaves_cancels_the_run(results: Results) -> None:
    status, after = results["left"]
    assert status == "interrupted"
    assert after.text == "You said after leaving."


@pytest.mark.demand("agents.agent_behind_door_graphql")
async def test_copilotkits_own_client_renders_the_agent(results: Results) -> None:
    page = results["page"]
    assert page["agents"] == ["desk", "stops"]
    before: dict[str, Any] = {"notes": []}
    after = {"notes": ["2 messages"]}
    assert page["hello"]["text"] == "You said hello."
    assert page["hello"]["states"] == [
        ["desk", True, True, {}],
        ["desk", True, True, before],
        ["desk", False, True, before],
        ["note", True, True, before],
        ["note", True, True, after],
        ["note", False, True, after],
        ["__end__", False, False, after],
    ]
    assert page["shown"]["question"] == "Approve it?"
    assert page["ask"]["states"][-1][:3] == ["review", False, True]
    assert page["answered"]["text"] == "You answered {'ok': True}."
    assert page["paint"]["calls"] == [["paint", {"colour": "red"}]]
    assert page["loaded"]["threadExists"] is True
    assert "You answered" in page["loaded"]["messages"]


@pytest.mark.demand("agents.langgraph_process_compiled_graph")
async def test_the_same_graph_in_this_process(results: Results) -> None:
    found: dict[str, list[Event]] = results["inside"]
    for name, events in found.items():
        verify_events([RunStarted("t", "r"), *events], earlier_calls=("paint-1",) if name == "paint" else ())
    shown = {name: RunResult(events) for name, events in found.items()}
    assert shown["hello"].text == "You said hello."
    assert shown["hello"].steps == ["desk", "note"]
    assert shown["hello"].states[-1] == {"notes": ["2 messages"]}
    assert sorted(shown["both"].results.values()) == ["10", "2"]
    assert shown["paint"].finish_reason == "calls"
    assert shown["ask"].questions[0].message == "Approve it?"
    assert shown["yes"].text == "You answered yes."
    assert not any(isinstance(event, StateDelta) for event in found["hello"])

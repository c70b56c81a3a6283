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
from rightseat.wiring.registry import load_all
from tests.contract.agents.talk import Seen, Talk
from tests.contract.agents.verifier import verify
from tests.kit.client import Client
from tests.kit.house import serving
from tests.kit.patience import STUCK
from tests.kit.waiting import until
from tests.peers.install import PLACE
from tests.peers.langgraph_server import HERE, HOME, Way, running
from tests.peers.need import require

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]
SOURCE = Path(__file__).parents[2] / "src"
Found = dict[str, Any]


@contextlib.asynccontextmanager
async def hosting(url: str) -> AsyncIterator[Runtime]:
    runtime = Runtime(agent_sources=[langgraph("lg", {"url": url, "agents": ["desk", "stops"]})], store=MemoryStore())
    await runtime.start()
    try:
        yield runtime
    finally:
        await runtime.close()


async def one(runtime: Runtime, word: str, **more: Any) -> Seen:
    return await Talk(runtime, thread=f"t-{word}", **more).say(word)


async def painting(runtime: Runtime) -> tuple[Seen, Seen, Seen]:
    talk = Talk(runtime, thread="t-paint")
    first = await talk.say("paint it")
    second = await talk.give({first.called("paint"): "painted"})
    return first, second, await talk.say("more")


async def asking(runtime: Runtime) -> tuple[Seen, Seen, Seen, Seen]:
    talk = Talk(runtime, thread="t-ask")
    first = await talk.say("ask me")
    (question,) = first.questions
    stolen = await Talk(runtime, thread="t-ask", owner=Owner("bob")).answer(question, "mine")
    second = await talk.answer(question, '{"ok": true}')
    return first, stolen, second, await talk.answer(question, "again")


async def saying_the_answer(runtime: Runtime) -> Seen:
    talk = Talk(runtime, thread="t-said")
    await talk.say("ask me")
    return await talk.say("just do it")


async def stopping(runtime: Runtime) -> tuple[Seen, Seen]:
    talk = Talk(runtime, name="stops", thread="t-stop")
    first = await talk.say("stop there")
    (question,) = first.questions
    return first, await talk.run(answers=(InterruptAnswer(question.id, payload={"approved": True}),))


async def taking_back(runtime: Runtime) -> tuple[Seen, Any]:
    talk = Talk(runtime, thread="t-back")
    await talk.say("first")
    await talk.say("second")
    talk.history = talk.history[:2]
    seen = await talk.say("third")
    return seen, await runtime.recall("desk", Owner("ada"), "t-back")


async def leaving(url: str) -> tuple[str, Seen]:
    """What became of a run whose reader left, and whether its thread can be used again."""
    async with Way(url) as way, hosting(way.url) as runtime:
        await left(runtime)
        await until(lambda: any("/cancel" in line for line in way.asked))
        seen = await Talk(runtime, thread="t-left").say("after leaving")
        return await status_of(url, "after leaving"), seen


async def left(runtime: Runtime) -> None:
    turn = Turn(
        messages=(text_message("user", "slow for ever", id="s"),), assistant="desk", thread="t-left", owner=Owner("ada")
    )
    async with closing(runtime.run(turn)) as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break


async def status_of(url: str, word: str) -> str:
    """Of the first run of the thread that has this word in it."""
    async with Client(url) as client:
        await client.post("/threads/search", {"limit": 100})
        await client.head()
        threads = await client.json()
    for thread in threads:
        if any(m.get("content") == word for m in (thread.get("values") or {}).get("messages", [])):
            async with Client(url) as client:
                await client.get(f"/threads/{thread['thread_id']}/runs")
                await client.head()
                runs = await client.json()
            return str(sorted(runs, key=lambda run: run["created_at"])[0]["status"])
    return "no such thread"


async def cutting(url: str) -> tuple[Seen, Way]:
    async with Way(url) as way, hosting(way.url) as runtime:
        way.cut_after = 20_000
        return await one(runtime, "slow cut"), way


async def paging(runtime: Runtime) -> Any:
    """What CopilotKit's own client shows of the agent."""
    async with serving(App(runtime, ServerSettings(port=0), load_all("doors"))) as url:
        line = ("node", str(HERE / "agent_page.mjs"), url, str(PLACE / "copilotkit-gql"))
        process = await asyncio.create_subprocess_exec(*line, stdout=PIPE, stderr=PIPE)
        out, noted = await asyncio.wait_for(process.communicate(), STUCK)
        assert process.returncode == 0, noted.decode()[-2000:]
        return msgspec.json.decode(out)


async def inside(folder: Path) -> dict[str, list[Event]]:
    """The graph in the process of rightseat, which here is a process of the peer's environment."""
    # Only PYTHONPATH makes rightseat's source visible there; what it needs is in the peer's lock.
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{SOURCE}{os.pathsep}{HERE}", "HOME": str(folder)}
    python = HOME / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    with (folder / "inside").open("wb") as noted:
        process = await asyncio.create_subprocess_exec(
            str(python), str(HERE / "inside_graph.py"), stdin=PIPE, stdout=PIPE, stderr=noted, env=env, limit=1 << 22
        )
    assert process.stdin is not None
    assert process.stdout is not None
    found: dict[str, list[Event]] = {}
    answer: Any = None
    try:
        for name, text in (("hello", "hello"), ("both", "both"), ("paint", "paint"), ("ask", "ask"), ("yes", "ask")):
            given = {"text": text, "thread": text, "answer": answer if name == "yes" else None}
            process.stdin.write(msgspec.json.encode(given) + b"\n")
            line = await asyncio.wait_for(process.stdout.readline(), STUCK)
            assert line, (folder / "inside").read_text("utf-8")[-2000:]
            found[name] = msgspec.json.decode(line, type=list[Event])
            asked = [event for event in found[name] if isinstance(event, Interrupt)]
            answer = {"id": asked[0].id, "text": "yes"} if asked else None
    finally:
        process.stdin.close()
        process.kill()
        await process.wait()
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def seen(driven: Callable[[str, str], None], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Found]:
    for name in ("langgraph-server", "copilotkit-gql"):
        require(name)
    folder = tmp_path_factory.mktemp("langgraph")
    within = asyncio.create_task(inside(tmp_path_factory.mktemp("inside")))
    async with running(folder) as url, hosting(url) as runtime:
        words = ("hello", "add", "both", "write", "hand", "think", "boom", "quiet")
        state = {"document": "mine", "undeclared": 1}
        context = (AppContext("page", "colours"),)
        cases = {
            **{word: one(runtime, word) for word in words},
            "tools?": one(runtime, "tools?", state=state, context=context),
            "paint": painting(runtime),
            "ask": asking(runtime),
            "said": saying_the_answer(runtime),
            "stop": stopping(runtime),
            "back": taking_back(runtime),
            "left": leaving(url),
            "cut": cutting(url),
            "page": paging(runtime),
        }
        found: Found = dict(zip(cases, await asyncio.gather(*cases.values()), strict=True))
        found["listed"] = list(runtime.responders)
        found["inside"] = await within
        driven("langgraph-server", version())
        yield found


def version() -> str:
    lock = (HERE / "requirements.txt").read_text("utf-8")
    return " ".join(re.findall(r"^langgraph(?:-api|-cli)?==\S+", lock, re.MULTILINE))


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph")
async def test_assistants_are_found(seen: Found) -> None:
    assert seen["listed"] == ["desk", "stops"]


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph", "agents.real_langgraph_server_graph")
async def test_text_and_two_nodes(seen: Found) -> None:
    one: Seen = seen["hello"]
    assert one.text == "You said hello."
    assert one.steps == ["desk", "note"]
    assert one.states == [{"notes": []}, {"notes": ["2 messages"]}]
    assert one.reason == "stop"


@pytest.mark.demand("agents.langgraph_parallel_tool_calls", "agents.real_langgraph_server_graph")
async def test_tools_of_the_graph(seen: Found) -> None:
    one: Seen = seen["add"]
    assert one.results == {one.called("add"): "5"}
    assert one.steps == ["desk", "tools", "desk", "note"]
    assert one.text == "It is 5."
    both: Seen = seen["both"]
    assert sorted(both.results.values()) == ["10", "2"]
    assert sorted(both.arguments(id) for id in both.calls) == ['{"a": 1, "b": 1}', '{"a": 5, "b": 5}']


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
async def test_state_before_it_is_there(seen: Found) -> None:
    values = [patch[0]["value"] for patch in seen["write"].changes]
    assert values == ["He", "Hello wor", "Hello world"]


@pytest.mark.demand("agents.langgraph_state_snapshots_per")
async def test_what_is_sent_by_hand_thought_and_kept_quiet(seen: Found) -> None:
    assert seen["hand"].text == "By hand.You said hand."
    assert {"notes": [], "document": "Half"} in seen["hand"].states
    assert [e.text for e in seen["think"].events if isinstance(e, ReasoningDelta)] == ["Let me see."]
    assert seen["think"].text == "Seen."
    assert seen["quiet"].text == ""


@pytest.mark.demand("agents.real_langgraph_server_graph")
async def test_an_error_of_the_graph(seen: Found) -> None:
    error = seen["boom"].error
    assert error.code == "agent_failed"
    assert "ValueError" in error.message
    assert "secret words" not in error.message


@pytest.mark.demand("agents.frontend_actions_reach_agent")
async def test_state_tools_and_context_reach_the_graph(seen: Found) -> None:
    told = seen["tools?"].text
    assert told.startswith("['paint'] ")
    assert "colours" in told
    assert told.endswith(" mine")


@pytest.mark.demand("agents.frontend_actions_reach_agent")
async def test_a_tool_of_the_client(seen: Found) -> None:
    first, second, third = seen["paint"]
    id = first.called("paint")
    assert first.calls[id].client
    assert (first.reason, first.pending) == ("calls", (id,))
    assert second.text == "It is painted."
    assert third.text == "You said more."


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds", "agents.real_langgraph_server_graph")
async def test_a_question_its_answer_and_its_owner(seen: Found) -> None:
    first, stolen, second, again = seen["ask"]
    (question,) = first.questions
    assert question.value == {"question": "Approve it?", "document": "Hello"}
    assert first.reason == "interrupt"
    assert stolen.error.fault == "caller"
    assert second.text == "You answered {'ok': True}."
    assert second.states[-1]["approved"] == {"ok": True}
    assert again.error.code == "already_answered"
    assert "just do it" in seen["said"].text


@pytest.mark.demand("agents.langgraph_interrupts_both_kinds")
async def test_a_breakpoint(seen: Found) -> None:
    first, second = seen["stop"]
    assert first.reason == "interrupt"
    assert first.questions[0].message == "Go on with note?"
    assert second.steps == ["note"]


@pytest.mark.demand("agents.langgraph_langgraph_platform_langgraph")
async def test_what_was_taken_back_is_gone(seen: Found) -> None:
    last, recalled = seen["back"]
    assert last.text == "You said third."
    assert [message.text for message in recalled.messages] == ["first", "You said first.", "third", "You said third."]


@pytest.mark.demand("agents.langgraph_parallel_tool_calls", "agents.real_langgraph_server_graph")
async def test_a_cut_stream_is_joined_again(seen: Found) -> None:
    one, way = seen["cut"]
    assert one.text == " ".join(f"w{number}" for number in range(60))
    assert way.cuts == 1
    assert sum(line.startswith("POST") and "/runs/stream" in line for line in way.asked) == 1
    assert sum(line.startswith("GET") and line.split()[1].endswith("/stream") for line in way.asked) == 1


@pytest.mark.demand("agents.real_langgraph_server_graph")
async def test_whoever_leaves_cancels_the_run(seen: Found) -> None:
    status, after = seen["left"]
    assert status == "interrupted"
    assert after.text == "You said after leaving."


@pytest.mark.demand("agents.agent_behind_door_graphql")
async def test_copilotkits_own_client_renders_the_agent(seen: Found) -> None:
    page = seen["page"]
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
async def test_the_same_graph_in_this_process(seen: Found) -> None:
    found: dict[str, list[Event]] = seen["inside"]
    for name, events in found.items():
        verify([RunStarted("t", "r"), *events], earlier=("paint-1",) if name == "paint" else ())
    shown = {name: Seen(events) for name, events in found.items()}
    assert shown["hello"].text == "You said hello."
    assert shown["hello"].steps == ["desk", "note"]
    assert shown["hello"].states[-1] == {"notes": ["2 messages"]}
    assert sorted(shown["both"].results.values()) == ["10", "2"]
    assert shown["paint"].reason == "calls"
    assert shown["ask"].questions[0].message == "Approve it?"
    assert shown["yes"].text == "You answered yes."
    assert not any(isinstance(event, StateDelta) for event in found["hello"])

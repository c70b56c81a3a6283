"""CopilotKit's door under the rows of the others: ids, injected frames, strangers' threads (2, 4, 16, 17)."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.faults.faces import payloads
from tests.kit.answers import say
from tests.kit.client import Client
from tests.security.conftest import ALICE, BOB, Stage
from tests.security.test_injection import HOSTILE, TEXT
from tests.unit.doors.copilotkit.agui import given
from tests.unit.doors.copilotkit.client import body, data, parts, text

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]
RUN, CONNECT = "/copilotkit/agent/default/run", "/copilotkit/agent/default/connect"
THREADS = "/copilotkit/threads"
KEY = {"X-Api-Key": ALICE}
ODD = ["' OR 1=1--", "\0", "../assistants", "%2e%2e", "a/b?x#y", "x" * 200, "\r\n\r\ndata: x\n\n", "é漢"]
STATE = "query($data: LoadAgentStateInput!) { loadAgentState(data: $data) { threadExists state messages } }"


async def posted(stage: Stage, target: str, value: Any, key: str = ALICE) -> tuple[int, bytes]:
    async with Client(stage.server.url) as client:
        await client.post(target, value, {"X-Api-Key": key})
        return (await client.head()).status, await client.body()


def events(answer: bytes) -> list[Any]:
    """Every event has an id of one form, and nothing else has."""
    plain, count = re.subn(rb"(?m)^id: \d+(\.\d+)?\n(?=data: )", b"", answer)
    found = [json.loads(one) for one in payloads(plain)]
    assert len(found) == count
    return found


def loading(thread: str) -> dict[str, Any]:
    return {"query": STATE, "variables": {"data": {"agentName": "default", "threadId": thread}}}


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("odd", ODD)
async def test_an_id_is_only_an_id(stage: Stage, odd: str) -> None:
    """What others have said is neither read nor changed by it."""
    await posted(stage, RUN, given("theirs", thread="bobs"), BOB)
    status, answer = await posted(stage, RUN, given("fault-ok", thread=odd, run=odd))
    frames = events(answer)
    assert (status, frames[0]["threadId"], frames[0]["runId"]) == (200, odd, odd)
    status, answer = await posted(stage, CONNECT, given(thread=odd))
    assert ended(events(answer)) == ended(frames)
    status, answer = await posted(stage, "/copilotkit", loading(odd))
    assert json.loads(answer)["data"]["loadAgentState"]["threadExists"] is True
    head, answer = await stage.ask("GET", f"{THREADS}?agentId={quote(odd, safe='')}", KEY)
    assert (head.status, json.loads(answer)["threads"]) == (200, [])
    if "/" not in odd:
        head, _ = await stage.ask("DELETE", f"{THREADS}/{quote(odd, safe='')}", KEY)
        assert head.status == 200
    status, answer = await posted(stage, "/copilotkit", loading("bobs"), BOB)
    assert json.loads(answer)["data"]["loadAgentState"]["threadExists"] is True


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("target", [RUN, CONNECT, "/copilotkit"])
async def test_an_id_of_a_megabyte_is_refused(stage: Stage, target: str) -> None:
    long = "x" * 1_000_000
    value = loading(long) if target == "/copilotkit" else given("hi", thread=long)
    status, answer = await posted(stage, target, value)
    assert status in (200, 400)
    assert b"200" in answer
    assert len(answer) < 2000
    head, _ = await stage.ask("GET", f"{THREADS}/{'x' * 60_000}/messages", KEY)
    assert head.status in (404, 431)


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
async def test_hostile_text_stays_text_in_a_thread_and_in_parts(stage: Stage) -> None:
    stage.upstream.reply = say(HOSTILE)
    _, first = await posted(stage, RUN, given("hello", thread="hostile"))
    _, again = await posted(stage, CONNECT, given(thread="hostile"))
    for answer in (first, again):
        assert "".join(event.get("delta", "") for event in events(answer)) == TEXT
        assert ended(events(answer)) == ["RUN_STARTED", "RUN_FINISHED"]
    async with Client(stage.server.url) as client:
        await client.post(
            "/copilotkit", body(data(text("hello"), threadId="g2")), {"X-Api-Key": ALICE, "Accept": "multipart/mixed"}
        )
        await client.head()
        found = parts(await client.body())
    chunks = [item for frame in found for entry in frame.get("incremental", []) for item in strings(entry)]
    assert "".join(chunks) == TEXT
    await stage.works()


def strings(entry: dict[str, Any]) -> list[str]:
    return [item for item in entry.get("items", []) if isinstance(item, str)]


def ended(events: list[Any]) -> list[str]:
    return [event["type"] for event in events if event["type"].startswith("RUN_")]


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
async def test_a_strangers_thread_is_as_good_as_none(stage: Stage) -> None:
    await posted(stage, RUN, given("fault-ok", thread="hers"))
    await posted(stage, "/copilotkit", body(data(text("fault-ok"), threadId="hers-too")))
    for thread in ("hers", "hers-too"):
        resource = {"path": "/threads/{}/messages", "httpMethod": "GET"}
        asked: list[tuple[str, Any]] = [
            ("/copilotkit", loading("{}")),
            (CONNECT, given(thread="{}")),
            ("/copilotkit/agent/default/stop/{}", [0]),
            ("/copilotkit", {"method": "agent/stop", "params": {"agentId": "default", "threadId": "{}"}}),
            ("/copilotkit", {"method": "resource/request", "params": resource}),
        ]
        for target, value in asked:
            hers, none = [await about(stage, target, value, name) for name in (thread, "nobodys")]
            assert (hers[0], hers[1].replace(thread.encode(), b"nobodys")) == none


async def about(stage: Stage, target: str, value: Any, thread: str) -> tuple[int, bytes]:
    """What BOB is told of a thread."""
    written = json.dumps(value).replace('"{}"', json.dumps(thread)).replace("/{}/", f"/{thread}/")
    return await posted(stage, target.replace("{}", thread), json.loads(written), BOB)


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize(
    "query",
    [
        "{" + " ".join(f"a{n}: hello" for n in range(1000)) + "}",
        "{ hello" + " @skip(if: false)" * 1000 + "}",
        "{ availableAgents {" + " ... @defer { agents { name } }" * 1000 + "} }",
        "{ availableAgents" * 1000 + "}" * 1000,
    ],
    ids=["aliases", "directives", "defers", "depth"],
)
async def test_a_flood_holds_nobody_up(stage: Stage, query: str) -> None:
    await posted(stage, "/copilotkit", {"query": "{ hello }"})
    before = stage.server.cpu_seconds
    status, answer = await posted(stage, "/copilotkit", {"query": query})
    # A few hundredths of a second here: a flood that is worked through takes as many seconds.
    assert stage.server.cpu_seconds - before < 2
    assert status in (200, 400)
    assert json.loads(answer)["errors"]
    status, _ = await posted(stage, "/copilotkit", [{"query": "{ hello }"}] * 1000)
    assert status == 400

"""CopilotKit's door under the rows of the others: ids, injected frames, strangers' threads (2, 4, 16, 17)."""

import json
import re
from typing import Any
from urllib.parse import quote

import pytest

from tests.faults.protocols import parse_payloads
from tests.kit.answers import answer_tokens
from tests.kit.client import RawHttpClient
from tests.security.conftest import ALICE, BOB, Deployment
from tests.security.test_injection import HOSTILE, HOSTILE_TEXT
from tests.unit.doors.copilotkit.agui import make_run_input
from tests.unit.doors.copilotkit.client import make_input, make_request_body, make_text_message, parse_multipart

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]
RUN_PATH, CONNECT_PATH = "/copilotkit/agent/default/run", "/copilotkit/agent/default/connect"
THREADS_PATH = "/copilotkit/threads"
KEY_HEADER = {"X-Api-Key": ALICE}
# "\0" alone would do, but random requests of other tests make threads of such short ids.
ODD_IDS = ["' OR 1=1--", "\0odd", "../assistants", "%2e%2e", "a/b?x#y", "x" * 200, "\r\n\r\ndata: x\n\n", "é漢"]
STATE_QUERY = "query($data: LoadAgentStateInput!) { loadAgentState(data: $data) { threadExists state messages } }"


async def post_json(deployment: Deployment, target: str, value: Any, key: str = ALICE) -> tuple[int, bytes]:
    async with RawHttpClient(deployment.server.url) as client:
        await client.post_json(target, value, {"X-Api-Key": key})
        return (await client.read_head()).status, await client.read_body()


def parse_events(answer: bytes) -> list[Any]:
    """Every event has an id of one form, and nothing else has."""
    plain, count = re.subn(rb"(?m)^id: \d+(\.\d+)?\n(?=data: )", b"", answer)
    decoded = [json.loads(one) for one in parse_payloads(plain)]
    assert len(decoded) == count
    return decoded


def make_state_query(thread: str) -> dict[str, Any]:
    return {"query": STATE_QUERY, "variables": {"data": {"agentName": "default", "threadId": thread}}}


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("odd", ODD_IDS)
async def test_an_id_is_only_an_id(deployment: Deployment, odd: str) -> None:
    """What others have said is neither read nor changed by it."""
    await post_json(deployment, RUN_PATH, make_run_input("theirs", thread="bobs"), BOB)
    status, answer = await post_json(deployment, RUN_PATH, make_run_input("fault-ok", thread=odd, run=odd))
    frames = parse_events(answer)
    assert (status, frames[0]["threadId"], frames[0]["runId"]) == (200, odd, odd)
    status, answer = await post_json(deployment, CONNECT_PATH, make_run_input(thread=odd))
    assert list_run_events(parse_events(answer)) == list_run_events(frames)
    status, answer = await post_json(deployment, "/copilotkit", make_state_query(odd))
    assert json.loads(answer)["data"]["loadAgentState"]["threadExists"] is True
    head, answer = await deployment.send_request("GET", f"{THREADS_PATH}?agentId={quote(odd, safe='')}", KEY_HEADER)
    assert (head.status, json.loads(answer)["threads"]) == (200, [])
    if "/" not in odd:
        head, _ = await deployment.send_request("DELETE", f"{THREADS_PATH}/{quote(odd, safe='')}", KEY_HEADER)
        assert head.status == 200
    status, answer = await post_json(deployment, "/copilotkit", make_state_query("bobs"), BOB)
    assert json.loads(answer)["data"]["loadAgentState"]["threadExists"] is True


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
@pytest.mark.parametrize("target", [RUN_PATH, CONNECT_PATH, "/copilotkit"])
async def test_an_id_of_a_megabyte_is_refused(deployment: Deployment, target: str) -> None:
    long = "x" * 1_000_000
    value = make_state_query(long) if target == "/copilotkit" else make_run_input("hi", thread=long)
    status, answer = await post_json(deployment, target, value)
    assert status in (200, 400)
    assert b"200" in answer
    assert len(answer) < 2000
    head, _ = await deployment.send_request("GET", f"{THREADS_PATH}/{'x' * 60_000}/messages", KEY_HEADER)
    assert head.status in (404, 431)


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
async def test_hostile_text_stays_text_in_a_thread_and_in_parts(deployment: Deployment) -> None:
    deployment.upstream.reply = answer_tokens(HOSTILE)
    _, first = await post_json(deployment, RUN_PATH, make_run_input("hello", thread="hostile"))
    _, again = await post_json(deployment, CONNECT_PATH, make_run_input(thread="hostile"))
    for answer in (first, again):
        assert "".join(event.get("delta", "") for event in parse_events(answer)) == HOSTILE_TEXT
        assert list_run_events(parse_events(answer)) == ["RUN_STARTED", "RUN_FINISHED"]
    async with RawHttpClient(deployment.server.url) as client:
        await client.post_json(
            "/copilotkit",
            make_request_body(make_input(make_text_message("hello"), threadId="g2")),
            {"X-Api-Key": ALICE, "Accept": "multipart/mixed"},
        )
        await client.read_head()
        found = parse_multipart(await client.read_body())
    chunks = [item for frame in found for entry in frame.get("incremental", []) for item in list_strings(entry)]
    assert "".join(chunks) == HOSTILE_TEXT
    await deployment.assert_works()


def list_strings(entry: dict[str, Any]) -> list[str]:
    return [item for item in entry.get("items", []) if isinstance(item, str)]


def list_run_events(events: list[Any]) -> list[str]:
    return [event["type"] for event in events if event["type"].startswith("RUN_")]


@pytest.mark.demand("copilotkit.abuse_depth_alias_batch")
async def test_a_strangers_thread_is_as_good_as_none(deployment: Deployment) -> None:
    await post_json(deployment, RUN_PATH, make_run_input("fault-ok", thread="hers"))
    await post_json(
        deployment, "/copilotkit", make_request_body(make_input(make_text_message("fault-ok"), threadId="hers-too"))
    )
    for thread in ("hers", "hers-too"):
        resource = {"path": "/threads/{}/messages", "httpMethod": "GET"}
        asked: list[tuple[str, Any]] = [
            ("/copilotkit", make_state_query("{}")),
            (CONNECT_PATH, make_run_input(thread="{}")),
            ("/copilotkit/agent/default/stop/{}", [0]),
            ("/copilotkit", {"method": "agent/stop", "params": {"agentId": "default", "threadId": "{}"}}),
            ("/copilotkit", {"method": "resource/request", "params": resource}),
        ]
        for target, value in asked:
            hers, none = [await ask_as_bob(deployment, target, value, name) for name in (thread, "nobodys")]
            assert (hers[0], hers[1].replace(thread.encode(), b"nobodys")) == none


async def ask_as_bob(deployment: Deployment, target: str, value: Any, thread: str) -> tuple[int, bytes]:
    """What BOB is told of a thread."""
    encoded = json.dumps(value).replace('"{}"', json.dumps(thread)).replace("/{}/", f"/{thread}/")
    return await post_json(deployment, target.replace("{}", thread), json.loads(encoded), BOB)


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
async def test_a_flood_holds_nobody_up(deployment: Deployment, query: str) -> None:
    await post_json(deployment, "/copilotkit", {"query": "{ hello }"})
    before = deployment.server.cpu_seconds
    status, answer = await post_json(deployment, "/copilotkit", {"query": query})
    # A few hundredths of a second here: a flood that is worked through takes as many seconds.
    assert deployment.server.cpu_seconds - before < 2
    assert status in (200, 400)
    assert json.loads(answer)["errors"]
    status, _ = await post_json(deployment, "/copilotkit", [{"query": "{ hello }"}] * 1000)
    assert status == 400

"""Text that looks like a frame stays text: as many frames as events, at both doors (row 17)."""

import json

import pytest

from rightseat.doors.openai import write
from rightseat.models.scripted import ScriptFileModel, load_script
from tests.faults.faces import AGUI, STREAMED, WHOLE, payloads
from tests.kit.answers import say, tool
from tests.kit.chunks import dump, error, frame
from tests.kit.client import Client
from tests.kit.framing import raw
from tests.security import inside
from tests.security.conftest import ALICE, Stage

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

KEY = {"X-Api-Key": ALICE}
HOSTILE = [
    "\n",
    "\r",
    "\r\n\r\n",
    "\n\ndata: [DONE]\n\n",
    '\n\ndata: {"type":"RUN_FINISHED"}\n\n',
    "data: x",
    "\nevent: x\nid: 1\nretry: 1\n\n",
    ": comment\n\n",
    "a\u2028b\u2029c\u0085d\u000be\u000cf",
    "\r\n---\r\nContent-Type: text/html\r\n\r\n<script>",
    "\0\x1b[2J",
    "\ufeff",
]
TEXT = "".join(HOSTILE)


def skeleton(body: bytes) -> list[str]:
    """What comes after what. Words that arrive together go together, so of several in a row one counts."""
    kinds = [kind(payload) for payload in payloads(body)]
    return [one for one, before in zip(kinds, ["", *kinds], strict=False) if one != before]


def kind(payload: str) -> str:
    if payload == "[DONE]":
        return payload
    event = json.loads(payload)
    if "type" in event:
        return str(event["type"])
    [choice] = event["choices"]
    return f"{sorted(choice['delta'])} {choice['finish_reason']}"


@pytest.mark.demand("engine.security_row_17_nothing")
async def test_hostile_text_stays_text(stage: Stage) -> None:
    stage.upstream.reply = say(HOSTILE)
    plain = say(["x"] * len(HOSTILE))
    for face in (STREAMED, AGUI):
        outcome = await face(stage.server.url, "hello", headers=KEY)
        assert outcome.text == TEXT
        stage.upstream.reply = plain
        harmless = await face(stage.server.url, "hello", headers=KEY)
        assert skeleton(outcome.body) == skeleton(harmless.body)
        stage.upstream.reply = say(HOSTILE)
    assert (await WHOLE(stage.server.url, "hello", headers=KEY)).text == TEXT
    await stage.works()


@pytest.mark.demand("engine.security_row_17_nothing")
@pytest.mark.parametrize("odd", HOSTILE)
async def test_hostile_names_and_arguments_of_calls(stage: Stage, odd: str) -> None:
    stage.upstream.queue(tool(f"add{odd}", json.dumps({"a": odd}), id=f"up{odd}"))
    async with Client(stage.server.url) as client:
        asked = {"messages": [{"role": "user", "content": "hello"}]}
        await client.post("/agui/default", asked, KEY)
        await client.head()
        events = [json.loads(payload) for payload in payloads(await client.body())]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert kinds.count("TOOL_CALL_START") == kinds.count("TOOL_CALL_END") == kinds.count("TOOL_CALL_RESULT") == 1
    (start,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert start["toolCallName"] == f"add{odd}"
    assert start["toolCallId"].replace("_", "").isalnum(), "an id of the upstream's"
    await stage.works()


@pytest.mark.demand("engine.security_row_17_nothing")
@pytest.mark.parametrize("odd", HOSTILE)
async def test_hostile_ids_names_and_errors(stage: Stage, odd: str) -> None:
    said = {"id": odd, "role": "user", "content": f"hello {odd}", "name": odd}
    async with Client(stage.server.url) as client:
        await client.post("/agui/default", {"threadId": odd, "runId": odd, "messages": [said]}, KEY)
        await client.head()
        events = [json.loads(payload) for payload in payloads(await client.body())]
    assert [event["type"] for event in events][-1] == "RUN_FINISHED"
    assert (events[0]["threadId"], events[0]["runId"]) == (odd, odd)
    stage.upstream.queue(raw([frame(error(odd, odd, odd))]))
    outcome = await AGUI(stage.server.url, "hello", headers=KEY)
    assert outcome.failures == ["upstream_error"]
    for body in ({"model": odd, "messages": [said], "stream": True}, {"messages": [{**said, "role": odd}]}):
        async with Client(stage.server.url) as client:
            await client.post("/v1/chat/completions", body, KEY)
            head = await client.head()
            answer = await client.body()
        assert head.status in (200, 400)
        assert "x" not in head.headers
        if head.status == 200:
            assert payloads(answer)[-1] == "[DONE]"
    await stage.works()


@pytest.mark.parametrize("name", ["a b", "a\n", "a\u2028", "", "x" * 129, 'a"b'])
async def test_a_clients_tool_has_a_plain_name(stage: Stage, name: str) -> None:
    function = {"name": name, "parameters": {"type": "object"}}
    asked = {"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": function}]}
    headers = {**KEY, "Content-Type": "application/json"}
    assert (await stage.ask("POST", "/v1/chat/completions", headers, dump(asked)))[0].status == 400
    asked["tools"] = [function]
    assert (await stage.ask("POST", "/agui/default", headers, dump(asked)))[0].status == 400


async def test_a_writer_that_does_not_escape_goes_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard removed: text put into a frame as it is."""

    async def count() -> int:
        script = json.dumps({"turns": [{"when": {}, "say": HOSTILE}]})
        app = inside.app(model=ScriptFileModel(load_script(script, "here")))
        body = dump({"stream": True, "messages": [{"role": "user", "content": "x"}]})
        answer = await inside.call(app, "POST", "/v1/chat/completions", [("x-api-key", ALICE)], body)
        return len(payloads(answer.body))

    right = await count()
    honest = write.encode
    monkeypatch.setattr(write, "encode", lambda v: f'"{v}"'.encode() if isinstance(v, str) else honest(v))
    try:
        wrong = await count()
    except AssertionError:
        wrong = -1
    assert right != wrong

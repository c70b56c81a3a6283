"""Text that looks like a frame stays text: as many frames as events, at both doors (row 17)."""

import json

import pytest

from rightseat.doors.openai import write
from rightseat.models.scripted import ScriptFileModel, load_script
from tests.faults.protocols import AGUI, OPENAI_STREAMED, OPENAI_WHOLE, parse_payloads
from tests.kit.answers import answer_tokens, answer_tool_call
from tests.kit.chunks import encode_frame, encode_json, make_error_body
from tests.kit.client import RawHttpClient
from tests.kit.framing import send_raw
from tests.security import asgi_client
from tests.security.conftest import ALICE, Deployment

pytestmark = [pytest.mark.io, pytest.mark.asyncio(loop_scope="session")]

KEY_HEADER = {"X-Api-Key": ALICE}
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
HOSTILE_TEXT = "".join(HOSTILE)


def list_kinds(body: bytes) -> list[str]:
    """What comes after what. Words that arrive together go together, so of several in a row one counts."""
    kinds = [get_kind(payload) for payload in parse_payloads(body)]
    return [one for one, before in zip(kinds, ["", *kinds], strict=False) if one != before]


def get_kind(payload: str) -> str:
    if payload == "[DONE]":
        return payload
    event = json.loads(payload)
    if "type" in event:
        return str(event["type"])
    [choice] = event["choices"]
    return f"{sorted(choice['delta'])} {choice['finish_reason']}"


@pytest.mark.demand("engine.security_row_17_nothing")
async def test_hostile_text_stays_text(deployment: Deployment) -> None:
    deployment.upstream.reply = answer_tokens(HOSTILE)
    plain = answer_tokens(["x"] * len(HOSTILE))
    for face in (OPENAI_STREAMED, AGUI):
        outcome = await face(deployment.server.url, "hello", headers=KEY_HEADER)
        assert outcome.text == HOSTILE_TEXT
        deployment.upstream.reply = plain
        harmless = await face(deployment.server.url, "hello", headers=KEY_HEADER)
        assert list_kinds(outcome.body) == list_kinds(harmless.body)
        deployment.upstream.reply = answer_tokens(HOSTILE)
    assert (await OPENAI_WHOLE(deployment.server.url, "hello", headers=KEY_HEADER)).text == HOSTILE_TEXT
    await deployment.assert_works()


@pytest.mark.demand("engine.security_row_17_nothing")
@pytest.mark.parametrize("odd", HOSTILE)
async def test_hostile_names_and_arguments_of_calls(deployment: Deployment, odd: str) -> None:
    deployment.upstream.queue_replies(answer_tool_call(f"add{odd}", json.dumps({"a": odd}), id=f"up{odd}"))
    async with RawHttpClient(deployment.server.url) as client:
        asked = {"messages": [{"role": "user", "content": "hello"}]}
        await client.post_json("/agui/default", asked, KEY_HEADER)
        await client.read_head()
        events = [json.loads(payload) for payload in parse_payloads(await client.read_body())]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "RUN_STARTED"
    assert kinds[-1] == "RUN_FINISHED"
    assert kinds.count("TOOL_CALL_START") == kinds.count("TOOL_CALL_END") == kinds.count("TOOL_CALL_RESULT") == 1
    (start,) = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert start["toolCallName"] == f"add{odd}"
    assert start["toolCallId"].replace("_", "").isalnum(), "an id of the upstream's"
    await deployment.assert_works()


@pytest.mark.demand("engine.security_row_17_nothing")
@pytest.mark.parametrize("odd", HOSTILE)
async def test_hostile_ids_names_and_errors(deployment: Deployment, odd: str) -> None:
    said = {"id": odd, "role": "user", "content": f"hello {odd}", "name": odd}
    async with RawHttpClient(deployment.server.url) as client:
        await client.post_json("/agui/default", {"threadId": odd, "runId": odd, "messages": [said]}, KEY_HEADER)
        await client.read_head()
        events = [json.loads(payload) for payload in parse_payloads(await client.read_body())]
    assert [event["type"] for event in events][-1] == "RUN_FINISHED"
    assert (events[0]["threadId"], events[0]["runId"]) == (odd, odd)
    deployment.upstream.queue_replies(send_raw([encode_frame(make_error_body(odd, odd, odd))]))
    outcome = await AGUI(deployment.server.url, "hello", headers=KEY_HEADER)
    assert outcome.failures == ["upstream_error"]
    for body in ({"model": odd, "messages": [said], "stream": True}, {"messages": [{**said, "role": odd}]}):
        async with RawHttpClient(deployment.server.url) as client:
            await client.post_json("/v1/chat/completions", body, KEY_HEADER)
            head = await client.read_head()
            answer = await client.read_body()
        assert head.status in (200, 400, 404)
        assert "x" not in head.headers
        if head.status == 200:
            assert parse_payloads(answer)[-1] == "[DONE]"
    await deployment.assert_works()


@pytest.mark.parametrize("name", ["a b", "a\n", "a\u2028", "", "x" * 129, 'a"b'])
async def test_a_clients_tool_has_a_plain_name(deployment: Deployment, name: str) -> None:
    function = {"name": name, "parameters": {"type": "object"}}
    asked = {"messages": [{"role": "user", "content": "x"}], "tools": [{"type": "function", "function": function}]}
    headers = {**KEY_HEADER, "Content-Type": "application/json"}
    assert (await deployment.send_request("POST", "/v1/chat/completions", headers, encode_json(asked)))[0].status == 400
    asked["tools"] = [function]
    assert (await deployment.send_request("POST", "/agui/default", headers, encode_json(asked)))[0].status == 400


async def test_a_writer_that_does_not_escape_goes_red(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard removed: text put into a frame as it is."""

    async def count() -> int:
        script = json.dumps({"turns": [{"when": {}, "say": HOSTILE}]})
        app = asgi_client.make_app(model=ScriptFileModel(load_script(script, "here")))
        body = encode_json({"stream": True, "messages": [{"role": "user", "content": "x"}]})
        answer = await asgi_client.send_request(app, "POST", "/v1/chat/completions", [("x-api-key", ALICE)], body)
        return len(parse_payloads(answer.body))

    right = await count()
    honest = write.encode
    monkeypatch.setattr(write, "encode", lambda v: f'"{v}"'.encode() if isinstance(v, str) else honest(v))
    try:
        wrong = await count()
    except AssertionError:
        wrong = -1
    assert right != wrong

"""A body over the limit, at every door: the answer that its client shows to the person."""

import json
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.settings import ServerSettings
from tests.contract.doors.members import MEMBERS
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, ResponseHead

pytestmark = pytest.mark.io
SETTINGS = ServerSettings(port=0, max_body_mb=0.01)
# What the members' real clients send, by which the server knows them before it has read a body.
HEADERS = {
    "agui": {"Accept": "text/event-stream"},
    "copilotkit-single": {"Accept": "text/event-stream"},
    "copilotkit-routes": {"Accept": "text/event-stream"},
    "copilotkit-planned": {"X-CopilotKit-Runtime-Client-GQL-Version": "1.10.6"},
    "copilotkit-executed": {"X-CopilotKit-Runtime-Client-GQL-Version": "1.10.6"},
    "copilotkit-whole": {"X-CopilotKit-Runtime-Client-GQL-Version": "1.10.6"},
}


async def post_large_body(member: str, headers: dict[str, str], *, chunked: bool) -> tuple[ResponseHead, str]:
    async with serve_runtime(Runtime(model=FakeModel(reply_text("unused"))), SETTINGS) as home:
        door_client = MEMBERS[member](home.url)
        door_client.history.append({"id": "1", "role": "user", "content": "x" * 20_000})
        path, body = door_client.build_request()
        async with RawHttpClient(home.url) as client:
            if chunked:
                data = json.dumps(body).encode()
                framing = {"Content-Type": "application/json", "Transfer-Encoding": "chunked"}
                fields = {"Host": "127.0.0.1", **headers, **framing}
                lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
                head = "\r\n".join(lines).encode() + b"\r\n\r\n"
                await client.send(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data))
            else:
                await client.post_json(path, body, headers)
            return await client.read_head(), (await client.read_body()).decode()


def find_message(member: str, status: int, said: str) -> str:
    """The message where the member's client looks for it; the statuses are those whose bodies it shows."""
    if member.startswith("openbb"):
        assert status == 200
        assert said.startswith("event: copilotMessageChunk\ndata: ")
        return str(json.loads(said.split("data: ", 1)[1])["delta"])
    body: dict[str, Any] = json.loads(said)
    if member.startswith("openai"):
        assert status == 413
        assert body["error"]["code"] == "too_large"
        return str(body["error"]["message"])
    if "X-CopilotKit-Runtime-Client-GQL-Version" in HEADERS[member]:
        assert status == 200
        assert body["errors"][0]["extensions"]["originalErrorType"] == "too_large"
        return str(body["errors"][0]["message"])
    assert status == 413
    assert body["code"] == "too_large"
    return str(body["message"])


@pytest.mark.demand("openbb.body_limit_in_door_shape")
@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("member", MEMBERS)
async def test_a_body_over_the_limit_is_answered_in_the_doors_shape(member: str, chunked: bool) -> None:
    head, said = await post_large_body(member, HEADERS.get(member, {}), chunked=chunked)
    assert "larger than" in find_message(member, head.status, said)


@pytest.mark.demand("openbb.body_limit_in_door_shape")
@pytest.mark.parametrize("member", ["openbb-today", "openbb-2024"])
async def test_openbb_says_it_in_the_browsers_language(member: str) -> None:
    head, said = await post_large_body(member, {"Accept-Language": "zh-CN,zh;q=0.9"}, chunked=False)
    assert "超过" in find_message(member, head.status, said)

"""What the app does before any door: unknown paths, handlers that fail."""

import json

import pytest

from rightseat import Runtime
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient, build_raw_request

pytestmark = pytest.mark.io

BODY = b'{"messages": [{"role": "user", "content": "hi"}]}'


async def post_body(url: str, target: str, **headers: str) -> tuple[int, bytes]:
    async with RawHttpClient(url) as client:
        host = headers.pop("host", "127.0.0.1")
        await client.send(build_raw_request("POST", target, BODY, headers, host))
        return (await client.read_head()).status, await client.read_body()


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/chat/completion", "/chat/completions"),
        ("/v1/chat/completions/", "/v1/chat/completions"),
        ("/v1", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/v1/chat", "/v1/chat/completions"),
        ("/v1/model", "/v1/models"),
    ],
)
async def test_an_unknown_path_is_answered_with_the_nearest(path: str, meant: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        status, body = await post_body(server.url, path)
    assert status == 404
    assert f"Did you mean {meant}?".encode() in body


@pytest.mark.parametrize("path", ["/nope", "/foo", "/wp-login.php", "//"])
async def test_an_unknown_path_that_is_near_nothing_gets_no_guess(path: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        status, body = await post_body(server.url, path)
    assert status == 404
    assert b"Did you mean" not in body


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/v1/responses", "use /v1/chat/completions."),
        ("/v1/responses/r1/cancel", "use /v1/chat/completions."),
        ("/v1/messages", "use /v1/chat/completions."),
        ("/api/chat", "use /v1/chat/completions."),
        ("/v1/images/generations", "There is no such service here."),
    ],
)
async def test_a_well_known_route_of_another_server_is_not_answered_with_the_nearest(path: str, advice: str) -> None:
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        status, body = await post_body(server.url, path)
    assert status == 404
    assert advice.encode() in body
    assert b"Did you mean" not in body


async def test_messages_of_a_kind_to_come_are_left_out_at_agui() -> None:
    model = FakeModel(reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server, RawHttpClient(server.url) as client:
        messages = [{"role": "banana", "content": "x"}, {"role": "user", "content": "hi"}]
        await client.post_json("/agui/default", {"messages": messages})
        assert (await client.read_head()).status == 200
        await client.read_body()
    assert [message.text for message in model.prompts[0].messages] == ["hi"]


async def test_a_handler_that_fails_is_an_error_of_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(runtime: Runtime, name: str | None) -> str:
        raise KeyError(name)

    monkeypatch.setattr(Runtime, "get_fingerprint", fail)
    async with serve_runtime(Runtime(model=FakeModel())) as server:
        status, body = await post_body(server.url, "/v1/chat/completions")
    assert status == 500
    assert json.loads(body)["error"]["type"] == "server_error"

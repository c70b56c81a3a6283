"""What the app does before any door: unknown paths."""

import pytest

from rightseat import Runtime
from tests.kit.client import Client, request
from tests.kit.house import Lines, house, says

pytestmark = pytest.mark.io

BODY = b'{"messages": [{"role": "user", "content": "hi"}]}'


async def ask(url: str, target: str, **headers: str) -> tuple[int, bytes]:
    async with Client(url) as client:
        host = headers.pop("host", "127.0.0.1")
        await client.send(request("POST", target, BODY, headers, host))
        return (await client.head()).status, await client.body()


@pytest.mark.parametrize(
    ("path", "meant"),
    [("/chat/completions", "/v1/chat/completions"), ("/v1/chat/completions/", "/v1/chat/completions")],
)
async def test_an_unknown_path_is_answered_with_the_nearest(path: str, meant: str) -> None:
    async with house(Runtime(model=Lines())) as server:
        status, body = await ask(server.url, path)
    assert status == 404
    assert f"Did you mean {meant}?".encode() in body


async def test_messages_of_a_kind_to_come_are_left_out_at_agui() -> None:
    model = Lines(says("ok"))
    async with house(Runtime(model=model)) as server, Client(server.url) as client:
        messages = [{"role": "banana", "content": "x"}, {"role": "user", "content": "hi"}]
        await client.post("/agui/default", {"messages": messages})
        assert (await client.head()).status == 200
        await client.body()
    assert [message.text for message in model.asked[0].messages] == ["hi"]

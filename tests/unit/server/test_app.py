"""What the app does before any door: unknown paths, mounting."""

from typing import Any

import pytest

from rightseat import Runtime, mount
from rightseat.config.secret import Secret
from rightseat.config.settings import AuthSettings
from rightseat.http.auth import Authenticator
from tests.kit.client import Client, request
from tests.kit.house import Lines, house, says, serving

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


class Outer:
    """An app that has `mount`, and nothing else."""

    def mount(self, prefix: str, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


async def test_mounted_without_keys_only_loopback_is_answered() -> None:
    outer = Outer()
    mount(outer, Runtime(model=Lines(says("ok"))))
    async with serving(outer) as url:
        assert (await ask(url, "/v1/chat/completions"))[0] == 200
        evil = {"host": "evil.example", "origin": "http://evil.example"}
        assert (await ask(url, "/v1/chat/completions", **evil))[0] == 403


async def test_mounted_with_hosts_or_keys_others_are_too() -> None:
    named = Outer()
    mount(named, Runtime(model=Lines(says("ok"))), hosts=["app.example"], keep_alive=3)
    assert named.app.send_timeouts.keep_alive == 3
    keys = Authenticator(AuthSettings(keys={"ann": Secret("k-ann")}))
    keyed = Outer()
    mount(keyed, Runtime(model=Lines(says("ok"))), authenticate=keys)
    async with serving(named) as url:
        assert (await ask(url, "/v1/chat/completions", host="app.example"))[0] == 200
    async with serving(keyed) as url:
        assert (await ask(url, "/v1/chat/completions", host="any.example"))[0] == 401
        with_key = {"host": "any.example", "authorization": "Bearer k-ann"}
        assert (await ask(url, "/v1/chat/completions", **with_key))[0] == 200


async def test_messages_of_a_kind_to_come_are_left_out_at_agui() -> None:
    model = Lines(says("ok"))
    async with house(Runtime(model=model)) as server, Client(server.url) as client:
        messages = [{"role": "banana", "content": "x"}, {"role": "user", "content": "hi"}]
        await client.post("/agui/default", {"messages": messages})
        assert (await client.head()).status == 200
        await client.body()
    assert [message.text for message in model.asked[0].messages] == ["hi"]

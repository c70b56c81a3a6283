"""`kill -9` of a whole server in the middle of a flow: the next one goes on where it stood."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.contract.doors.agui import AgUi
from tests.kit.house import serving
from tests.kit.patience import STUCK
from tests.kit.server import Server

pytestmark = pytest.mark.io
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: t}
servers: [{url: "URL"}]
paths:
  /hosts:
    get: {description: d, responses: {"200": {description: ok}}}
  /orders:
    post: {description: d, responses: {"200": {description: ok}}}
"""
FLOW = """
name: order
description: Orders.
steps:
  - {name: start, call_type: api, params: {endpoint: GET /hosts}, next: order}
  - {name: order, call_type: api, params: {endpoint: POST /orders}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell {start.n} and {order.n}"}}
"""


@dataclass
class Api:
    """Answers with the number of the request; the first order is not answered."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    stuck: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(f"{scope['method']} {scope['path']}")
        if scope["method"] == "POST" and not self.stuck.is_set():
            self.stuck.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps({"n": len(self.asked)}).encode()})


@asynccontextmanager
async def api() -> AsyncIterator[Api]:
    made = Api()
    async with serving(made) as url:
        made.url = url
        yield made


class Asking(AgUi):
    def body(self) -> tuple[str, dict[str, Any]]:
        return "/agui/p.order", super().body()[1]


def plugin(home: Path, url: str) -> None:
    folder = home / "plugins" / "p"
    (folder / "flows").mkdir(parents=True)
    (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", url), "utf-8")
    (folder / "flows" / "order.yaml").write_text(FLOW, "utf-8")
    turns = [{"when": {"user": "^Tell (.*)"}, "say": "Done: {user}"}]
    (home / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")


def server(home: Path) -> Server:
    config = f"""
[models.m]
spec = "scripted:{home / "turns.json"}"
[[plugins]]
path = "{home / "plugins"}"
allow = ["127.0.0.1"]
retries = 0
[store]
path = "{home / "data"}"
"""
    return Server(config=config)


@pytest.mark.demand("flows.state_journalled_per_step", "flows.killed_inside_step_read")
@pytest.mark.long
async def test_a_killed_server_goes_on_when_it_is_asked_again(tmp_path: Path) -> None:
    async with api() as called:
        plugin(tmp_path, called.url)
        async with server(tmp_path) as first:
            asking = asyncio.create_task(Asking(first.url).say("go"))
            await asyncio.wait_for(called.stuck.wait(), STUCK)
            os.kill(first.pid, signal.SIGKILL)
            await asyncio.wait([asking])
            asking.exception()
        async with server(tmp_path) as second:
            person = Asking(second.url)
            seen = await person.say("go")
            (question,) = seen.asks
            assert "'order' (api POST /orders) of p/order: it may have run" in question["message"]
            assert called.asked == ["GET /hosts", "POST /orders"], "nothing is called before the answer"
            seen = await person.answer({"then": "retry"})
            assert seen.text == "Done: Tell 1 and 3"
    assert called.asked == ["GET /hosts", "POST /orders", "POST /orders"]

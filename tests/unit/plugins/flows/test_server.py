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

from evals.crashes.shop import make_server
from tests.contract.doors.agui import AguiClient
from tests.kit.app_server import serve_app
from tests.kit.timeouts import HANG_TIMEOUT

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
class HangingApi:
    """Answers with the number of the request; the first order is not answered."""

    url: str = ""
    requests: list[str] = field(default_factory=list)
    stuck: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.requests.append(f"{scope['method']} {scope['path']}")
        if scope["method"] == "POST" and not self.stuck.is_set():
            self.stuck.set()
            while (await receive())["type"] != "http.disconnect":
                pass
            return
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps({"n": len(self.requests)}).encode()})


@asynccontextmanager
async def serve_api() -> AsyncIterator[HangingApi]:
    made = HangingApi()
    async with serve_app(made) as url:
        made.url = url
        yield made


class FlowClient(AguiClient):
    def build_request(self) -> tuple[str, dict[str, Any]]:
        return "/agui/p.order", super().build_request()[1]


def write_plugin(home: Path, url: str) -> None:
    folder = home / "plugins" / "p"
    (folder / "flows").mkdir(parents=True)
    (folder / "openapi.yaml").write_text(DOCUMENT.replace("URL", url), "utf-8")
    (folder / "flows" / "order.yaml").write_text(FLOW, "utf-8")
    turns = [{"when": {"user": "^Tell (.*)"}, "say": "Done: {user}"}]
    (home / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")


@pytest.mark.demand("flows.state_journalled_per_step", "flows.killed_inside_step_read")
@pytest.mark.long
async def test_a_killed_server_goes_on_when_it_is_asked_again(tmp_path: Path) -> None:
    async with serve_api() as called:
        write_plugin(tmp_path, called.url)
        async with make_server(tmp_path) as first:
            asking = asyncio.create_task(FlowClient(first.url).send_message("go"))
            await asyncio.wait_for(called.stuck.wait(), HANG_TIMEOUT)
            os.kill(first.pid, signal.SIGKILL)
            await asyncio.wait([asking])
            asking.exception()
        async with make_server(tmp_path) as second:
            person = FlowClient(second.url)
            seen = await person.send_message("go")
            (question,) = seen.questions
            assert "'order' (api POST /orders) of p/order: it may have run" in question["message"]
            assert called.requests == ["GET /hosts", "POST /orders"], "nothing is called before the answer"
            seen = await person.answer_question({"then": "retry"})
            assert seen.text == "Done: Tell 1 and 3"
    assert called.requests == ["GET /hosts", "POST /orders", "POST /orders"]

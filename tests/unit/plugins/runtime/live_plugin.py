"""A plugin of a running server whose files a test edits: an API that counts, flows that wait, and a client."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.contract.doors.agui import AguiClient
from tests.contract.doors.client_result import ClientResult
from tests.kit.server import RightseatProcess
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.runtime.api_plugins import RecordingJsonApi, serve_json_api

POLL_SECONDS = 0.05
RELOADED = "The configuration was reloaded"
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: Shop}
servers: [{url: "URL"}]
paths:
  /orders:
    get: {description: All orders., responses: {"200": {description: ok}}}
    post: {description: Places an order., responses: {"200": {description: ok}}}
  /orders/{id}:
    delete:
      description: Cancels an order.
      dangerous: true
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: ok}}
"""
CANCEL = """
name: cancel
description: Cancels an order.
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders}, next: drop}
  - {name: drop, call_type: api, params: {endpoint: "DELETE /orders/{id}", values: {id: "{question}"}}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell of {data}"}}
"""
OTHER = """
name: other
description: Lists the orders.
steps:
  - {name: start, call_type: api, params: {endpoint: GET /orders}, next: tell}
  - {name: tell, call_type: llm, params: {user_prompt: "Tell of {data}"}}
"""
FILES = {
    "plugin.json": '{"name": "Shop", "description": "Orders of a shop."}',
    "openapi.yaml": DOCUMENT,
    "flows/cancel.yaml": CANCEL,
    "flows/other.yaml": OTHER,
}
TURNS = [
    {"when": {"user": "^cancel (.*)"}, "calls": [{"name": "shop_delete_orders_by_id", "arguments": {"id": "p-001"}}]},
    {"when": {"user": "^flow (.*)"}, "calls": [{"name": "shop_cancel", "arguments": {"request": "p-001"}}]},
    {"when": {"user": "^Tell of"}, "say": "Done."},
    {"when": {}, "say": "{result}"},
]


class PluginClient(AguiClient):
    """A client of one agent and thread that keeps the words of a failure."""

    def __init__(self, url: str, agent: str = "shop.cancel", thread: str = "t1") -> None:
        super().__init__(url)
        self.agent, self.thread, self.failure = agent, thread, ""

    def build_request(self) -> tuple[str, dict[str, Any]]:
        _, run = super().build_request()
        return f"/agui/{self.agent}", {**run, "threadId": self.thread, "runId": f"{time.monotonic_ns()}", "tools": []}

    def read_events(self, events: list[dict[str, Any]]) -> ClientResult:
        self.failure = next((event["message"] for event in events if event["type"] == "RUN_ERROR"), "")
        return super().read_events(events)


@dataclass
class LivePlugin:
    folder: Path
    api: RecordingJsonApi
    server: RightseatProcess
    seen_reloads: int = field(default=0, init=False)

    def write(self, **texts: str) -> None:
        """Write the files in place; `flows__other` is flows/other.yaml, `plugin` is plugin.json."""
        for key, text in texts.items():
            name = "plugin.json" if key == "plugin" else f"{key.replace('__', '/')}.yaml"
            write_file(self.folder / name, text, self.api.url)

    async def wait_reload(self) -> None:
        """Wait until the server has read the files again."""
        await wait_for(lambda: self.count_reloads() > self.seen_reloads)
        self.seen_reloads = self.count_reloads()

    def count_reloads(self) -> int:
        return self.server.stderr.count(RELOADED)

    def open_client(self, agent: str = "shop.cancel", thread: str = "t1") -> PluginClient:
        return PluginClient(self.server.url, agent, thread)

    async def wait_works(self) -> None:
        """Wait until the flow `other` ends without a failure."""

        async def works() -> bool:
            return (await self.open_client("shop.other", f"w{time.monotonic_ns()}").send_message("go")).error is None

        await wait_until_true(works)

    async def wait_fails(self) -> None:
        """Wait until the flow `other` is not there."""

        async def fails() -> bool:
            client = self.open_client("shop.other", f"w{time.monotonic_ns()}")
            return (await client.send_message("go")).error is not None

        await wait_until_true(fails)


async def wait_for(check: Callable[[], bool]) -> None:
    async def checked() -> bool:
        return check()

    await wait_until_true(checked)


async def wait_until_true(check: Callable[[], Awaitable[bool]]) -> None:
    limit = time.monotonic() + HANG_TIMEOUT
    while not await check():
        assert time.monotonic() < limit, "it did not happen"
        await asyncio.sleep(POLL_SECONDS)


def write_file(path: Path, text: str, url: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("URL", url), "utf-8")


def write_plugin(folder: Path, url: str, files: dict[str, str] = FILES) -> None:
    for name, text in files.items():
        write_file(folder / name, text, url)


@asynccontextmanager
async def serve_live_plugin(home: Path, *, direct: bool = False, more: str = "") -> AsyncIterator[LivePlugin]:
    """Serve the plugin `shop`; with `direct`, [[plugins]] names its own folder instead of the one above."""
    folder = home / "plugins" / "shop"
    async with serve_json_api() as api:
        write_plugin(folder, api.url)
        (home / "turns.json").write_text(json.dumps({"turns": TURNS}), "utf-8")
        config = f"""
[models.m]
spec = "scripted:{home / "turns.json"}"
[[plugins]]
path = "{folder if direct else folder.parent}"
allow = ["127.0.0.1"]
retries = 0
{more}
"""
        async with RightseatProcess(config=config) as server:
            yield LivePlugin(folder, api, server)

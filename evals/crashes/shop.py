"""The shop of the crash drill: an API that counts its effects, a flow over it, and the server that is killed."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.kit.app_server import serve_app
from tests.kit.server import RightseatProcess

AGENT = "shop.order"
EFFECTS = ("/orders", "/mails", "/payments")
WORDS = [f"{number} " for number in range(16)]
DOCUMENT = """
openapi: 3.0.0
info: {version: 1.0.0, title: Shop}
servers: [{url: "URL"}]
paths:
  /items:
    get: {description: Items., responses: {"200": {description: ok}}}
""" + "".join(
    f"""  {path}:
    post:
      description: An effect.
      parameters: [{{name: customer, in: query, required: true, schema: {{type: string}}}}]
      responses: {{"200": {{description: ok}}}}
"""
    for path in EFFECTS
)
FLOW = """
name: order
description: Orders, mails and pays.
steps:
  - {name: start, call_type: api, params: {endpoint: GET /items, values: {}}, next: order}
  - {name: order, call_type: api, params: {endpoint: POST /orders, values: {customer: "{question}"}}, next: mail}
  - {name: mail, call_type: api, params: {endpoint: POST /mails, values: {customer: "{question}"}}, next: pay}
  - name: pay
    call_type: api
    confirm: true
    params: {endpoint: POST /payments, values: {customer: "{question}"}}
    next: tell
  - {name: tell, call_type: llm, params: {user_prompt: "Tell the customer."}}
"""


@dataclass
class ShopApi:
    """Counts its effects by customer and path. `on_event` is called before and after each one."""

    url: str = ""
    effects: Counter[tuple[str, str]] = field(default_factory=Counter)
    on_event: Callable[[], None] = lambda: None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.on_event()
        if scope["method"] == "POST":
            (customer,) = parse_qs(scope["query_string"].decode())["customer"]
            self.effects[customer, scope["path"]] += 1
        # The effect has happened, and its caller does not know yet.
        self.on_event()
        await asyncio.sleep(0)
        body = json.dumps({"n": sum(self.effects.values())}).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serve_shop(home: Path) -> AsyncIterator[ShopApi]:
    """Serve the API, with the plugin and the model's script for it in `home`."""
    api = ShopApi()
    async with serve_app(api) as url:
        api.url = url
        write_shop(home, DOCUMENT.replace("URL", url), FLOW, [{"when": {"user": "^Tell"}, "say": WORDS, "pace_ms": 5}])
        yield api


def write_shop(home: Path, document: str, flow: str, turns: list[dict[str, Any]]) -> None:
    """Write a plugin with one flow, and the script of the model."""
    folder = home / "plugins" / "shop"
    (folder / "flows").mkdir(parents=True)
    (folder / "openapi.yaml").write_text(document, "utf-8")
    (folder / "flows" / "order.yaml").write_text(flow, "utf-8")
    (home / "turns.json").write_text(json.dumps({"turns": turns}), "utf-8")


def write_tables(home: Path) -> str:
    """Write the configuration without that of the store."""
    return f"""
[models.m]
spec = "scripted:{home / "turns.json"}"
[[plugins]]
path = "{home / "plugins"}"
allow = ["127.0.0.1"]
retries = 0
"""


def make_server(home: Path, workers: int = 1) -> RightseatProcess:
    config = f'{write_tables(home)}[store]\npath = "{home / "data"}"\n'
    return RightseatProcess(config=config, args=["--workers", str(workers)] if workers > 1 else [])

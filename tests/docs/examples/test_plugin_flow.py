"""examples/plugin-flow: the plugin is clean, and its flow asks before it orders.

tests/peers/test_examples.py runs it as its README says.
"""

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.config.load import load_config
from rightseat.plugins.load import read_plugin
from rightseat.testing import TestClient
from rightseat.wiring.from_config import build_runtime

EXAMPLE = Path(__file__).parents[3] / "examples" / "plugin-flow"
PLUGIN = EXAMPLE / "plugins" / "stock"
COMPLETIONS = "/v1/chat/completions"
pytestmark = pytest.mark.demand("release.example_plugin_flow")


@contextmanager
def serve_stock() -> Iterator[tuple[dict[str, int], str]]:
    """The example's API on a free port: its items, and its address."""
    spec = importlib.util.spec_from_file_location("stock_api_example", EXAMPLE / "stock_api.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules.pop(spec.name, None)
    module.StockHandler.log_message = lambda *arguments: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), module.StockHandler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield module.ITEMS, f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def build_example(folder: Path, api: str) -> Runtime:
    text = (EXAMPLE / "rightseat.toml").read_text("utf-8").replace('"plugins"', f'"{EXAMPLE / "plugins"}"')
    (folder / "rightseat.toml").write_text(f'{text}\nserver = "{api}"\n', "utf-8")
    env = {"RIGHTSEAT_MODEL": "scripted:demo"}
    return build_runtime(load_config(folder / "rightseat.toml", env=env), env=env)


async def ask(client: TestClient, *texts: str) -> str:
    """Send a conversation of these texts, of which every second is the assistant's; return the answer."""
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    reply = await client.post_json(COMPLETIONS, {"model": "stock.restock", "messages": messages})
    assert reply.status == 200, reply.text
    content: Any = reply.json["choices"][0]["message"]["content"]
    return str(content)


def test_the_plugin_passes_the_strict_check() -> None:
    plugin = read_plugin(PLUGIN, strict=True)
    assert plugin.problems == ()
    assert [operation.name for operation in plugin.operations] == ["list_items", "order_more"]
    assert [flow.name for flow in plugin.workflows] == ["restock"]


@pytest.mark.io
async def test_the_flow_orders_after_a_yes_and_only_then(tmp_path: Path) -> None:
    with serve_stock() as (items, api):
        async with TestClient(build_example(tmp_path, api)) as client:
            question = await ask(client, "Restock what is low.")
            assert items["lamp"] == 3
            assert "lamp" in question
            refused = await ask(client, "Restock what is low.", question, "no")
            assert "not allowed" in refused
            assert items["lamp"] == 3
            question = await ask(client, "Please restock what is low.")
            answer = await ask(client, "Please restock what is low.", question, "yes")
            assert answer == "Ordered 20 of lamp. Then there are 23."
            assert items["lamp"] == 23
            assert await ask(client, "Is anything low?") == "There is enough of everything."

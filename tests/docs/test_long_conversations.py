"""The configuration of docs/models.md for conversations that are too long, run against a server with a small window."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.wiring.from_config import build_runtime
from tests.docs.test_docs import PAGES, find_blocks
from tests.kit.app_server import serve_runtime
from tests.kit.client import RawHttpClient
from tests.kit.llama_server import FakeLlamaServer

PAGE = next(page for page in PAGES if page.name == "models.md")
[CONFIGURATION] = [text for text in find_blocks(PAGE, "toml") if "summarise" in text]
[REQUEST] = [text for text in find_blocks(PAGE, "sh") if '"truncation"' in text]


async def post_chat(url: str, body: dict[str, Any]) -> tuple[int, dict[str, str], dict[str, Any]]:
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", body)
        head = await client.read_head()
        return head.status, head.headers, await client.read_json()


@pytest.mark.io
@pytest.mark.demand("window.summary_of_dropped_turns", "window.refuses_where_asked", "window.told_once")
async def test_the_page_s_configuration_does_what_it_says(tmp_path: Path) -> None:
    upstream = FakeLlamaServer(1024, answer="They spoke of rain.")
    turns = [("user", f"What of day {n}?") if n % 2 == 0 else ("assistant", "It rains. " * 20) for n in range(80)]
    messages = [{"role": role, "content": text} for role, text in (*turns, ("user", "And now?"))]
    async with upstream.serve() as upstream_url:
        file = tmp_path / "rightseat.toml"
        file.write_text(CONFIGURATION.replace("http://127.0.0.1:8080", upstream_url), encoding="utf-8")
        async with serve_runtime(build_runtime(load_config(file))) as server:
            status, headers, body = await post_chat(server.url, {"messages": messages})
            assert status == 200
            assert body["history_cut"] == {
                "dropped": int(headers["x-history-cut"]),
                "context": 1024,
                "summarised": True,
            }
            assert "They spoke of rain." in upstream.prompts[-1]
            refusals = [
                {"messages": messages, "model": "strict"},
                json.loads(shlex.split(REQUEST)[-1]) | {"messages": messages},
            ]
            for request in refusals:
                status, _, body = await post_chat(server.url, request)
                assert (status, body["error"]["code"]) == (400, "context_length_exceeded")

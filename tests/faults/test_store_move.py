"""What a server has kept in its data folder is moved to PostgreSQL, and another server goes on with it."""

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.faults.test_crashes import BODY, CONNECT_PATH, RUN_PATH
from tests.kit.answers import answer_text, answer_tool_calls
from tests.kit.client import RawHttpClient
from tests.kit.command import run_command
from tests.kit.postgres import get_session_server
from tests.kit.server import RightseatProcess
from tests.kit.upstream import FakeUpstream

pytestmark = [pytest.mark.io, pytest.mark.timeout(600)]
SCHEMA = f"moved_{os.getpid()}"
TOOLS = """
from pathlib import Path
from rightseat import tool
from rightseat.types.events import Artifact

@tool(confirm=True)
async def pay() -> str:
    "Pays."
    with Path("{paid}").open("a") as file:
        file.write("paid ")
    return "paid"

@tool
async def report():
    "Makes a file."
    yield Artifact("f1", "file", "report.csv", {{"media_type": "text/csv", "data": b"a,b\\n" * 50_000}})
"""
LINK = re.compile(r"/files/file_\w+/report\.csv")


def make_server(home: Path, upstream: FakeUpstream, store: str) -> RightseatProcess:
    config = f"""
[models.m]
spec = "openai:any"
[assistants.default]
model = "m"
tools = ["moved_tools:pay", "moved_tools:report"]
[auth.keys]
alice = "env:ALICE"
bob = "env:BOB"
[limits.owners.bob]
tokens_per_day = 1
[store]
{store}
"""
    env = {"OPENAI_BASE_URL": upstream.base_url, "OPENAI_API_KEY": "k", "ALICE": "alices-key", "BOB": "bobs-key"}
    server = RightseatProcess(config=config, env={**env, "DATABASE": get_session_server().url})
    (server.folder / "moved_tools.py").write_text(TOOLS.format(paid=home / "paid"), "utf-8")
    return server


async def post(url: str, path: str, key: str, thread: str, run: str, **more: Any) -> tuple[int, str]:
    """The status and the whole text of an answer."""
    messages = [{"id": "u", "role": "user", "content": "go on"}]
    body = {"threadId": thread, "runId": run, "messages": messages, **BODY, **more}
    async with RawHttpClient(url) as client:
        await client.post_json(path, body, {"Authorization": f"Bearer {key}"})
        head = await client.read_head()
        return head.status, (await client.read_body()).decode()


async def download(url: str, path: str) -> tuple[int, bytes]:
    async with RawHttpClient(url) as client:
        await client.get(path)
        head = await client.read_head()
        return head.status, await client.read_body()


@pytest.mark.demand("cluster.store_move")
async def test_a_server_on_postgresql_goes_on_with_what_one_on_sqlite_kept(tmp_path: Path) -> None:
    database = get_session_server().url
    data = tmp_path / "data"
    sqlite, postgres = f'path = "{data}"', f'kind = "postgres"\nurl = "env:DATABASE"\nschema = "{SCHEMA}"'
    async with FakeUpstream() as upstream:
        upstream.queue_replies(
            answer_text(30), answer_tool_calls(("pay", "{}")), answer_tool_calls(("report", "{}")), answer_text(3)
        )
        upstream.reply = answer_text(3)
        async with make_server(tmp_path, upstream, sqlite) as server:
            _, said = await post(server.url, RUN_PATH, "alices-key", "t", "r1")
            _, asked = await post(server.url, "/agui/default", "alices-key", "p", "r1")
            _, reported = await post(server.url, RUN_PATH, "alices-key", "f", "r1")
            assert (await post(server.url, RUN_PATH, "bobs-key", "b", "r1"))[0] == 200
            refusal = await post(server.url, RUN_PATH, "bobs-key", "b", "r2")
            shown = await post(server.url, CONNECT_PATH, "alices-key", "t", "r1")
            refused = await run_command("store", "move", f"sqlite://{data}", database, "--schema", SCHEMA)
            assert (refused.code, "is in use by another rightseat" in refused.err) == (1, True)
            # Killed: the write-ahead log has what the file has not.
            server.send_signal(signal.SIGKILL)
            await server.wait_exit()
        assert "spend_exceeded" in refusal[1]
        [link] = set(LINK.findall(reported))
        [question] = set(re.findall(r'"interrupts":\[\{"id":"([^"]+)"', asked))
        moved = await run_command("store", "move", f"sqlite://{data}", database, "--schema", SCHEMA)
        assert moved.code == 0, moved.err + moved.out
        async with make_server(tmp_path, upstream, postgres) as server:
            assert await post(server.url, CONNECT_PATH, "alices-key", "t", "r1") == shown
            asked_before = len(upstream.requests)
            assert json.dumps(said)[:50] in json.dumps((await post(server.url, RUN_PATH, "alices-key", "t", "r1"))[1])
            assert len(upstream.requests) == asked_before, "the same run is replayed"
            resume = [{"interruptId": question, "status": "resolved", "payload": {"approved": True}}]
            _, paid = await post(server.url, "/agui/default", "alices-key", "p", "r2", resume=resume)
            assert "RUN_FINISHED" in paid
            _, again = await post(server.url, "/agui/default", "alices-key", "p", "r3", resume=resume)
            assert "already_answered" in again
            assert await download(server.url, link) == (200, b"a,b\n" * 50_000)
            now_refused = await post(server.url, RUN_PATH, "bobs-key", "b", "r3")
            assert now_refused[0] == refusal[0]
            assert "spend_exceeded" in now_refused[1]
        assert await asyncio.to_thread((tmp_path / "paid").read_text) == "paid "
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {SCHEMA} CASCADE")

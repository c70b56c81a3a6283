"""An upgrade: a configuration, threads and waiting approvals that version 0.1.0 (commit 274792c) left behind.

Each folder of upgrade/ was written by that version: its data as SQL, everything else as it was.
"""

import json
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from rightseat.config.load import load_config
from rightseat.wiring.storage import data_folder
from tests.kit.client import RawHttpClient
from tests.kit.server import RightseatProcess

pytestmark = [pytest.mark.io, pytest.mark.demand("release.upgrade")]
LEFT_BEHIND = Path(__file__).parent / "upgrade" / "0.1.0-274792c"
QUESTION = 'Let me see.\n\nAllow cancel_order with {"id":"a-1"}?\n\nReply yes or no.'
NAMES = {"thread-text": "hello shop", "thread-tools": "orders please", "thread-approval": "cancel a-1"}
FOUND_ASKS = {
    "thread-approval": "ask_f1bd7e0a081f6f7b4720fdff_3",
    "thread-flow": "ask_44030753bf075965d1cb5e87_3",
    "thread-agui": "ask_5b2364f50983f054098b9e04_3",
}


def restore_data(home: Path, folder: Path) -> Path:
    """Restore the data folder where this version looks for it, as if it had been left an instant ago."""
    data = data_folder(load_config(home / "rightseat.toml", env={}), {"XDG_DATA_HOME": str(folder)})
    data.mkdir(parents=True)
    with closing(sqlite3.connect(data / "rightseat.db")) as database:
        database.executescript((home / "data.sql").read_text(encoding="utf-8"))
        (oldest,) = database.execute("SELECT min(created) FROM threads").fetchone()
        database.execute("UPDATE kept SET expires = expires + ?", (time.time() - oldest,))
        database.commit()
    return data


@asynccontextmanager
async def serve_upgraded(folder: Path) -> AsyncIterator[tuple[RightseatProcess, Path]]:
    home = folder / "home"
    shutil.copytree(LEFT_BEHIND, home)
    data = restore_data(home, folder / "data")
    # The model is the one that the file names.
    env = {"XDG_DATA_HOME": str(folder / "data"), "RIGHTSEAT_MODEL": ""}
    async with RightseatProcess(args=["--config", str(home / "rightseat.toml")], env=env) as server:
        yield server, data


async def post(server: RightseatProcess, path: str, body: Any) -> str:
    async with RawHttpClient(server.url) as client:
        await client.post_json(path, body)
        assert (await client.read_head()).status == 200
        return (await client.read_body()).decode()


async def send_run(server: RightseatProcess, path: str, thread: str, run: str, **more: Any) -> list[dict[str, Any]]:
    body = {"threadId": thread, "runId": run, "messages": [], "tools": [], "context": [], "state": {}, **more}
    text = await post(server, path, {"forwardedProps": {}, **body})
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def list_types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


async def answer(server: RightseatProcess, path: str, thread: str, payload: Any) -> list[dict[str, Any]]:
    given = [{"interruptId": FOUND_ASKS[thread], "status": "resolved", "payload": payload}]
    return await send_run(server, path, thread, f"answer-{thread}", resume=given)


async def test_threads_and_approvals_outlive_an_upgrade(tmp_path: Path) -> None:
    async with serve_upgraded(tmp_path) as (server, data):
        async with RawHttpClient(server.url) as client:
            await client.get("/copilotkit/threads?agentId=default")
            await client.read_head()
            threads = {thread["id"]: thread["name"] for thread in (await client.read_json())["threads"]}
        assert threads == {
            "thread-text": "hello shop",
            "thread-tools": "orders please",
            "thread-approval": "cancel a-1",
        }
        shown = await send_run(server, "/copilotkit/agent/default/connect", "thread-tools", "c")
        assert {"TOOL_CALL_RESULT", "RUN_FINISHED"} <= set(list_types(shown))
        text = "".join(event["delta"] for event in shown if event["type"] == "TEXT_MESSAGE_CONTENT")
        assert text == "There are two orders."
        for path, thread in (("/copilotkit/agent/default/run", "thread-approval"), ("/agui/default", "thread-agui")):
            answered = await answer(server, path, thread, {"approved": True})
            results = [event["content"] for event in answered if event["type"] == "TOOL_CALL_RESULT"]
            assert (results, answered[-1]["type"]) == (["a-1 is cancelled"], "RUN_FINISHED")
        # The copy of the data before its format was changed.
        assert list(data.glob("rightseat.db.v1*"))


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/query"])
async def test_questions_in_text_outlive_an_upgrade(path: str, tmp_path: Path) -> None:
    roles = ("human", "ai") if path == "/v1/query" else ("user", "assistant")
    texts = ((roles[0], "cancel a-1"), (roles[1], QUESTION), (roles[0], "yes"))
    messages = [{"role": role, "content": text} for role, text in texts]
    async with serve_upgraded(tmp_path) as (server, _):
        answered = await post(server, path, {"model": "default", "messages": messages, "stream": False})
        assert "cancelled" in answered
        assert "Allow cancel_order" not in answered


async def test_a_flow_that_waits_is_asked_for_again(tmp_path: Path) -> None:
    """Flows are described otherwise since then: one that waited says what to do, and runs nothing twice."""
    async with serve_upgraded(tmp_path) as (server, _):
        answered = await answer(server, "/copilotkit/agent/trips.trip/run", "thread-flow", "sea")
        assert answered[-1]["type"] == "RUN_ERROR"
        assert "ask again from the start" in answered[-1]["message"]
        said = [{"id": "m-again", "role": "user", "content": "a trip"}]
        again = await send_run(server, "/copilotkit/agent/trips.trip/run", "thread-flow", "run-again", messages=said)
        assert "Where to?" in json.dumps(again[-1])

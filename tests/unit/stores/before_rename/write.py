"""Writes `rightseat.db` anew, and beside it what clients held and heard then: by hand, from the root, with
`python -m tests.unit.stores.before_rename.write`.

The files that it writes were written by the code of commit 7c9ae73, before its classes and functions
were renamed. Whoever writes them anew with later code proves nothing of that one any more.
"""

import asyncio
import contextlib
import json
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from tests.kit.app_server import reply_calls, reply_text
from tests.kit.client import RawHttpClient
from tests.unit.stores.before_rename.scenario import FILE, FOLDER, StoreScenario, ThreadClient, get_json, read_thread

# What waits for an answer is kept for an hour; here it must outlive the tests that answer it.
EXPIRES_AT = 4102444800.0
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "What is this?"},
    {"type": "image", "source": {"type": "data", "value": PIXEL, "mimeType": "image/png"}},
    {
        "type": "document",
        "source": {"type": "data", "value": "SGVsbG8=", "mimeType": "text/plain"},
        "metadata": {"filename": "hello.txt"},
    },
]
CHAT = [{"role": "user", "content": "pay them by chat"}]


async def run_finished_threads(url: str) -> list[ThreadClient]:
    talk = ThreadClient(url, "talk")
    talk.history.append({"id": "u0", "role": "user", "content": PARTS})
    seen = await talk.send_history()
    assert seen.text == "I weigh it.It weighs 1200 g.", seen
    assert (await talk.send_message("and in a report?")).text == "Here it is."
    assert (await talk.send_message("ask the helper")).text == "The helper says a stone."
    shown = ThreadClient(url, "shown", "show")
    assert (await shown.send_message("show all")).text == "Two rows, in Köln."
    assert (await shown.send_message("fail")).error == "overloaded"
    return [talk, shown]


async def run_waiting_threads(url: str) -> list[ThreadClient]:
    approval, client, order = (
        ThreadClient(url, "approval"),
        ThreadClient(url, "client"),
        ThreadClient(url, "order", "order"),
    )
    assert len((await approval.send_message("pay them")).questions) == 1
    assert list((await client.send_message("show me")).calls.values()) == [("show", {"title": "Rows"})]
    (question,) = (await order.send_message("order one")).questions
    assert question["message"] == "Which of lot 7?"
    return [approval, client, order]


async def ask_by_chat(url: str) -> str:
    async with RawHttpClient(url) as client:
        await client.post_json("/v1/chat/completions", {"model": "default", "messages": CHAT})
        assert (await client.read_head()).status == 200
        return str((await client.read_json())["choices"][0]["message"]["content"])


async def write_store(folder: Path) -> None:
    scene = StoreScenario(folder)
    lines = [
        reply_calls(("weigh", '{"thing": "a stone"}'), text="I weigh it."),
        reply_text("It weighs ", "1200 g."),
        reply_calls(("report", '{"title": "Stones"}')),
        reply_text("Here it is."),
        reply_calls(("ask_helper", '{"request": "What is it?"}')),
        reply_calls(("weigh", '{"thing": "it"}')),
        reply_text("A stone."),
        reply_text("The helper says ", "a stone."),
        reply_calls(("pay", '{"to": "ACME", "amount": 12.5}'), text="I pay."),
        reply_calls(("show", '{"title": "Rows"}')),
        reply_calls(("pay", '{"to": "Chat & Co", "amount": 3}')),
    ]
    async with scene.serve(*lines) as server:
        people = [*await run_finished_threads(server.url), *await run_waiting_threads(server.url)]
        asked = await ask_by_chat(server.url)
        thread_records = {one.thread: await read_thread(server.url, one.thread, one.agent) for one in people}
        thread_records[""] = await get_json(server.url, "/copilotkit/threads")
    assert scene.paid == []
    assert scene.flow_tools.calls == [("reserve", {"x": 3})]
    client_states: dict[str, Any] = {one.thread: one.client_state for one in people}
    client_states["chat"] = [*CHAT, {"role": "assistant", "content": asked}]
    for name, value in (("held.json", client_states), ("heard.json", thread_records)):
        text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
        (FOLDER / name).write_text(text + "\n", "utf-8")


def compact_database(file: Path) -> None:
    """One small file that names no machine."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("UPDATE kept SET expires = ?", (EXPIRES_AT,))
        database.execute("UPDATE epochs SET process = 'before:1'")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("VACUUM")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(write_store(folder))
        compact_database(folder / FILE)
        shutil.copyfile(folder / FILE, FOLDER / FILE)


if __name__ == "__main__":
    main()

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

from tests.kit.client import Client
from tests.kit.house import calls, says
from tests.unit.stores.before_rename.scene import FILE, FOLDER, Person, Scene, got, heard

# What waits for an answer is kept for an hour; here it must outlive the tests that answer it.
LATE = 4102444800.0
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


async def finished(url: str) -> list[Person]:
    talk = Person(url, "talk")
    talk.history.append({"id": "u0", "role": "user", "content": PARTS})
    seen = await talk.again()
    assert seen.text == "I weigh it.It weighs 1200 g.", seen
    assert (await talk.say("and in a report?")).text == "Here it is."
    assert (await talk.say("ask the helper")).text == "The helper says a stone."
    shown = Person(url, "shown", "show")
    assert (await shown.say("show all")).text == "Two rows, in Köln."
    assert (await shown.say("fail")).error == "overloaded"
    return [talk, shown]


async def waiting(url: str) -> list[Person]:
    approval, client, order = (Person(url, "approval"), Person(url, "client"), Person(url, "order", "order"))
    assert len((await approval.say("pay them")).asks) == 1
    assert list((await client.say("show me")).calls.values()) == [("show", {"title": "Rows"})]
    (question,) = (await order.say("order one")).asks
    assert question["message"] == "Which of lot 7?"
    return [approval, client, order]


async def chatted(url: str) -> str:
    async with Client(url) as client:
        await client.post("/v1/chat/completions", {"model": "default", "messages": CHAT})
        assert (await client.head()).status == 200
        return str((await client.json())["choices"][0]["message"]["content"])


async def written(folder: Path) -> None:
    scene = Scene(folder)
    lines = [
        calls(("weigh", '{"thing": "a stone"}'), text="I weigh it."),
        says("It weighs ", "1200 g."),
        calls(("report", '{"title": "Stones"}')),
        says("Here it is."),
        calls(("ask_helper", '{"request": "What is it?"}')),
        calls(("weigh", '{"thing": "it"}')),
        says("A stone."),
        says("The helper says ", "a stone."),
        calls(("pay", '{"to": "ACME", "amount": 12.5}'), text="I pay."),
        calls(("show", '{"title": "Rows"}')),
        calls(("pay", '{"to": "Chat & Co", "amount": 3}')),
    ]
    async with scene.open(*lines) as server:
        people = [*await finished(server.url), *await waiting(server.url)]
        asked = await chatted(server.url)
        told = {one.thread: await heard(server.url, one.thread, one.agent) for one in people}
        told[""] = await got(server.url, "/copilotkit/threads")
    assert scene.paid == []
    assert scene.acts.calls == [("reserve", {"x": 3})]
    held: dict[str, Any] = {one.thread: one.held for one in people}
    held["chat"] = [*CHAT, {"role": "assistant", "content": asked}]
    for name, value in (("held.json", held), ("heard.json", told)):
        text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
        (FOLDER / name).write_text(text + "\n", "utf-8")


def closed(file: Path) -> None:
    """One small file that names no machine."""
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("UPDATE kept SET expires = ?", (LATE,))
        database.execute("UPDATE epochs SET process = 'before:1'")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("VACUUM")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asyncio.run(written(folder))
        closed(folder / FILE)
        shutil.copyfile(folder / FILE, FOLDER / FILE)


if __name__ == "__main__":
    main()

"""Several answers to one question at the same moment: the right one acts, once, whatever the others are for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, tool
from rightseat.stores.sqlite import SQLiteStore
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = pytest.mark.io
ROUNDS = 10
BODY: dict[str, Any] = {"tools": [], "context": [], "state": {}, "forwardedProps": {}, "protocolVersion": "1.0"}


async def post_run(url: str, thread: str, run: str, answers: list[str]) -> dict[str, Any]:
    """The last event of a run with these interrupts approved."""
    resume = [{"interruptId": id, "status": "resolved", "payload": {"approved": True}} for id in answers]
    messages = [{"id": "u", "role": "user", "content": "pay"}]
    body = {"threadId": thread, "runId": run, "messages": messages, "resume": resume, **BODY}
    async with RawHttpClient(url) as client:
        await client.post_json("/agui/default", body)
        await client.read_head()
        frames = [frame.json async for frame in client.iterate_frames() if frame.data]
    last: dict[str, Any] = frames[-1]
    return last


@pytest.mark.demand("crashes.take_with_its_condition")
async def test_answers_to_something_else_do_not_hide_the_question_from_the_right_one(tmp_path: Path) -> None:
    paid: list[int] = []

    @tool(confirm=True)
    async def pay() -> str:
        """Pays."""
        paid.append(1)
        return "paid"

    replies = [reply for _ in range(ROUNDS) for reply in (reply_calls(("pay", "{}")), reply_text("Done."))]
    store = SQLiteStore(tmp_path)
    async with serve_runtime(Runtime(model=FakeModel(*replies), tools=[pay], store=store)) as server:
        for number in range(1, ROUNDS + 1):
            thread = f"t{number}"
            asked = await post_run(server.url, thread, "r0", [])
            (interrupt,) = asked["outcome"]["interrupts"]
            other = f"{interrupt['id'].rpartition('_')[0]}_99"
            answers = [other, other, interrupt["id"], other, interrupt["id"]]
            posts = [post_run(server.url, thread, f"r{place}", [id]) for place, id in enumerate(answers, 1)]
            ends = await asyncio.gather(*posts)
            assert sum(end["type"] == "RUN_FINISHED" for end in ends) == 1, ends
            assert {end["code"] for end in ends if end["type"] == "RUN_ERROR"} == {"already_answered"}
            assert len(paid) == number
    await store.close()

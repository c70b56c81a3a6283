"""A run at the AG-UI door while the store fails: whether it has the thread is not known, and the answer comes."""

from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.errors import StoreDamaged, StoreFailed
from rightseat.stores.sqlite import SQLiteStore
from rightseat.types.turn import Owner
from tests.kit.app_server import FakeModel, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

RUN_INPUT: dict[str, Any] = {
    "threadId": "t",
    "runId": "r",
    "messages": [{"id": "u", "role": "user", "content": "hi"}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


class FailingStore(SQLiteStore):
    error: StoreFailed

    async def has_thread(self, owner: Owner, thread: str) -> bool:
        raise self.error


@pytest.mark.io
@pytest.mark.parametrize(
    ("error", "end"), [(StoreFailed("The disk is full."), "RUN_FINISHED"), (StoreDamaged("Damaged."), "RUN_ERROR")]
)
async def test_a_run_is_answered_although_the_store_fails_and_not_if_it_is_damaged(
    tmp_path: Path, error: StoreFailed, end: str
) -> None:
    store = FailingStore(tmp_path)
    store.error = error
    async with (
        serve_runtime(Runtime(model=FakeModel(reply_text("Hello.")), store=store)) as server,
        RawHttpClient(server.url) as client,
    ):
        await client.post_json("/agui/default", RUN_INPUT)
        head = await client.read_head()
        if end == "RUN_FINISHED":
            frames = [frame.json async for frame in client.iterate_frames() if frame.data]
            assert frames[-1]["type"] == end
        else:
            assert head.status == 503
    await store.close()

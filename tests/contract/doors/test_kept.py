"""What is kept of a conversation, the same through every door."""

from collections.abc import Callable

import pytest

from rightseat import Runtime, tool
from rightseat.middleware.recording import RecordingMode
from rightseat.types.events import CallResult, RunFinished, TextDelta
from rightseat.types.threads import ThreadEntry, ThreadStore, UserInput
from rightseat.types.turn import Owner
from rightseat.wiring.runtime import RuntimeParts
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.contract.stores.sample_runs import read_all_entries
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
# Their clients come back for a conversation; the others' keep it themselves.
RESUMING_MEMBERS = [name for name in MEMBERS if name.startswith("copilotkit")]
ME = Owner()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return MEMBERS[member]


async def read_threads(store: ThreadStore) -> list[list[ThreadEntry]]:
    threads = await store.list_threads(ME)
    return [[entry for _, entry in await read_all_entries(store, thread.id, ME)] for thread in threads]


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
@pytest.mark.parametrize("recorded", ["off", "threads", "all"])
async def test_a_run_is_kept_once_where_it_shall_be(
    make_client: Callable[[str], DoorClient], member: str, recorded: RecordingMode
) -> None:
    model = FakeModel(reply_calls(("add", '{"a":2,"b":3}')), reply_text("That ", "is 5."))
    runtime = Runtime(model=model, tools=[add], parts=RuntimeParts(recorded=recorded))
    async with serve_runtime(runtime) as server:
        seen = await make_client(server.url).send_message("sum")
        threads = await read_threads(runtime.threads.store)
    assert seen.text.endswith("That is 5.")
    detached = member in ("copilotkit-single", "copilotkit-routes")
    there = detached or recorded == "all" or (recorded == "threads" and member in RESUMING_MEMBERS)
    assert len(threads) == there
    for entries in threads:
        posted = [message.text for entry in entries if isinstance(entry, UserInput) for message in entry.messages]
        assert posted == ["sum"]
        assert "".join(entry.text for entry in entries if isinstance(entry, TextDelta)) == "That is 5."
        assert [entry.content for entry in entries if isinstance(entry, CallResult)] == ["5"]
        assert isinstance(entries[-1], RunFinished)

"""What is kept of a conversation, the same through every door."""

from collections.abc import Callable

import pytest

from rightseat import Runtime, tool
from rightseat.middleware.recording import RecordingMode
from rightseat.types.events import CallResult, RunFinished, TextDelta
from rightseat.types.threads import ThreadEntry, ThreadStore, UserInput
from rightseat.types.turn import Owner
from rightseat.wiring.runtime import RuntimeParts
from tests.contract.doors.members import MEMBERS, Visit
from tests.contract.stores.saying import every
from tests.kit.house import Lines, calls, house, says

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
# Their clients come back for a conversation; the others' keep it themselves.
COMING_BACK = [name for name in MEMBERS if name.startswith("copilotkit")]
ME = Owner()


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def visit(member: str) -> Callable[[str], Visit]:
    return MEMBERS[member]


async def kept(journal: ThreadStore) -> list[list[ThreadEntry]]:
    threads = await journal.list_threads(ME)
    return [[entry for _, entry in await every(journal, thread.id, ME)] for thread in threads]


@pytest.mark.demand("copilotkit.record_layer_writes_attached")
@pytest.mark.parametrize("recorded", ["off", "threads", "all"])
async def test_a_run_is_kept_once_where_it_shall_be(
    visit: Callable[[str], Visit], member: str, recorded: RecordingMode
) -> None:
    model = Lines(calls(("add", '{"a":2,"b":3}')), says("That ", "is 5."))
    runtime = Runtime(model=model, tools=[add], parts=RuntimeParts(recorded=recorded))
    async with house(runtime) as server:
        seen = await visit(server.url).say("sum")
        threads = await kept(runtime.threads.store)
    assert seen.text.endswith("That is 5.")
    detached = member in ("copilotkit-single", "copilotkit-routes")
    there = detached or recorded == "all" or (recorded == "threads" and member in COMING_BACK)
    assert len(threads) == there
    for entries in threads:
        posted = [message.text for entry in entries if isinstance(entry, UserInput) for message in entry.messages]
        assert posted == ["sum"]
        assert "".join(entry.text for entry in entries if isinstance(entry, TextDelta)) == "That is 5."
        assert [entry.content for entry in entries if isinstance(entry, CallResult)] == ["5"]
        assert isinstance(entries[-1], RunFinished)

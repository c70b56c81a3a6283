"""What stands below CopilotKit's React components (`@copilotkit/core`, newest), by each of its transports."""

from collections.abc import Callable

import pytest

from tests.kit.chunks import Json
from tests.peers.client_runner import ClientReport

MODES = ("single", "rest", "auto")
CASES = tuple(
    f"{name} {mode}"
    for name in ("talk", "thoughts", "question", "threads", "busy", "reload", "second_held", "second_shown")
    for mode in MODES
)
pytestmark = [pytest.mark.peers, pytest.mark.timeout(600), pytest.mark.parametrize("mode", MODES)]
SUM_MESSAGES = [["user", "sum"], ["assistant", "Let me see."], ["tool", "5"], ["assistant", "That makes 5."]]
CONFLICT_TEXT = '"message":"Thread already running. Wait for its answer or stop it.","code":"conflict"}'


@pytest.fixture
def get_case(drive_client: Callable[[str, tuple[str, ...]], ClientReport], mode: str) -> Callable[[str], Json]:
    seen = drive_client("copilotkit-core", CASES)
    return lambda case: seen.cases[f"{case} {mode}"]


def test_a_talk(get_case: Callable[[str], Json], mode: str) -> None:
    found = get_case("talk")
    assert found["messages"] == SUM_MESSAGES
    assert found["endpoints"] == {"list": True, "inspect": True, "mutations": True, "realtimeMetadata": False}
    assert found["errors"] == []


@pytest.mark.demand("copilotkit.thoughts_break_client_those")
def test_thoughts_are_told(get_case: Callable[[str], Json], mode: str) -> None:
    """Although it says its version no more than those that would break off at them."""
    found = get_case("thoughts")
    assert found["messages"] == [["user", "think"], ["reasoning", "First think."], ["assistant", "Done."]]
    assert found["errors"] == []


@pytest.mark.demand("copilotkit.single_endpoint_rest_routes")
def test_a_question_and_its_answer(get_case: Callable[[str], Json], mode: str) -> None:
    found = get_case("question")
    assert found["asked"] == f'Allow book with {{"seat":"book core {mode}"}}?'
    assert found["messages"][-1] == ["assistant", f"Booked book core {mode}."]
    assert (found["custom"], found["errors"]) == (["trace", "on_interrupt", "trace"], [])


@pytest.mark.demand("copilotkit.route_newest_clients_know")
def test_threads_are_listed_renamed_archived_and_deleted(get_case: Callable[[str], Json], mode: str) -> None:
    found = get_case("threads")
    assert (found["listed"], found["renamed"], found["left"]) == (2, "renamed", 0)
    assert (found["error"], found["errors"]) == (None, [])


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
def test_a_busy_thread_is_said_to_be(get_case: Callable[[str], Json], mode: str) -> None:
    found = get_case("busy")
    assert found["messages"] == [["user", "hold"], ["assistant", "Held, and let go."]]
    assert found["errors"][0][1] == f'HTTP 409: {{"error":"Thread already running",{CONFLICT_TEXT}'


@pytest.mark.demand("copilotkit.threads_detached_runs_connect")
def test_a_reload(get_case: Callable[[str], Json], mode: str) -> None:
    found = get_case("reload")
    assert (found["messages"], found["errors"]) == (SUM_MESSAGES, [])


@pytest.mark.demand("openai.cut_calls")
def test_no_cut_call_is_run(get_case: Callable[[str], Json], mode: str) -> None:
    held = get_case("second_held")
    assert (held["ran"], held["messages"][-1]) == ([["locate", {"detail": "low"}]], ["assistant", "You are in Oslo."])
    assert "clock" not in [name for name, _ in get_case("second_shown")["ran"]]

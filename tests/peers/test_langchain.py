"""LangChain's ChatOpenAI against the real server. The program is langchain-openai/drive_langchain.py."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.kit.faults import CANARY
from tests.peers.client_runner import ClientReport
from tests.peers.openai_cases import HELLO, MODES

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

CASES_IN_BOTH_MODES = (
    "text",
    "server_tool",
    "loop",
    "loop_two",
    "second_held",
    "second_shown",
    "structured",
    "picture",
    "forced",
    "settings",
    "wrong_key",
    "no_such_model",
    "upstream_429",
    "error_midway",
)
CASES = (*(f"{case} {mode}" for case in CASES_IN_BOTH_MODES for mode in MODES), "called whole", "batch whole")


@pytest.fixture
def report(drive_client: Callable[[str, tuple[str, ...]], ClientReport]) -> ClientReport:
    return drive_client("langchain-openai", CASES)


over_modes = pytest.mark.parametrize("mode", MODES)


def get_answer(turn: dict[str, Any]) -> tuple[str, str]:
    assert (turn["calls"], turn["invalid"], turn["model"]) == ([], 0, "default")
    return turn["content"], turn["finish"]


@pytest.mark.demand("openai.stream_options_include_usage", "openai.langchain_chatopenai_real_client")
@over_modes
def test_text_and_tokens(report: ClientReport, mode: str) -> None:
    (turn,) = report.get_turns("text", mode)
    assert get_answer(turn) == (HELLO, "stop")
    assert turn["usage"] == [5, 4, 9]


@pytest.mark.demand("openai.configured_assistant_server_tools")
@over_modes
def test_a_tool_of_the_server(report: ClientReport, mode: str) -> None:
    (turn,) = report.get_turns("server_tool", mode)
    assert get_answer(turn) == ("Let me see.\n\nThat makes 5.", "stop")


@pytest.mark.demand("openai.langchain_chatopenai_real_client")
@over_modes
def test_the_tool_loop(report: ClientReport, mode: str) -> None:
    asked, answered = report.get_turns("loop", mode)
    assert (asked["calls"], asked["finish"]) == ([["locate", {"detail": "high"}, True]], "tool_calls")
    assert get_answer(answered) == ("You are in Oslo.", "stop")
    asked, answered = report.get_turns("loop_two", mode)
    assert [name for name, _, _ in asked["calls"]] == ["locate", "clock"]
    assert get_answer(answered) == ("It is noon.", "stop")


@pytest.mark.demand("openai.cut_calls")
@pytest.mark.parametrize("case", ["second_held", "second_shown"])
@over_modes
def test_no_cut_call_is_run(report: ClientReport, case: str, mode: str) -> None:
    asked, answered = report.get_turns(case, mode)
    assert (asked["calls"], asked["invalid"], asked["finish"]) == ([["locate", {"detail": "low"}, True]], 0, "length")
    assert get_answer(answered) == ("You are in Oslo.", "stop")


@pytest.mark.demand("openai.response_format_text_json", "openai.langchain_chatopenai_real_client")
@over_modes
def test_structured_output(report: ClientReport, mode: str) -> None:
    assert report.get_turns("structured", mode) == [{"made": {"name": "Ada", "age": 36}}] * 2
    assert report.get_turns("called", "whole") == [{"made": {"detail": "high"}}]


@pytest.mark.demand("openai.langchain_chatopenai_real_client")
def test_batch(report: ClientReport) -> None:
    contents = [turn["content"] for turn in report.get_turns("batch", "whole")]
    assert contents == [HELLO, "Done.", "Let me see.\n\nThat makes 5.", ""]


@pytest.mark.demand(
    "openai.tool_choice_auto_none", "openai.parallel_tool_calls_stop", "openai.images_files_content_parts"
)
@over_modes
def test_what_reaches_the_model(report: ClientReport, mode: str) -> None:
    picture, forced, settings = (
        json.loads(report.get_turns(case, mode)[0]["content"]) for case in ("picture", "forced", "settings")
    )
    image = picture["messages"][0]["content"][1]
    assert image == {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    assert (picture["temperature"], picture["seed"]) == (0, 7)
    assert forced["tool_choice"] == {"type": "function", "function": {"name": "clock"}}
    assert forced["parallel_tool_calls"] is False
    assert [tool["function"]["name"] for tool in forced["tools"]] == ["locate", "clock"]
    given = {"temperature": 0.5, "max_tokens": 9, "stop": ["END"], "top_p": 0.25}
    assert given.items() <= settings.items()


@pytest.mark.demand("openai.unknown_404_names_those", "openai.errors_openai_shape_right")
@over_modes
@pytest.mark.parametrize(
    ("case", "status", "message"),
    [
        ("wrong_key", 401, "The key is not known here."),
        ("no_such_model", 404, "There is no model 'nobody'. Those that exist: default, mirror,"),
        ("upstream_429", 429, "over its rate limit"),
    ],
)
def test_what_its_user_reads(report: ClientReport, mode: str, case: str, status: int, message: str) -> None:
    (turn,) = report.get_turns(case, mode)
    assert (turn["status"], turn["heard"]) == (status, "")
    assert message in turn["message"]
    assert CANARY not in turn["message"]


@pytest.mark.demand("openai.mid_stream_final_data")
def test_an_error_in_the_middle(report: ClientReport) -> None:
    (streamed,), (whole,) = report.get_turns("error_midway"), report.get_turns("error_midway", "whole")
    assert (streamed["class"], streamed["heard"]) == ("APIError", "w0 w1 w2")
    assert streamed["message"] == "The model's server is overloaded: try later."
    assert whole["status"] == 503

"""LangChain's ChatOpenAI against the real server. The program is langchain-openai/drive_langchain.py."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.kit.faults import CANARY
from tests.peers.openai_cases import HELLO, MODES
from tests.peers.rig import Seen

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

BOTH = (
    "text",
    "server_tool",
    "loop",
    "loop_two",
    "structured",
    "picture",
    "forced",
    "settings",
    "wrong_key",
    "no_such_model",
    "upstream_429",
    "error_midway",
)
CASES = (*(f"{case} {mode}" for case in BOTH for mode in MODES), "called whole", "batch whole")


@pytest.fixture
def seen(watch: Callable[[str, tuple[str, ...]], Seen]) -> Seen:
    return watch("langchain-openai", CASES)


modes = pytest.mark.parametrize("mode", MODES)


def said(turn: dict[str, Any]) -> tuple[str, str]:
    assert (turn["calls"], turn["invalid"], turn["model"]) == ([], 0, "default")
    return turn["content"], turn["finish"]


@pytest.mark.demand("openai.stream_options_include_usage", "openai.langchain_chatopenai_real_client")
@modes
def test_text_and_tokens(seen: Seen, mode: str) -> None:
    (turn,) = seen.turns("text", mode)
    assert said(turn) == (HELLO, "stop")
    assert turn["usage"] == [5, 4, 9]


@pytest.mark.demand("openai.configured_assistant_server_tools")
@modes
def test_a_tool_of_the_server(seen: Seen, mode: str) -> None:
    (turn,) = seen.turns("server_tool", mode)
    assert said(turn) == ("Let me see.\n\nThat makes 5.", "stop")


@pytest.mark.demand("openai.langchain_chatopenai_real_client")
@modes
def test_the_tool_loop(seen: Seen, mode: str) -> None:
    asked, answered = seen.turns("loop", mode)
    assert (asked["calls"], asked["finish"]) == ([["locate", {"detail": "high"}, True]], "tool_calls")
    assert said(answered) == ("You are in Oslo.", "stop")
    asked, answered = seen.turns("loop_two", mode)
    assert [name for name, _, _ in asked["calls"]] == ["locate", "clock"]
    assert said(answered) == ("It is noon.", "stop")


@pytest.mark.demand("openai.response_format_text_json", "openai.langchain_chatopenai_real_client")
@modes
def test_structured_output(seen: Seen, mode: str) -> None:
    assert seen.turns("structured", mode) == [{"made": {"name": "Ada", "age": 36}}] * 2
    assert seen.turns("called", "whole") == [{"made": {"detail": "high"}}]


@pytest.mark.demand("openai.langchain_chatopenai_real_client")
def test_batch(seen: Seen) -> None:
    contents = [turn["content"] for turn in seen.turns("batch", "whole")]
    assert contents == [HELLO, "Done.", "Let me see.\n\nThat makes 5.", ""]


@pytest.mark.demand(
    "openai.tool_choice_auto_none", "openai.parallel_tool_calls_stop", "openai.images_files_content_parts"
)
@modes
def test_what_reaches_the_model(seen: Seen, mode: str) -> None:
    picture, forced, settings = (
        json.loads(seen.turns(case, mode)[0]["content"]) for case in ("picture", "forced", "settings")
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
@modes
@pytest.mark.parametrize(
    ("case", "status", "message"),
    [
        ("wrong_key", 401, "The key is not known here."),
        ("no_such_model", 404, "There is no model 'nobody'. Those that exist: default, mirror,"),
        ("upstream_429", 429, "over its rate limit"),
    ],
)
def test_what_its_user_reads(seen: Seen, mode: str, case: str, status: int, message: str) -> None:
    (turn,) = seen.turns(case, mode)
    assert (turn["status"], turn["heard"]) == (status, "")
    assert message in turn["message"]
    assert CANARY not in turn["message"]


@pytest.mark.demand("openai.mid_stream_final_data")
def test_an_error_in_the_middle(seen: Seen) -> None:
    (streamed,), (whole,) = seen.turns("error_midway"), seen.turns("error_midway", "whole")
    assert (streamed["class"], streamed["heard"]) == ("APIError", "w0 w1 w2")
    assert streamed["message"] == "The model's server is overloaded: try later."
    assert whole["status"] == 503

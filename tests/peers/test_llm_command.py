"""The `llm` command against the real server, as a person types it. The program is llm-cli/drive_llm.py."""

import json
from collections.abc import Callable

import pytest

from tests.peers.client_runner import ClientReport
from tests.peers.openai_cases import HELLO

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

STREAMED = ("text", "held", "system", "schema", "tool", "talk", "usage", "wrong_key", "no_such_model", "error_midway")
WHOLE = ("text", "tool")
CASES = (*(f"{case} stream" for case in STREAMED), *(f"{case} whole" for case in WHOLE))


@pytest.fixture
def report(drive_client: Callable[[str, tuple[str, ...]], ClientReport]) -> ClientReport:
    return drive_client("llm-cli", CASES)


def get_output(report: ClientReport, case: str, mode: str = "stream") -> list[str]:
    turns = report.get_turns(case, mode)
    assert [(turn["code"], turn["err"]) for turn in turns] == [(0, "")] * len(turns)
    return [turn["out"].removesuffix("\n") for turn in turns]


def get_failure(report: ClientReport, case: str) -> tuple[str, str]:
    (turn,) = report.get_turns(case)
    assert turn["code"] == 1
    return turn["out"], turn["err"]


@pytest.mark.demand("openai.llm_command_line_tool")
@pytest.mark.parametrize("mode", ["stream", "whole"])
def test_a_prompt(report: ClientReport, mode: str) -> None:
    assert get_output(report, "text", mode) == [HELLO]


@pytest.mark.demand("openai.llm_command_line_tool")
def test_words_appear_as_they_come(report: ClientReport) -> None:
    assert report.get_turns("held")[0]["first"] == "Held, "
    assert get_output(report, "held") == ["Held, and let go."]


@pytest.mark.demand("openai.parallel_tool_calls_stop")
def test_a_system_prompt_and_options(report: ClientReport) -> None:
    sent = json.loads(get_output(report, "system")[0])
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (sent["temperature"], sent["seed"]) == (0.5, 3)


@pytest.mark.demand("openai.response_format_text_json", "openai.llm_command_line_tool")
def test_a_schema(report: ClientReport) -> None:
    assert json.loads(get_output(report, "schema")[0]) == {"name": "Ada", "age": 36}


@pytest.mark.demand("openai.llm_command_line_tool")
@pytest.mark.parametrize("mode", ["stream", "whole"])
def test_a_function_of_the_person(report: ClientReport, mode: str) -> None:
    assert get_output(report, "tool", mode) == ["You are in Oslo."]


def test_a_question_is_answered_by_going_on(report: ClientReport) -> None:
    assert get_output(report, "talk") == ["One moment.\n\nWhat is your name?", "Hello Ada."]


@pytest.mark.demand("openai.stream_options_include_usage")
def test_tokens_are_counted(report: ClientReport) -> None:
    (turn,) = report.get_turns("usage")
    assert (turn["code"], turn["err"]) == (0, "Token usage: 5 input, 4 output\n")


@pytest.mark.demand(
    "openai.unknown_404_names_those",
    "openai.errors_openai_shape_right",
    "openai.mid_stream_final_data",
    "openai.llm_command_line_tool",
)
def test_errors_say_what_to_do(report: ClientReport) -> None:
    assert get_failure(report, "wrong_key") == (
        "",
        "Error: Error code: 401 - The key is not known here. "
        "Send the key as `Authorization: Bearer KEY` or `X-Api-Key: KEY`.\n",
    )
    said, told = get_failure(report, "no_such_model")
    assert said == ""
    assert told.startswith("Error: Error code: 404 - There is no model 'nobody'. Those that exist: default,")
    assert get_failure(report, "error_midway") == ("w0 w1 w2", "Error: The model's server is overloaded: try later.\n")

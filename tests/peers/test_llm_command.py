"""The `llm` command against the real server, as a person types it. The program is llm-cli/drive_llm.py."""

import json
from collections.abc import Callable

import pytest

from tests.peers.openai_cases import HELLO
from tests.peers.rig import Seen

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]

STREAMED = ("text", "held", "system", "schema", "tool", "talk", "usage", "wrong_key", "no_such_model", "error_midway")
WHOLE = ("text", "tool")
CASES = (*(f"{case} stream" for case in STREAMED), *(f"{case} whole" for case in WHOLE))


@pytest.fixture
def seen(watch: Callable[[str, tuple[str, ...]], Seen]) -> Seen:
    return watch("llm-cli", CASES)


def printed(seen: Seen, case: str, mode: str = "stream") -> list[str]:
    turns = seen.turns(case, mode)
    assert [(turn["code"], turn["err"]) for turn in turns] == [(0, "")] * len(turns)
    return [turn["out"].removesuffix("\n") for turn in turns]


def failed(seen: Seen, case: str) -> tuple[str, str]:
    (turn,) = seen.turns(case)
    assert turn["code"] == 1
    return turn["out"], turn["err"]


@pytest.mark.demand("openai.llm_command_line_tool")
@pytest.mark.parametrize("mode", ["stream", "whole"])
def test_a_prompt(seen: Seen, mode: str) -> None:
    assert printed(seen, "text", mode) == [HELLO]


@pytest.mark.demand("openai.llm_command_line_tool")
def test_words_appear_as_they_come(seen: Seen) -> None:
    assert seen.turns("held")[0]["first"] == "Held, "
    assert printed(seen, "held") == ["Held, and let go."]


@pytest.mark.demand("openai.parallel_tool_calls_stop")
def test_a_system_prompt_and_options(seen: Seen) -> None:
    sent = json.loads(printed(seen, "system")[0])
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}
    assert (sent["temperature"], sent["seed"]) == (0.5, 3)


@pytest.mark.demand("openai.response_format_text_json", "openai.llm_command_line_tool")
def test_a_schema(seen: Seen) -> None:
    assert json.loads(printed(seen, "schema")[0]) == {"name": "Ada", "age": 36}


@pytest.mark.demand("openai.llm_command_line_tool")
@pytest.mark.parametrize("mode", ["stream", "whole"])
def test_a_function_of_the_person(seen: Seen, mode: str) -> None:
    assert printed(seen, "tool", mode) == ["You are in Oslo."]


def test_a_question_is_answered_by_going_on(seen: Seen) -> None:
    assert printed(seen, "talk") == ["One moment.\n\nWhat is your name?", "Hello Ada."]


@pytest.mark.demand("openai.stream_options_include_usage")
def test_tokens_are_counted(seen: Seen) -> None:
    (turn,) = seen.turns("usage")
    assert (turn["code"], turn["err"]) == (0, "Token usage: 5 input, 4 output\n")


@pytest.mark.demand(
    "openai.unknown_404_names_those",
    "openai.errors_openai_shape_right",
    "openai.mid_stream_final_data",
    "openai.llm_command_line_tool",
)
def test_errors_say_what_to_do(seen: Seen) -> None:
    assert failed(seen, "wrong_key") == (
        "",
        "Error: Error code: 401 - The key is not known here. "
        "Send the key as `Authorization: Bearer KEY` or `X-Api-Key: KEY`.\n",
    )
    said, told = failed(seen, "no_such_model")
    assert said == ""
    assert told.startswith("Error: Error code: 404 - There is no model 'nobody'. Those that exist: default,")
    assert failed(seen, "error_midway") == ("w0 w1 w2", "Error: The model's server is overloaded: try later.\n")

"""The embedded model behind our server, asked by the official client; `make eval` asks much more."""

import json
from collections.abc import Callable

import pytest

from evals.weather.cases import CURRENT, FORECAST, QUESTIONS, SEED, make_request
from evals.weather.runs import PYTHON, ToolAnswer, is_valid_call, open_client, serve_model
from tests.peers.prerequisites import require


@pytest.mark.demand("llamacpp.real_model_official_openai", "llamacpp.seed_three_curls_verbatim")
@pytest.mark.peers
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_calls_are_valid_and_words_are_words(record_driven: Callable[[str, str], None]) -> None:
    require(PYTHON)
    async with serve_model() as running, open_client(running.url) as (version, ask):
        record_driven(PYTHON, version)
        for stream in (False, True):
            seen = await ask({**make_request(QUESTIONS[11].text, "required"), "stream": stream})
            assert seen.has_valid_calls, seen
        for tool, question in ((CURRENT, QUESTIONS[11]), (FORECAST, QUESTIONS[0])):
            seen = await ask({**make_request(question.text, "named", tool), "stream": True})
            assert seen.has_valid_calls, seen
            assert {name for name, _ in seen.calls} == {tool}
        seen = await ask({**make_request(QUESTIONS[11].text, "none"), "max_tokens": 10})
        assert seen.content
        assert not seen.calls
        for most in (8, 24):
            seen = await ask({**make_request(QUESTIONS[11].text, "required"), "max_tokens": most})
            assert not seen.has_invalid_call, seen
            assert (seen.calls, seen.finish) == ((), "length")
        forecast, division, life = SEED
        for request in (forecast, division):
            seen = await ask({**request, "temperature": 0})
            assert not seen.has_invalid_call
            assert seen.has_valid_calls or seen.content
        seen = await ask({**life, "temperature": 0})
        assert seen.content
        assert not seen.calls


@pytest.mark.demand("llamacpp.real_model_official_openai", "llamacpp.right_tool_rate_baseline")
@pytest.mark.parametrize(
    ("calls", "finish", "broken"),
    [
        ((), "stop", False),
        (((CURRENT, '{"location": "Rome", "format": "celsius"}'),), "tool_calls", False),
        (((CURRENT, '{"location": "Rome"}'),), "tool_calls", True),
        (((CURRENT, '{"location": "Ro'),), "tool_calls", True),
        (((CURRENT, '{"location": "Ro'),), "length", False),
    ],
)
def test_what_is_broken_is_seen(calls: tuple[tuple[str, str], ...], finish: str, broken: bool) -> None:
    seen = ToolAnswer("", calls, finish)
    assert seen.has_invalid_call == broken
    assert seen.has_valid_calls == (finish == "tool_calls" and not broken)


@pytest.mark.demand("llamacpp.right_tool_rate_baseline")
def test_what_is_right_is_seen() -> None:
    question = QUESTIONS[11]
    arguments = {"location": "Madrid, Spain", "format": "celsius", "num_days": 5}
    right = ToolAnswer("", ((FORECAST, json.dumps(arguments)),), "tool_calls")
    assert right.has_right_arguments(question)
    assert not ToolAnswer(
        "", ((FORECAST, json.dumps({**arguments, "num_days": 4})),), "tool_calls"
    ).has_right_arguments(question)
    assert not ToolAnswer("", ((CURRENT, json.dumps(arguments)),), "tool_calls").has_right_tool(question)
    assert not is_valid_call(FORECAST, "no")

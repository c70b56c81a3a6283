"""The embedded model behind our server, asked by the official client; `make eval` asks much more."""

import json
from collections.abc import Callable

import pytest

from evals.weather.asking import PYTHON, Seen, client, server, valid
from evals.weather.cases import CURRENT, FORECAST, QUESTIONS, SEED, asked
from tests.peers.need import require


@pytest.mark.demand("llamacpp.real_model_official_openai", "llamacpp.seed_three_curls_verbatim")
@pytest.mark.peers
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_calls_are_valid_and_words_are_words(driven: Callable[[str, str], None]) -> None:
    require(PYTHON)
    async with server() as running, client(running.url) as (version, ask):
        driven(PYTHON, version)
        for stream in (False, True):
            seen = await ask({**asked(QUESTIONS[11].text, "required"), "stream": stream})
            assert seen.called, seen
        for tool, question in ((CURRENT, QUESTIONS[11]), (FORECAST, QUESTIONS[0])):
            seen = await ask({**asked(question.text, "named", tool), "stream": True})
            assert seen.called, seen
            assert {name for name, _ in seen.calls} == {tool}
        seen = await ask({**asked(QUESTIONS[11].text, "none"), "max_tokens": 10})
        assert seen.content
        assert not seen.calls
        for most in (8, 24):
            seen = await ask({**asked(QUESTIONS[11].text, "required"), "max_tokens": most})
            assert not seen.broken, seen
            assert (seen.calls, seen.finish) == ((), "length")
        forecast, division, life = SEED
        for request in (forecast, division):
            seen = await ask({**request, "temperature": 0})
            assert not seen.broken
            assert seen.called or seen.content
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
    seen = Seen("", calls, finish)
    assert seen.broken == broken
    assert seen.called == (finish == "tool_calls" and not broken)


@pytest.mark.demand("llamacpp.right_tool_rate_baseline")
def test_what_is_right_is_seen() -> None:
    question = QUESTIONS[11]
    arguments = {"location": "Madrid, Spain", "format": "celsius", "num_days": 5}
    right = Seen("", ((FORECAST, json.dumps(arguments)),), "tool_calls")
    assert right.exact(question)
    assert not Seen("", ((FORECAST, json.dumps({**arguments, "num_days": 4})),), "tool_calls").exact(question)
    assert not Seen("", ((CURRENT, json.dumps(arguments)),), "tool_calls").right(question)
    assert not valid(FORECAST, "no")

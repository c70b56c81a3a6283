"""With the embedded model: a question over a plugin ends in a request with valid arguments."""

import pytest

from evals.plugins.runs import PluginAnswer, ask_question, serve_plugins
from evals.plugins.sample_api import QUESTIONS


@pytest.mark.demand("plugins.embedded_model_question_ends")
def test_what_counts_as_right() -> None:
    seen = PluginAnswer(("GET /hosts/db-02",), "It is 10.0.4.17.")
    assert (
        seen.has_right_operation(QUESTIONS[0]),
        seen.has_exact_request(QUESTIONS[0]),
        seen.has_expected_text(QUESTIONS[0]),
    ) == (True, False, True)
    assert not seen.has_right_operation(QUESTIONS[2])
    assert PluginAnswer(("GET /temperature?city=Oslo",), "").has_exact_request(QUESTIONS[2])


@pytest.mark.demand("plugins.embedded_model_question_ends")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_question_ends_in_a_get_with_valid_arguments() -> None:
    question = QUESTIONS[2]
    async with serve_plugins() as (server, api):
        seen = await ask_question(server, api, question)
    assert seen.requests, seen.text
    # A name was given, and it was put where the document says.
    assert all(request.startswith("GET /") and len(request.split("/", 2)[1]) > 5 for request in seen.requests)
    assert seen.has_right_operation(question), seen.requests
    exact, expected = seen.has_exact_request(question), seen.has_expected_text(question)
    print(f"the argument: {exact}; the answer: {expected}: {seen.text!r}")

"""With the embedded model: a question over a plugin ends in a request with valid arguments."""

import pytest

from evals.plugins.asking import Seen, ask, desk
from evals.plugins.desk import QUESTIONS


@pytest.mark.demand("plugins.embedded_model_question_ends")
def test_what_counts_as_right() -> None:
    seen = Seen(("GET /hosts/db-02",), "It is 10.0.4.17.")
    assert (seen.right(QUESTIONS[0]), seen.exact(QUESTIONS[0]), seen.answered(QUESTIONS[0])) == (True, False, True)
    assert not seen.right(QUESTIONS[2])
    assert Seen(("GET /temperature?city=Oslo",), "").exact(QUESTIONS[2])


@pytest.mark.demand("plugins.embedded_model_question_ends")
@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(900)
async def test_a_question_ends_in_a_get_with_valid_arguments() -> None:
    question = QUESTIONS[2]
    async with desk() as (server, api):
        seen = await ask(server, api, question)
    assert seen.requests, seen.text
    # A name was given, and it was put where the document says.
    assert all(request.startswith("GET /") and len(request.split("/", 2)[1]) > 5 for request in seen.requests)
    assert seen.right(question), seen.requests
    print(f"the argument: {seen.exact(question)}; the answer: {seen.answered(question)}: {seen.text!r}")

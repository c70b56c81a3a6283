"""The demo's clock, called by the embedded model; `make eval` asks in fifty wordings."""

import pytest

from rightseat.models.llamacpp import weights
from tests.demo.asking import answer, demo, tells_the_time
from tests.demo.wordings import WORDINGS


@pytest.mark.model
@pytest.mark.timeout(240)
async def test_three_wordings_call_the_clock_and_tell_the_time() -> None:
    if weights.find().path is None:
        pytest.skip("the embedded weights are not here: rightseat models pull")
    async with demo() as url:
        for wording in (WORDINGS[1], WORDINGS[7], WORDINGS[46]):
            text = await answer(url, wording)
            assert tells_the_time(text), (wording, text)


def test_an_answer_without_the_day_is_seen() -> None:
    assert not tells_the_time("It is 12:30.")
    assert not tells_the_time("None of my tools can do that.")


def test_there_are_fifty_wordings() -> None:
    assert len(set(WORDINGS)) == 50

"""A browser writes half of an emoji, where a text was cut, as an escape alone: each door reads it."""

import pytest

from rightseat import Runtime
from tests.contract.doors.members import ASKING_MEMBERS
from tests.kit.app_server import FakeModel, reply_text, serve_runtime

pytestmark = pytest.mark.io


@pytest.mark.demand("openbb.bad_input_recorded_case")
@pytest.mark.parametrize("member", ASKING_MEMBERS)
async def test_half_of_an_emoji_is_a_sign_that_something_was_there(member: str) -> None:
    model = FakeModel(reply_text("Yes."))
    async with serve_runtime(Runtime(model=model)) as server:
        seen = await ASKING_MEMBERS[member](server.url).send_message(
            "cut \ud83d, whole \ud83d\ude00, \\ud83d said \udc00\ud83d"
        )
    assert (seen.error, seen.text) == (None, "Yes.")
    expected = "cut \ufffd, whole \N{GRINNING FACE}, \\ud83d said \ufffd\ufffd"
    assert model.prompts[0].messages[-1].text == expected

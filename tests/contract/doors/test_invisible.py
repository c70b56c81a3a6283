"""Approvals through every door: characters that a screen hides or reorders are shown as what they are."""

import json

import pytest

from rightseat import Runtime, tool
from tests.contract.doors.members import ASKING_MEMBERS
from tests.kit.app_server import FakeModel, reply_calls, serve_runtime

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", ASKING_MEMBERS)]

# Right-to-left override, isolate, zero-width space and joiner, soft hyphen, a tag character, an escape sequence.
HIDDEN = ("\u202e", "\u2067", "\u200b", "\u200d", "\u00ad", "\U000e0041", "\x1b", "\ufeff")


@tool(confirm=True)
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@pytest.mark.demand("security.hidden_characters_shown")
@pytest.mark.spread("member", "hidden")
@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
async def test_an_approval_shows_hidden_characters(member: str, hidden: str) -> None:
    arguments = json.dumps({"to": f"ali{hidden}ce"}, ensure_ascii=False)
    async with serve_runtime(Runtime(model=FakeModel(reply_calls(("pay", arguments))), tools=[pay])) as server:
        [question] = (await ASKING_MEMBERS[member](server.url).send_message("pay alice")).questions
    assert hidden not in question["message"]
    assert f"ali\\u{ord(hidden):04x}ce" in question["message"]

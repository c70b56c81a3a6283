"""Today's date in the prompt: at every door where the assistant is set up so, at OpenBB's always."""

from datetime import datetime

import pytest

from rightseat import Assistant, Runtime
from rightseat.types.messages import CONTEXT_HEADING
from tests.contract.doors.members import ASKING_MEMBERS
from tests.kit.app_server import FakeModel, reply_text, serve_runtime

pytestmark = pytest.mark.io


@pytest.mark.demand("engine.date_in_prompt")
@pytest.mark.parametrize("member", ASKING_MEMBERS)
@pytest.mark.parametrize("tells_date", [True, False])
async def test_the_date_is_the_last_instruction(member: str, tells_date: bool) -> None:
    model = FakeModel(reply_text("Hello"))
    days = [f"{datetime.now():%Y-%m-%d, a %A}"]
    assistant = Assistant("default", model, "Be brief.", tells_date=tells_date)
    async with serve_runtime(Runtime(assistants=[assistant])) as server:
        await ASKING_MEMBERS[member](server.url).send_message("hi")
    days.append(f"{datetime.now():%Y-%m-%d, a %A}")
    systems = [message.text for message in model.prompts[0].messages if message.role == "system"]
    assert systems[0] == "Be brief."
    if not tells_date and not member.startswith("openbb"):
        assert systems == ["Be brief."]
        return
    assert len(systems) == 2
    assert systems[1].startswith(CONTEXT_HEADING)
    assert systems[1].endswith(tuple(f"- Today's date: {day}" for day in days))
    assert systems[1].count("Today's date") == 1

"""A plugin's operation through every door: a value and a yes are asked for, then the call is made."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.plugins.http.tools import make_operation_tools
from tests.contract.doors.members import ASKING_MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.plugins.http.plugin_values import LOCAL_POLICY, make_auth, make_object_body, make_operation, make_plugin
from tests.unit.plugins.http.recording_api import make_json_response, serve_recording_api

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", ASKING_MEMBERS)]
CANARY = "canary-0123456789"


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return ASKING_MEMBERS[member]


def fill_form(client: Any, name: str, value: str) -> Any:
    """A form's only value as this door's client sends it: a form, its JSON, or what a person types."""
    if hasattr(client, "resume"):
        return {name: value}
    return json.dumps({name: value}) if hasattr(client, "open") else value


@pytest.mark.demand(
    "plugins.credentials_never_logged_never",
    "plugins.dangerous_operations_config_all",
    "plugins.missing_required_values_question",
)
@pytest.mark.parametrize("approved", [True, False])
async def test_a_value_and_a_yes_and_then_the_call(make_client: Callable[[str], DoorClient], approved: bool) -> None:
    text = {"type": "string", "pattern": "^h-[0-9]{3}$"}
    body = make_object_body("application/json", ["host", "why"], host=text, why={"type": "string"})
    model = FakeModel(reply_calls(("shop_act", '{"why":"old"}')), reply_text("As you wish."))
    async with serve_recording_api() as api:
        made = make_operation("DELETE", "/hosts", body=body, url=api.url, dangerous=True)
        keys = (make_auth("header", {"Authorization": CANARY}),)
        api.replies = [make_json_response({"removed": "h-001", "echo": CANARY})]
        runtime = Runtime(model=model, tools=make_operation_tools(make_plugin(made, auth=keys), LOCAL_POLICY))
        async with serve_runtime(runtime) as home:
            person = make_client(home.url)
            seen = await person.send_message("remove the host")
            assert "host" in seen.questions[0]["message"]
            seen = await person.answer_question(fill_form(person, "host", "h-001"))
            assert "DELETE /hosts at 127.0.0.1" in seen.questions[0]["message"]
            assert '"host":"h-001"' in seen.questions[0]["message"]
            assert api.requests == []
            seen = await person.answer_question(approved)
    assert seen.text == "As you wish."
    told = [message.text for message in model.prompts[1].messages if message.role == "tool"]
    assert [json.loads(got.body)["host"] for got in api.requests] == (["h-001"] if approved else [])
    assert CANARY not in f"{told} {seen}"
    assert ("removed" in told[0]) is approved

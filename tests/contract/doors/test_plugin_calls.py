"""A plugin's operation through every door: a value and a yes are asked for, then the call is made."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.plugins.http.tools import make_operation_tools
from tests.contract.doors.members import MEMBERS, Visit
from tests.kit.house import Lines, calls, house, says
from tests.unit.plugins.http.plugged import LOCAL, auth, object_body, operation, plugin
from tests.unit.plugins.http.target import said, target

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
CANARY = "canary-0123456789"


@pytest.fixture
def visit(member: str) -> Callable[[str], Visit]:
    return MEMBERS[member]


def filled(visitor: Any, name: str, value: str) -> Any:
    """A form's only value as this door's client sends it: a form, its JSON, or what a person types."""
    if hasattr(visitor, "resume"):
        return {name: value}
    return json.dumps({name: value}) if hasattr(visitor, "open") else value


@pytest.mark.demand(
    "plugins.credentials_never_logged_never",
    "plugins.dangerous_operations_config_all",
    "plugins.missing_required_values_question",
)
@pytest.mark.parametrize("approved", [True, False])
async def test_a_value_and_a_yes_and_then_the_call(visit: Callable[[str], Visit], approved: bool) -> None:
    text = {"type": "string", "pattern": "^h-[0-9]{3}$"}
    body = object_body("application/json", ["host", "why"], host=text, why={"type": "string"})
    model = Lines(calls(("shop_act", '{"why":"old"}')), says("As you wish."))
    async with target() as api:
        made = operation("DELETE", "/hosts", body=body, url=api.url, dangerous=True)
        keys = (auth("header", {"Authorization": CANARY}),)
        api.replies = [said({"removed": "h-001", "echo": CANARY})]
        runtime = Runtime(model=model, tools=make_operation_tools(plugin(made, auth=keys), LOCAL))
        async with house(runtime) as home:
            person = visit(home.url)
            seen = await person.say("remove the host")
            assert "host" in seen.asks[0]["message"]
            seen = await person.answer(filled(person, "host", "h-001"))
            assert "DELETE /hosts at 127.0.0.1" in seen.asks[0]["message"]
            assert '"host":"h-001"' in seen.asks[0]["message"]
            assert api.got == []
            seen = await person.answer(approved)
    assert seen.text == "As you wish."
    told = [message.text for message in model.asked[1].messages if message.role == "tool"]
    assert [json.loads(got.body)["host"] for got in api.got] == (["h-001"] if approved else [])
    assert CANARY not in f"{told} {seen}"
    assert ("removed" in told[0]) is approved

"""Foreign serialisation keys are data like any other: nothing here makes an object of them (row 5)."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.middleware.hooks import HookRequest, Hooks
from rightseat.stores.sqlite import SQLiteStore
from tests.contract.doors.members import MEMBERS
from tests.faults.faces import AGUI
from tests.kit.client import Client
from tests.kit.house import Lines, calls, house, says
from tests.unit.doors.copilotkit.client import body, data

pytestmark = pytest.mark.io

FOREIGN: dict[str, Any] = {
    "lc": 1,
    "type": "constructor",
    "id": ["langchain_core", "messages", "AIMessage"],
    "kwargs": {"content": "x", "secrets_map": {"lc": 1, "type": "secret", "id": ["OPENAI_API_KEY"]}},
    "__class__": "os.system",
    "__reduce__": ["os.system", ["true"]],
    "py/object": "os.system",
}
TEXT = json.dumps(FOREIGN)

taken: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def nothing_taken() -> None:
    taken.clear()


@tool
def take(value: dict[str, Any]) -> dict[str, Any]:
    """Take a value and give it back."""
    taken.append(value)
    return value


@tool
def keep(value: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """Ask, then give the value back."""
    ctx.ask("Shall it be kept?")
    taken.append(value)
    return value


@pytest.mark.demand("models.message_content_foreign_serialisation")
@pytest.mark.parametrize("member", MEMBERS)
async def test_messages_arguments_and_results(member: str) -> None:
    model = Lines(
        calls(("take", json.dumps({"value": FOREIGN}))), calls(("show", json.dumps({"title": TEXT}))), says(TEXT)
    )
    async with house(Runtime(model=model, tools=[take])) as server:
        visitor = MEMBERS[member](server.url)
        seen = await visitor.say(TEXT)
        [(id, call)] = seen.calls.items()
        assert call == ("show", {"title": TEXT})
        seen = await visitor.give({id: TEXT})
    assert json.loads(seen.text) == FOREIGN
    assert taken == [FOREIGN]
    assert model.asked[0].messages[-1].text == TEXT
    results = [message.text for message in model.asked[2].messages if message.role == "tool"]
    assert [json.loads(result) for result in results] == [FOREIGN, FOREIGN]
    arguments = [call.arguments for message in model.asked[2].messages for call in message.calls]
    assert json.loads(arguments[0]) == {"value": FOREIGN}


@pytest.mark.demand("models.message_content_foreign_serialisation")
@pytest.mark.parametrize("member", MEMBERS)
async def test_what_a_store_keeps(member: str, tmp_path: Path) -> None:
    """A question is answered in another turn: what it was asked for has been on file meanwhile."""
    model = Lines(calls(("keep", json.dumps({"value": FOREIGN}))), says("Kept."))
    store = SQLiteStore(tmp_path)
    try:
        async with house(Runtime(model=model, tools=[keep], store=store)) as server:
            visitor = MEMBERS[member](server.url)
            await visitor.say(TEXT)
            assert taken == []
            seen = await visitor.answer("of course")
    finally:
        await store.close()
    assert seen.text.endswith("Kept.")
    assert taken == [FOREIGN]


@pytest.mark.demand("models.message_content_foreign_serialisation")
async def test_properties_and_state() -> None:
    seen: list[HookRequest] = []
    model = Lines(says("One."), says("Two."))
    hooks = Hooks(on_before_request=lambda asked: seen.append(asked))
    run = AGUI.ask("hi", "default") | {"forwardedProps": FOREIGN, "state": FOREIGN}
    asked = body(data())
    asked["variables"]["properties"] = FOREIGN
    async with house(Runtime(model=model, hooks=hooks)) as server:
        for target, value in (("/agui/default", run), ("/copilotkit", asked)):
            async with Client(server.url) as client:
                await client.post(target, value)
                assert (await client.head()).status == 200
                await client.body()
    assert [one.properties for one in seen] == [FOREIGN, FOREIGN]
    assert type(seen[0].properties["kwargs"]) is dict

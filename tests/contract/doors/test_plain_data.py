"""Foreign serialisation keys are data like any other: nothing here makes an object of them (row 5)."""

import json
from pathlib import Path
from typing import Any

import pytest

from rightseat import Runtime, ToolContext, tool
from rightseat.middleware.hooks import HookRequest, Hooks
from rightseat.stores.sqlite import SQLiteStore
from tests.contract.doors.members import MEMBERS
from tests.faults.protocols import AGUI
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient
from tests.unit.doors.copilotkit.client import make_input, make_request_body

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

received_values: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def clear_received_values() -> None:
    received_values.clear()


@tool
def take(value: dict[str, Any]) -> dict[str, Any]:
    """Take a value and give it back."""
    received_values.append(value)
    return value


@tool
def keep(value: dict[str, Any], ctx: ToolContext) -> dict[str, Any]:
    """Ask, then give the value back."""
    ctx.ask("Shall it be kept?")
    received_values.append(value)
    return value


@pytest.mark.demand("models.message_content_foreign_serialisation")
@pytest.mark.parametrize("member", MEMBERS)
async def test_messages_arguments_and_results(member: str) -> None:
    model = FakeModel(
        reply_calls(("take", json.dumps({"value": FOREIGN}))),
        reply_calls(("show", json.dumps({"title": TEXT}))),
        reply_text(TEXT),
    )
    async with serve_runtime(Runtime(model=model, tools=[take])) as server:
        visitor = MEMBERS[member](server.url)
        seen = await visitor.send_message(TEXT)
        [(id, call)] = seen.calls.items()
        assert call == ("show", {"title": TEXT})
        seen = await visitor.send_results({id: TEXT})
    assert json.loads(seen.text) == FOREIGN
    assert received_values == [FOREIGN]
    assert model.prompts[0].messages[-1].text == TEXT
    results = [message.text for message in model.prompts[2].messages if message.role == "tool"]
    assert [json.loads(result) for result in results] == [FOREIGN, FOREIGN]
    arguments = [call.arguments for message in model.prompts[2].messages for call in message.calls]
    assert json.loads(arguments[0]) == {"value": FOREIGN}


@pytest.mark.demand("models.message_content_foreign_serialisation")
@pytest.mark.parametrize("member", MEMBERS)
async def test_what_a_store_keeps(member: str, tmp_path: Path) -> None:
    """A question is answered in another turn: what it was asked for has been on file meanwhile."""
    model = FakeModel(reply_calls(("keep", json.dumps({"value": FOREIGN}))), reply_text("Kept."))
    store = SQLiteStore(tmp_path)
    try:
        async with serve_runtime(Runtime(model=model, tools=[keep], store=store)) as server:
            visitor = MEMBERS[member](server.url)
            await visitor.send_message(TEXT)
            assert received_values == []
            seen = await visitor.answer_question("of course")
    finally:
        await store.close()
    assert seen.text.endswith("Kept.")
    assert received_values == [FOREIGN]


@pytest.mark.demand("models.message_content_foreign_serialisation")
async def test_properties_and_state() -> None:
    seen: list[HookRequest] = []
    model = FakeModel(reply_text("One."), reply_text("Two."))
    hooks = Hooks(on_before_request=lambda asked: seen.append(asked))
    run = AGUI.build_body("hi", "default") | {"forwardedProps": FOREIGN, "state": FOREIGN}
    asked = make_request_body(make_input())
    asked["variables"]["properties"] = FOREIGN
    async with serve_runtime(Runtime(model=model, hooks=hooks)) as server:
        for target, value in (("/agui/default", run), ("/copilotkit", asked)):
            async with RawHttpClient(server.url) as client:
                await client.post_json(target, value)
                assert (await client.read_head()).status == 200
                await client.read_body()
    assert [one.properties for one in seen] == [FOREIGN, FOREIGN]
    assert type(seen[0].properties["kwargs"]) is dict

"""examples/fastapi in this process: its login, its page, its tool.

tests/peers/test_examples.py runs it as its README says.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from rightseat.testing import TestClient

EXAMPLE = Path(__file__).parents[3] / "examples" / "fastapi"
COMPLETIONS = "/copilot/v1/chat/completions"
QUESTION = {"messages": [{"role": "user", "content": "What is the state of my orders?"}]}
pytestmark = pytest.mark.demand("release.example_fastapi")


def write_script(folder: Path) -> str:
    """Write what a model does that calls the example's tool; return the model's spec."""
    turns = [
        {"when": {"tool": "list_my_orders"}, "say": "I see: {result}"},
        {"when": {"offered": "list_my_orders"}, "calls": [{"name": "list_my_orders", "arguments": {}}]},
    ]
    (folder / "script.json").write_text(json.dumps({"turns": turns}), "utf-8")
    return f"scripted:{folder / 'script.json'}"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The example's module, with a script as its model."""
    monkeypatch.setenv("RIGHTSEAT_MODEL", write_script(tmp_path))
    spec = importlib.util.spec_from_file_location("fastapi_example", EXAMPLE / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # FastAPI looks its annotations up there.
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


async def log_in(client: TestClient, user: str, password: str) -> dict[str, str]:
    reply = await client.post_json("/login", {"user": user, "password": password})
    assert reply.status == 200
    return {"authorization": f"Bearer {reply.json['token']}"}


async def test_the_tool_answers_with_the_orders_of_the_user(example: ModuleType) -> None:
    async with TestClient(example.app) as client:
        for user, password in example.PASSWORDS.items():
            headers = await log_in(client, user, password)
            reply = await client.post_json(COMPLETIONS, QUESTION, headers)
            answer = reply.json["choices"][0]["message"]["content"]
            assert [name for name, orders in example.ORDERS.items() if orders[0] in answer] == [user]


async def test_nobody_gets_in_without_the_apps_own_login(example: ModuleType) -> None:
    async with TestClient(example.app) as client:
        assert (await client.post_json("/login", {"user": "ada", "password": "wrong"})).status == 401
        assert (await client.post_json("/login", {"user": "nobody", "password": ""})).status == 401
        for headers in ({}, {"authorization": "Bearer made-up"}):
            reply = await client.post_json(COMPLETIONS, QUESTION, headers)
            assert reply.status == 401
            assert "Log in" in reply.json["error"]["message"]


async def test_the_app_has_a_page_of_its_own(example: ModuleType) -> None:
    async with TestClient(example.app) as client:
        page = await client.get("/")
    assert page.status == 200
    assert "Your orders" in page.text

"""The demo of an unconfigured server, through every door: who gets its tools, its approval and its chart."""

from collections.abc import Callable
from typing import Any

import pytest

from rightseat.config.settings import Config
from rightseat.wiring.from_config import build_runtime
from rightseat.wiring.models import ModelRegistry
from rightseat.wiring.runtime import Runtime
from tests.contract.doors import agui, members
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.kit.client import RawHttpClient

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
DEMO_TOOLS = {"demo_clock", "demo_book", "demo_sales"}
PIXEL = "iVBORw0KGgo="
PICTURES: dict[str, list[dict[str, Any]]] = {
    "openai": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}],
    "agui": [{"type": "binary", "mimeType": "image/png", "data": PIXEL}],
}
COPILOTKIT_PROMPT = """
Please act as an efficient, competent, conscientious, and industrious professional assistant.

The user has provided you with the following context:
```
{context}
```

They have also provided you with functions you can call.
- If the error's source is unclear or seems unrelated to your input, do not attempt further retries.
"""
Body = dict[str, Any]


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return MEMBERS[member]


@pytest.fixture
def make_demo(monkeypatch: pytest.MonkeyPatch) -> Callable[[FakeModel], Runtime]:
    """Build the Runtime of an unconfigured server with this model."""

    def make(model: FakeModel) -> Runtime:
        monkeypatch.setattr(ModelRegistry, "get_without_fallbacks", lambda self, name: model)
        return build_runtime(Config(without_local="No weights."), env={})

    return make


@pytest.fixture
def without_client_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "CLIENT_TOOLS", ())
    monkeypatch.setattr(agui, "CLIENT_TOOLS", ())


def get_run(body: Body) -> Body:
    """Return the part of a request that has the messages: CopilotKit wraps it."""
    run: Body = body.get("variables", {}).get("data") or body.get("body") or body
    return run


def make_posted_message(member: str, role: str, text: str) -> Body:
    if member in ("copilotkit-planned", "copilotkit-executed", "copilotkit-whole"):
        return {"id": "s", "createdAt": "2026-01-01T00:00:00Z", "textMessage": {"role": role, "content": text}}
    return {"id": "s", "role": role, "content": text}


def add_context(member: str, body: Body) -> None:
    run = get_run(body)
    if member.startswith("openai"):
        run["messages"].insert(0, make_posted_message(member, "system", "Prices: apple 3, pear 4."))
    elif member.startswith("openbb"):
        run["context"] = [{"uuid": "u", "name": "Prices", "description": "Prices", "data": {"content": "apple 3"}}]
    else:
        run["context"] = [{"description": "Prices", "value": "apple 3"}]


async def ask(
    url: str, client: DoorClient, member: str, text: str, change: Callable[[Body], None] = lambda body: None
) -> str:
    """Ask a question by a changed request; return all that the door answers, as it came."""
    path, body = client.build_request()
    get_run(body)["messages"].append(make_posted_message(member, "human" if "openbb" in member else "user", text))
    change(body)
    async with RawHttpClient(url) as http:
        await http.post_json(path, body)
        head = await http.read_head()
        answer = (await http.read_body()).decode()
    assert head.status == 200, answer
    return answer


def list_demo_tools(model: FakeModel) -> set[str]:
    return {tool.name for tool in model.prompts[0].tools} & DEMO_TOOLS


@pytest.mark.demand("demo.offered_to_plain_requests")
@pytest.mark.usefixtures("without_client_tools")
async def test_a_plain_question_gets_the_demo_tools_but_in_a_workspace(
    make_client: Callable[[str], DoorClient], make_demo: Callable[[FakeModel], Runtime], member: str
) -> None:
    model = FakeModel(reply_text("Hi."))
    async with serve_runtime(make_demo(model)) as home:
        await ask(home.url, make_client(home.url), member, "Hello")
    assert list_demo_tools(model) == (set() if member.startswith("openbb") else DEMO_TOOLS)


@pytest.mark.demand("demo.offered_to_plain_requests")
async def test_a_client_with_tools_of_its_own_gets_none(
    make_client: Callable[[str], DoorClient], make_demo: Callable[[FakeModel], Runtime], member: str
) -> None:
    model = FakeModel(reply_text("Hi."))
    async with serve_runtime(make_demo(model)) as home:
        await ask(home.url, make_client(home.url), member, "Hello")
    assert model.prompts[0].tools, "its own tools are there"
    assert list_demo_tools(model) == set()


@pytest.mark.demand("demo.offered_to_plain_requests")
@pytest.mark.usefixtures("without_client_tools")
async def test_a_client_with_context_gets_none(
    make_client: Callable[[str], DoorClient], make_demo: Callable[[FakeModel], Runtime], member: str
) -> None:
    model = FakeModel(reply_text("Hi."))
    async with serve_runtime(make_demo(model)) as home:
        client = make_client(home.url)
        await ask(home.url, client, member, "What does an apple cost?", lambda body: add_context(member, body))
    assert any("apple 3" in message.text for message in model.prompts[0].messages)
    assert list_demo_tools(model) == set()


@pytest.mark.demand("demo.offered_to_plain_requests")
@pytest.mark.usefixtures("without_client_tools")
async def test_a_picture_in_the_conversation_counts(
    make_client: Callable[[str], DoorClient], make_demo: Callable[[FakeModel], Runtime], member: str
) -> None:
    if member.startswith(("openbb", "copilotkit-planned", "copilotkit-executed", "copilotkit-whole")):
        pytest.skip("pictures are not parts of a message there")
    parts = [{"type": "text", "text": "What is this?"}, *PICTURES["openai" if "openai" in member else "agui"]]
    message = {"id": "p", "role": "user", "content": parts}
    earlier = [message, {"id": "a", "role": "assistant", "content": "A picture."}]
    model = FakeModel(reply_text("Hi."))
    async with serve_runtime(make_demo(model)) as home:

        def add_picture(body: Body) -> None:
            get_run(body)["messages"][:0] = earlier

        await ask(home.url, make_client(home.url), member, "And now?", add_picture)
    assert list_demo_tools(model) == set()


@pytest.mark.demand("demo.offered_to_plain_requests")
@pytest.mark.usefixtures("without_client_tools")
@pytest.mark.parametrize(
    ("prompt", "is_own"),
    [
        ("You are a helpful assistant.", False),
        ("You are the clerk of a shop that sells pens.", True),
        (COPILOTKIT_PROMPT.format(context=""), False),
        (COPILOTKIT_PROMPT.format(context="1. price: 3"), True),
    ],
)
async def test_a_system_prompt_of_an_application_counts(
    make_client: Callable[[str], DoorClient],
    make_demo: Callable[[FakeModel], Runtime],
    member: str,
    prompt: str,
    is_own: bool,
) -> None:
    if member.startswith("openbb"):
        pytest.skip("Workspace sends no system message and never gets the tools")
    model = FakeModel(reply_text("Hi."))
    async with serve_runtime(make_demo(model)) as home:
        system = make_posted_message(member, "system", prompt)

        def add_system(body: Body) -> None:
            get_run(body)["messages"].insert(0, {**system, "id": "s0"})

        await ask(home.url, make_client(home.url), member, "Hello", add_system)
    assert list_demo_tools(model) == (set() if is_own else DEMO_TOOLS)


@pytest.mark.demand("demo.offered_to_plain_requests", "language.sentences_in_persons_language")
@pytest.mark.usefixtures("without_client_tools")
async def test_an_open_approval_finds_its_tool_whatever_comes_with_the_answer(
    make_client: Callable[[str], DoorClient],
    make_demo: Callable[[FakeModel], Runtime],
    member: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if member.startswith("openbb"):
        pytest.skip("the demo tools are not offered there")
    model = FakeModel(reply_calls(("demo_book", '{"people": 3}')), reply_text("订好了。"))
    async with serve_runtime(make_demo(model)) as home:
        person = make_client(home.url)
        [question] = (await person.send_message("帮我订一张三个人的桌子")).questions
        assert '是否允许执行 demo_book，参数为 {"people":3}？' in question["message"]
        build = person.build_request

        def build_with_context() -> tuple[str, Body]:
            path, body = build()
            add_context("agui" if member.startswith("openai") else member, body)
            return path, body

        monkeypatch.setattr(person, "build_request", build_with_context)
        seen = await person.answer_question(True)
    assert "订好了。" in seen.text
    assert "A table for 3 is booked." in [message.text for message in model.prompts[-1].messages]


@pytest.mark.demand("demo.sales_chart_of_the_default", "language.sentences_in_persons_language")
@pytest.mark.usefixtures("without_client_tools")
@pytest.mark.parametrize(
    ("question", "sentence", "title"),
    [
        ("Show me a chart of the sales", "The best month was June.", "Sales of this year"),
        ("给我看看今年的销售图", "销售额最高的月份是六月。", "今年的销售额"),
    ],
)
async def test_the_default_assistant_draws_the_sales(
    make_client: Callable[[str], DoorClient],
    make_demo: Callable[[FakeModel], Runtime],
    member: str,
    question: str,
    sentence: str,
    title: str,
) -> None:
    if member.startswith("openbb"):
        pytest.skip("the demo tools are not offered there")
    model = FakeModel(reply_calls(("demo_sales", "{}")), reply_text("So."))
    async with serve_runtime(make_demo(model)) as home:
        answer = await ask(home.url, make_client(home.url), member, question)
    assert model.prompts[-1].messages[-1].text.endswith(sentence), "the flow's sentence is the result"
    assert title in answer
    assert ("| Jun | 230 |" in answer) is (member not in ("agui", "copilotkit-routes", "copilotkit-single"))
    assert "230" in answer

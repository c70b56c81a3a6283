"""What the TypeScript runtime's service adapters and remote endpoints do wrong, seen from the page: it is
right here, with the models and agents in their place. test_peer_bugs.py has what is wrong in the runtime."""

import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from rightseat import Runtime, tool
from rightseat.agents.copilotkit import copilotkit
from rightseat.mcp import connection
from rightseat.mcp.connect import McpServerConfig
from rightseat.middleware.hooks import HookRequest, HookResponse, Hooks
from rightseat.models.anthropic import AnthropicModel
from rightseat.stores.memory import MemoryStore
from tests.kit.app_server import FakeModel, reply_text
from tests.kit.vendors import anthropic as wire
from tests.kit.waiting import wait_until
from tests.unit.agents.copilotkit.endpoint import FakeRemoteEndpoint
from tests.unit.doors.copilotkit.client import (
    DOCUMENT,
    GENERIC_DOCUMENT,
    GraphQLAnswer,
    make_input,
    make_request_body,
    make_text_message,
    post_graphql,
    serve_copilotkit,
)
from tests.unit.doors.copilotkit.test_recall import QUERY
from tests.unit.mcp.tool_calls import SERVER_SCRIPT, connect_servers, list_tools
from tests.unit.models.anthropic.model_calls import connect_model
from tests.unit.models.langchain.model_calls import make_model as langchain

pytestmark = pytest.mark.io

over_documents = pytest.mark.parametrize("document", [DOCUMENT, GENERIC_DOCUMENT])


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@over_documents
@pytest.mark.parametrize("given", ["plain words", ""])
async def test_a_plain_string_of_langchain(given: str, document: str) -> None:
    """There only a message or a stream is an answer: a string is taken for a call that is not there."""
    thing: RunnableLambda[Any, str] = RunnableLambda(lambda messages: given)
    async with serve_copilotkit(Runtime(model=langchain(thing))) as url:
        answer = await post_graphql(url, make_request_body(make_input(), document))
    assert (answer.text, answer.response["status"]["code"]) == (given, "Success")


async def ask_anthropic(anthropic: AnthropicModel, *messages: dict[str, Any]) -> GraphQLAnswer:
    async with serve_copilotkit(Runtime(model=anthropic)) as url:
        return await post_graphql(url, make_request_body(make_input(*messages)))


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_the_first_message_is_not_the_instructions() -> None:
    """There it is, whoever said it: without instructions the page's question is lost."""
    async with connect_model() as (upstream, made):
        await ask_anthropic(made, make_text_message("hi"))
        sent = upstream.requests[0].json
    assert "system" not in sent
    assert sent["messages"][0]["role"] == "user"
    assert sent["messages"][0]["content"][0]["text"] == "hi"


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_later_instructions_are_nothing_the_assistant_said() -> None:
    """There they are put into its mouth, with a line before them in capital letters."""
    talk = [
        make_text_message("hi"),
        make_text_message("Hello.", "assistant", "a1"),
        make_text_message("In French.", "system", "s2"),
        make_text_message("bye", id="u2"),
    ]
    async with connect_model("claude-sonnet-4-6") as (upstream, made):
        await ask_anthropic(made, *talk)
        sent = upstream.requests[0].json
    assert "In French." in str(sent["system"])
    spoken = [(one["role"], part["text"]) for one in sent["messages"] for part in one["content"]]
    assert spoken == [("user", "hi"), ("assistant", "Hello."), ("user", "bye")]


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_words_that_look_like_thoughts_are_words() -> None:
    """There what stands between these tags is taken out of the answer, also where it was asked for."""
    words = "Write <thinking>so</thinking> around it."
    async with connect_model() as (upstream, made):
        upstream.reply = wire.answer_blocks(wire.encode_text(0, *words))
        answer = await ask_anthropic(made, make_text_message("how is it marked?"))
    assert answer.text == words


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_an_answer_without_words_is_not_made_up() -> None:
    """There, after a tool's result, a sentence that no model said stands in its place."""

    @tool
    def give() -> str:
        return "given"

    async with connect_model() as (upstream, made):
        turns = iter(
            [wire.answer_blocks(wire.encode_tool_use(0, "give", "{}"), reason="tool_use"), wire.answer_blocks()]
        )

        async def reply(*asked: Any) -> None:
            await next(turns)(*asked)

        upstream.reply = reply
        async with serve_copilotkit(Runtime(model=made, tools=[give])) as url:
            answer = await post_graphql(url, make_request_body(make_input()))
    assert [message["result"] for message in answer.messages if "result" in message] == ["given"]
    assert (answer.text, answer.response["status"]["code"]) == ("", "Success")


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_a_long_conversation_is_sent_whole() -> None:
    """There its beginning is left out without a word, by a guess of three letters to a token."""
    model = FakeModel(reply_text("ok"))
    talk = [make_text_message("x" * 40_000, "user" if n % 2 == 0 else "assistant", f"m{n}") for n in range(21)]
    async with serve_copilotkit(Runtime(model=model)) as url:
        assert (await post_graphql(url, make_request_body(make_input(*talk)))).text == "ok"
    assert [len(one.text) for one in model.prompts[0].messages] == [40_000] * 21


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_hooks_need_no_key_of_a_cloud() -> None:
    """There they are called only for who sends one."""
    before: list[HookRequest] = []
    after: list[HookResponse] = []
    hooks = Hooks(on_before_request=before.append, on_after_request=after.append)
    async with serve_copilotkit(Runtime(model=FakeModel(reply_text("ok")), hooks=hooks)) as url:
        await post_graphql(url, make_request_body(make_input()))
        await wait_until(lambda: after)
    assert (len(before), len(after)) == (1, 1)


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
@pytest.mark.long
@pytest.mark.io
async def test_an_mcp_server_that_was_down_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There one that failed has no tools for as long as the runtime lives."""
    monkeypatch.setattr(connection, "FIRST_RETRY", 0.01)
    program = tmp_path / "program"
    async with connect_servers(McpServerConfig(name="things", command=str(program))) as servers:
        assert servers.down.keys() == {"things"}
        assert await list_tools(servers) == {}
        draft = tmp_path / "draft"
        draft.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SERVER_SCRIPT}"\n')
        draft.chmod(0o755)
        draft.rename(program)
        await wait_until(lambda: not servers.down)
        assert "things__add" in await list_tools(servers)


@pytest.mark.demand("copilotkit.peer_bugs_listed_notes")
async def test_a_remote_endpoint_is_not_asked_what_it_has_with_every_request() -> None:
    """There it is, and twice to load a state. Of its paths the short ones are not used: by one of them who
    asks for a state runs the agent."""
    async with FakeRemoteEndpoint() as remote:
        runtime = Runtime(agent_sources=[copilotkit("ck", {"url": remote.url})], store=MemoryStore())
        await runtime.start()
        async with serve_copilotkit(runtime) as url:
            for number in range(3):
                session = {"agentName": "desk", "threadId": f"t{number}"}
                given = make_input(make_text_message("say hello"), agentSession=session, threadId=session["threadId"])
                assert "You said say hello." in (await post_graphql(url, make_request_body(given))).text
                asked = {"data": session}
                loaded = await post_graphql(url, {"query": QUERY, "variables": asked})
                assert loaded.data["loadAgentState"]["threadExists"]
            await post_graphql(url, {"query": "{ availableAgents { agents { name } } }"})
        paths = [request.target.removeprefix("/copilotkit") for request in remote.upstream.requests]
    assert paths.count("/info") == 1
    assert set(paths) == {"/info", "/agents/execute", "/agents/state"}

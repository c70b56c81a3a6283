"""Pages that a request names, and data under a model's context."""

import json
import threading
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rightseat import Runtime
from rightseat.doors.openbb import routes, write
from rightseat.doors.openbb.read import OpenBBRequest, read_query
from rightseat.http.endpoint import Host, Request
from rightseat.http.fetch import AddressRules, OutboundClient
from rightseat.types.model import Capabilities
from rightseat.types.text import estimate_tokens
from tests.kit.app_server import FakeModel, reply_text, serve_app, serve_runtime
from tests.unit.doors.openbb.client import WIDGETS, OpenBBChat, make_result_item, post_query, without_facts
from tests.unit.doors.openbb.test_read import (
    CALL,
    CONTEXT,
    HUMAN,
    capture_prompt,
    list_roles_and_texts,
    make_ai_message,
    make_tool_message,
)

pytestmark = pytest.mark.io


@pytest.fixture
async def page_url(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A page that may be fetched, and nothing else."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/html")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"<p>The rate is 7 %.</p>"})

    async with serve_app(app) as url:
        port = url.rsplit(":", 1)[1]
        monkeypatch.setattr(
            write,
            "make_outbound",
            lambda rules: OutboundClient(AddressRules(hosts=[f"127.0.0.1:{port}"], allow=["127.0.0.0/8"])),
        )
        yield url


@pytest.mark.demand("openbb.urls_most_4_fetched")
async def test_pages_are_read_and_cited_and_one_that_cannot_be_is_said(page_url: str) -> None:
    model = FakeModel(reply_text("It is 7 %."))
    urls = [f"{page_url}/rate", "http://169.254.169.254/latest", "file:///etc/passwd"]
    async with serve_runtime(Runtime(model=model)) as server:
        answer = await post_query(server.url, {"messages": [HUMAN], "urls": urls})
    assert answer.statuses == [
        ("INFO", "Reading 3 files"),
        *(("WARNING", f"{url} could not be read") for url in urls[1:]),
    ]
    assert answer.text == "It is 7 %."
    *pages, question = list_roles_and_texts(without_facts(model.prompts[0]))
    assert question == ("user", "price?")
    # A stranger's words are no instructions.
    assert {role for role, _ in pages} == {"user"}
    assert pages[0][1].endswith("The rate is 7 %.")
    assert all("could not be fetched" in said for _, said in pages[1:])
    [collection] = answer.list_events("copilotCitationCollection")
    assert [one["source_info"]["name"] for one in collection["citations"]] == [urls[0]]
    assert collection["citations"][0]["source_info"]["type"] == "web"


@pytest.mark.demand("openbb.urls_most_4_fetched")
async def test_at_most_four_pages(page_url: str) -> None:
    prompt = await capture_prompt({"messages": [HUMAN], "urls": [f"{page_url}/{n}" for n in range(9)] + [5]})
    assert len(prompt.messages) == 5


@pytest.mark.demand("openbb.explicit_context_goes_model")
async def test_all_data_of_a_long_chat_fits_the_models_context() -> None:
    text = json.dumps([{"n": n, "name": f"row {n}"} for n in range(500)])
    trip = [HUMAN, make_ai_message(CALL), make_tool_message(data=[make_result_item(text)]), make_ai_message("Fine.")]
    skill = {"slug": "s", "contentMarkdown": "word " * 3000}
    context = [{**CONTEXT, "data": {"content": text}}] * 3
    body = {"messages": [*trip * 4, *trip[:3]], "widgets": WIDGETS, "selected_skills": [skill], "context": context}
    prompt = await capture_prompt(body, context=4096)
    assert sum(estimate_tokens(message.text) for message in prompt.messages) < 3072
    assert "row 0" in prompt.messages[-1].text


@pytest.mark.demand("openbb.explicit_context_goes_model")
@pytest.mark.parametrize("word", ["word ", "规则"])
async def test_many_long_skills_share_the_models_context(word: str) -> None:
    skills = [{"slug": f"s{number}", "contentMarkdown": word * 3000} for number in range(8)]
    body = {"messages": [HUMAN], "widgets": WIDGETS, "selected_skills": skills}
    prompt = await capture_prompt(body, context=4096)
    assert sum(estimate_tokens(message.text) for message in prompt.messages) < 3072
    assert all(f"'s{number}'" in prompt.messages[0].text for number in range(8))


@pytest.mark.demand("openbb.explicit_context_goes_model")
@pytest.mark.parametrize("context", [4096, None, 100_000])
async def test_a_small_model_is_handed_what_was_added_as_if_it_had_asked(context: int | None) -> None:
    question = {"role": "human", "content": "What do the analysts estimate?"}
    body = {"messages": [HUMAN, make_ai_message("Fine."), question], "context": [CONTEXT, "and this"]}
    prompt = await capture_prompt({**body, "widgets": WIDGETS}, context=context)
    roles = [message.role for message in prompt.messages]
    if context != 4096:
        assert roles == ["system", "user", "assistant", "user"]
        return
    # What the question is not about is no answer to it.
    assert prompt.messages[0].text.endswith("- Added by the user: and this")
    assert roles == ["system", "user", "assistant", "user", "assistant", "tool"]
    [call] = prompt.messages[4].calls
    assert call.name == "get_added_data"
    assert call.name not in {tool.name for tool in prompt.tools}
    assert json.loads(call.arguments).items() >= {"name": CONTEXT["name"], "symbol": "AAPL"}.items()
    # Where there is nothing to call, there is nothing to be led to.
    alone = await capture_prompt(body, context=context)
    assert [message.role for message in alone.messages] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize("asked_back", ["Which source?", "Really?\n\nReply yes or no.", "- analysts\n- news"])
async def test_nothing_comes_after_the_answer_to_a_question_of_ours(asked_back: str) -> None:
    answer = {"role": "human", "content": "analysts estimate"}
    body = {"messages": [HUMAN, make_ai_message(asked_back), answer], "context": [CONTEXT], "widgets": WIDGETS}
    prompt = await capture_prompt(body, context=4096)
    assert [message.role for message in prompt.messages] == ["system", "user", "assistant", "user"]


@pytest.mark.demand("openbb.explicit_context_goes_model")
async def test_a_model_that_says_how_much_it_takes_gets_no_more() -> None:
    class Little(FakeModel):
        capabilities = Capabilities(context=4096)

    text = json.dumps([{"n": n, "name": f"row {n}"} for n in range(5000)])
    model = Little(reply_text("ok"))
    async with serve_runtime(Runtime(model=model)) as server:
        body = {
            "messages": [HUMAN, make_ai_message(CALL), make_tool_message(data=[make_result_item(text)])],
            "widgets": WIDGETS,
        }
        assert (await post_query(server.url, body)).text == "ok"
    assert sum(estimate_tokens(message.text) for message in model.prompts[0].messages) < 3072


@pytest.mark.demand("openbb.empty_messages_422_messages")
async def test_of_a_chat_that_has_grown_too_long_the_newest_is_told() -> None:
    class Little(FakeModel):
        capabilities = Capabilities(context=4096)

    model = Little(reply_text("ok"))
    said = [
        turn for n in range(60) for turn in ({**HUMAN, "content": f"q{n}"}, make_ai_message(f"a{n} " + "word " * 60))
    ]
    async with serve_runtime(Runtime(model=model)) as server:
        body = {"messages": [*said, HUMAN], "widgets": WIDGETS}
        assert (await post_query(server.url, body)).text == "ok"
    told = list_roles_and_texts(without_facts(model.prompts[0]))
    assert told[-1] == ("user", "price?")
    assert told[-3] == ("user", "q59")
    assert 10 < len(told) < 100
    assert sum(estimate_tokens(text) for _, text in told) < 3072


@pytest.mark.demand("openbb.widgets_become_client_tools")
async def test_an_assistant_with_little_room_gets_the_chosen_widgets_first() -> None:
    many = [{**WIDGETS["secondary"][0], "uuid": str(uuid.UUID(int=n)), "name": f"W {n}"} for n in range(80)]
    prompt = await capture_prompt({"messages": [HUMAN], "widgets": {**WIDGETS, "secondary": many}}, context=4096)
    assert prompt.tools[0].name == "price"
    assert 3 < len(prompt.tools) < 40
    prompt = await capture_prompt({"messages": [HUMAN], "widgets": {**WIDGETS, "secondary": many * 2}})
    assert len(prompt.tools) == 96


@pytest.mark.demand("openbb.large_tables")
async def test_a_large_query_is_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    def read_and_note(request: Request, host: Host) -> OpenBBRequest:
        threads.append(threading.current_thread() is threading.main_thread())
        return read_query(request, host)

    monkeypatch.setattr(routes, "read_query", read_and_note)
    padding = "x" * (routes.LARGE_BODY + 1)
    async with serve_runtime(Runtime(model=FakeModel(reply_text("Small."), reply_text("Large.")))) as server:
        small = await OpenBBChat(server.url).send_text("hi")
        large = await OpenBBChat(server.url, workspace_state={"padding": padding}).send_text("hi")
        wrong = await OpenBBChat(server.url, path="/v1/query/nobody", workspace_state={"p": padding}).send_text("hi")
    assert (small.text, large.text, wrong.head.status) == ("Small.", "Large.", 404)
    assert threads == [True, False, False]

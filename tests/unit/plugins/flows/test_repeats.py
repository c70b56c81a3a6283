"""Nothing runs twice by accident: answers in the chat, thanks, and requests that come again, over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from rightseat.stores.sqlite import SQLiteStore
from tests.contract.doors.agui import AguiClient
from tests.contract.doors.client_result import ClientResult
from tests.contract.doors.members import OpenAIClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text
from tests.kit.client import RawHttpClient
from tests.kit.timeouts import HANG_TIMEOUT
from tests.unit.plugins.flows.order_flow import FLOW, serve_order_flow

pytestmark = pytest.mark.io
AGAIN = "Run it again?"
ASKING = """
name: f
description: d
steps:
  - {name: start, call_type: api, params: {endpoint: POST /orders}, next: which}
  - {name: which, call_type: ask, params: {question: "Which colour?"}, next: tell}
  - {name: tell, call_type: none, params: {say: "It is {which}."}}
"""


async def post_in_thread(url: str, text: str, thread: str = "t1") -> str:
    """What a client gets that names its thread and posts only what is new."""
    return await post_history(url, [{"role": "user", "content": text}], thread)


async def post_history(url: str, messages: list[dict[str, str]], thread: str | None) -> str:
    async with RawHttpClient(url) as client:
        headers = {"X-Thread-Id": thread} if thread else {}
        await client.post_json("/v1/chat/completions", {"messages": messages}, headers)
        assert (await client.read_head()).status == 200
        answer: str = (await client.read_json())["choices"][0]["message"]["content"]
        return answer


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.finished_step_never_again")
async def test_a_thread_at_the_openai_door_whose_client_posts_only_what_is_new(tmp_path: Path) -> None:
    async with serve_order_flow(tmp_path) as flow:
        question = await post_in_thread(flow.url, "order one")
        for text in ("what is p-001?", "what is p-001?", "yes but only two"):
            assert question.splitlines()[0] in await post_in_thread(flow.url, text)
        assert flow.counts == (1, 0)
        assert "It is ordered." in await post_in_thread(flow.url, "Yes please, go ahead")
        for text in ("Yes please, go ahead", "yes", "yes", "thanks!"):
            assert "othing was run" in await post_in_thread(flow.url, text)
        assert AGAIN in await post_in_thread(flow.url, "order one")
        assert "not run again" in await post_in_thread(flow.url, "no thanks")
        assert flow.counts == (1, 1)
        # Another thread is another conversation.
        assert AGAIN not in await post_in_thread(flow.url, "order one", "t2")
    assert flow.counts == (2, 1)


class NewMessageClient(AguiClient):
    """Posts only its last message."""

    def build_request(self) -> tuple[str, dict[str, Any]]:
        target, body = super().build_request()
        return target, {**body, "messages": body["messages"][-1:]}


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.finished_step_never_again")
async def test_an_agui_client_that_posts_only_its_last_message(tmp_path: Path) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = NewMessageClient(flow.url)
        [question] = (await person.send_message("order one")).questions
        [repeated] = (await person.send_message("what is p-001?")).questions
        assert repeated["id"] == question["id"], "an approval at the first one still counts"
        assert (await person.answer_question(True)).text == "It is ordered."
        for text in ("yes", "thanks!"):
            assert "othing was run" in (await person.send_message(text)).text
        [question] = (await person.send_message("order one")).questions
        assert AGAIN in question["message"]
    assert flow.counts == (1, 1)


class SuggestingClient(AguiClient):
    """A page that asks for suggestions beside the chat, in its thread."""

    def build_request(self) -> tuple[str, dict[str, Any]]:
        target, body = super().build_request()
        return target, {**body, "forwardedProps": {"toolChoice": "required"}}


@pytest.mark.demand("approvals.finished_step_never_again")
@pytest.mark.parametrize("door", ["openai", "agui"])
async def test_a_free_answer_twice_at_once_counts_once(tmp_path: Path, door: str) -> None:
    async with serve_order_flow(tmp_path, ASKING) as flow:
        clients = [OpenAIClient(flow.url, stream=False) if door == "openai" else AguiClient(flow.url) for _ in range(2)]
        first, second = clients
        await first.send_message("order one")
        second.history = list(first.history)
        both = await asyncio.gather(first.send_message("red"), second.send_message("red"))
        assert sum("It is red." in seen.text for seen in both) == 1
        third = OpenAIClient(flow.url, stream=False) if door == "openai" else AguiClient(flow.url)
        third.history = list(second.history[: len(second.history) - bool(both[1].text)])
        await third.send_history()
    assert flow.counts == (1, 0)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_a_free_answer_twice_in_a_thread_counts_once(tmp_path: Path) -> None:
    async with serve_order_flow(tmp_path, ASKING) as flow:
        assert await post_in_thread(flow.url, "order one") == "Which colour?"
        assert await post_in_thread(flow.url, "red") == "It is red."
        assert "othing was run" in await post_in_thread(flow.url, "red")
    assert flow.counts == (1, 0)


@pytest.mark.demand("approvals.finished_step_never_again")
@pytest.mark.parametrize("door", ["openai", "agui"])
async def test_a_request_that_comes_again_while_its_flow_runs(tmp_path: Path, door: str) -> None:
    message = {"id": "m1", "role": "user", "content": "order one"}
    async with serve_order_flow(tmp_path) as flow:
        flow.api.answers.clear()
        async with RawHttpClient(flow.url) as first, RawHttpClient(flow.url) as second:
            for run, client in (("r1", first), ("r2", second)):
                if door == "openai":
                    await client.post_json("/v1/chat/completions", {"messages": [message]}, {"X-Thread-Id": "t1"})
                else:
                    body = {"threadId": "t1", "runId": run, "messages": [message], "tools": [], "context": []}
                    await client.post_json("/agui/default", body)
                async with asyncio.timeout(HANG_TIMEOUT):
                    await flow.api.received.wait()
            async with asyncio.timeout(HANG_TIMEOUT):
                assert (await second.read_head()).status == (409 if door == "openai" else 200)
                if door == "agui":
                    assert [frame.json async for frame in second.iterate_frames() if frame.data][-1][
                        "code"
                    ] == "conflict"
            flow.api.answers.set()
            assert (await first.read_head()).status == 200
    assert flow.counts == (1, 0)


OPTIONS = ASKING.replace('"Which colour?"', '"Which colour?", options: [red, blue]')


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.finished_step_never_again")
@pytest.mark.parametrize("thread", [None, "t1"])
@pytest.mark.parametrize(("flow_text", "answer"), [(FLOW, "yes"), (OPTIONS, "red")])
async def test_an_edited_reply_to_a_question_starts_no_run(
    tmp_path: Path, flow_text: str, answer: str, thread: str | None
) -> None:
    async with serve_order_flow(tmp_path, flow_text) as flow:
        history = [{"role": "user", "content": "order one"}]
        question = await post_history(flow.url, history, thread)
        history.append({"role": "assistant", "content": question})
        for text in ("hm?", "huh?", "green"):
            # Each in place of the one before.
            await post_history(flow.url, [*history, {"role": "user", "content": text}], thread)
        assert flow.counts == (1, 0)
        # Where the question was asked anew, in other words, that one counts.
        reply = await post_history(flow.url, [*history, {"role": "user", "content": answer}], thread)
        assert "ordered" in reply if flow_text is FLOW else reply
        drops = int(flow_text is FLOW)
        for text in ("blue", "what?"):
            await post_history(flow.url, [*history, {"role": "user", "content": text}], thread)
    assert flow.counts == (1, drops)


@pytest.mark.demand("approvals.text_while_question_waits")
@pytest.mark.parametrize("thread", [None, "t1"])
async def test_a_reply_to_an_earlier_question_approves_no_later_one(tmp_path: Path, thread: str | None) -> None:
    twice = FLOW.replace("next: tell", "next: more").rstrip() + (
        "\n  - {name: more, call_type: api, params: {endpoint: DELETE /orders}, next: tell}\n"
    )
    async with serve_order_flow(tmp_path, twice) as flow:
        history = [{"role": "user", "content": "order one"}]
        question = await post_history(flow.url, history, thread)
        history.append({"role": "assistant", "content": question})
        yes = {"role": "user", "content": "yes"}
        assert await post_history(flow.url, [*history, yes], thread) == question, "the same words, of another step"
        # Another tab still shows the first question.
        await post_history(flow.url, [*history, {"role": "user", "content": "ok"}], thread)
        assert flow.counts == (1, 1)
        shown = {"role": "assistant", "content": question}
        assert "ordered" in await post_history(flow.url, [*history, yes, shown, yes], thread)
    assert flow.counts == (1, 2)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_other_words_run_at_once_and_again_means_the_last_request(tmp_path: Path) -> None:
    say = FLOW.partition("  - {name: drop")[0].replace("next: drop", "next: tell")
    say += '  - {name: tell, call_type: none, params: {say: "Done: {question}"}}'
    async with serve_order_flow(tmp_path, say) as flow:
        person = OpenAIClient(flow.url, stream=False)
        assert (await person.send_message("order one")).text == "Done: order one"
        assert (await person.send_message("order one more")).text == "Done: order one more"
        assert flow.counts == (2, 0)
        assert AGAIN in (await person.send_message("again, please")).text
        assert (await person.send_message("yes")).text == "Done: order one more"
    assert flow.counts == (3, 0)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_a_flow_that_only_reads_runs_again_unasked(tmp_path: Path) -> None:
    async with serve_order_flow(tmp_path, FLOW.replace("POST /orders}", "POST /orders}, repeatable: true")) as flow:
        person = OpenAIClient(flow.url, stream=False)
        await person.send_message("order one")
        await person.send_message("no")
        assert AGAIN not in (await person.send_message("order one")).text
    assert flow.counts == (2, 0)


@pytest.mark.demand("approvals.text_while_question_waits")
async def test_a_request_for_suggestions_answers_no_question(tmp_path: Path) -> None:
    model = FakeModel(
        reply_calls(("order_flow", '{"request": "one"}')), reply_text("Try this."), reply_text("Red it is.")
    )
    async with serve_order_flow(tmp_path, ASKING, model) as flow:
        person = AguiClient(flow.url)
        [question] = (await person.send_message("order one")).questions
        beside = SuggestingClient(flow.url)
        beside.history = list(person.history)
        assert (await beside.send_message("Suggest what could be said next.")).text == "Try this."
        person.open = [question["id"]]
        assert (await person.send_message("red")).text == "Red it is."
        told = [message.text for message in model.prompts[-1].messages if message.role == "tool"]
        assert told == ["It is red."]
    assert flow.counts == (1, 0)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_what_has_run_is_known_after_a_restart(tmp_path: Path) -> None:
    person, seen = OpenAIClient("", stream=False), ClientResult()
    for number, text in enumerate(("order one", "yes", "order one", "no")):
        store = SQLiteStore(tmp_path / "data")
        (tmp_path / str(number)).mkdir()
        async with serve_order_flow(tmp_path / str(number), store=store) as flow:
            person.url = flow.url
            seen = await person.send_message(text)
            assert (AGAIN in seen.text) is (number == 2)
        await store.close()
    assert "not run again" in seen.text


@pytest.mark.demand("approvals.words_that_ask_nothing", "approvals.finished_step_never_again")
async def test_a_flow_that_a_model_calls(tmp_path: Path) -> None:
    call = reply_calls(("order_flow", '{"request": "one please"}'))
    reply = reply_text("It is ordered.")
    model = FakeModel(call, reply, call, reply_text("Welcome."), call, reply_text("Fine."), call, reply_text("No."))
    async with serve_order_flow(tmp_path, model=model) as flow:
        person = OpenAIClient(flow.url, stream=False)
        await person.send_message("order one")
        assert (await person.send_message("yes")).text == "It is ordered."
        for text, answer in (("thanks!", "Welcome."), ("ok", "Fine.")):
            assert (await person.send_message(text)).text == answer
            assert "asked for nothing" in model.prompts[-1].messages[-1].text
            assert "order_flow" not in [spec.name for spec in model.prompts[-1].tools]
        assert AGAIN in (await person.send_message("order one")).text
        assert (await person.send_message("不用了")).text == "No."
    assert flow.counts == (1, 1)


class SameRunClient(AguiClient):
    """Posts every request with one run id, as a proxy does that tries again."""

    def build_request(self) -> tuple[str, dict[str, Any]]:
        target, body = super().build_request()
        return target, {**body, "runId": "r1"}


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_the_same_run_id_twice_at_once_runs_once(tmp_path: Path) -> None:
    async with serve_order_flow(tmp_path, FLOW.replace(", next: drop}", ", next: tell}")) as flow:
        clients = [SameRunClient(flow.url) for _ in range(3)]
        every = await asyncio.gather(*(client.send_message("order one") for client in clients))
        assert [seen.text for seen in every] == ["It is ordered."] * 3
        assert flow.counts == (1, 0)
        # With other words it is another run.
        await clients[0].send_message("order two")
    assert flow.counts == (2, 0)

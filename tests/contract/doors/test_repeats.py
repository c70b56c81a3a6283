"""What runs once through every door: while a question waits, after the end, and asked for again."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from rightseat import Runtime, tool
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.plugins.flows.order_flow import serve_order_flow

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
AGAIN = "Run it again?"


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    return MEMBERS[member]


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.finished_step_never_again")
@pytest.mark.parametrize(
    ("request_text", "texts", "hint", "answer", "end"),
    [
        (
            "order one",
            ("what is p-001?", "yes but only two", "thanks!", "order one"),
            "reply yes or no",
            "Yes please, go ahead",
            "It is ordered.",
        ),
        ("订一个", ("p-001 是什么？", "好吧，但是只要两个", "谢谢"), "请回复“是”或“否”", "好的，执行吧", "已下单。"),
    ],
    ids=["en", "zh"],
)
async def test_text_that_is_no_answer_gets_the_question_again(
    make_client: Callable[[str], DoorClient],
    tmp_path: Path,
    request_text: str,
    texts: tuple[str, ...],
    hint: str,
    answer: str,
    end: str,
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        [question] = (await person.send_message(request_text)).questions
        for text in texts:
            [repeated] = (await person.send_message(text)).questions
            assert question["message"].splitlines()[0] in repeated["message"]
            assert hint in repeated["message"]
            assert flow.counts == (1, 0)
        seen = await person.send_message(answer)
        assert (seen.questions, seen.error) == ([], None)
        assert end in seen.text
    assert flow.counts == (1, 1)


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.how_people_say_yes")
@pytest.mark.parametrize("text", ["No, thanks", "cancel that", "不用了"])
async def test_a_no_in_words_ends_the_flow(make_client: Callable[[str], DoorClient], tmp_path: Path, text: str) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        seen = await person.send_message(text)
        assert (seen.questions, seen.error) == ([], None)
    assert flow.counts == (1, 0)


@pytest.mark.demand("approvals.words_that_ask_nothing", "approvals.finished_step_never_again")
async def test_after_the_end_words_that_ask_for_nothing_run_nothing(
    make_client: Callable[[str], DoorClient], tmp_path: Path
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        assert "It is ordered." in (await person.send_message("yes")).text
        for text in ("thanks!", "yes", "ok", "great", "Yes please, go ahead", "谢谢"):
            seen = await person.send_message(text)
            assert (seen.questions, seen.error) == ([], None)
            assert seen.text
            assert flow.counts == (1, 1)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_the_same_request_again_is_asked_about(make_client: Callable[[str], DoorClient], tmp_path: Path) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        await person.answer_question(True)
        [question] = (await person.send_message("Order one!")).questions
        assert AGAIN in question["message"]
        seen = await person.answer_question(False)
        assert (seen.questions, seen.error) == ([], None)
        assert flow.counts == (1, 1)
        for text in ("order one", "run it"):
            [question] = (await person.send_message(text)).questions
            assert AGAIN in question["message"]
            await person.answer_question(False)
        assert flow.counts == (1, 1)
        await person.send_message("order one")
        [question] = (await person.send_message("yes, run it again")).questions
        assert AGAIN not in question["message"]
        assert flow.counts == (2, 1)
        seen = await person.answer_question(True)
        assert "It is ordered." in seen.text
    assert flow.counts == (2, 2)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_another_request_and_a_regenerated_one_run(
    make_client: Callable[[str], DoorClient], tmp_path: Path
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        person = make_client(flow.url)
        await person.send_message("order one")
        await person.answer_question(True)
        [question] = (await person.send_message("order two")).questions
        assert AGAIN not in question["message"]
        await person.answer_question(True)
        assert flow.counts == (2, 2)
        place = next(n for n, message in enumerate(person.history) if "order two" in str(message))
        del person.history[place + 1 :]
        [question] = (await person.send_history()).questions
        assert AGAIN not in question["message"]
        assert flow.counts == (3, 2)


@pytest.mark.demand("approvals.finished_step_never_again")
async def test_yes_twice_at_once_counts_once(
    member: str, make_client: Callable[[str], DoorClient], tmp_path: Path
) -> None:
    async with serve_order_flow(tmp_path) as flow:
        first, second = make_client(flow.url), make_client(flow.url)
        await first.send_message("order one")
        second.history = list(first.history)
        both = await asyncio.gather(first.send_message("yes"), second.send_message("yes"))
        assert flow.counts == (1, 1)
        assert any("It is ordered." in seen.text for seen in both)
        await second.send_message("yes")
    assert flow.counts == (1, 1)


@pytest.mark.demand("approvals.text_while_question_waits", "approvals.words_that_ask_nothing")
async def test_a_call_that_waits_for_approval(make_client: Callable[[str], DoorClient]) -> None:
    performed: list[str] = []

    @tool(confirm=True)
    def cancel(order: str) -> str:
        performed.append(order)
        return "cancelled"

    call = reply_calls(("cancel", '{"order": "A7"}'))
    model = FakeModel(call, reply_text("Done."), call, reply_text("Welcome."))
    async with serve_runtime(Runtime(model=model, tools=[cancel])) as home:
        person = make_client(home.url)
        [question] = (await person.send_message("cancel order A7")).questions
        for text in ("what is A7?", "yes but B2", "thanks"):
            [repeated] = (await person.send_message(text)).questions
            assert question["message"].splitlines()[0] in repeated["message"]
            assert "reply yes or no" in repeated["message"]
            assert performed == []
        assert (await person.send_message("sure, go ahead")).text == "Done."
        # The model calls once more, and nothing was asked for.
        assert (await person.send_message("thanks!")).text == "Welcome."
    assert performed == ["A7"]

"""Approvals in a person's own words through every door: what counts as a yes or a no, and what is said after a no."""

from collections.abc import Callable
from typing import cast

import pytest

from rightseat import Runtime, tool
from rightseat.models.llamacpp.embedded.model import EmbeddedModel
from rightseat.models.llamacpp.model import LlamaCppModel
from tests.contract.doors.members import MEMBERS, DoorClient
from tests.kit.app_server import FakeModel, reply_calls, reply_text, serve_runtime
from tests.unit.models.llamacpp.embedded.test_model import FakeWeights

pytestmark = [pytest.mark.io, pytest.mark.parametrize("member", MEMBERS)]
performed: list[str] = []


@tool(confirm=True)
def demo_book(people: int) -> str:
    """Book a table in a restaurant."""
    performed.append(f"book {people}")
    return f"A table for {people} is booked."


@tool(confirm=True)
def cancel_order(order: str) -> str:
    """Cancel an order."""
    performed.append(f"cancel {order}")
    return f"{order} is cancelled."


@pytest.fixture
def make_client(member: str) -> Callable[[str], DoorClient]:
    performed.clear()
    return MEMBERS[member]


BOOK = ("Book a table for 2", "demo_book", '{"people": 2}')
BOOK_ZH = ("订两个人的桌子", "demo_book", '{"people": 2}')
CANCEL = ("Cancel order A7", "cancel_order", '{"order": "A7"}')


@pytest.mark.demand("approvals.yes_that_names_the_action")
@pytest.mark.parametrize(
    ("request_", "reply", "done"),
    [
        (BOOK, "yes please, book it", ["book 2"]),
        (BOOK_ZH, "好的,订吧", ["book 2"]),
        (CANCEL, "yes please, cancel it", ["cancel A7"]),
        (BOOK, "nope, I changed my mind", []),
        (BOOK_ZH, "不用了，我改主意了", []),
    ],
)
async def test_a_yes_that_names_the_action_and_a_no_with_a_reason_count(
    make_client: Callable[[str], DoorClient], request_: tuple[str, str, str], reply: str, done: list[str]
) -> None:
    text, *call = request_
    model = FakeModel(reply_calls((call[0], call[1])), reply_text("As you wish."))
    async with serve_runtime(Runtime(model=model, tools=[demo_book, cancel_order])) as server:
        person = make_client(server.url)
        assert (await person.send_message(text)).questions
        seen = await person.answer_question(reply)
    assert (seen.text, performed) == ("As you wish.", done)


@pytest.mark.demand("approvals.yes_that_names_the_action")
async def test_another_action_and_a_change_approve_nothing(make_client: Callable[[str], DoorClient]) -> None:
    model = FakeModel(reply_calls(("demo_book", '{"people": 2}')), reply_text("Booked."))
    async with serve_runtime(Runtime(model=model, tools=[demo_book])) as server:
        person = make_client(server.url)
        assert (await person.send_message("Book a table for 2")).questions
        for reply in ("yes please, cancel it", "sure but for 3 people", "yes, book it if it is free"):
            [question] = (await person.answer_question(reply)).questions
            assert "neither a yes nor a no" in question["message"]
            assert performed == []
        assert (await person.answer_question("yes, book it")).text == "Booked."
    assert performed == ["book 2"]


@pytest.mark.demand("approvals.a_no_is_no_failure")
@pytest.mark.parametrize(
    ("text", "reply", "told"),
    [
        ("Book a table for 2", False, "All right, nothing was done."),
        ("Book a table for 2", "nope, I changed my mind", "All right, nothing was done."),
        ("Book a table for 2", "算了", "好的，没有执行。"),
        ("订2个人的桌子", "算了", "好的，没有执行。"),
        ("订2个人的桌子", False, "好的，没有执行。"),
    ],
)
async def test_the_embedded_model_tells_a_no_as_no_failure(
    make_client: Callable[[str], DoorClient], text: str, reply: str | bool, told: str
) -> None:
    weights = FakeWeights([("demo_book", {"people": 2}), "That did not work: The person did not allow this call."])
    model = EmbeddedModel(cast(LlamaCppModel, weights), ())
    async with serve_runtime(Runtime(model=model, tools=[demo_book])) as server:
        person = make_client(server.url)
        assert (await person.send_message(text)).questions
        seen = await person.answer_question(reply)
    assert (seen.text, performed) == (told, [])

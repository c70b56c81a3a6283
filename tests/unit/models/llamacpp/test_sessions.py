"""Which slot a prompt gets, and what of it is known there."""

import asyncio
import os
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rightseat.models.llamacpp.client import CompletionChunk
from rightseat.models.llamacpp.slot_scheduler import (
    ConversationRef,
    common_prefix_length,
    get_conversation,
    stream_chat_in_slot,
    stream_in_slot,
)
from rightseat.types.messages import text_message
from rightseat.types.model import Prompt
from rightseat.types.streams import closing
from tests.kit.waiting import wait_until
from tests.unit.models.llamacpp.fake_slots import ANSWER, FakeSlotServer
from tests.unit.models.llamacpp.in_process_server import InProcessServer

SYSTEM = "You sit in the right seat. " * 40


def make_first_prompt(name: str, length: int = 600) -> str:
    """A conversation's first prompt: the same instructions, and a question of its own."""
    return SYSTEM + (f"{name} asks. " * length)[:length]


def continue_prompt(prompt: str) -> str:
    return f"{prompt}{ANSWER} Then this."


@pytest.mark.demand("llamacpp.slot_affinity_conversation_prompt")
async def test_a_conversation_pays_only_for_what_is_new(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    prompt = make_first_prompt("A")
    for _ in range(4):
        first = await server.complete(prompt)
        prompt = continue_prompt(prompt)
        second = await server.complete(prompt)
        assert second.id_slot == first.id_slot
        assert second.cached_tokens == len(prompt) - len(" Then this.")
    assert server.slots.actions == [], "nothing is copied for it"


@pytest.mark.demand("llamacpp.slot_affinity_conversation_prompt")
@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("number", [2, 3, 4, 8])
@pytest.mark.parametrize("system", [SYSTEM, ""])
async def test_more_conversations_than_slots(tmp_path: Path, slots: int, number: int, system: str) -> None:
    server = FakeSlotServer(slots, tmp_path)
    prompts = {name: system + make_first_prompt(name).removeprefix(SYSTEM) for name in "ABCDEFGH"[:number]}
    for name, prompt in prompts.items():
        found = await server.complete(prompt)
        assert found.cached_tokens >= (len(system) if name != "A" else 0)
    for _ in range(3):
        for name, prompt in prompts.items():
            prompts[name] = continue_prompt(prompt)
            assert (await server.complete(prompts[name])).cached_tokens >= len(prompt)
    assert os.listdir(tmp_path) == []


@pytest.mark.demand("llamacpp.slot_affinity_conversation_prompt")
async def test_what_is_shared_is_copied_and_stays_where_it_was(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    one = await server.complete(make_first_prompt("A"))
    other = await server.complete(make_first_prompt("B"))
    assert other.id_slot != one.id_slot
    assert other.cached_tokens >= len(SYSTEM)
    assert server.slots.actions == ["save", "restore"]
    back = await server.complete(continue_prompt(make_first_prompt("A")))
    assert back.id_slot == one.id_slot
    assert back.cached_tokens >= len(make_first_prompt("A"))


@pytest.mark.demand("llamacpp.slot_affinity_conversation_prompt")
async def test_a_fork_leaves_its_parent_alone(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    parent = await server.complete(make_first_prompt("A"), "parent")
    fork = await server.complete(continue_prompt(make_first_prompt("A")) + " One way.", "fork", "parent")
    assert fork.id_slot != parent.id_slot
    assert fork.cached_tokens >= len(make_first_prompt("A"))
    on = await server.complete(continue_prompt(make_first_prompt("A")) + " The other way.", "parent")
    assert on.id_slot == parent.id_slot
    # From then on the fork is a conversation like any other.
    again = await server.complete(continue_prompt(make_first_prompt("A")) + " One way. More.", "fork", "parent")
    assert again.id_slot == fork.id_slot


async def test_an_edited_turn_stays_in_its_slot(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    first = await server.complete(make_first_prompt("A") + " Why?", "thread")
    edited = await server.complete(make_first_prompt("A") + " How?", "thread")
    assert edited.id_slot == first.id_slot
    assert edited.cached_tokens == len(make_first_prompt("A")) + 1
    assert server.slots.actions == []


async def test_one_key_for_many_conversations_does_no_harm(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    one = "x" * 900
    await server.complete(one, "key")
    await server.complete("y" * 900, "key")
    assert (await server.complete(one + "!", "key")).cached_tokens == len(one)
    # Nor does it keep a conversation from what it shares with others.
    await server.complete(make_first_prompt("A"))
    assert (await server.complete(make_first_prompt("B"), "key")).cached_tokens >= len(SYSTEM)


@pytest.mark.demand("llamacpp.slot_affinity_conversation_prompt")
async def test_a_busy_slot_makes_nobody_wait_while_another_is_free(tmp_path: Path) -> None:
    server = FakeSlotServer(3, tmp_path)
    await server.complete(make_first_prompt("A"), "thread")
    server.slots.gate.clear()
    # The same conversation three times at once, as when a question is asked again before it is answered.
    asking = [asyncio.create_task(server.complete(continue_prompt(make_first_prompt("A")), "thread")) for _ in range(3)]
    await wait_until(lambda: all(lock.locked() for lock in server.slots.slot_locks))
    server.slots.gate.set()
    assert {piece.id_slot for piece in await asyncio.gather(*asking)} == {0, 1, 2}
    assert server.slots.waits == 0


async def test_when_all_are_busy_the_first_to_come_is_the_first_to_go(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    server.slots.gate.clear()
    order: list[int] = []

    async def ask(number: int) -> None:
        await server.complete(f"{number} " * 300)
        order.append(number)

    asking = [asyncio.create_task(ask(number)) for number in range(6)]
    await wait_until(lambda: all(lock.locked() for lock in server.slots.slot_locks))
    # Whoever leaves the queue holds up nobody.
    asking[2].cancel()
    server.slots.gate.set()
    await asyncio.gather(*asking, return_exceptions=True)
    assert order == [0, 1, 3, 4, 5]
    assert server.slots.waits == 0
    assert server.slots.max_busy == 2


@pytest.mark.demand("llamacpp.cancel_disconnect_parallel_slots")
async def test_leaving_gives_the_slot_back(tmp_path: Path) -> None:
    server = FakeSlotServer(1, tmp_path)
    server.slots.gate.clear()
    request = {"prompt": make_first_prompt("A"), "n_predict": 9}
    async with closing(stream_in_slot(server, request)) as pieces:
        assert (await anext(pieces)).content == ANSWER
    server.slots.gate.set()
    assert (await server.complete(make_first_prompt("A"))).cached_tokens == len(make_first_prompt("A"))


@pytest.mark.parametrize("memory", [True, False])
async def test_without_copies_prompts_are_answered_all_the_same(memory: bool, tmp_path: Path) -> None:
    broken = FakeSlotServer(2, tmp_path, memory=memory)
    broken.slots.actions_fail = True
    for server in (broken, FakeSlotServer(2, None, memory=memory)):
        for name in "ABCABC":
            assert (await server.complete(make_first_prompt(name))).stop


async def test_a_new_process_holds_nothing(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    await server.complete(make_first_prompt("A"))
    server.slots = FakeSlotServer(2, tmp_path).slots
    assert (await server.complete(make_first_prompt("B"))).cached_tokens == 0
    assert server.slots.actions == []


async def test_tokens_are_compared_as_text_is(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)
    system = list(range(500))
    one = await server.complete([*system, *[7] * 200])
    other = await server.complete([*system, *[8] * 200])
    assert other.id_slot != one.id_slot
    assert other.cached_tokens >= 500
    assert (await server.complete([*system, *[7] * 210])).cached_tokens == 700
    assert (await server.complete("text" * 300)).cached_tokens == 0


@pytest.mark.demand("llamacpp.native_slots")
async def test_the_chat_route_keeps_the_slots_of_conversations(tmp_path: Path) -> None:
    server = FakeSlotServer(2, tmp_path)

    async def chat(text: str, conversation: str) -> list[int]:
        """Return the slot of an answer and how many characters of the prompt were known."""
        request = {"messages": [{"role": "user", "content": text}]}
        stream = stream_chat_in_slot(server, request, text, ConversationRef(conversation))
        result: list[int] = msgspec.json.decode([event async for event in stream][-1].payload)
        return result

    texts = {name: make_first_prompt(name) for name in "AB"}
    first = {name: await chat(text, name) for name, text in texts.items()}
    assert first["A"][0] != first["B"][0]
    for name, text in texts.items():
        slot, cached = await chat(f"{text}{ANSWER} And?", name)
        assert slot == first[name][0]
        assert cached >= len(text)


async def test_somebody_elses_server_chooses_itself() -> None:
    server = InProcessServer(CompletionChunk(stop=True))
    assert [piece.stop async for piece in stream_in_slot(server, {"prompt": "Hi"}, ConversationRef("thread"))] == [True]
    assert server.requests == [{"prompt": "Hi"}]


def test_whose_prompt_it_is() -> None:
    messages = (text_message("user", "Hi"),)
    assert get_conversation(Prompt(messages=messages)) == ConversationRef()
    assert get_conversation(Prompt(messages=messages, conversation="t", parent="p")) == ConversationRef("t", "p")


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_the_same_beginning(one: str, other: str) -> None:
    pairs = zip(one, other, strict=False)
    expected = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    assert common_prefix_length(one, other) == expected
    assert common_prefix_length(list(map(ord, one)), list(map(ord, other))) == expected

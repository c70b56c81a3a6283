"""Many answers at once: when the loop rests, for how long, and when it does not."""

import asyncio
import gc
import weakref

import pytest

from rightseat.http import Response
from rightseat.http.gather import MANY, ROUNDS, STEADY, Gathering, gather, gathering
from tests.http.serving import read, serving

WINDOW = 0.02


class Rests(list[float]):
    """A clock that only rests move, and how long they were."""

    now = 100.0

    def __call__(self, seconds: float) -> None:
        self.append(round(seconds, 6))
        self.now += seconds


class House:
    def __init__(self, answers: int = MANY) -> None:
        self.rests = Rests()
        self.gathering = Gathering(WINDOW, clock=lambda: self.rests.now, sleep=self.rests)
        self.gathering.answers = answers

    async def hear(self, after: float = 0.0) -> None:
        """Something comes in, and the loop comes round until nothing is left to do."""
        self.rests.now += after
        self.gathering.heard(STEADY + 1)
        for _ in range(ROUNDS + 1):
            await asyncio.sleep(0)


async def test_what_comes_soon_after_waits_until_the_window_is_over() -> None:
    house = House()
    await house.hear()
    assert house.rests == []
    await house.hear(after=0.005)
    assert house.rests == [0.015]
    # The window begins anew with every rest.
    await house.hear()
    assert house.rests == [0.015, 0.02]


async def test_what_comes_late_waits_for_nothing() -> None:
    house = House()
    for _ in range(5):
        await house.hear(after=WINDOW)
    assert house.rests == []


async def test_few_answers_wait_for_nothing() -> None:
    house = House(answers=MANY - 1)
    for _ in range(5):
        await house.hear(after=0.001)
    assert house.rests == []


async def test_a_busy_loop_does_not_rest() -> None:
    house = House()
    await house.hear()
    for _ in range(20):
        house.gathering.heard(STEADY + 1)
        await asyncio.sleep(0)
    assert house.rests == []


async def test_what_came_is_handled_before_the_loop_rests() -> None:
    """An event goes through a few tasks: none of them may be left waiting for the next wake-up."""
    house = House()
    await house.hear()
    seen: list[int] = []
    steps = [asyncio.Event() for _ in range(ROUNDS)]

    async def task(number: int) -> None:
        await steps[number].wait()
        seen.append(len(house.rests))
        if number + 1 < len(steps):
            steps[number + 1].set()

    tasks = [asyncio.create_task(task(number)) for number in range(len(steps))]
    await asyncio.sleep(0)
    steps[0].set()
    await house.hear(after=0.001)
    assert (seen, len(house.rests)) == ([0] * ROUNDS, 1)
    await asyncio.gather(*tasks)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"


@pytest.mark.parametrize("pieces", [1, STEADY - 2, STEADY - 1, STEADY])
async def test_an_answer_counts_from_its_fourth_piece_to_its_end(pieces: int) -> None:
    found = House(answers=0).gathering
    released: list[bool] = []
    responses = [Response(asyncio.Transport(), released.append, found) for _ in range(3)]
    for response in responses:
        for piece in (HEAD, *[b"."] * pieces):
            response.data_received(piece)
    counted = 3 if pieces + 1 >= STEADY else 0
    assert found.answers == counted
    for response in responses:
        # Read to its end or not, closed once or twice.
        response.close()
        response.close()
    assert (found.answers, released) == (0, [pieces == STEADY] * 3)


async def test_a_client_asks_on_behalf_of_its_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    gather(loop, WINDOW)
    found = gathering(loop)
    assert found is not None
    found.answers = MANY
    rounds = 0

    def count(times: int) -> None:
        nonlocal rounds
        rounds += 1

    monkeypatch.setattr(found, "heard", count)
    async with serving() as (_, client, url):
        assert await read(client, url) == b"ok"
    assert rounds > 0


def test_a_loop_that_has_ended_is_not_held() -> None:
    loop = asyncio.new_event_loop()
    gather(loop, WINDOW)
    loop.close()
    gone = weakref.ref(loop)
    del loop
    gc.collect()
    assert gone() is None

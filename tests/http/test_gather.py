"""Many answers at once: when the loop rests, for how long, and when it does not."""

import asyncio

import pytest

from rightseat.http.gather import MANY, ROUNDS, Gathering, gather, gathering
from tests.http.serving import answering, ask, serving

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
        self.gathering = Gathering(
            asyncio.get_running_loop(), WINDOW, clock=lambda: self.rests.now, sleep=self.rests
        )
        self.gathering.answers = answers

    async def hear(self, after: float = 0.0) -> None:
        """Something comes in, and the loop comes round until nothing is left to do."""
        self.rests.now += after
        self.gathering.heard()
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
        house.gathering.heard()
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


@pytest.mark.parametrize("end", ["read", "closed", "cut"])
async def test_answers_are_counted_from_the_request_to_the_end(end: str) -> None:
    loop = asyncio.get_running_loop()
    gather(loop, WINDOW)
    found = gathering(loop)
    assert found is not None
    async with serving() as (server, client, url):
        size = 2 if end == "read" else 4
        server.reply = answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nok" % size, end=end == "cut")
        for _ in range(2):
            responses = [await ask(client, url) for _ in range(3)]
            assert found.answers == 3
            for response in responses:
                if end == "read":
                    assert await response.read(10) == b"ok"
                response.close()
                response.close()
            assert found.answers == 0

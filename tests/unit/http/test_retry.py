from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from rightseat.errors import RightseatError, UpstreamBusy, UpstreamDenied, UpstreamRefused
from rightseat.http.retry import RetryBudget, call_with_retry, current_retry_budget, with_retry_budget


def make_attempt(*errors: RightseatError) -> Callable[[], Awaitable[str]]:
    """Raises these one after the other, then succeeds."""
    left = list(errors)

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


class FakeClock:
    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def is_refused(error: RightseatError) -> bool:
    return isinstance(error, UpstreamRefused | UpstreamBusy)


async def test_a_success_waits_for_nothing() -> None:
    clock = FakeClock()
    assert await call_with_retry(make_attempt(), is_retryable=is_refused, sleep=clock.sleep) == "done"
    assert clock.waits == []


async def test_the_wait_doubles_up_to_the_ceiling() -> None:
    clock = FakeClock()
    errors = [UpstreamRefused("x")] * 5
    attempt = make_attempt(*errors)
    assert (
        await call_with_retry(attempt, is_retryable=is_refused, tries=6, sleep=clock.sleep, random_value=lambda: 1.0)
        == "done"
    )
    assert clock.waits == [0.25, 0.5, 1.0, 2.0, 2.0]


async def test_chance_takes_away_up_to_half() -> None:
    clock = FakeClock()
    await call_with_retry(
        make_attempt(UpstreamRefused("x")), is_retryable=is_refused, sleep=clock.sleep, random_value=lambda: 0.0
    )
    assert clock.waits == [0.125]


async def test_the_last_error_is_raised_after_the_last_try() -> None:
    clock = FakeClock()
    errors = [UpstreamRefused("one"), UpstreamRefused("two"), UpstreamRefused("three"), UpstreamRefused("four")]
    with pytest.raises(UpstreamRefused, match="three"):
        await call_with_retry(make_attempt(*errors), is_retryable=is_refused, sleep=clock.sleep)
    assert len(clock.waits) == 2


async def test_an_error_that_is_not_named_is_raised_at_once() -> None:
    clock = FakeClock()
    with pytest.raises(UpstreamDenied):
        await call_with_retry(make_attempt(UpstreamDenied("x")), is_retryable=is_refused, sleep=clock.sleep)
    assert clock.waits == []


async def test_a_short_retry_after_is_kept() -> None:
    clock = FakeClock()
    error = UpstreamBusy("x", retry_after=2.0)
    assert await call_with_retry(make_attempt(error), is_retryable=is_refused, sleep=clock.sleep) == "done"
    assert clock.waits == [2.0]


async def test_a_long_retry_after_is_told_instead() -> None:
    clock = FakeClock()
    with pytest.raises(UpstreamBusy) as raised:
        await call_with_retry(
            make_attempt(UpstreamBusy("x", retry_after=2.5)), is_retryable=is_refused, sleep=clock.sleep
        )
    assert raised.value.retry_after == 2.5
    assert clock.waits == []


async def test_one_try_is_one_try() -> None:
    clock = FakeClock()
    with pytest.raises(UpstreamRefused):
        await call_with_retry(make_attempt(UpstreamRefused("x")), is_retryable=is_refused, tries=1, sleep=clock.sleep)
    assert clock.waits == []


@pytest.mark.demand("flows.retry_never_multiplies")
async def test_retries_inside_a_budget_are_taken_from_it() -> None:
    attempts = 0

    async def attempt() -> str:
        nonlocal attempts
        attempts += 1
        raise UpstreamBusy("busy")

    async def call() -> AsyncIterator[str]:
        yield await call_with_retry(attempt, is_retryable=lambda error: True, tries=9, first_delay=0)

    with pytest.raises(UpstreamBusy):
        _ = [item async for item in with_retry_budget(call(), RetryBudget(2))]
    assert attempts == 3
    assert current_retry_budget() is None, "between two items there is no budget"


@pytest.mark.demand("flows.retry_never_multiplies")
def test_a_part_that_is_entered_again_uses_a_retry_and_is_spent_once_it_fails_without_any() -> None:
    whole = RetryBudget(1)
    part = whole.enter_part("a")
    part.has_failed = True
    assert (part.left, whole.is_spent) == (1, False)
    assert whole.enter_part("a") is part
    assert (part.left, whole.is_spent) == (0, True)
    assert whole.enter_part("b").left == 1, "each part has its own"
    part.has_failed = False
    assert not whole.is_spent

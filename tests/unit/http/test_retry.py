from collections.abc import Awaitable, Callable

import pytest

from rightseat.errors import RightseatError, UpstreamBusy, UpstreamDenied, UpstreamRefused
from rightseat.http.retry import call_with_retry


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

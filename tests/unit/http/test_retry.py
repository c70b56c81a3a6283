from collections.abc import Awaitable, Callable

import pytest

from rightseat.errors import RightseatError, UpstreamBusy, UpstreamDenied, UpstreamRefused
from rightseat.http.retry import call_with_retry


def failing(*errors: RightseatError) -> Callable[[], Awaitable[str]]:
    """Raises these one after the other, then succeeds."""
    left = list(errors)

    async def attempt() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return attempt


class Clock:
    def __init__(self) -> None:
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def is_refused(error: RightseatError) -> bool:
    return isinstance(error, UpstreamRefused | UpstreamBusy)


async def test_a_success_waits_for_nothing() -> None:
    clock = Clock()
    assert await call_with_retry(failing(), is_retryable=is_refused, sleep=clock.sleep) == "done"
    assert clock.waits == []


async def test_the_wait_doubles_up_to_the_ceiling() -> None:
    clock = Clock()
    errors = [UpstreamRefused("x")] * 5
    attempt = failing(*errors)
    assert (
        await call_with_retry(attempt, is_retryable=is_refused, tries=6, sleep=clock.sleep, random_value=lambda: 1.0)
        == "done"
    )
    assert clock.waits == [0.25, 0.5, 1.0, 2.0, 2.0]


async def test_chance_takes_away_up_to_half() -> None:
    clock = Clock()
    await call_with_retry(
        failing(UpstreamRefused("x")), is_retryable=is_refused, sleep=clock.sleep, random_value=lambda: 0.0
    )
    assert clock.waits == [0.125]


async def test_the_last_error_is_raised_after_the_last_try() -> None:
    clock = Clock()
    errors = [UpstreamRefused("one"), UpstreamRefused("two"), UpstreamRefused("three"), UpstreamRefused("four")]
    with pytest.raises(UpstreamRefused, match="three"):
        await call_with_retry(failing(*errors), is_retryable=is_refused, sleep=clock.sleep)
    assert len(clock.waits) == 2


async def test_an_error_that_is_not_named_is_raised_at_once() -> None:
    clock = Clock()
    with pytest.raises(UpstreamDenied):
        await call_with_retry(failing(UpstreamDenied("x")), is_retryable=is_refused, sleep=clock.sleep)
    assert clock.waits == []


async def test_a_short_retry_after_is_kept() -> None:
    clock = Clock()
    error = UpstreamBusy("x", retry_after=2.0)
    assert await call_with_retry(failing(error), is_retryable=is_refused, sleep=clock.sleep) == "done"
    assert clock.waits == [2.0]


async def test_a_long_retry_after_is_told_instead() -> None:
    clock = Clock()
    with pytest.raises(UpstreamBusy) as raised:
        await call_with_retry(failing(UpstreamBusy("x", retry_after=2.5)), is_retryable=is_refused, sleep=clock.sleep)
    assert raised.value.retry_after == 2.5
    assert clock.waits == []


async def test_one_try_is_one_try() -> None:
    clock = Clock()
    with pytest.raises(UpstreamRefused):
        await call_with_retry(failing(UpstreamRefused("x")), is_retryable=is_refused, tries=1, sleep=clock.sleep)
    assert clock.waits == []

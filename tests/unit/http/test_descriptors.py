"""Descriptors that are left, the errors of none, and the reserve."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from rightseat.http import descriptors
from rightseat.http.descriptors import DescriptorReserve, choose_reserve_size, count_free_descriptors
from tests.faults.test_descriptors import no_descriptor_left

pytestmark = pytest.mark.io


@pytest.mark.parametrize(("limit", "size"), [(None, 16), (16, 2), (64, 4), (1024, 16), (1 << 20, 16)])
def test_the_reserve_is_small_where_the_limit_is(limit: int | None, size: int) -> None:
    assert choose_reserve_size(limit) == size


@pytest.mark.demand("security.no_descriptor_is_said")
def test_a_lookup_that_cannot_open_its_files_is_told_apart_from_an_unknown_name() -> None:
    unknown = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    assert descriptors.find_descriptor_error(unknown) is None
    with no_descriptor_left():
        error = descriptors.find_descriptor_error(unknown)
        # What has nothing to do with the system is not explained by it.
        assert descriptors.find_descriptor_error(ValueError()) is None
    assert error is not None
    assert (error.status, error.retry_after) == (503, 5)
    assert descriptors.find_descriptor_error(OSError(errno.EMFILE, "")) is not None
    assert descriptors.find_descriptor_error(OSError(errno.ECONNREFUSED, "")) is None


def test_another_error_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = [os.open(os.devnull, os.O_RDONLY)]

    def open_once(*args: object) -> int:
        if opened:
            return opened.pop()
        raise PermissionError(errno.EACCES, "no")

    number = opened[0]
    monkeypatch.setattr(os, "open", open_once)
    with pytest.raises(PermissionError):
        descriptors.open_descriptors(2)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_a_reserve_is_released_one_by_one_and_filled_again() -> None:
    reserve = DescriptorReserve()
    try:
        assert reserve.fill(2)
        with no_descriptor_left():
            assert not reserve.refill()
            assert reserve.release_one()
            assert count_free_descriptors(9) == 1
            assert reserve.release_one()
            assert not reserve.release_one()
            assert count_free_descriptors(9) == 2
            # It takes back what it can.
            assert not reserve.refill()
            assert count_free_descriptors(9) == 0
        assert reserve.refill()
    finally:
        reserve.close()


def test_each_change_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    reserve = DescriptorReserve()
    for exhausted in (False, True, True, False, False):
        reserve.set_exhausted(exhausted)
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]

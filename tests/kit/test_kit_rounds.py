"""One setting says how often repeated work is done."""

import pytest

from tests.kit.rounds import limit_rounds, sample_evenly


@pytest.mark.demand("tests.repeated_work_takes_number")
@pytest.mark.parametrize(
    ("setting", "full", "expected"), [(None, 200, 10), ("", 200, 10), (None, 4, 4), ("3", 200, 3), ("full", 200, 200)]
)
def test_rounds(setting: str | None, full: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROUNDS", raising=False)
    if setting is not None:
        monkeypatch.setenv("ROUNDS", setting)
    assert limit_rounds(full) == expected


@pytest.mark.demand("tests.repeated_work_takes_number")
def test_a_spread_has_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDS", "4")
    assert sample_evenly(range(100)) == [0, 33, 66, 99]
    monkeypatch.setenv("ROUNDS", "1")
    assert sample_evenly(range(100)) == [0]
    monkeypatch.setenv("ROUNDS", "full")
    assert sample_evenly("abc") == ["a", "b", "c"]

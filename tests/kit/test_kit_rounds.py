"""One setting says how often repeated work is done."""

import pytest

from tests.kit.rounds import rounds, spread


@pytest.mark.demand("tests.repeated_work_takes_number")
@pytest.mark.parametrize(
    ("setting", "full", "expected"), [(None, 200, 10), ("", 200, 10), (None, 4, 4), ("3", 200, 3), ("full", 200, 200)]
)
def test_rounds(setting: str | None, full: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROUNDS", raising=False)
    if setting is not None:
        monkeypatch.setenv("ROUNDS", setting)
    assert rounds(full) == expected


@pytest.mark.demand("tests.repeated_work_takes_number")
def test_a_spread_has_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDS", "4")
    assert spread(range(100)) == [0, 33, 66, 99]
    monkeypatch.setenv("ROUNDS", "1")
    assert spread(range(100)) == [0]
    monkeypatch.setenv("ROUNDS", "full")
    assert spread("abc") == ["a", "b", "c"]

"""Rows of tables: only as many as the limits allow are converted."""

import datetime
import decimal
from typing import Any

import pytest

from rightseat.types.json_rows import count_rows, to_json_rows
from rightseat.types.json_values import MAX_ITEMS, NotJsonError, encode_json, is_large, to_json_value
from tests.kit.cases import each_case

DAY = datetime.date(2026, 11, 16)


class CountingList(list[Any]):
    """A list that counts the items that are read by slices."""

    read = 0

    def __getitem__(self, key: Any) -> Any:
        items = super().__getitem__(key)
        self.read += len(items)
        return items


def test_all_rows_of_a_small_table() -> None:
    table = to_json_rows([{"day": DAY, "n": number} for number in range(1000)])
    assert (len(table.rows), table.total) == (1000, 1000)
    assert (table.rows[0], table.rows[-1]) == ({"day": "2026-11-16", "n": 0}, {"day": "2026-11-16", "n": 999})


@pytest.mark.parametrize(("max_bytes", "max_rows", "shown"), [(10_000, None, 98), (1 << 20, 7, 7), (1 << 20, 0, 0)])
def test_limits(max_bytes: int, max_rows: int | None, shown: int) -> None:
    rows = CountingList([{"text": "x" * 89}] * 100_000)
    table = to_json_rows(rows, max_bytes, max_rows)
    assert table.total == 100_000
    assert len(table.rows) == shown
    assert rows.read < 300


def test_rows_of_very_different_lengths_stay_within_the_limit() -> None:
    rows = [{"text": "x"}] * 50 + [{"text": "x" * 100_000}] * 50
    table = to_json_rows(rows, 1_000_000)
    assert len(table.rows) == 59


def test_one_row_that_is_too_large() -> None:
    with pytest.raises(NotJsonError, match="one row has more than 1 MB"):
        to_json_rows([{"text": "x" * (2 << 20)}], 1 << 20)


@pytest.mark.parametrize("value", [None, 7, "text", {"a": [1]}, range(3)])
def test_what_has_no_rows(value: Any) -> None:
    assert count_rows(value) is None
    assert to_json_rows([]).rows == []


@each_case(
    ("value", "large"),
    [
        (None, False),
        ("text", False),
        ("x" * 100_000, True),
        ([1] * 500, False),
        ([1] * 5000, True),
        ({"a": {"b": [[1] * 600] * 2}}, True),
        ([[[]]] * 400, False),
        ({"a": DAY, "b": 1.5}, False),
        ([NotJsonError()], True),
    ],
)
def test_what_is_encoded_beside_the_loop(value: Any, large: bool) -> None:
    assert is_large(value) is large


def test_keys_that_have_one_name_are_kept_apart() -> None:
    assert to_json_value({(1, 2): "a", "1 2": "b", None: "c"}) == {"1 2": "a", "1 2 2": "b", "None": "c"}


def test_numbers_that_are_too_large_become_text() -> None:
    assert to_json_value([decimal.Decimal("1e400"), decimal.Decimal("1.5")]) == ["1E+400", 1.5]


def test_a_range_that_would_fill_the_memory() -> None:
    assert encode_json(range(3)) == b"[0,1,2]"
    with pytest.raises(NotJsonError, match="return a part of it"):
        encode_json({"numbers": range(MAX_ITEMS + 1)})

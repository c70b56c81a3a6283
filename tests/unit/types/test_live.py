"""How long a window of entries or notifications is."""

import pytest

from rightseat.types.live import FULL_WINDOW, SHORTEST_WINDOW, shorten_window


@pytest.mark.demand("cluster.short_windows")
@pytest.mark.parametrize(
    ("seconds", "items", "expected"),
    [
        (0.025, 1, SHORTEST_WINDOW),
        (0.025, 0, SHORTEST_WINDOW),
        (0.025, FULL_WINDOW, 0.025),
        (0.025, 40 * FULL_WINDOW, 0.025),
        (0.1, FULL_WINDOW // 2, 0.1 * (FULL_WINDOW // 2) / FULL_WINDOW),
        (0.001, 1, 0.001),
        (0.0, 100, 0.0),
    ],
)
def test_a_window_is_short_while_few_items_come(seconds: float, items: int, expected: float) -> None:
    assert shorten_window(seconds, items) == pytest.approx(expected)

"""Which added data a question is about."""

import pytest

from rightseat.doors.openbb.turn import extract_words, matches_added_data
from tests.kit.cases import each_case

PRICES = "Closing prices of a share by day; symbol AAPL; columns: date, close"


@pytest.mark.demand("openbb.explicit_context_goes_model")
@each_case(
    ("question", "added", "about"),
    [
        ("What is the price of gold?", "Commodities: gold 2650, silver 31; price", True),
        ("What was the closing price of AAPL?", "Commodities: gold 2650, silver 31; price", False),
        ("What was the closing price of TSLA?", "Closing prices of TSLA: 219.57", True),
        ("When does the meeting begin?", "It begins at 15:30.", True),
        ("What is it?", "Closing prices of TSLA: 219.57", False),
        ("What was it in Q4?", "Q4: 94930", True),
        ("黄金的价格是多少?", "商品价格:黄金 2650", True),
        ("天气怎么样?", "商品价格:黄金 2650", False),
        ("", "anything", False),
    ],
)
def test_data_that_shares_more_words_than_any_widget(question: str, added: str, about: bool) -> None:
    assert matches_added_data(question, added, [PRICES, "Weather in cities"]) is about


def test_what_counts_as_a_word() -> None:
    assert extract_words("What is the EPS of NVDA on 2024-10-15, in Q4?") == {"eps", "nvda", "2024-10-15", "q4"}

"""A dashboard of three tables, and questions that each have their number in one of them."""

from typing import Any, NamedTuple

PRICES = [
    {"date": "2024-10-15", "symbol": "AAPL", "close": 233.85},
    {"date": "2024-10-14", "symbol": "AAPL", "close": 231.3},
    {"date": "2024-10-11", "symbol": "AAPL", "close": 227.55},
]
BALANCE = [
    {"period": "2024", "total_assets": 364980, "cash": 29943},
    {"period": "2023", "total_assets": 352583, "cash": 29965},
]
WEATHER = [{"city": "Oslo", "degrees": 10}, {"city": "Rome", "degrees": 24}]
TABLES = {"prices": PRICES, "balance": BALANCE, "weather": WEATHER}


def widget(number: int, id: str, name: str, about: str, columns: list[str]) -> dict[str, Any]:
    symbol = {
        "name": "symbol",
        "type": "ticker",
        "description": "The share's ticker",
        "current_value": "AAPL",
    }
    return {
        "uuid": f"38181a68-9650-4940-84fb-a3f29c8869f{number}",
        "origin": "OpenBB API",
        "widget_id": id,
        "name": name,
        "description": about,
        "params": [] if id == "weather" else [symbol],
        "columns": columns,
        "metadata": {},
    }


WIDGETS = {
    "primary": [widget(1, "prices", "Stock price", "Closing prices of a share by day", ["date", "close"])],
    "secondary": [
        widget(2, "balance", "Balance sheet", "Assets and cash of a company by year", ["period", "cash"]),
        widget(3, "weather", "Weather", "Temperature of cities today", ["city", "degrees"]),
    ],
    "extra": [],
}


class Question(NamedTuple):
    text: str
    widget: str
    number: str


QUESTIONS = (
    Question("What was the closing price of AAPL on 2024-10-15?", "prices", "233.85"),
    Question("What was the closing price of AAPL on 2024-10-14?", "prices", "231.3"),
    Question("At which price did the AAPL share close on 2024-10-11?", "prices", "227.55"),
    Question("What are the total assets of AAPL in 2024?", "balance", "364980"),
    Question("How much cash did the company AAPL have in 2023?", "balance", "29965"),
    Question("What is the temperature in Oslo today?", "weather", "10"),
    Question("How many degrees does Rome have today?", "weather", "24"),
)

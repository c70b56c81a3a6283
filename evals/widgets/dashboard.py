"""A dashboard of three tables, questions that each have their number in one of them, and questions over data
that the person has added."""

import json
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


def make_widget(number: int, id: str, name: str, about: str, columns: list[str]) -> dict[str, Any]:
    symbol = {"name": "symbol", "type": "ticker", "description": "The share's ticker", "current_value": "AAPL"}
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
    "primary": [make_widget(1, "prices", "Stock price", "Closing prices of a share by day", ["date", "close"])],
    "secondary": [
        make_widget(2, "balance", "Balance sheet", "Assets and cash of a company by year", ["period", "cash"]),
        make_widget(3, "weather", "Weather", "Temperature of cities today", ["city", "degrees"]),
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


class AddedDataQuestion(NamedTuple):
    """A question that is answered by what was added to it, and by nothing on the dashboard."""

    text: str
    number: str
    name: str
    about: str
    data: Any
    metadata: dict[str, str] | None = None

    @property
    def context(self) -> dict[str, Any]:
        text = self.data if isinstance(self.data, str) else json.dumps(self.data)
        form = {"data_type": "object", "parse_as": "text" if isinstance(self.data, str) else "table"}
        return {
            "uuid": "8b2e5f79-3a1d-4c9e-b6f8-1e7d2a9c0b3d",
            "name": self.name,
            "description": self.about,
            "data": {"items": [{"content": text, "data_format": form}]},
            "metadata": self.metadata,
        }


def make_rows(first: str, second: str, *rows: tuple[str, float]) -> list[dict[str, Any]]:
    return [{first: key, second: value} for key, value in rows]


ADDED_DATA_QUESTIONS = (
    AddedDataQuestion(
        "What was the dividend of MSFT in 2023?",
        "2.79",
        "Dividends",
        "Dividends by year",
        make_rows("year", "dividend", ("2023", 2.79), ("2022", 2.54)),
        {"symbol": "MSFT"},
    ),
    AddedDataQuestion(
        "How many employees does the company have?",
        "5120",
        "Company profile",
        "Facts about the company",
        "Contoso was founded in 1998. It has 5120 employees.",
    ),
    AddedDataQuestion(
        "What is the price of gold?",
        "2650",
        "Commodities",
        "Prices of commodities",
        make_rows("name", "price", ("gold", 2650), ("silver", 31)),
    ),
    AddedDataQuestion(
        "What is the inflation in Norway?",
        "2.6",
        "Inflation",
        "Inflation by country",
        make_rows("country", "inflation", ("Norway", 2.6), ("Spain", 1.8)),
    ),
    AddedDataQuestion(
        "How many units were sold in March?",
        "402",
        "Sales",
        "Units sold by month",
        make_rows("month", "units", ("February", 310), ("March", 402)),
    ),
    AddedDataQuestion(
        "What is the EPS of NVDA?",
        "2.94",
        "Earnings",
        "Earnings per share",
        make_rows("symbol", "eps", ("NVDA", 2.94), ("AMD", 0.92)),
    ),
    AddedDataQuestion(
        "What is the exchange rate of EUR to USD?",
        "1.0885",
        "Currencies",
        "Exchange rates",
        make_rows("pair", "rate", ("EUR/USD", 1.0885), ("GBP/USD", 1.305)),
    ),
    AddedDataQuestion(
        "When does the meeting begin?",
        "15:30",
        "Calendar",
        "The meetings of today",
        "The meeting with the board begins at 15:30 in room 4.",
    ),
    AddedDataQuestion(
        "What was the revenue in Q4?",
        "94930",
        "Income",
        "Revenue by quarter",
        make_rows("quarter", "revenue", ("Q3", 85777), ("Q4", 94930)),
        {"symbol": "AAPL", "period": "quarter"},
    ),
    AddedDataQuestion(
        "What was the closing price of TSLA on 2024-10-15?",
        "219.57",
        "Tesla prices",
        "Closing prices of TSLA",
        make_rows("date", "close", ("2024-10-15", 219.57), ("2024-10-14", 219.16)),
        {"symbol": "TSLA"},
    ),
)

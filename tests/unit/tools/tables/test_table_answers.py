"""Answers over rows by rules, without a model and a door."""

from decimal import Decimal
from typing import Any

import pytest

from rightseat.tools.tables.answer import answer_from_table, format_table
from rightseat.tools.tables.ask import read_ask
from rightseat.tools.tables.parameters import SourceParameter, choose_values
from rightseat.tools.tables.rows import find_rows, read_rows
from rightseat.tools.tables.sources import DataSource, asks_for_data, rank_sources
from rightseat.tools.tables.tickers import find_tickers
from rightseat.tools.tables.times import find_times, read_time
from rightseat.tools.tables.wording import TableSource, format_number, format_result
from rightseat.types.language import detect_language
from tests.kit.cases import each_case

PRICES = [
    {"date": "2025-03-10", "open": 235.54, "high": 236.16, "low": 224.22, "close": 227.48, "volume": 72071200},
    {"date": "2025-03-11", "open": 223.81, "high": 225.84, "low": 217.45, "close": 220.84, "volume": 76137400},
    {"date": "2025-03-12", "open": 220.14, "high": 221.75, "low": 214.91, "close": 216.98, "volume": 62547500},
]
FUNDS = [
    {"fund": "Alder", "sector": "Technology", "ytd_return_pct": 7.4, "expense_ratio_pct": 0.85},
    {"fund": "Birch", "sector": "Energy", "ytd_return_pct": -3.1, "expense_ratio_pct": 0.42},
    {"fund": "Cedar", "sector": "Technology", "ytd_return_pct": 11.2, "expense_ratio_pct": 1.1},
]
COSTS = [
    {"month": "2025-01", "category": "Travel", "amount_usd": 1850},
    {"month": "2025-01", "category": "Data", "amount_usd": 4200},
    {"month": "2025-02", "category": "Travel", "amount_usd": 960},
]
WIDE = [
    {"item": "Revenue", "2022": 394.3, "2023": 383.3, "2024": 391.0},
    {"item": "Net income", "2022": 99.8, "2023": 97.0, "2024": 93.7},
]
CURVE = [{"maturity": "2Y", "yield_pct": 3.95}, {"maturity": "10Y", "yield_pct": 4.31}]
COUNTRIES = [{"country": "United States", "gdp_bn": 29168}, {"country": "China", "gdp_bn": 18273}]


def answer(question: str, rows: list[dict[str, Any]], **more: Any) -> str | None:
    table = read_rows(rows)
    assert table is not None
    source = TableSource(title="Data", **more)
    return answer_from_table(read_ask(question), table, source, detect_language(question))


@pytest.mark.demand("tables.answer_by_rules")
@each_case(
    ("rows", "question", "said"),
    [
        (PRICES, "What is the latest closing price?", "close is 216.98 (2025-03-12)"),
        (PRICES, "What is the price?", "close is 216.98 (2025-03-12)"),
        (PRICES, "highest close?", "The highest close is 227.48 (2025-03-10)"),
        (PRICES, "收盘价最低的是哪天？", "close 最低的是 2025-03-12，为 216.98"),
        (PRICES, "3月11日的成交量", "volume 为 76,137,400（2025-03-11）"),
        (PRICES, "average volume", "average of volume is 70,252,033.33"),
        (PRICES, "volume over the last 2 days in total", "total of volume is 138,684,900"),
        (PRICES, "how did the close change from March 10 to March 12 in %", "by 10.5 or -4.62%"),
        (PRICES, "difference between high and low on 2025-03-11", "is 8.39"),
        (PRICES, "on how many days was the close above 220?", "2 by close"),
        (PRICES, "median close", "median of close is 220.84"),
        (PRICES, "3月11日跌了多少？", "减少 6.64，即 -2.92%"),
        (PRICES, "second highest close", "is 2025-03-11 with 220.84"),
        (FUNDS, "which fund is the cheapest?", "lowest expense_ratio_pct is 0.42% (Birch)"),
        (FUNDS, "which funds lost money ytd?", "- Birch: ytd_return_pct -3.1%"),
        (FUNDS, "top 2 by return", "- Cedar: ytd_return_pct 11.2%\n- Alder: ytd_return_pct 7.4%"),
        (FUNDS, "how many tech funds are there?", "2 rows have sector Technology"),
        (FUNDS, "费用率最低的基金", "expense_ratio_pct 最低的是 Birch，为 0.42%"),
        (FUNDS, "which sector is Birch in?", "sector is Energy (Birch)"),
        (COSTS, "what did we spend on travel in total?", "total of amount_usd is 2810"),
        (COSTS, "which category cost the most?", "Data has the highest total of amount_usd: 4200"),
        (COSTS, "how much was travel in January 2025?", "amount_usd is 1850"),
        (COSTS, "what share of the amount is travel?", "2810 of 7010, which is 40.09%"),
        (WIDE, "Revenue in 2023?", "value is 383.3 (Revenue, 2023)"),
        (WIDE, "by what percent did net income fall from 2022 to 2024?", "by 6.1 or -6.11%"),
        (CURVE, "10y minus 2y spread?", "10Y 4.31% minus 2Y 3.95% is 0.36%"),
        (CURVE, "十年期收益率是多少", "yield_pct 为 4.31%（10Y）"),
        (COUNTRIES, "GDP difference between the US and China", "is 10,895"),
    ],
)
def test_answers_that_are_computed(rows: list[dict[str, Any]], question: str, said: str) -> None:
    text = answer(question, rows)
    assert said in (text or "")


@pytest.mark.demand("tables.answer_by_rules")
@each_case(
    ("rows", "question", "said"),
    [
        (
            PRICES,
            "What was the close on 2 Jan 2015?",
            "no data for 2 Jan 2015. It only covers 2025-03-10 to 2025-03-12",
        ),
        (PRICES, "what is the P/E ratio?", "has no pe. Its columns are: date, open"),
        (PRICES, "the latest close of TSLA?", "no data for TSLA"),
        (PRICES, "latest close of Rivian?", "no data for Rivian"),
        (FUNDS, "贝塔系数是多少？", "没有贝塔"),
        (COUNTRIES, "what is the GDP of Brazil?", "no data for brazil"),
        (CURVE, "10 year yield in 2019?", "no data for 2019"),
    ],
)
def test_data_that_is_not_there_is_said(rows: list[dict[str, Any]], question: str, said: str) -> None:
    text = answer(question, rows)
    assert said in (text or "")


@pytest.mark.demand("tables.answer_by_rules")
@pytest.mark.parametrize(
    ("rows", "question"),
    [
        (PRICES, "why did it fall?"),
        (PRICES, "average close last week"),
        (COSTS, "total costs without travel"),
        (COSTS, "未付款的一共多少钱？"),
        (FUNDS, "what is the correlation of return and fees?"),
    ],
)
def test_unsure_questions_get_no_computed_answer(rows: list[dict[str, Any]], question: str) -> None:
    assert answer(question, rows) is None


@pytest.mark.demand("tables.answer_by_rules")
def test_values_that_are_no_numbers_break_nothing() -> None:
    rows: list[dict[str, Any]] = [
        {"a": None, "bb": float("nan"), "c": {"x": 1}, "d": "n/a"},
        {"a": 1, "bb": 2.5, "c": [1], "d": "x" * 5000},
    ]
    table = read_rows(rows)
    assert table is not None
    assert [column.name for column in table.columns] == ["a", "bb", "d"]
    assert answer("highest bb?", rows) == "The highest bb is 2.5 (" + "x" * 120 + "). Source: “Data”."
    assert "a 1" in format_table(table, TableSource(title="Data"), "en")
    assert read_rows([{}]) is None
    assert (find_rows({"data": PRICES}), find_rows({"a": 1}), find_rows([1]), find_rows([])) == (
        PRICES,
        [{"a": 1}],
        None,
        None,
    )


@pytest.mark.demand("tables.answer_by_rules")
@each_case(
    ("text", "times"),
    [
        ("on 2024-10-15", ["2024-10-15"]),
        ("2 Jan 2015 or March 3rd, 2016", ["2015-01-02", "2016-03-03"]),
        ("3月14号 and 2023年第二季度", ["03-14", "2023Q2"]),
        ("EPS in 2024Q2, Q3 2023 and 4Q22", ["2024Q2", "2023Q3", "2022Q4"]),
        ("from Q1 to Q3 2024", ["Q1", "2024Q3"]),
        ("FY2023 and 2021年", ["2023", "2021"]),
        ("in May 2025, 2025-06", ["2025-05", "2025-06"]),
        ("may I ask, 2024.5 or $2024 or 12024", []),
    ],
)
def test_times_of_questions(text: str, times: list[str]) -> None:
    assert [str(time.point) for time in find_times(text)] == times


def test_times_of_cells() -> None:
    assert [str(read_time(cell)) for cell in ("2024", 2024, "Mar", "Q2", "x", 17, None, True)] == [
        "2024", "2024", "03", "Q2", "None", "None", "None", "None",
    ]  # fmt: skip


SYMBOL = SourceParameter(name="symbol", kind="ticker", current="AAPL")
PERIOD = SourceParameter(name="period", options=(("Annual", "annual"), ("Quarterly", "quarter")), current="annual")
LIMIT = SourceParameter(name="limit", kind="number", current=6)
DAY = SourceParameter(name="date", kind="date", current="2025-04-17")
PAIR = SourceParameter(name="pair", options=(("EUR/USD", "EURUSD"), ("GBP/USD", "GBPUSD")), current="EURUSD")
CASH = SourceParameter(name="include_cash", kind="boolean", current=False)
COIN = SourceParameter(name="symbol", kind="text", current="BTC-USD")
START = SourceParameter(name="start_date", kind="date", current="2025-03-01")
END = SourceParameter(name="end_date", kind="date", current="2025-03-31")


@pytest.mark.demand("tables.keep_current_values")
@each_case(
    ("parameters", "question", "values"),
    [
        ([SYMBOL], "What is the latest closing price?", {}),
        ([SYMBOL], "EPS in 2024Q2?", {}),
        ([SYMBOL], "latest GDP and CPI in USD?", {}),
        ([SYMBOL], "the last close of MSFT", {"symbol": "MSFT"}),
        ([SYMBOL], "特斯拉的收盘价", {"symbol": "TSLA"}),
        ([SYMBOL], "what is Apple's close?", {}),
        ([SYMBOL], "is AAPL above MSFT?", {}),
        ([PERIOD], "quarterly instead of annual, please", {"period": "quarter"}),
        ([PERIOD], "revenue in 2024Q2?", {"period": "quarter"}),
        ([PERIOD], "annual revenue", {}),
        ([LIMIT], "go back 9 quarters", {"limit": 9}),
        ([LIMIT], "the last 3 quarters", {}),
        ([DAY], "the 10 year on 2024-12-31", {"date": "2024-12-31"}),
        ([DAY], "the 10 year in 2024", {}),
        ([PAIR], "英镑兑美元", {"pair": "GBPUSD"}),
        ([PAIR], "yen against the dollar", {}),
        ([CASH], "include cash too", {"include_cash": True}),
        ([CASH], "how much cash is there?", {}),
        ([COIN], "the price of ether", {"symbol": "ETH-USD"}),
        ([START, END], "the close on 2015-01-02", {}),
        ([START, END], "from 2025-03-03 to 2025-03-05", {}),
        ([START, END], "from 2024-03-03 to 2024-03-05", {"start_date": "2024-03-03", "end_date": "2024-03-05"}),
    ],
)
def test_values_that_a_question_names(parameters: list[SourceParameter], question: str, values: dict[str, Any]) -> None:
    assert choose_values(read_ask(question), parameters).values == values


@pytest.mark.demand("tables.keep_current_values")
@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("What is the latest closing price?", "prices"),
        ("how much debt does it have?", "balance"),
        ("有什么新闻？", "news"),
        ("price of gold", "commodities"),
    ],
)
def test_the_source_that_bears_on_a_question(question: str, best: str) -> None:
    sources = [
        DataSource(key="prices", title="Price History", columns=("date", "close", "volume"), parameters=(SYMBOL,)),
        DataSource(key="balance", title="Balance Sheet", columns=("year", "total_assets", "total_debt")),
        DataSource(key="news", title="Company News", columns=("date", "title")),
        DataSource(key="commodities", title="Commodity Prices", columns=("commodity", "price")),
    ]
    assert rank_sources(read_ask(question), sources)[0][1].key == best


@pytest.mark.parametrize(
    ("question", "asks"),
    [("hello", False), ("how are you today?", False), ("what does P/E mean?", False), ("the P/E of AAPL?", True)],
)
def test_questions_that_ask_for_data(question: str, asks: bool) -> None:
    assert asks_for_data(read_ask(question)) is asks


def test_tickers_and_numbers() -> None:
    assert find_tickers("How did Broadcom (AVGO), $pltr and msft do? EPS in USD") == ["AVGO", "PLTR", "MSFT"]
    assert find_tickers("what is the cost of all of it") == []
    assert (format_number(Decimal("215.24")), format_number(Decimal(60107600))) == ("215.24", "60,107,600")
    assert format_result(Decimal(10) / 3) == "3.3333"


LEASES = [
    {"office": "Kew", "rentKgbp": 240, "expiry": "2026-03-31"},
    {"office": "Bow", "rentKgbp": 415, "expiry": "2027-12-31"},
]
CHAIN = [
    {"strike": 200, "bid": 4.1, "ask": 4.4, "open_interest": 910},
    {"strike": 210, "bid": 2, "ask": 2.2, "open_interest": 80},
]
BUDGETS = [{"team": "Risk", "budget": 780, "spent": 801}, {"team": "Data", "budget": 960, "spent": 900}]
QUARTERS = [
    {"quarter": "2023Q3", "revenue": 100, "operating_income": 20, "eps": 1.2, "eps_estimate": 1.1},
    {"quarter": "2024Q2", "revenue": 115, "operating_income": 22, "eps": 1.3, "eps_estimate": 1.4},
    {"quarter": "2024Q3", "revenue": 120, "operating_income": 30, "eps": 1.5, "eps_estimate": 1.4},
]
INVOICES = [{"client": "Ulver", "amount": 20, "status": "overdue"}, {"client": "Tarn", "amount": 30, "status": "paid"}]
OFFERS = [
    {"company": "Tessel", "offer_price": 20, "first_day_close": 25},
    {"company": "Mott", "offer_price": 8, "first_day_close": 6},
]
POSITIONS = [{"name": "A", "market_value": 50, "cost": 70}, {"name": "B", "market_value": 90, "cost": 60}]
CPI = [
    {"month": "2024-05", "cpi_yoy_pct": 2.3, "core_yoy_pct": 1.7},
    {"month": "2024-06", "cpi_yoy_pct": 2.1, "core_yoy_pct": 1.9},
]
YIELDS = [{"maturity": "year_2", "rate": 4.17}, {"maturity": "year_10", "rate": 4.19}]


@pytest.mark.demand("tables.derived_figures")
@each_case(
    ("rows", "question", "said"),
    [
        (LEASES, "which lease runs out first?", "earliest expiry is 2026-03-31 (Kew)"),
        (LEASES, "哪个办公室最晚到期？", "2027-12-31（Bow）"),
        (CHAIN, "which strike has the most open interest?", "highest open_interest is 910 (strike 200)"),
        (CHAIN, "未平仓量最大的行权价是哪个", "strike 200"),
        (CHAIN, "bid-ask spread of the 200 strike?", "ask − bid = 0.3 "),
        (BUDGETS, "who overspent and by how much?", "Risk: spent − budget = 21 "),
        (BUDGETS, "哪个部门超支了？", "Risk: spent − budget = 21 "),
        (BUDGETS, "how much budget is left for Data?", "budget − spent = 60 "),
        (QUARTERS, "operating margin in 2024Q3?", "= 25% (operating_income 30, revenue 120)"),
        (QUARTERS, "year over year revenue growth in 2024Q3", "from 100 (2023Q3) to 120 (2024Q3), by 20 or 20%"),
        (QUARTERS, "最新季度营收较上季度变化多少", "从 115（2024Q2）上升到 120（2024Q3）"),
        (QUARTERS, "by how much did eps beat the estimate in 2024Q3?", "eps − eps_estimate = 0.1 "),
        (OFFERS, "first-day return of Tessel?", "first_day_close / offer_price − 1 = 25%"),
        (POSITIONS, "which position is under water?", "A: market_value − cost = -20 "),
        (INVOICES, "which ones are overdue?", "Ulver"),
        (CPI, "average headline inflation over the months shown", "average of cpi_yoy_pct is 2.2%"),
        (CPI, "核心通胀平均是多少", "core_yoy_pct 的平均值为 1.8%"),
        (YIELDS, "2s10s spread?", "year_10 4.19 minus year_2 4.17 is 0.02"),
        (YIELDS, "what does the 10 year yield", "rate is 4.19 (year_10)"),
    ],
)
def test_figures_that_two_columns_or_dates_give(rows: list[dict[str, Any]], question: str, said: str) -> None:
    assert said in (answer(question, rows) or "")


@pytest.mark.demand("tables.derived_figures")
@pytest.mark.parametrize(
    ("rows", "question"),
    [
        (INVOICES, "which invoices are pending?"),
        (QUARTERS, "year over year revenue growth in 2024Q2"),
        (PRICES, "what is the variance of the close?"),
    ],
)
def test_figures_without_their_rows_are_not_computed(rows: list[dict[str, Any]], question: str) -> None:
    assert answer(question, rows) is None


@pytest.mark.demand("tables.derived_figures")
def test_a_quantity_of_another_name_is_said_to_be_missing() -> None:
    text = answer("what is the occupancy rate of Lorne?", [{"hotel": "Lorne", "average_daily_rate": 118.5}])
    assert "has no occupancy rate" in (text or "")


@pytest.mark.demand("tables.derived_figures")
@pytest.mark.parametrize(
    ("question", "value"), [("把特别股息也算进来", True), ("include special dividends", True), ("dividends", None)]
)
def test_a_flag_is_switched_by_its_word_in_both_languages(question: str, value: bool | None) -> None:
    flag = SourceParameter(name="include_special", kind="boolean", current=False)
    assert choose_values(read_ask(question), [flag]).values.get("include_special") is value


def make_caps(*values: Any) -> list[dict[str, Any]]:
    return [{"symbol": symbol, "market cap": value} for symbol, value in zip("ABC", values, strict=False)]


@pytest.mark.demand("tables.answer_by_rules")
@each_case(
    ("values", "said"),
    [
        (("$1.2B", "$900M", "$3"), "$1.2B (A)"),
        (("1.2亿", "900万", "5"), None),
        (("$5", "€6", "£7"), None),
        (("12%", "0.5", "13%"), None),
        (("10bp", "5%"), None),
        (("12%", "0", "13%"), "13% (C)"),
        ((1e30, 2.0), None),
        ((1e308, 1e308), None),
    ],
)
def test_numbers_in_different_units_are_not_compared(values: tuple[Any, ...], said: str | None) -> None:
    rows = make_caps(*values)
    text = answer("highest market cap?", rows)
    assert text is None if said is None else said in str(text)
    for question in ("total market cap", "average market cap"):
        assert (answer(question, rows) is None) == (said is None)


@pytest.mark.demand("tables.answer_by_rules")
def test_amounts_with_a_scale_are_added_up() -> None:
    assert "$2,100,000,003 (3 rows" in str(answer("total market cap", make_caps("$1.2B", "$900M", "$3")))


@pytest.mark.demand("tables.answer_by_rules")
def test_days_before_months_are_recognized_by_the_whole_column() -> None:
    rows = [{"date": day, "close": place} for place, day in enumerate(("01/02/2024", "03/01/2024", "13/01/2024"))]
    assert answer("latest close?", rows) == "The latest close is 0 (01/02/2024). Source: “Data”."
    rows = [{"date": day, "close": place} for place, day in enumerate(("02/01/2024", "01/03/2024", "01/13/2024"))]
    assert answer("latest close?", rows) == "The latest close is 0 (02/01/2024). Source: “Data”."
    mixed = [{"date": "13/01/2024", "close": 1}, {"date": "01/13/2024", "close": 2}]
    assert str(answer("latest close?", mixed)).startswith("“Data” shows:\n- 13/01/2024: close 1")


@pytest.mark.demand("tables.answer_by_rules")
@pytest.mark.parametrize(
    "question",
    [
        "which fund does not have the highest return?",
        "which fund doesn't have the highest return?",
        "average return for each sector",
        "highest return per sector",
        "每个行业的最高收益",
    ],
)
def test_negations_and_groups_get_no_computed_answer(question: str) -> None:
    assert answer(question, FUNDS) is None


@pytest.mark.demand("tables.answer_by_rules")
@each_case(
    ("current", "question", "chosen"),
    [
        ("110022", "005827最新单位净值是多少", {"code": "005827"}),
        ("110022", "what is the latest NAV of 005827?", {"code": "005827"}),
        ("110022", "what is the latest NAV of 110022?", {}),
        ("110022", "compare 005827 with 161725", {}),
        ("110022", "is it above 123456.78?", {}),
        ("US0378331005", "and for US5949181045?", {"code": "US5949181045"}),
        ("2024", "value in 2023?", {}),
    ],
)
def test_a_code_of_the_same_shape_replaces_the_current_one(current: str, question: str, chosen: dict[str, str]) -> None:
    parameter = SourceParameter(name="code", kind="text", description="A code of six digits", current=current)
    values = choose_values(read_ask(question), [parameter]).values
    assert {name: value for name, value in values.items() if value != "2023"} == chosen

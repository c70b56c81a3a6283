"""Tables of `evals.widget_questions.generated`, with questions and how their answers are computed."""

import random
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Row = dict[str, Any]
Rows = Sequence[Row]


class Spec(NamedTuple):
    title: str
    columns: dict[str, str]
    """Chinese names by the English ones in snake_case."""
    label: str
    make: Callable[[random.Random], list[Row]]
    questions: Sequence[tuple[str, str, Callable[[Rows], Any]]]
    """Class, question and its answer; `{name}` is the label of the second row, `{other}` of the first."""


def mix(labels: str, **columns: Callable[[random.Random, int], Any]) -> Callable[[random.Random], list[Row]]:
    """Return a maker of rows: the first column has the labels, the others are computed by random and row."""

    def make(rng: random.Random) -> list[Row]:
        first, *rest = columns
        names = labels.split(", ")
        return [
            {first: columns[first](rng, place) or name, **{column: columns[column](rng, place) for column in rest}}
            for place, name in enumerate(names)
        ]

    return make


def pick(rows: Rows, column: str, shown: str, *, lowest: bool = False) -> Any:
    return (min if lowest else max)(rows, key=lambda row: row[column])[shown]


def total(rows: Rows, column: str) -> float:
    return float(sum(row[column] for row in rows))


def mean(rows: Rows, column: str) -> float:
    return total(rows, column) / len(rows)


def name(rng: random.Random, place: int) -> None:
    return None


def whole(low: int, high: int) -> Callable[[random.Random, int], int]:
    return lambda rng, place: rng.randint(low, high) * 10 + place


def part(low: float, high: float) -> Callable[[random.Random, int], float]:
    return lambda rng, place: round(rng.uniform(low, high) + place / 100, 2)


def day(year: int) -> Callable[[random.Random, int], str]:
    return lambda rng, place: f"{year + rng.randint(0, 4)}-{rng.randint(1, 12):02}-{10 + place:02}"


def one_of(*values: str) -> Callable[[random.Random, int], str]:
    return lambda rng, place: values[place % len(values)]


def month_end(rng: random.Random, place: int) -> str:
    return ["2024-06-30", "2024-07-31", "2024-08-31", "2024-09-30", "2024-10-31"][place]


def quarter(rng: random.Random, place: int) -> str:
    return ["2023Q3", "2023Q4", "2024Q1", "2024Q2", "2024Q3"][place]


LOANS = Spec(
    "Loan book",
    {"borrower": "借款人", "outstanding_musd": "未偿还额", "spread_bps": "利差", "rating": "评级"},
    "borrower",
    mix(
        "Harrow Foods, Linden Air, Osprey Rail, Penrose Steel", borrower=name, outstanding_musd=whole(3, 20),
        spread_bps=whole(10, 60), rating=one_of("BB", "B+", "BB+", "B-"),
    ),
    (
        ("sum", "what is the total outstanding?", lambda rows: total(rows, "outstanding_musd")),
        ("sum", "未偿还总额是多少？", lambda rows: total(rows, "outstanding_musd")),
        ("extreme", "which borrower owes the most?", lambda rows: pick(rows, "outstanding_musd", "borrower")),
        ("extreme", "谁的未偿还额最大", lambda rows: pick(rows, "outstanding_musd", "borrower")),
        ("extreme", "lowest spread, and whose is it?", lambda rows: pick(rows, "spread_bps", "borrower", lowest=True)),
        ("look up", "how is {name} rated", lambda rows: rows[1]["rating"]),
        ("look up", "{name}的利差是多少", lambda rows: rows[1]["spread_bps"]),
        ("share", "what share of the outstanding total is {name}?",
         lambda rows: rows[1]["outstanding_musd"] / total(rows, "outstanding_musd") * 100),
        ("average", "average spread across the loans", lambda rows: mean(rows, "spread_bps")),
        ("absent", "what is the coupon of {name}?", lambda rows: ()),
    ),
)  # fmt: skip
LEASES = Spec(
    "Leases",
    {"office": "办公室", "annual_rent_kgbp": "年租金", "expiry": "到期日", "floor_area": "面积"},
    "office",
    mix("Aldgate Court, Bram House, Corn Street, Dock Nine", office=name, annual_rent_kgbp=whole(10, 90),
        expiry=day(2026), floor_area=whole(100, 900)),
    (
        ("by date", "which lease runs out first?", lambda rows: pick(rows, "expiry", "office", lowest=True)),
        ("by date", "which office's lease ends last", lambda rows: pick(rows, "expiry", "office")),
        ("by date", "哪个办公室最早到期？", lambda rows: pick(rows, "expiry", "office", lowest=True)),
        ("by date", "哪一个最晚到期", lambda rows: pick(rows, "expiry", "office")),
        ("look up", "when does the {name} lease expire?", lambda rows: rows[1]["expiry"]),
        ("sum", "how much rent do we pay in total?", lambda rows: total(rows, "annual_rent_kgbp")),
        ("extreme", "which office has the largest floor area?", lambda rows: pick(rows, "floor_area", "office")),
        ("absent", "what is the deposit for {name}?", lambda rows: ()),
        ("difference", "how much more rent for {name} than for {other}?",
         lambda rows: rows[1]["annual_rent_kgbp"] - rows[0]["annual_rent_kgbp"]),
    ),
)  # fmt: skip
BUDGETS = Spec(
    "Budget vs actual",
    {"team": "部门", "budget_kusd": "预算", "actual_kusd": "实际"},
    "team",
    mix("Legal, Design, Support, Sales Ops", team=name, budget_kusd=lambda rng, place: 500 + 100 * place,
        actual_kusd=lambda rng, place: 500 + 100 * place + (-40, 55, -12, -7)[place]),
    (
        ("derived", "who overspent and by how much?", lambda rows: ("Design", 55)),
        ("derived", "which team went over budget", lambda rows: "Design"),
        ("derived", "哪个部门超支了，超了多少？", lambda rows: ("Design", 55)),
        ("derived", "what is the variance for {name}?", lambda rows: 55),
        ("derived", "how far below budget is {other}?", lambda rows: 40),
        ("look up", "actual for {name}", lambda rows: rows[1]["actual_kusd"]),
        ("sum", "total budget?", lambda rows: total(rows, "budget_kusd")),
        ("sum", "实际支出合计多少", lambda rows: total(rows, "actual_kusd")),
    ),
)  # fmt: skip
OFFERINGS = Spec(
    "IPO list",
    {"company": "公司", "offer_price": "发行价", "first_day_close": "首日收盘价", "listing_date": "上市日期"},
    "company",
    mix("Brindle Bio, Corvid Cloud, Fenwick Foods", company=name, offer_price=whole(1, 4), listing_date=day(2020),
        first_day_close=whole(5, 9)),
    (
        ("derived", "what was the first-day return of {name}?",
         lambda rows: (rows[1]["first_day_close"] / rows[1]["offer_price"] - 1) * 100),
        ("derived", "{name}首日回报率是多少",
         lambda rows: (rows[1]["first_day_close"] / rows[1]["offer_price"] - 1) * 100),
        ("look up", "offer price of {name}?", lambda rows: rows[1]["offer_price"]),
        ("look up", "{name}的发行价", lambda rows: rows[1]["offer_price"]),
        ("by date", "which company listed last?", lambda rows: pick(rows, "listing_date", "company")),
        ("by date", "which one went public first", lambda rows: pick(rows, "listing_date", "company", lowest=True)),
        ("extreme", "which company had the highest offer price",
         lambda rows: (pick(rows, "offer_price", "company"), pick(rows, "offer_price", "offer_price"))),
    ),
)  # fmt: skip
DIVIDENDS = Spec(
    "Dividends",
    {"ex_date": "除息日", "pay_date": "支付日", "amount": "金额", "type": "类型"},
    "ex_date",
    mix("a, b, c, d", ex_date=lambda rng, place: f"2024-{11 - 3 * place:02}-05",
        pay_date=lambda rng, place: f"2024-{11 - 3 * place:02}-25", amount=part(0.5, 3),
        type=one_of("regular", "special", "regular", "regular")),
    (
        ("extreme", "what was the largest dividend and when was it paid?",
         lambda rows: (pick(rows, "amount", "amount"), pick(rows, "amount", "pay_date"))),
        ("extreme", "最大的一笔是多少，什么时候支付的？",
         lambda rows: (pick(rows, "amount", "amount"), pick(rows, "amount", "pay_date"))),
        ("filter", "show only the special ones", lambda rows: ("2024-08-05",)),
        ("sum", "sum of the regular dividends",
         lambda rows: sum(row["amount"] for row in rows if row["type"] == "regular")),
        ("latest", "latest dividend amount", lambda rows: rows[0]["amount"]),
        ("latest", "最近一次的金额是多少", lambda rows: rows[0]["amount"]),
        ("count", "how many special dividends were there?", lambda rows: 1),
    ),
)  # fmt: skip
HOTELS = Spec(
    "Hotels",
    {"hotel": "酒店", "rooms": "客房数", "average_daily_rate_gbp": "平均房价", "opened": "开业年份"},
    "hotel",
    mix("Lorne, Marchmont, Penhale, Quarrel", hotel=name, rooms=whole(5, 40), average_daily_rate_gbp=part(60, 300),
        opened=lambda rng, place: 1980 + 7 * rng.randint(1, 5) + place),
    (
        ("absent", "what is the occupancy rate of the {name} hotel?", lambda rows: ()),
        ("absent", "{name}的入住率是多少？", lambda rows: ()),
        ("look up", "average daily rate at {name}?", lambda rows: rows[1]["average_daily_rate_gbp"]),
        ("look up", "how many rooms does {name} have", lambda rows: rows[1]["rooms"]),
        ("extreme", "which hotel has the fewest rooms", lambda rows: pick(rows, "rooms", "hotel", lowest=True)),
        ("sum", "how many rooms altogether?", lambda rows: total(rows, "rooms")),
    ),
)  # fmt: skip
OPTIONS = Spec(
    "Calls",
    {"strike": "行权价", "bid": "买价", "ask": "卖价", "open_interest": "未平仓量", "volume": "成交量"},
    "strike",
    mix("a, b, c, d, e", strike=lambda rng, place: 190 + 10 * place, bid=part(1, 9), ask=part(9, 14),
        open_interest=whole(100, 900), volume=whole(10, 90)),
    (
        ("extreme", "which strike has the most open interest?", lambda rows: pick(rows, "open_interest", "strike")),
        ("extreme", "未平仓量最大的行权价是哪个", lambda rows: pick(rows, "open_interest", "strike")),
        ("extreme", "at which strike is the volume lowest?",
         lambda rows: pick(rows, "volume", "strike", lowest=True)),
        ("derived", "bid-ask spread of the 210 strike?", lambda rows: rows[2]["ask"] - rows[2]["bid"]),
        ("look up", "bid of the 200 strike", lambda rows: rows[1]["bid"]),
        ("sum", "total open interest", lambda rows: total(rows, "open_interest")),
        ("extreme", "highest strike?", lambda rows: 230),
    ),
)  # fmt: skip
INFLATION = Spec(
    "Inflation",
    {"month": "月份", "cpi_yoy_pct": "CPI同比", "core_yoy_pct": "核心CPI同比"},
    "month",
    mix("a, b, c, d", month=lambda rng, place: f"2024-{5 + place:02}", cpi_yoy_pct=part(2, 4),
        core_yoy_pct=part(1, 3)),
    (
        ("average", "average headline inflation over the months shown", lambda rows: mean(rows, "cpi_yoy_pct")),
        ("average", "average core inflation", lambda rows: mean(rows, "core_yoy_pct")),
        ("average", "核心通胀平均是多少", lambda rows: mean(rows, "core_yoy_pct")),
        ("look up", "core inflation in June 2024", lambda rows: rows[1]["core_yoy_pct"]),
        ("latest", "latest headline inflation?", lambda rows: rows[3]["cpi_yoy_pct"]),
        ("change", "how much did core inflation move from May to August?",
         lambda rows: rows[3]["core_yoy_pct"] - rows[0]["core_yoy_pct"]),
    ),
)  # fmt: skip
RATES = Spec(
    "FX Month-End",
    {"date": "日期", "rate": "汇率"},
    "date",
    mix("a, b, c, d, e", date=month_end, rate=part(140, 160)),
    (
        ("change", "by how much did it move between end of june and end of september 2024?",
         lambda rows: rows[3]["rate"] - rows[0]["rate"]),
        ("change", "how did the rate change from June to October", lambda rows: rows[4]["rate"] - rows[0]["rate"]),
        ("change", "change in % between July and August", lambda rows: (rows[2]["rate"] / rows[1]["rate"] - 1) * 100),
        ("change", "6月底到9月底变动了多少", lambda rows: rows[3]["rate"] - rows[0]["rate"]),
        ("change", "month over month change in October?", lambda rows: rows[4]["rate"] - rows[3]["rate"]),
        ("change", "October vs September: what's the difference", lambda rows: rows[4]["rate"] - rows[3]["rate"]),
        ("latest", "what is the rate now", lambda rows: rows[4]["rate"]),
        ("look up", "rate at the end of August", lambda rows: rows[2]["rate"]),
    ),
)  # fmt: skip
POSITIONS = Spec(
    "Positions",
    {"holding": "持仓", "country": "国家", "weight_pct": "权重", "market_value": "市值"},
    "holding",
    mix("Ashdown, Bexley, Crofton, Delamere, Exbury", holding=name, weight_pct=part(4, 30),
        country=one_of("France", "Japan", "France", "Italy", "Japan"), market_value=whole(100, 900)),
    (
        ("sum", "how much weight is in France in total?",
         lambda rows: rows[0]["weight_pct"] + rows[2]["weight_pct"]),
        ("sum", "日本的持仓一共占多少权重？", lambda rows: rows[1]["weight_pct"] + rows[4]["weight_pct"]),
        ("extreme", "what is the smallest position and its weight",
         lambda rows: (pick(rows, "weight_pct", "holding", lowest=True), pick(rows, "weight_pct", "weight_pct",
                                                                              lowest=True))),
        ("extreme", "权重最大的是哪个持仓", lambda rows: pick(rows, "weight_pct", "holding")),
        ("filter", "which ones are Japanese?", lambda rows: ("Bexley", "Exbury")),
        ("count", "how many holdings are in France?", lambda rows: 2),
        ("share", "what percentage of the market value is {name}?",
         lambda rows: rows[1]["market_value"] / total(rows, "market_value") * 100),
    ),
)  # fmt: skip
SEGMENTS = Spec(
    "Segments",
    {"segment": "分部", "revenue": "营收", "operating_profit": "营业利润"},
    "segment",
    mix("Freight, Parcels, Storage", segment=name, revenue=whole(100, 300), operating_profit=whole(10, 60)),
    (
        ("derived", "what is the operating margin of {name}?",
         lambda rows: rows[1]["operating_profit"] / rows[1]["revenue"] * 100),
        ("derived", "{name}的营业利润率是多少", lambda rows: rows[1]["operating_profit"] / rows[1]["revenue"] * 100),
        ("derived", "which segment has the best margin?",
         lambda rows: max(rows, key=lambda row: row["operating_profit"] / row["revenue"])["segment"]),
        ("share", "what share of revenue comes from {name}?",
         lambda rows: rows[1]["revenue"] / total(rows, "revenue") * 100),
        ("share", "{name}占总营收的比例是多少", lambda rows: rows[1]["revenue"] / total(rows, "revenue") * 100),
        ("extreme", "which segment earns the most", lambda rows: pick(rows, "operating_profit", "segment")),
        ("sum", "combined revenue of all segments", lambda rows: total(rows, "revenue")),
    ),
)  # fmt: skip
INVOICES = Spec(
    "Invoices",
    {"client": "客户", "amount_eur": "金额", "due_date": "到期日", "status": "状态"},
    "client",
    mix("Tarn Ltd, Ulver AG, Vosges SA, Wey plc", client=name, amount_eur=whole(100, 900), due_date=day(2024),
        status=one_of("paid", "overdue", "open", "overdue")),
    (
        ("filter", "which ones are overdue?", lambda rows: ("Ulver AG", "Wey plc")),
        ("filter", "who has not paid yet and is overdue", lambda rows: ("Ulver AG", "Wey plc")),
        ("filter", "哪些已经逾期 (overdue)？", lambda rows: ("Ulver AG", "Wey plc")),
        ("sum", "how much is overdue in total?", lambda rows: rows[1]["amount_eur"] + rows[3]["amount_eur"]),
        ("count", "how many invoices are overdue?", lambda rows: 2),
        ("by date", "which invoice is due first?", lambda rows: pick(rows, "due_date", "client", lowest=True)),
        ("look up", "is {name} paid? what's the status", lambda rows: "overdue"),
        ("extreme", "biggest invoice?", lambda rows: pick(rows, "amount_eur", "client")),
    ),
)  # fmt: skip
RATINGS = Spec(
    "Rating Changes",
    {"date": "日期", "firm": "机构", "action": "动作", "to_rating": "新评级"},
    "firm",
    mix("Pell, Strand, Calder, Vane", firm=name, date=lambda rng, place: f"2024-10-{20 - place}",
        action=one_of("upgrade", "downgrade", "reiterate", "downgrade"),
        to_rating=one_of("Outperform", "Hold", "Buy", "Neutral")),
    (
        ("filter", "who downgraded it?", lambda rows: ("Strand", "Vane")),
        ("filter", "which firms upgraded the stock?", lambda rows: ("Pell",)),
        ("filter", "谁下调了评级？", lambda rows: ("Strand", "Vane")),
        ("count", "how many downgrades?", lambda rows: 2),
        ("latest", "who was the last to downgrade", lambda rows: "Strand"),
        ("look up", "what rating does {name} have now", lambda rows: "Hold"),
    ),
)  # fmt: skip
BONDS = Spec(
    "Bonds",
    {"issuer": "发行人", "coupon_pct": "票息", "maturity_date": "到期日", "yield_pct": "收益率"},
    "issuer",
    mix("Arden, Boyne, Clyde, Dart", issuer=name, coupon_pct=part(1, 6), maturity_date=day(2027),
        yield_pct=part(2, 7)),
    (
        ("by date", "which bond matures last?", lambda rows: pick(rows, "maturity_date", "issuer")),
        ("by date", "which bond matures first?", lambda rows: pick(rows, "maturity_date", "issuer", lowest=True)),
        ("by date", "哪只债券最先到期？", lambda rows: pick(rows, "maturity_date", "issuer", lowest=True)),
        ("extreme", "哪只债券收益率最高", lambda rows: pick(rows, "yield_pct", "issuer")),
        ("extreme", "who pays the lowest coupon", lambda rows: pick(rows, "coupon_pct", "issuer", lowest=True)),
        ("look up", "{name} yield?", lambda rows: rows[1]["yield_pct"]),
        ("average", "average yield", lambda rows: mean(rows, "yield_pct")),
        ("difference", "yield of {name} minus yield of {other}",
         lambda rows: rows[1]["yield_pct"] - rows[0]["yield_pct"]),
    ),
)  # fmt: skip
RESULTS = Spec(
    "Quarterly Results",
    {"quarter": "季度", "revenue_mn": "营收", "eps": "每股收益", "eps_estimate": "预期每股收益"},
    "quarter",
    mix("a, b, c, d, e", quarter=quarter, revenue_mn=whole(200, 500), eps=part(1, 3), eps_estimate=part(1, 3)),
    (
        ("change", "year over year revenue growth in 2024Q3?",
         lambda rows: (rows[4]["revenue_mn"] / rows[0]["revenue_mn"] - 1) * 100),
        ("change", "how much did revenue change versus the prior quarter in Q2 2024?",
         lambda rows: rows[3]["revenue_mn"] - rows[2]["revenue_mn"]),
        ("change", "最新季度营收较上季度变化多少？", lambda rows: rows[4]["revenue_mn"] - rows[3]["revenue_mn"]),
        ("change", "2024年三季度营收同比增长多少",
         lambda rows: (rows[4]["revenue_mn"] / rows[0]["revenue_mn"] - 1) * 100),
        ("derived", "by how much did eps beat the estimate in 2024Q1?",
         lambda rows: rows[2]["eps"] - rows[2]["eps_estimate"]),
        ("latest", "latest eps", lambda rows: rows[4]["eps"]),
        ("look up", "Q4 2023 revenue?", lambda rows: rows[1]["revenue_mn"]),
        ("extreme", "which quarter had the highest revenue",
         lambda rows: (pick(rows, "revenue_mn", "quarter"), pick(rows, "revenue_mn", "revenue_mn"))),
        ("absent", "what was the capex in 2024Q1?", lambda rows: ()),
    ),
)  # fmt: skip
MEETINGS = Spec(
    "Policy rates",
    {"bank": "央行", "policy_rate_pct": "政策利率", "next_meeting": "下次会议"},
    "bank",
    mix("Fed, ECB, BoE, RBA", bank=name, policy_rate_pct=part(1, 6), next_meeting=day(2025)),
    (
        ("by date", "who meets next?", lambda rows: pick(rows, "next_meeting", "bank", lowest=True)),
        ("by date", "which central bank has the earliest next meeting",
         lambda rows: pick(rows, "next_meeting", "bank", lowest=True)),
        ("look up", "when is the next {name} meeting?", lambda rows: rows[1]["next_meeting"]),
        ("extreme", "which bank has the lowest rate", lambda rows: pick(rows, "policy_rate_pct", "bank", lowest=True)),
        ("difference", "gap between {name} and {other} rates",
         lambda rows: rows[1]["policy_rate_pct"] - rows[0]["policy_rate_pct"]),
    ),
)  # fmt: skip
TABLES = (
    LOANS, LEASES, BUDGETS, OFFERINGS, DIVIDENDS, HOTELS, OPTIONS, INFLATION, RATES, POSITIONS, SEGMENTS, INVOICES,
    RATINGS, BONDS, RESULTS, MEETINGS,
)  # fmt: skip

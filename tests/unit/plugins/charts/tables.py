"""Tables of every shape, and what is drawn of each without a model."""

from typing import Any, NamedTuple

from rightseat.plugins.charts.chart import ChartSpec

MONTHS = ("2026-01", "2026-02", "2026-03", "2026-04")
REGIONS = ("north", "south", "east")


class Sample(NamedTuple):
    value: Any
    chart: ChartSpec
    question: str = ""


def make_rows(*names: str, cells: list[tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(names, row, strict=True)) for row in cells]


LONG_TABLE = make_rows(
    "month", "region", "sales", cells=[(m, r, 10 * n + k) for n, m in enumerate(MONTHS) for k, r in enumerate(REGIONS)]
)
SAMPLES: dict[str, Sample] = {
    "names and numbers": Sample(
        make_rows("region", "sales", cells=[("north", 3), ("south", 5)]),
        ChartSpec(kind="bar", x="region", y=("sales",)),
    ),
    "several numbers": Sample(
        make_rows("region", "sales", "cost", cells=[("north", 3, 1), ("south", 5, 2)]),
        ChartSpec(kind="bar", x="region", y=("sales", "cost")),
    ),
    "an id is no measure": Sample(
        make_rows("id", "name", "total", cells=[(7, "a", 1.5), (8, "b", 2.5)]),
        ChartSpec(kind="bar", x="name", y=("total",)),
    ),
    "a share": Sample(
        make_rows("region", "sales", cells=[("north", 3), ("south", 5)]),
        ChartSpec(kind="pie", x="region", y=("sales",)),
        "What share has each region?",
    ),
    "占比": Sample(
        make_rows("地区", "销售额", cells=[("北", 3), ("南", 5)]),
        ChartSpec(kind="pie", x="地区", y=("销售额",)),
        "各地区占比",
    ),
    "a ring was asked for": Sample(
        make_rows("region", "sales", cells=[("north", 3), ("south", 5)]),
        ChartSpec(kind="ring", x="region", y=("sales",)),
        "Draw a donut of sales",
    ),
    "months": Sample(
        make_rows("month", "sales", cells=[(m, n) for n, m in enumerate(MONTHS)]),
        ChartSpec(kind="line", x="month", y=("sales",)),
    ),
    "months by region": Sample(LONG_TABLE, ChartSpec(kind="line", x="month", y=("sales",), series="region")),
    "months by region, area": Sample(
        LONG_TABLE, ChartSpec(kind="area", x="month", y=("sales",), series="region"), "as an area chart"
    ),
    "months by region, heat": Sample(
        LONG_TABLE, ChartSpec(kind="heatmap", x="month", y=("sales",), series="region"), "a heat map, please"
    ),
    "years are no numbers": Sample(
        make_rows("year", "sales", cells=[(2024, 5), (2023, 4), (2025, 6)]),
        ChartSpec(kind="line", x="year", y=("sales",)),
    ),
    "days and hours": Sample(
        make_rows("at", "load", cells=[("2026-01-01T00:00:00", 0.5), ("2026-01-01 01:00", None), ("2026-01-02", 0.7)]),
        ChartSpec(kind="line", x="at", y=("load",)),
    ),
    "two texts and a number": Sample(
        make_rows("shop", "kind", "n", cells=[(s, k, 2) for s in ("a", "b") for k in ("x", "y", "z")]),
        ChartSpec(kind="stacked", x="shop", y=("n",), series="kind"),
    ),
    "two numbers": Sample(
        make_rows("height", "weight", cells=[(150 + n, 50 + n * 0.9) for n in range(20)]),
        ChartSpec(kind="scatter", x="height", y=("weight",)),
    ),
    "one column of words": Sample(
        make_rows("status", cells=[("open",), ("open",), ("shut",)]), ChartSpec(kind="bar", x="status")
    ),
    "one column of numbers": Sample(make_rows("n", cells=[(1,), (2,), (3,)]), ChartSpec(kind="bar", y=("n",))),
    "one number": Sample([{"count": 42}], ChartSpec(kind="bar", y=("count",))),
    "one row of numbers": Sample([{"min": 1, "max": 9, "avg": 4.5}], ChartSpec(kind="bar", y=("min", "max", "avg"))),
    "numbers by name": Sample({"cpu": 0.5, "memory": 0.7}, ChartSpec(kind="bar", x="name", y=("value",))),
    "columns as lists": Sample({"day": ["a", "b"], "n": [1, 2]}, ChartSpec(kind="bar", x="day", y=("n",))),
    "columns and rows": Sample(
        {"columns": ["day", {"name": "n"}], "rows": [["a", 1], ["b", 2]]}, ChartSpec(kind="bar", x="day", y=("n",))
    ),
    "lists with a head": Sample([["day", "n"], ["a", 1], ["b", 2]], ChartSpec(kind="bar", x="day", y=("n",))),
    "lists without": Sample([[1, 2], [3, 5]], ChartSpec(kind="scatter", x="column 1", y=("column 2",))),
    "a list of numbers": Sample([3, 1, 2], ChartSpec(kind="bar", y=("value",))),
    "wrapped": Sample(
        {"code": 200, "data": {"page": 1, "items": [{"name": "a", "n": 1}, {"name": "b", "n": 2}]}},
        ChartSpec(kind="bar", x="name", y=("n",)),
    ),
    "numbers as texts": Sample(
        make_rows("name", "price", cells=[("a", "1.50"), ("b", "-2e3")]), ChartSpec(kind="bar", x="name", y=("price",))
    ),
    "objects in rows": Sample(
        [{"host": {"name": "a", "ip": "10.0.0.1"}, "load": 1}, {"host": {"name": "b", "ip": "10.0.0.2"}, "load": 2}],
        ChartSpec(kind="bar", x="host.name", y=("load",)),
    ),
    "holes": Sample(
        [{"name": "a", "n": 1}, {"name": None, "n": 2}, {"name": "c"}, {"n": 4}],
        ChartSpec(kind="bar", x="name", y=("n",)),
    ),
    "nothing above zero": Sample(
        make_rows("name", "n", cells=[("a", -1), ("b", 0)]), ChartSpec(kind="pie", x="name", y=("n",)), "pie"
    ),
    "booleans": Sample(make_rows("up", cells=[(True,), (False,), (True,)]), ChartSpec(kind="bar", x="up")),
    "many names": Sample(
        make_rows("name", "n", cells=[(f"host {n}", n) for n in range(300)]), ChartSpec(kind="bar", x="name", y=("n",))
    ),
    "hostile names": Sample(
        make_rows("name", "n", cells=[("<img src=x onerror=alert(1)>", 1), ("{b}\n]]>&\x00\ud7ff", 2)]),
        ChartSpec(kind="bar", x="name", y=("n",)),
    ),
    "far apart": Sample(
        make_rows("name", "n", cells=[("a", 1e-9), ("b", 1e12), ("c", -5)]), ChartSpec(kind="bar", x="name", y=("n",))
    ),
}
